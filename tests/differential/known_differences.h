// Where ONNX Runtime and our references are known to part ways. Operators' samples leave these forms out, so that a
// disagreement in a run is always news.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/task.h"

namespace kw {

struct KnownDifference {
  std::string_view op;
  std::string_view form;
  std::string_view why;  // what each does, and whom we follow
};

std::span<const KnownDifference> known_differences();

// On x86 without VNNI, ONNX Runtime adds pairs of products of uint8 and int8 in 16 bits, which saturate: its
// documentation says so. Such a product, where it differs, says nothing on such a machine; nor does LRN of subnormal
// numbers, of some of which ONNX Runtime makes infinities, or a recurrent layer with Softplus of large numbers.
bool may_differ(const Task& task, std::span<const Tensor> inputs);

// Why an operator cannot be compared at all; empty: it can.
std::string not_in_onnxruntime(std::string_view op);

}  // namespace kw
