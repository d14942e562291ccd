// How close convolutions in blocks of channels come to what this processor's multipliers can do, one thread:
//
//   kw_blocked_bench
//
// Built as kernels are. The shapes are those that PP-OCRv4's recognition and magika spend their time in. A line is the
// best of some calls; minimal filtering does fewer products than the definition, so that its share may be above 100 %.
#include <kernelwright.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "parts/blocked_steps.h"

namespace {

using namespace blocked;
using Clock = std::chrono::steady_clock;

constexpr int kCalls = 100;

template <class Work>
double best_us(Work&& work) {
  double best = 1e30;
  for (int i = 0; i < kCalls; ++i) {
    const auto begin = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return best;
}

// Independent multiplications and additions in registers.
double peak_gflops() {
  constexpr int kSums = 12, kTurns = 20000;
  Floats sums[kSums];
  for (int k = 0; k < kSums; ++k) sums[k] = simd::splat(static_cast<float>(k));
  const Floats factor = simd::splat(0.5f);
  const double us = best_us([&] {
    Floats here[kSums];
    KW_UNROLL for (int k = 0; k < kSums; ++k) here[k] = sums[k];
    KW_KEEP_LOOP for (int i = 0; i < kTurns; ++i) {
      KW_UNROLL for (int k = 0; k < kSums; ++k) here[k] = simd::fma(here[k], factor, factor);
    }
    KW_UNROLL for (int k = 0; k < kSums; ++k) sums[k] = here[k];
  });
  float all = 0;
  for (const Floats& one : sums) all += simd::sum(one);
  if (all == 0) std::printf("\n");  // so that all are computed
  return 2.0 * kSums * kTurns * kBlock / us / 1e3;
}

struct Shape {
  Kind kind;
  int in, out, height, width, kernel_h, kernel_w;
};

void measure(const Shape& shape, double peak) {
  const bool by_channel = shape.kind == Kind::convolve_by_channel;
  const int margin = std::max(shape.kernel_h, shape.kernel_w) / 2, fan = by_channel ? 1 : shape.in;
  Place places[2] = {{0, 0, shape.in, shape.height, shape.width, margin + 4, false},
                     {0, 0, shape.out, shape.height, shape.width, 0, false}};
  places[1].offset = places[0].plane() * places[0].blocks();
  const int64_t window = int64_t{shape.kernel_h} * shape.kernel_w, tiles = 56;
  const auto filled = [](int64_t count) {
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 97) / 97 - 0.5f;
    return numbers;
  };
  // In whole cache lines, as in a call.
  struct alignas(64) Line {
    float numbers[16];
  };
  const auto lines = [](int64_t floats) { return std::vector<Line>(static_cast<std::size_t>(floats / 16 + 1)); };
  auto memory = lines(places[1].offset + places[1].plane() * places[1].blocks());
  auto work = lines(kLineParts * int64_t{places[0].blocks() + places[1].blocks()} * kBlock * tiles);
  auto kept = lines(int64_t{places[1].blocks()} * kBlock * (1 + std::max<int64_t>(window, kLineParts) * fan));
  std::vector<float> weights = filled(window * fan * shape.out);
  kw_tensor inputs[1] = {};
  inputs[0].data = weights.data();
  inputs[0].count = static_cast<int64_t>(weights.size());
  kw_call call{};
  call.threads = 1;
  call.inputs = inputs;
  Step step{};
  step.kind = shape.kind;
  step.conv = {.in = 0,
               .out = 1,
               .weights = 0,
               .bias = -1,
               .kernel_h = shape.kernel_h,
               .kernel_w = shape.kernel_w,
               .stride_h = 1,
               .stride_w = 1,
               .dilation_h = 1,
               .dilation_w = 1,
               .top = shape.kernel_h / 2,
               .left = shape.kernel_w / 2,
               .packed = 0,
               .first_recipe = 0,
               .recipes = 0,
               .out_stride = 1,
               .out_y = 0,
               .out_x = 0,
               .tile_rows = static_cast<int>(tiles)};
  step.last = true;
  Graph graph{};
  graph.places = places;
  pack(&call, graph, step, kept[0].numbers);
  const Room room{memory[0].numbers, work[0].numbers, kept[0].numbers, places, &call};
  const double us = best_us([&] { take(room, step, nullptr); });
  const double gflops = 2.0 * static_cast<double>(window * fan) * shape.out * shape.height * shape.width / us / 1e3;
  std::printf("%-12s %4d -> %4d channels, %2d x %3d pixels, %d x %d: %8.1f us %7.1f Gflop/s %5.1f %%\n",
              by_channel                        ? "by channel"
              : shape.kind == Kind::filter_line ? "along rows"
                                                : "direct",
              shape.in, shape.out, shape.height, shape.width, shape.kernel_h, shape.kernel_w, us, gflops,
              100 * gflops / peak);
}

}  // namespace

int main() {
  const double peak = peak_gflops();
  std::printf("peak %.1f Gflop/s\n", peak);
  for (const Shape& shape :
       {Shape{Kind::convolve, 240, 240, 12, 80, 1, 1}, Shape{Kind::convolve, 480, 480, 3, 80, 1, 1},
        Shape{Kind::convolve, 128, 128, 12, 160, 1, 1}, Shape{Kind::convolve, 64, 64, 24, 160, 1, 1},
        Shape{Kind::convolve, 480, 64, 1, 40, 1, 3}, Shape{Kind::convolve_by_channel, 240, 240, 12, 80, 5, 5},
        Shape{Kind::convolve_by_channel, 64, 64, 24, 160, 3, 3}, Shape{Kind::convolve, 256, 512, 1, 508, 1, 5},
        Shape{Kind::filter_line, 256, 512, 1, 508, 1, 5}}) {
    measure(shape, peak);
  }
  return 0;
}
