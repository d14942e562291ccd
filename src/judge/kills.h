// A candidate whose process was killed from outside is judged again: such a verdict says nothing of the candidate
// (core/reason.h).
#pragma once

#include "core/reason.h"
#include "core/verdict.h"
#include "judge/judge.h"

namespace kw::judge {

inline const Reason& reason_of(const Verdict& verdict) { return verdict.reason; }
inline const Reason& reason_of(const Inspected& inspected) { return inspected.verdict.reason; }

// Calls `once`, which returns a Result of a verdict or an examination, until its answer is about the candidate. After
// kMostKills kills the answer counts as it is; an Error is returned at once.
template <typename Once>
auto despite_kills(const Once& once) {
  for (int tries = 1;; ++tries) {
    auto answer = once();
    if (!answer.ok() || tries == kMostKills || !may_be_killed_from_outside(reason_of(*answer))) return answer;
  }
}

}  // namespace kw::judge
