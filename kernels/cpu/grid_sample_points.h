// Images read between their elements at the places of a grid: where a vector of places lies is found once and serves
// all channels.
//
// serves: GridSample
// types: float32
// when: rank0 == 4
// order: 10
#include "parts/vector.h"
#include "../plain/GridSample.h"

namespace grid_sample {

using simd::Floats;
using simd::Ints;
using simd::kLanes;

// The two elements around each of a vector of places along one axis.
struct Around {
  Floats place[2];  // whole numbers on the image
  Floats weight[2];
  Ints there[2];  // -1 where it counts

  Around(Floats g, int64_t length, bool align_corners, bool border) {
    const float last = float(length - 1);
    Floats x = align_corners ? (g + 1) / 2 * last : ((g + 1) * float(length) - 1) / 2;
    if (border) x = inside(x, last);
    const Floats first = simd::to_whole<simd::Whole::down>(x);
    weight[1] = x - first;
    weight[0] = 1 - weight[1];
    for (int i = 0; i < 2; ++i) {
      const Floats here = first + float(i);
      place[i] = inside(here, last);
      there[i] = border ? Ints{} - 1 : (here >= 0) & (here <= last);
    }
  }
  static Floats inside(Floats x, float last) {
    x = x > 0 ? x : Floats{};
    return x < last ? x : simd::splat(last);
  }
};

}  // namespace grid_sample

inline void GridSample(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> grid,
                       kw::Tensor<float>& y) {
  using namespace grid_sample;
  const char *mode = node.text("mode"), *padding = node.text("padding_mode");
  const int64_t channels = x.shape(1), height = x.shape(2), width = x.shape(3), size = height * width;
  const bool linear = mode[0] == 'b' ? mode[2] == 'l' : mode[0] == 'l';  // "bilinear" or "linear"
  if (!linear || padding[0] == 'r' || size == 0 || size > (1 << 24)) return ::GridSample(node, x, grid, y);
  const bool border = padding[0] == 'b', align_corners = node.integer("align_corners") != 0;
  y.allocate({x.shape(0), channels, grid.shape(1), grid.shape(2)});
  const int64_t points = grid.shape(1) * grid.shape(2);
  for (int64_t n = 0; n < x.shape(0); ++n) {
    for (int64_t point = 0; point < points; point += kLanes) {
      const int64_t count = std::min<int64_t>(kLanes, points - point);
      float across[kLanes] = {}, down[kLanes] = {};
      const float* places = grid.data() + (n * points + point) * 2;
      for (int64_t i = 0; i < count; ++i) {
        across[i] = places[2 * i];
        down[i] = places[2 * i + 1];
      }
      const Around h(simd::load(across), width, align_corners, border);
      const Around v(simd::load(down), height, align_corners, border);
      int32_t at[4][kLanes];
      Floats weights[4];
      Ints there[4];
      KW_UNROLL for (int i = 0; i < 4; ++i) {
        simd::store(at[i], simd::truncated(simd::fma(v.place[i / 2], float(width), h.place[i % 2])));
        weights[i] = v.weight[i / 2] * h.weight[i % 2];
        there[i] = v.there[i / 2] & h.there[i % 2];
      }
      for (int64_t c = 0; c < channels; ++c) {
        const float* from = x.data() + (n * channels + c) * size;
        Floats sum{};
        KW_UNROLL for (int i = 0; i < 4; ++i) {
          float elements[kLanes];
          KW_UNROLL for (int lane = 0; lane < kLanes; ++lane) elements[lane] = from[at[i][lane]];
          const Floats part = simd::load(elements) * weights[i];
          sum += there[i] ? part : Floats{};
        }
        float* to = y.data() + (n * channels + c) * points + point;
        if (count == kLanes) {
          simd::store(to, sum);
        } else {
          simd::store_some(to, sum, count);
        }
      }
    }
  }
}
