// MatMul_square: Matrix, Attention, Recurrent, Convolution
#include <kernelwright.h>
#include <kw/vector.h>

KW_TUNE(ROWS, 6, 4, 6, 8, 12);  // of a tile of the result that stays in registers
KW_TUNE(VECTORS, 2, 1, 2, 3);   // in each of its rows
KW_REQUIRE(ROWS* VECTORS <= 26);

using simd::Floats;
constexpr int64_t kWide = VECTORS * simd::kLanes;

// kRows rows of `columns` <= kWide results; the right matrix is packed in panels of kWide columns, zeros at the end.
template <int kRows>
static void tile(const float* a, const float* panel, float* y, int64_t depth, int64_t stride, int64_t columns) {
  Floats sums[kRows][VECTORS] = {};
  for (int64_t k = 0; k < depth; ++k) {
    KW_UNROLL for (int v = 0; v < VECTORS; ++v) {
      const Floats right = simd::load(panel + k * kWide + v * simd::kLanes);
      KW_UNROLL for (int r = 0; r < kRows; ++r) sums[r][v] =
          simd::fma(simd::splat(a[r * depth + k]), right, sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < VECTORS; ++v) {
      const int64_t left = columns - v * simd::kLanes;
      if (left > 0) simd::store_some(y + r * stride + v * simd::kLanes, sums[r][v], left);
    }
  }
}

KW_KERNEL(call) {
  const auto a = call.input<float>(0), b = call.input<float>(1);
  auto y = call.output<float>(0);
  const int64_t rows = a.shape(0), depth = a.shape(1), columns = b.shape(1);
  float* panel = call.scratch<float>(depth * kWide);
  for (int64_t j = 0; j < columns; j += kWide) {
    const int64_t wide = std::min(kWide, columns - j);
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t c = 0; c < kWide; ++c) panel[k * kWide + c] = c < wide ? b[k * columns + j + c] : 0;
    }
    int64_t i = 0;
    for (; i + ROWS <= rows; i += ROWS) tile<ROWS>(&a[i * depth], panel, &y[i * columns + j], depth, columns, wide);
    for (; i < rows; ++i) tile<1>(&a[i * depth], panel, &y[i * columns + j], depth, columns, wide);
  }
}
