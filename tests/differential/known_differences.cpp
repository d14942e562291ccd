#include "differential/known_differences.h"

#include <algorithm>
#include <cmath>

namespace kw {
namespace {

constexpr KnownDifference kDifferences[] = {
    {"Gelu", "float64 with approximate = tanh", "ONNX Runtime's constants have 32 bits; ours have 64"},
    {"Shrink", "float64", "ONNX Runtime computes in float32"},
    {"Mod", "integers beyond 2^53 with fmod",
     "ONNX Runtime goes through doubles, which cannot hold them; ours is exact"},
    {"Clip", "infinities with a limit left out", "ONNX's default is the type's largest number, and we follow it"},
    {"Reduce...", "integers that overflow", "ONNX leaves it open; ONNX Runtime saturates, we wrap around"},
    {"Einsum", "integers that overflow; '...' in no output term",
     "ONNX leaves the first open; ONNX Runtime refuses the second"},
    {"MaxPool, AveragePool, LpPool", "SAME with a kernel below the stride or with dilation; VALID with ceil_mode",
     "ONNX Runtime pads or rounds otherwise than ONNX's formula, which we follow"},
    {"ConvTranspose", "SAME with a kernel below the stride; output_shape beyond the natural one",
     "ONNX Runtime and ONNX's own reference give two answers to the first, we follow the text; ONNX Runtime refuses "
     "the second"},
    {"GridSample", "cubic with padding_mode = border",
     "ONNX Runtime differs from ONNX's own reference, which we match"},
    {"Resize", "cubic with tf_crop_and_resize; equal lengths at a scale other than 1",
     "ONNX Runtime differs from ONNX's own reference, which we match; ONNX Runtime copies in the second"},
    {"DFT", "inverse and onesided", "ONNX Runtime differs from ONNX's own reference, which we match"},
    {"DFT", "of more than 16,384 elements", "ONNX Runtime loses more precision than our bound allows"},
    {"MatMulInteger, ConvInteger, QLinear...", "int8 on x86 without VNNI",
     "compared, but a difference does not count there: ONNX Runtime's 16-bit sums saturate"},
    {"LRN", "subnormal numbers",
     "compared, but a difference does not count there: ONNX Runtime makes infinities of some"},
    {"LSTM, GRU, RNN", "Softplus of large sums",
     "compared where inputs are beyond 80, but a difference does not count there: ONNX Runtime's exponential "
     "overflows, "
     "and makes NaN of it"},
    {"LSTM", "clip", "ONNX's text would clip the cell's output too; neither ONNX Runtime nor we do"},
};

// Of numbers below the smallest normal one.
bool has_subnormals(const Tensor& input) {
  return input.dtype() == DType::float32 &&
         std::ranges::any_of(input.as<float>(), [](float one) { return std::fpclassify(one) == FP_SUBNORMAL; });
}

// A sum of gates may be as large then as no exponential of it is a number.
bool has_large_numbers(const Tensor& input) {
  constexpr float kLarge = 80;
  return input.dtype() == DType::float32 &&
         std::ranges::any_of(input.as<float>(), [](float one) { return std::abs(one) > kLarge; });
}

bool has_softplus_gates(const Node& node) {
  const auto activations = node.attributes.find("activations");
  if (activations == node.attributes.end()) return false;
  const auto* names = std::get_if<std::vector<std::string>>(&activations->second.value);
  return names != nullptr && std::ranges::find(*names, "Softplus") != names->end();
}

bool may_saturate(const Task& task, std::span<const Tensor> inputs) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni")) return false;
  const bool product = std::ranges::any_of(task.nodes, [](const Node& node) {
    return node.op == "MatMulInteger" || node.op == "ConvInteger" || node.op.starts_with("QLinear");
  });
  const auto has = [&](DType dtype) {
    return std::ranges::any_of(inputs, [&](const Tensor& input) { return input.dtype() == dtype; });
  };
  return product && has(DType::int8);
#else
  (void)task, (void)inputs;
  return false;
#endif
}

}  // namespace

std::span<const KnownDifference> known_differences() { return kDifferences; }

bool may_differ(const Task& task, std::span<const Tensor> inputs) {
  const bool normalises = std::ranges::any_of(task.nodes, [](const Node& node) { return node.op == "LRN"; });
  return may_saturate(task, inputs) || (normalises && std::ranges::any_of(inputs, has_subnormals)) ||
         (std::ranges::any_of(task.nodes, has_softplus_gates) && std::ranges::any_of(inputs, has_large_numbers));
}

std::string not_in_onnxruntime(std::string_view op) {
  if (op == "Scatter") return "left ONNX with opset 11: ScatterElements is the same operator and is compared";
  return "";
}

}  // namespace kw
