// What a GPU draws by itself is what the CPU draws, bit for bit: the device's code, compiled for the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/random.h"
#include "base/ziggurat.h"
#include "ops/draw.h"
#include "ops/recipe.h"
#include "suites/catalog.h"

namespace kw {
namespace device {

// The words of device code that drawing uses.
using std::int64_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }
inline long long __double_as_longlong(double value) { return std::bit_cast<long long>(value); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
#define __device__
#define __CUDACC__
#include "../kernels/cuda/judge/drawn.cuh"
#undef __CUDACC__
#undef __device__

}  // namespace device

namespace {

std::vector<float> on_device(const ops::Recipe& recipe, std::size_t count) {
  const device::Drawn drawn{recipe.key, recipe.uniform, recipe.first, recipe.last, recipe.low, recipe.high};
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = device::drawn_at(drawn, ziggurat_ends().data(), static_cast<std::int64_t>(i));
  }
  return values;
}

TEST(CudaDrawn, EveryElementIsTheCpus) {
  const ops::Recipe recipes[] = {{.key = 1},
                                 {.key = 2, .first = 3, .last = 0.5},
                                 {.key = 3, .first = 0, .last = 1, .low = 0},
                                 {.key = 4, .first = 0, .last = 2, .low = -1, .high = 1},
                                 {.key = 5, .first = 0, .last = 1, .high = 0.25},
                                 {.key = 6, .uniform = true, .first = 0, .last = 1},
                                 {.key = 7, .uniform = true, .first = -3, .last = 0},
                                 {.key = 8, .uniform = true, .first = -1, .last = -1 + 0x1p-20}};
  for (const ops::Recipe& recipe : recipes) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{400'001}}) {
      std::vector<float> values(count);
      recipe.draw(values);
      EXPECT_EQ(std::memcmp(values.data(), on_device(recipe, count).data(), count * sizeof(float)), 0) << recipe.key;
    }
  }
  // Some of them came from the rims of layers and from the tail.
  std::vector<float> values(400'001);
  recipes[0].draw(values);
  EXPECT_GT(std::ranges::count_if(values, [](float value) { return std::fabs(value) > 3.66; }), 20);
}

TEST(CudaDrawn, PartsAreTheInputsOfTheirSeed) {
  for (const char* name : {"Softmax", "Gemm", "LayerNormalization_qwen", "Relu"}) {
    const auto task = suites::find_task(name);
    ASSERT_TRUE(task.ok()) << name;
    const auto graph = ops::resolve(*task);
    ASSERT_TRUE(graph.ok());
    const std::vector<Tensor> inputs = ops::draw_inputs(*graph, ops::InputClass::typical, 9);
    const ops::Parts parts = ops::draw_parts(*graph, 9, 1000);
    int recipes = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Tensor value = parts.tensors[i];
      if (parts.recipes[i]) {
        ++recipes;
        value = Tensor(inputs[i].type());
        parts.recipes[i]->draw(value.as<float>());
      }
      ASSERT_EQ(value.type(), inputs[i].type());
      EXPECT_TRUE(std::ranges::equal(value.bytes(), inputs[i].bytes())) << name << " " << i;
    }
    EXPECT_GT(recipes, 0) << name;
  }
}

}  // namespace
}  // namespace kw
