// What was decided in rounds that a tape holds: how far each kernel came, of what kind it was, how it did beside the
// incumbent, and what the tuner chose. All of these depend on a clock, on secret inputs, or on compilers. A tape is
// replayed with the decisions of its recording, so that each round begins where it began then and the model's recorded
// answers fit; verdicts of the replay are shown beside.
//
// One JSON object a line, in `rounds.jsonl` of the tape's folder.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "agents/work.h"
#include "base/result.h"

namespace kw::agents {

// Of one round.
struct Decided {
  std::vector<VerdictStage> stages;  // of each kernel that was judged within the round; empty in older tapes
  std::string niche;
  Lines hot;  // of the loop that took most of a call
  std::optional<Comparison> beside;
  std::string left_out;              // why the kernel was not measured
  std::string tuning;                // what the tuner's table said
  std::optional<Settings> settings;  // that the tuner took; none: it found nothing better
};

class Decisions {
 public:
  // Appends to what is there.
  static Result<std::unique_ptr<Decisions>> to_record(const std::filesystem::path& folder);
  // A tape without the file decides nothing.
  static Result<std::unique_ptr<Decisions>> to_replay(const std::filesystem::path& folder);

  Status keep(const std::string& task, int round, const Decided& decided);
  std::optional<Decided> of(const std::string& task, int round) const;
  bool replays() const { return replays_; }
  // By task and round.
  const std::map<std::pair<std::string, int>, Decided>& all() const { return decided_; }

 private:
  std::filesystem::path file_;
  bool replays_ = false;
  std::map<std::pair<std::string, int>, Decided> decided_;
  std::mutex lock_;
};

}  // namespace kw::agents
