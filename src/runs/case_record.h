// A case of the judge as the record keeps it, and back: what every door of the program that judges with a record uses.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "judge/judge.h"
#include "store/records.h"

namespace kw::runs {

// How a whole run is judged, as its record keeps it; `rivals` is what chooses the same frameworks again.
std::string rules_as_json(const judge::Case& rules, bool fresh, const std::string& rivals);
Result<judge::Case> rules_from_json(const std::string& text, bool& fresh, std::string& rivals);

Result<Settings> settings_from_json(const std::string& text);

// The item of one case; `label` is JSON.
store::NewItem planned(std::int64_t position, const judge::Case& one, const std::string& label);

store::TaskSnapshot snapshot(const Task& task);

// "warm caches, 1 thread"
std::string terms_of(const judge::Case& one);

// "mnn,onnxruntime", or "none"
std::string names_of(const std::vector<judge::Guest*>& guests);

// Which version of each rival a case is timed against. The plain kernel is another one when its text or the compiler's
// version or flags are.
class RivalVersions {
 public:
  explicit RivalVersions(const store::Machine& machine);
  ~RivalVersions();

  // A task is known by its address: those that were asked about must stay where they are.
  std::map<std::string, std::string> of(const judge::Case& one);

 private:
  struct Known;
  std::unique_ptr<Known> known_;
};

// A process that was killed from outside says nothing of the candidate. A candidate whose process or compiler was
// killed kMostKills times is rejected for it: neither can do that to itself, so that the first times somebody else may
// have.
inline constexpr int kMostKills = 3;
bool may_be_somebody_elses_doing(const Verdict& verdict);

// Whether its warden still lives: where it is gone, nothing that it held says anything of a candidate.
bool lives(judge::Judge& judge);

// Names come from file systems and clients and may be no UTF-8; the record is.
std::string as_utf8(const std::string& text);

}  // namespace kw::runs
