#include "cli/values.h"

#include <set>

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

}  // namespace

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

}  // namespace kw::cli
