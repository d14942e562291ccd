// GlobalAveragePool: Reduction, Normalization, Pooling, Resize, Signal, Matrix, Attention, Recurrent, Convolution
#include <kernelwright.h>
#include <kw/vector.h>

KW_TUNE(SUMS, 4, 2, 4, 8);  // accumulators, so that additions need not wait for each other

// Partial sums of blocks keep the accuracy of long rows.
static float sum_of(const float* from, int64_t count) {
  constexpr int64_t kStep = simd::kLanes, kBlock = 4096;
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(count, begin + kBlock);
    simd::Floats sums[SUMS] = {};
    int64_t i = begin;
    for (; i + SUMS * kStep <= end; i += SUMS * kStep) {
      KW_UNROLL for (int s = 0; s < SUMS; ++s) sums[s] += simd::load(from + i + s * kStep);
    }
    for (; i < end; i += kStep) sums[0] += simd::load_some(from + i, end - i);
    for (int s = 1; s < SUMS; ++s) sums[0] += sums[s];
    total += simd::sum(sums[0]);
  }
  return static_cast<float>(total);
}

KW_KERNEL(call) {
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  const int64_t planes = y.count();
  const int64_t plane = planes > 0 ? x.count() / planes : 0;
  for (int64_t p = 0; p < planes; ++p) y[p] = sum_of(x.data() + p * plane, plane) / static_cast<float>(plane);
}
