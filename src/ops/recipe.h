// A tensor of typical floats as few numbers, from which each element can be drawn by itself: by the CPU here, and with
// the same bits by a device for tensors that are too large to be carried there (kernels/cuda/judge/drawn.cuh).
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/tensor.h"
#include "ops/graph.h"

namespace kw::ops {

struct Recipe {
  std::uint64_t key = 0;
  bool uniform = false;        // else normal
  double first = 0, last = 1;  // the range, or mean and deviation
  double low = -INFINITY;      // normal ones are reflected into this range
  double high = INFINITY;

  void draw(std::span<float> elements) const;
};

// Typical inputs of which large ones are recipes.
struct Parts {
  std::vector<Tensor> tensors;                 // empty where there is a recipe
  std::vector<std::optional<Recipe>> recipes;  // of floats with at least `least` elements that no operator corrects
};
// With the recipes drawn, what draw_inputs draws for this seed where no operator corrects anything.
Parts draw_parts(const Graph& graph, std::uint64_t seed, std::int64_t least);

// An input of floats with at least `least` elements, none of which an operator corrects.
bool may_be_a_recipe(const Graph& graph, std::size_t slot, std::int64_t least);

// Reflects a value into a range, so that no probability piles up at its ends.
double folded(double value, double low, double high);

}  // namespace kw::ops
