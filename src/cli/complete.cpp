#include "cli/complete.h"

#include <algorithm>
#include <set>

#include "cli/program.h"
#include "cli/store_folder.h"
#include "suites/catalog.h"

namespace kw::cli {
namespace {

std::vector<std::string> names_of_runs() {
  std::vector<std::string> names;
  const auto store = store::Store::open_existing(store_folder({}));
  const auto runs = store.ok() ? store->runs() : store.error();
  if (!runs.ok()) return {};
  for (const store::RunSummary& run : *runs) names.push_back(run.name());
  return names;
}

std::vector<std::string> values_for(Completes what) {
  if (what == Completes::file) return {":files"};
  if (what == Completes::run) return names_of_runs();
  if (what == Completes::nothing) return {};
  const auto suites = suites::installed_suites();
  std::set<std::string> values;
  if (!suites.ok()) return {};
  for (const suites::Suite& suite : *suites) {
    if (what == Completes::suite) values.insert(suite.name);
    for (const Task& task : suite.tasks) {
      if (what == Completes::task) values.insert(task.name);
      if (what == Completes::category) values.insert(task.category);
    }
  }
  return {values.begin(), values.end()};
}

// What can stand where the last word stands.
std::vector<std::string> choices(const std::vector<std::string>& words) {
  std::vector<std::string> result;
  if (words.size() <= 1) {
    for (const Command& command : all_commands()) result.push_back(command.name);
    return result;
  }
  const auto command = std::ranges::find(all_commands(), words[0], &Command::name);
  if (command == all_commands().end()) return {};
  const auto is_valued = [&](const std::string& word) {
    return std::ranges::any_of(command->options, [&](const Option& o) { return o.name == word && !o.value.empty(); });
  };
  const std::string& before = words[words.size() - 2];
  std::size_t places = 0;
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (!words[i].starts_with("--") && !is_valued(words[i - 1])) ++places;
  }
  for (const Option& option : command->options) {
    if (option.name == before && !option.value.empty()) return values_for(option.completes);
  }
  if (words.back().starts_with("-")) {
    for (const Option& option : command->options) {
      if (option.name.starts_with("--")) result.push_back(option.name);
    }
    result.push_back("--help");
    return result;
  }
  for (const Option& option : command->options) {
    if (option.name.starts_with("--")) continue;
    if (places == 0 || option.repeated) return values_for(option.completes);
    --places;
  }
  return {};
}

}  // namespace

std::vector<std::string> completions(const std::vector<std::string>& words) {
  const std::string typed = words.empty() ? "" : words.back();
  const std::vector<std::string> all = choices(words);
  if (all == std::vector<std::string>{":files"}) return all;
  std::vector<std::string> result;
  for (const std::string& choice : all) {
    if (choice.starts_with(typed)) result.push_back(choice);
  }
  return result;
}

}  // namespace kw::cli
