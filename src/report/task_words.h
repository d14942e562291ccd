// A task as its record keeps it, in words and numbers for a reader.
#pragma once

#include <string_view>

#include "base/json.h"
#include "core/task.h"
#include "store/records.h"

namespace kw::report {

std::string_view name_of(Role role);  // "input", "weight", "constant"

// {name, suite, category, operators, nodes: [text], meaning: [[operator, words]], tensors: [{name, role, dtype,
// shape}], lengths: {NAME: value}, note, flops, bytes, problem}. Where the snapshot cannot be read, `problem` says why,
// and what rests on it is empty.
Json words_of(const store::TaskSnapshot& task);

}  // namespace kw::report
