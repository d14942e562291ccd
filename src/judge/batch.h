// Judging many candidates: they are built and examined on all cores, a handful at a time; then that handful is timed,
// one after the other, while nothing else of ours runs.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "judge/judge.h"

namespace kw::judge {

// Called from one thread, in the order of completion, with the case's index.
using Report = std::function<void(std::size_t index, const Result<Verdict>& verdict)>;

// Called from any thread when work on a case begins, with the kind of work: "building and examining" or "timing".
using Begin = std::function<void(std::size_t index, const char* doing)>;

// The time for timing each candidate of a batch, unless its line gives another one.
inline constexpr double kBatchBudget_s = 0.06;

// Examinations of cases, by their index; none: not examined yet, or rejected. They hold for any judge of the device.
using Examinations = std::vector<std::optional<Inspected>>;

// Where the device goes away, the cases that have not begun get an Error. Cases in `examinations` are not examined
// again; those that were examined and could not be timed are left in it.
void judge_batch(
    Judge& judge, const std::vector<Case>& cases, const Report& report,
    const Begin& begin = [](std::size_t, const char*) {}, Examinations* examinations = nullptr);

}  // namespace kw::judge
