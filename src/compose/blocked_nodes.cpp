#include "compose/blocked_nodes.h"

#include <algorithm>
#include <limits>

#include "compose/blocked_graph.h"
#include "ops/window.h"

namespace kw::compose {
namespace {

constexpr std::int64_t kMostMargin = 16;
constexpr std::int64_t kMostLength = 1 << 15;

using ops::Graph;
using ops::GraphNode;

bool given(const GraphNode& node, std::size_t input) { return input < node.inputs.size() && node.inputs[input] >= 0; }

// One number, or one for each channel of the image: [C, 1, 1] or [1, C, 1, 1].
bool is_channel_constant(const Graph& graph, Slot slot, std::int64_t channels) {
  if (!is_weight(graph, slot) || type_of(graph, slot).dtype != DType::float32) return false;
  const Shape& shape = type_of(graph, slot).shape;
  if (shape.count() == 1 && shape.rank() <= 4) return true;
  const std::vector<std::int64_t> three = {channels, 1, 1}, four = {1, channels, 1, 1};
  return shape.lengths() == three || shape.lengths() == four;
}

std::optional<Elementwise> binary_of(const Graph& graph, const GraphNode& node) {
  const std::string& op = node.call.op->name;
  const bool adds = op == "Add", multiplies = op == "Mul", divides = op == "Div", subtracts = op == "Sub";
  if (!adds && !multiplies && !divides && !subtracts) return std::nullopt;
  const TensorType& made = type_of(graph, node.outputs[0]);
  if (!is_image(made)) return std::nullopt;
  for (const std::size_t i : {0u, 1u}) {
    const Slot image = node.inputs[i], other = node.inputs[1 - i];
    if (i == 1 && (divides || subtracts)) break;
    if (is_weight(graph, image) || !(type_of(graph, image) == made)) continue;
    Elementwise how{.image = image, .other = other};
    if (is_channel_constant(graph, other, made.shape[1])) {
      how.touch = "affine";
      how.recipe = adds ? "add" : multiplies ? "multiply" : divides ? "divide" : "subtract";
      how.weights = {other};
      return how;
    }
    if (is_weight(graph, other) || divides || subtracts) continue;
    const TensorType& beside = type_of(graph, other);
    const bool same = beside == made;
    const bool each = is_image(beside) && beside.shape[0] == made.shape[0] && beside.shape[1] == made.shape[1] &&
                      beside.shape[2] == 1 && beside.shape[3] == 1;
    if (!same && !each) continue;
    how.touch = std::string(adds ? "add" : "multiply") + (same ? "" : "_each");
    return how;
  }
  return std::nullopt;
}

std::optional<double> limit_of(const Graph& graph, const GraphNode& node, std::size_t input, const char* attribute,
                               double otherwise) {
  if (given(node, input)) return number_in(graph, node.inputs[input]);
  return node.call.attributes.has(attribute) ? node.call.real(attribute) : otherwise;
}

std::string convolution_obstacle(const Graph& graph, const GraphNode& node) {
  const bool transposed = node.call.op->name == "ConvTranspose";
  const Slot weights = node.inputs[1];
  if (!is_weight(graph, weights) || (given(node, 2) && !is_weight(graph, node.inputs[2])))
    return "weights are computed";
  const Shape &in = type_of(graph, node.inputs[0]).shape, &kernel = type_of(graph, weights).shape;
  const std::int64_t group = node.call.integer("group");
  if (transposed) {
    const auto window = ops::transposed_window(node.call, ops::spatial_axes(in), ops::spatial_axes(kernel));
    if (!window.ok() || group != 1) return "groups of a transposed convolution";
    for (const ops::WindowAxis& axis : *window) {
      const bool tiles = axis.kernel == axis.stride && axis.dilation == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
      if (!tiles || axis.stride != (*window)[0].stride || axis.input != axis.output * axis.stride || axis.stride < 2)
        return "a transposed convolution whose windows overlap";
    }
    return "";
  }
  if (group != 1 && (group != in[1] || kernel[0] != group)) return "groups of several channels";
  const auto window = ops::sliding_window(node.call, ops::spatial_axes(in), ops::spatial_axes(kernel), false);
  if (!window.ok()) return window.error().message;
  for (const ops::WindowAxis& axis : *window) {
    if (axis.pad_begin > kMostMargin || axis.pad_end > kMostMargin) return "wide padding";
  }
  return "";
}

std::string pool_obstacle(const GraphNode& node) {
  if (node.outputs.size() > 1 && node.outputs[1] >= 0) return "indices of a pool";
  for (const std::int64_t one :
       node.call.attributes.has("dilations") ? node.call.integers("dilations") : ops::Integers())
    if (one != 1) return "a pool with dilation";
  const auto is_set = [&](const char* name) { return node.call.attributes.has(name) && node.call.integer(name) != 0; };
  if (is_set("count_include_pad") && is_set("ceil_mode")) return "a mean over a window that runs off the padding";
  return "";
}

}  // namespace

bool is_weight(const Graph& graph, Slot slot) {
  return slot >= 0 && static_cast<std::size_t>(slot) < graph.inputs.size() &&
         graph.inputs[static_cast<std::size_t>(slot)].role != Role::input;
}

std::optional<double> number_in(const Graph& graph, Slot slot) {
  const Tensor* known = slot < 0 ? nullptr : graph.known[static_cast<std::size_t>(slot)];
  if (known == nullptr && is_weight(graph, slot)) {
    const Value* declared = graph.inputs[static_cast<std::size_t>(slot)].declared;
    if (declared != nullptr && declared->constant.count() == 1) known = &declared->constant;
  }
  if (known == nullptr || known->count() != 1) return std::nullopt;
  return known->real(0);
}

bool is_image(const TensorType& type) {
  if (type.dtype != DType::float32 || type.from_values || type.shape.rank() != 4) return false;
  return std::ranges::all_of(type.shape, [](std::int64_t length) { return length > 0 && length <= kMostLength; });
}

std::optional<Elementwise> elementwise_of(const Graph& graph, const GraphNode& node) {
  const std::string& op = node.call.op->name;
  if (auto binary = binary_of(graph, node)) return binary;
  if (node.outputs.size() != 1 || !given(node, 0) || is_weight(graph, node.inputs[0])) return std::nullopt;
  Elementwise how{.image = node.inputs[0]};
  if (!is_image(type_of(graph, how.image))) return std::nullopt;
  if (op == "Relu") {
    how.touch = "relu";
  } else if (op == "Sigmoid") {
    how.touch = "sigmoid";
  } else if (op == "LeakyRelu") {
    how.touch = "leaky";
    how.a = node.call.real("alpha");
  } else if (op == "HardSigmoid") {
    how.touch = "hard_sigmoid";
    how.a = node.call.real("alpha");
    how.b = node.call.real("beta");
  } else if (op == "HardSwish") {
    how.touch = "hard_swish";
    how.a = 1.0 / 6;
    how.b = 0.5;
  } else if (op == "Clip") {
    constexpr double kAll = std::numeric_limits<float>::max();
    const auto low = limit_of(graph, node, 1, "min", -kAll), high = limit_of(graph, node, 2, "max", kAll);
    if (!low || !high) return std::nullopt;
    how.touch = "clip";
    how.a = std::clamp(*low, -kAll, kAll);
    how.b = std::clamp(*high, -kAll, kAll);
  } else if (op == "BatchNormalization") {
    if (node.call.attributes.has("training_mode") && node.call.integer("training_mode") != 0) return std::nullopt;
    how.touch = "affine";
    how.recipe = "normalize";
    how.epsilon = node.call.real("epsilon");
    for (std::size_t i = 1; i < 5; ++i) {
      if (!given(node, i) || !is_weight(graph, node.inputs[i])) return std::nullopt;
      if (type_of(graph, node.inputs[i]).dtype != DType::float32) return std::nullopt;
      how.weights.push_back(node.inputs[i]);
    }
  } else {
    return std::nullopt;
  }
  return how;
}

std::optional<std::pair<std::int64_t, std::int64_t>> repeats_of(const Graph& graph, const GraphNode& node) {
  if (node.call.op->name != "Resize" || node.call.text("mode") != "nearest") return std::nullopt;
  const Shape &in = type_of(graph, node.inputs[0]).shape, &out = type_of(graph, node.outputs[0]).shape;
  if (in[0] != out[0] || in[1] != out[1] || out[2] % in[2] != 0 || out[3] % in[3] != 0) return std::nullopt;
  const std::int64_t down = out[2] / in[2], across = out[3] / in[3];
  // Which pixel is the nearest, where the scale is a whole number.
  const std::string &place = node.call.text("coordinate_transformation_mode"), &way = node.call.text("nearest_mode");
  const bool floors =
      place == "asymmetric" && (way == "floor" || (way == "round_prefer_floor" && std::max(down, across) <= 2));
  const bool centres = place == "half_pixel" && way.starts_with("round_prefer");
  if (!floors && !centres) return std::nullopt;
  return std::pair(down, across);
}

std::string blocked_obstacle(const Graph& graph, const GraphNode& node) {
  const std::string& op = node.call.op->name;
  for (const Slot slot : node.outputs) {
    if (slot >= 0 && !is_image(type_of(graph, slot))) return "its result is no float32 image";
  }
  if (node.inputs.empty() || node.inputs[0] < 0 || node.outputs.empty() || node.outputs[0] < 0)
    return "inputs left out";
  if (elementwise_of(graph, node)) return "";
  if (is_weight(graph, node.inputs[0]) || !is_image(type_of(graph, node.inputs[0])))
    return "its input is no float32 image";
  if (op == "Conv" || op == "ConvTranspose") return convolution_obstacle(graph, node);
  if (op == "MaxPool" || op == "AveragePool") return pool_obstacle(node);
  if (op == "GlobalAveragePool") return "";
  if (op == "Resize") return repeats_of(graph, node) ? "" : "a resize that does not repeat pixels";
  if (op == "Concat") {
    if (node.call.integer("axis") != 1 && node.call.integer("axis") != -3) return "another axis than the channels";
    const auto is_constant = [&](Slot slot) { return slot < 0 || is_weight(graph, slot); };
    return std::ranges::any_of(node.inputs, is_constant) ? "a constant among its inputs" : "";
  }
  if (op == "Split") {
    if (node.call.integer("axis") != 1 && node.call.integer("axis") != -3) return "another axis than the channels";
    for (std::size_t i = 0; i + 1 < node.outputs.size(); ++i) {
      if (node.outputs[i] < 0 || type_of(graph, node.outputs[i]).shape[1] % 16 != 0) return "parts of odd lengths";
    }
    return node.outputs.back() < 0 ? "parts that nobody reads" : "";
  }
  return "an operator that has no such form";
}

}  // namespace kw::compose
