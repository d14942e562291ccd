// Tasks and numbers as commands show them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kernel/task.h"
#include "ops/graph.h"

namespace kw::cli {

std::string_view name_of(Role role);                         // "input", "weight", "constant"
std::string with_unit(double value, std::string_view unit);  // 1.05e6, "flop" -> "1.05 Mflop"
std::string time_text(double time_ns);                       // "12.3 us"

// {"name", "category", "operator", "suite", "inputs", "outputs", "flops", "bytes"}; a tensor is {"name", "dtype",
// "shape"}, an input also has its "role": "input", "weight" or "constant".
nlohmann::ordered_json summary_of(const Task& task, const ops::Graph& graph);

// The values of `--dim NAME=VALUE`.
Result<Lengths> parse_dims(const std::vector<std::string>& texts);

}  // namespace kw::cli
