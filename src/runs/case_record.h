// A case of the judge as the record keeps it, and back: what every door of the program that judges with a record uses.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "judge/judge.h"
#include "store/records.h"

namespace kw::runs {

// The item of one case; `label` is JSON.
store::NewItem planned(std::int64_t position, const judge::Case& one, const std::string& label);

store::TaskSnapshot snapshot(const Task& task);

// "warm caches, 1 thread"
std::string terms_of(const judge::Case& one);
bool are_cold(const std::string& terms);

// "mnn,onnxruntime", or "none"
std::string names_of(const std::vector<judge::FrameworkRival*>& frameworks);

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

// Names come from file systems and clients and may be no UTF-8; the record is.
std::string as_utf8(const std::string& text);

}  // namespace kw::runs
