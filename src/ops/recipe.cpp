#include "ops/recipe.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/random.h"

namespace kw::ops {
namespace {

// Half a word each: more bits than a float has, so that small values are as fine as they should be.
void fill_uniform(std::span<float> elements, double first, double last, Random random) {
  const double step = (last - first) * 0x1p-32;
  const auto high = static_cast<float>(last), below = std::nextafter(high, static_cast<float>(first));
  const auto put = [&](float& element, std::uint32_t half) {
    const auto rounded = static_cast<float>(first + step * (static_cast<double>(half) + 0.5));
    element = rounded < high ? rounded : below;  // the end itself is not drawn
  };
  std::size_t i = 0;
  for (; i + 2 <= elements.size(); i += 2) {
    const std::uint64_t word = random.bits();
    put(elements[i], static_cast<std::uint32_t>(word));
    put(elements[i + 1], static_cast<std::uint32_t>(word >> 32));
  }
  if (i < elements.size()) put(elements[i], static_cast<std::uint32_t>(random.bits()));
}

// Operators that correct no typical floats, or none of those that they read first.
bool leaves_typical_floats(const GraphNode& node, int slot) {
  static const std::set<std::string> kLeaving = {"Abs",
                                                 "BatchNormalization",
                                                 "Div",
                                                 "Gather",
                                                 "GroupNormalization",
                                                 "HardSigmoid",
                                                 "Clip",
                                                 "InstanceNormalization",
                                                 "LayerNormalization",
                                                 "LogSoftmax",
                                                 "LpNormalization",
                                                 "MeanVarianceNormalization",
                                                 "Mod",
                                                 "Neg",
                                                 "NegativeLogLikelihoodLoss",
                                                 "ReduceL1",
                                                 "ReduceL2",
                                                 "ReduceLogSum",
                                                 "ReduceMean",
                                                 "ReduceSum",
                                                 "ReduceSumSquare",
                                                 "RMSNormalization",
                                                 "Shrink",
                                                 "Softmax",
                                                 "SoftmaxCrossEntropyLoss",
                                                 "ThresholdedRelu"};
  if (!node.call.op->draw || std::ranges::find(node.inputs, slot) == node.inputs.end()) return true;
  if (node.call.op->name == "Cast") return is_float(node.call.outputs[0].dtype);
  return kLeaving.contains(node.call.op->name) && (node.call.op->name != "Clip" || node.inputs[0] == slot);
}

}  // namespace

bool may_be_a_recipe(const Graph& graph, std::size_t slot, std::int64_t least) {
  const GraphInput& input = graph.inputs[slot];
  return input.type.dtype == DType::float32 && input.type.shape.count() >= least &&
         std::ranges::all_of(
             graph.nodes, [&](const GraphNode& node) { return leaves_typical_floats(node, static_cast<int>(slot)); });
}

double folded(double value, double low, double high) {
  if (value >= low && value <= high) return value;
  if (std::isinf(low) && std::isinf(high)) return value;
  if (std::isinf(high)) return low + (low - value);
  if (std::isinf(low)) return high - (value - high);
  if (high == low) return low;
  const double width = high - low;
  double offset = std::fmod(std::fabs(value - low), 2 * width);
  if (offset > width) offset = 2 * width - offset;
  return low + offset;
}

void Recipe::draw(std::span<float> elements) const {
  Random random(key);
  if (uniform) return fill_uniform(elements, first, last, random);
  random.fill_normal(elements, first, last);
  if (std::isinf(low) && std::isinf(high)) return;
  for (float& element : elements) element = static_cast<float>(folded(element, low, high));
}

}  // namespace kw::ops
