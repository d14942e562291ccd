// Was the candidate's process, or its compiler, killed from outside?
//
// Neither can kill itself with SIGKILL, so that the first times something else may have done it: the verdict then says
// nothing of the candidate, and the candidate is judged again. After kMostKills times it is rejected.
#pragma once

#include "core/verdict.h"

namespace kw {

inline constexpr int kMostKills = 3;

// The only place that decides it: everything that judges asks here.
bool may_be_killed_from_outside(const Verdict& verdict);

}  // namespace kw
