// A task as one text from which exactly that task can be had again: what the record of a run keeps, so that a later
// edit of a suite, or a model that was moved, changes nothing that was measured.
//
// JSON with the fields of core/task.h; the elements of tensors are the hexadecimal digits of their bytes.
#pragma once

#include <string>

#include "base/result.h"
#include "core/task.h"

namespace kw::suites {

std::string snapshot_of(const Task& task);
Result<Task> task_of_snapshot(const std::string& text);

}  // namespace kw::suites
