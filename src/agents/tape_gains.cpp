#include "agents/tape_gains.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "agents/talk.h"
#include "base/files.h"
#include "base/json.h"

namespace kw::agents {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostExchangeBytes = 64 << 20;

}  // namespace

Result<std::map<std::string, TapedTask>> tasks_of(const fs::path& folder) {
  std::map<std::string, TapedTask> tasks;
  // One that was asked again after a break counts once.
  std::set<std::pair<std::string, int>> rounds;
  std::set<std::tuple<std::string, int, int>> questions;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".json") continue;
    KW_TRY(const std::string text, read_file(entry.path(), kMostExchangeBytes));
    const Json json = Json::parse_quietly(text);
    const Json* name = json.find("name");
    if (name == nullptr || !name->is_string()) continue;
    const std::optional<QuestionName> asked = QuestionName::read(name->text());
    if (!asked) continue;
    TapedTask& task = tasks[asked->task];
    task.questions += questions.insert({asked->task, asked->round, asked->number}).second;
    task.rounds += rounds.insert({asked->task, asked->round}).second;
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
