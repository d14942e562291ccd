// What is said of a kernel without timing it: whether it builds, and what a device's own tools find while it runs.
#pragma once

#include <string>

#include "base/result.h"
#include "judge/judge.h"

namespace kw::runs {

struct Said {
  bool good = false;
  std::string text;
};

// One that does not build has a verdict, whose text it is.
Result<Said> built(const judge::Case& one);

// Calls of the task's own shape, or of a smaller one where tools would take too long, and of two small ones, under each
// of the device's tools.
Result<Said> sanitized(const judge::Case& one, bool as_json);

}  // namespace kw::runs
