// What others have published, to stand beside our figures. Their setting is not ours, and whoever shows a number from
// here shows the setting with it.
#pragma once

#include <array>
#include <optional>

#include "report/figures.h"

namespace kw::report {

struct Published {
  const char* who;
  const char* source;
  const char* setting;
  const char* rival;                                       // which of our rivals theirs is to be held against
  double csr;                                              // shares, 0 to 1
  double fcr;                                              // on the tasks' own shapes
  std::array<std::optional<double>, kSpeeds.size()> fast;  // as kSpeeds
};

inline constexpr Published kPublished[] = {
    {.who = "MoKA on MobileKernelBench",
     .source = "arXiv 2603.11935",
     .setting = "a phone's CPU, kernels inside MNN against MNN's own operators, right on the tasks' own shapes",
     .rival = "mnn",
     .csr = 0.937,
     .fcr = 0.753,
     .fast = {std::nullopt, 0.468, 0.274, std::nullopt}},
    {.who = "Claude Sonnet 4.5, once",
     .source = "arXiv 2603.11935",
     .setting = "as above, one answer a task and no agents",
     .rival = "mnn",
     .csr = 0.463,
     .fcr = 0.342,
     .fast = {std::nullopt, std::nullopt, 0.047, std::nullopt}},
};

}  // namespace kw::report
