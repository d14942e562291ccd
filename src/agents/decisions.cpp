#include "agents/decisions.h"

#include "agents/kept_lines.h"
#include "agents/round_record.h"
#include "base/json.h"
#include "core/settings_json.h"

namespace kw::agents {
namespace {

constexpr std::size_t kMostText = 64 << 10;

std::filesystem::path file_in(const std::filesystem::path& folder) { return folder / "rounds.jsonl"; }

}  // namespace

Result<std::unique_ptr<Decisions>> Decisions::to_record(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail("{}: {}", folder.string(), error.message());
  auto decisions = std::make_unique<Decisions>();
  decisions->file_ = file_in(folder);
  return decisions;
}

Result<std::unique_ptr<Decisions>> Decisions::to_replay(const std::filesystem::path& folder) {
  auto decisions = std::make_unique<Decisions>();
  decisions->file_ = file_in(folder);
  decisions->replays_ = true;
  std::error_code error;
  if (!std::filesystem::exists(decisions->file_, error)) return decisions;
  KW_TRY(const std::vector<std::string> lines, kept_lines(decisions->file_));
  int number = 0;
  for (const std::string& line : lines) {
    ++number;
    try {
      const Json json = Json::parse(line);
      Decided one{.niche = json.value("niche", ""),
                  .hot = hot_lines_of(json),
                  .beside = comparison_of(json.value("beside", Json())),
                  .left_out = json.value("left_out", ""),
                  .tuning = json.value("tuning", "")};
      if (one.left_out.size() > kMostText || one.tuning.size() > kMostText) throw JsonError("a text is too long");
      for (std::size_t i = 0; json.contains("stages") && i < json["stages"].size(); ++i) {
        const std::string name = json["stages"].at(i).text();
        const auto stage = stage_named(name);
        if (!stage) return fail("{}:{}: there is no stage '{}'", decisions->file_.string(), number, name);
        one.stages.push_back(*stage);
      }
      if (json.contains("settings")) {
        KW_TRY(one.settings, settings_from_json(json.at("settings").dump()));
      }
      decisions->decided_[{json.at("task").text(), json.at("round").get<int>()}] = std::move(one);
    } catch (const JsonError& problem) {
      return fail("{}:{}: is no line that --record has written: {}", decisions->file_.string(), number, problem.what());
    }
  }
  return decisions;
}

Status Decisions::keep(const std::string& task, int round, const Decided& decided) {
  if (replays_) return {};
  Json json = {{"task", task}, {"round", round}};
  for (const VerdictStage stage : decided.stages) {
    if (!json.contains("stages")) json["stages"] = Json::array();
    json["stages"].push_back(name_of(stage));
  }
  if (!decided.niche.empty()) json["niche"] = decided.niche;
  if (decided.hot.first > 0) json["hot"] = json_of(decided.hot);
  if (decided.beside) json["beside"] = json_of(*decided.beside);
  if (!decided.left_out.empty()) json["left_out"] = decided.left_out;
  if (!decided.tuning.empty()) json["tuning"] = decided.tuning;
  if (decided.settings) json["settings"] = *decided.settings;
  const std::lock_guard guard(lock_);
  return keep_lines(file_, json.dump() + "\n");
}

std::optional<Decided> Decisions::of(const std::string& task, int round) const {
  const auto found = decided_.find({task, round});
  return found == decided_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace kw::agents
