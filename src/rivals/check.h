// Which tasks does a framework run right? Asked once, kept beside its environment.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/task.h"
#include "rivals/framework.h"

namespace kw::rivals {

struct Checked {
  std::map<std::string, SettingTrial> tasks;  // by name
  double overhead_ns = 0;                     // measured at the time

  int count(SettingTrial::State state) const;
};

using Told = std::function<void(const Task& task, const SettingTrial& trial)>;

// Tries every task anew; `told` hears of each as it comes. The result is kept.
Result<Checked> check(const RivalFile& rival, const std::string& suite, const std::vector<Task>& tasks,
                      const Told& told);
// What a call costs beyond the operator, in the framework's usual setting; measured now, and kept.
Result<double> measure_overhead(const RivalFile& rival);
std::optional<double> kept_overhead_ns(const RivalFile& rival);

// What was found the last time, by the same version.
std::optional<Checked> kept_check(const RivalFile& rival, const std::string& suite);

}  // namespace kw::rivals
