#include "agents/tape_gains.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/json.h"

namespace kw::agents {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostExchangeBytes = 64 << 20;

}  // namespace

Result<std::map<std::string, TapedTask>> tasks_of(const fs::path& folder) {
  std::map<std::string, TapedTask> tasks;
  std::set<std::string> rounds, questions;  // one that was asked again after a break counts once
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".json") continue;
    KW_TRY(const std::string text, read_file(entry.path(), kMostExchangeBytes));
    const Json json = Json::parse_quietly(text);
    const Json* name = json.find("name");
    if (name == nullptr || !name->is_string()) continue;
    const std::size_t end = name->text().find(", round ");
    if (end == std::string::npos) continue;
    TapedTask& task = tasks[name->text().substr(0, end)];
    task.questions += questions.insert(name->text()).second;
    task.rounds += rounds.insert(name->text().substr(0, name->text().rfind(", "))).second;
  }
  if (error) return fail("{}: {}", folder.string(), error.message());
  return tasks;
}

std::vector<TapeGain> gains_of(const Decisions& tape) {
  std::vector<TapeGain> gains;
  for (const auto& [at, decided] : tape.all()) {  // by task, its rounds in order
    if (gains.empty() || gains.back().task != at.first) gains.push_back({.task = at.first});
    TapeGain& gain = gains.back();
    for (const VerdictStage stage : decided.stages) {
      gain.built = gain.built || stage != VerdictStage::build;
      gain.right = gain.right || stage == VerdictStage::accepted;
    }
    if (!decided.beside || !decided.beside->faster()) continue;
    gain.steps.push_back(*decided.beside);
    gain.times *= decided.beside->median;
  }
  std::ranges::stable_sort(gains, std::greater(), &TapeGain::times);
  return gains;
}

std::string row_of(const TapeGain& gain) {
  std::string steps;
  for (const Comparison& one : gain.steps)
    steps += fmt::format("{}{:.2f} [{:.2f}, {:.2f}]", steps.empty() ? "" : ", ", one.median, one.low, one.high);
  return fmt::format("| {} | {:.2f} | {} |", gain.task, gain.times, steps.empty() ? "no round was faster" : steps);
}

}  // namespace kw::agents
