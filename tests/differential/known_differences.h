// Where ONNX Runtime and our references are known to part ways. Operators' samples leave these forms out, so that a
// disagreement in a run is always news.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kw {

struct KnownDifference {
  std::string_view op;
  std::string_view form;
  std::string_view why;  // what each does, and whom we follow
};

std::span<const KnownDifference> known_differences();

// Why an operator cannot be compared at all; empty: it can.
std::string not_in_onnxruntime(std::string_view op);

}  // namespace kw
