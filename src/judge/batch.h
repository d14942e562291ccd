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

// Called when a case's turn comes, from any thread, with what is done to it: "building and examining", "timing".
using Begin = std::function<void(std::size_t index, const char* doing)>;

// What timing may take for each of a batch, unless one says otherwise.
inline constexpr double kBatchBudget_s = 0.06;

// Examinations of cases, by their index; none: not examined yet, or rejected. They hold for any judge of the device.
using Examinations = std::vector<std::optional<Inspected>>;

// Where the device goes away, what is left gets an Error, without having begun. `examinations`: what is there is not
// done again, what was done and could not be timed is left there.
void judge_batch(
    Judge& judge, const std::vector<Case>& cases, const Report& report,
    const Begin& begin = [](std::size_t, const char*) {}, Examinations* examinations = nullptr);

}  // namespace kw::judge
