// A kernel to take away: one readable source with its tunables fixed and without what it does not use, behind plain C
// functions with names of its own; how to build it, how much memory it takes and what was tested; and beside it a
// program that checks it against the reference's numbers and bounds, and times it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "core/tunables.h"
#include "core/verdict.h"
#include "judge/judge.h"

namespace kw::runs {

// The folder for a task's kernel unless the user names one: "MatMul-kernel". Of a model's node only letters that every
// shell and file system takes are left.
std::filesystem::path takeaway_folder(const std::string& task);

// A folder to write into, made now, so that one that cannot be written is told before hours are spent. One in which
// there is something is an Error, unless `anyway`. Errors speak of the flag --out.
Result<std::filesystem::path> new_folder(const std::filesystem::path& folder, bool anyway);

// Of a target whose kernels only kw launches (a GPU's), the source and the headers that it includes. Else it
// writes into the folder, which is made: TASK.cpp (the first of the files that it returns), TASK.h, kernelwright.h,
// README.md, CMakeLists.txt and check/. What is there is written over. The kernel is built and called on the device
// once more, locked up, to see how much memory it takes. `machine` is what the device is called.
Result<std::vector<std::filesystem::path>> take_away(const std::filesystem::path& folder, const Task& task,
                                                     const judge::Source& kernel, const Settings& settings,
                                                     const Verdict& verdict, const std::string& device,
                                                     const std::string& machine);

}  // namespace kw::runs
