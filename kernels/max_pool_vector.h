// The largest under each window: rows of images folded in vectors, then across; a window that is the channel as a row.
//
// serves: MaxPool
// types: float32
#include "parts/pooling.h"
#include "plain/MaxPool.h"

inline void MaxPool(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<float>& y,
                    kw::Tensor<int64_t>& places) {
  const bool whole = window_is_channel(node, x.shape());
  if (places.given() || x.count() == 0 || (x.rank() != 4 && !whole)) return ::MaxPool(node, x, y, places);
  const int64_t channels = x.shape(0) * x.shape(1), x_size = x.shape().count(2, x.rank());
  kw::Shape shape{x.shape(0), x.shape(1)};
  if (whole) {
    while (shape.rank < x.rank()) shape.push(1);
    y.allocate(shape);
    for (int64_t c = 0; c < channels; ++c) {
      const float* from = x.data() + c * x_size;
      y[c] = from[0] != from[0] ? from[0] : fold_row<LargestElement>(from, x_size);
    }
    return;
  }
  const PoolWindow window = pool_window(node, x.shape().dims + 2);
  const PoolAxis &down = window.down, &across = window.across;
  shape.push(down.output);
  shape.push(across.output);
  y.allocate(shape);
  float* margin = pool_margin<LargestElement>(node, across);
  for (int64_t c = 0; c < channels; ++c) {
    const float* image = x.data() + c * x_size;
    pool_image<LargestElement>(
        image, window, margin, y.data() + c * down.output * across.output, [&](int64_t oh, float* row) {
          // A window that begins with NaN is NaN; NaN behind is passed over.
          const int64_t first = oh * down.stride - down.pad_begin + down.first_tap(oh) * down.dilation;
          if (first >= down.input) return;
          const float* at = image + first * across.input;
          bool numbers = true;
          for (int64_t i = 0; i < across.input; ++i) numbers &= at[i] == at[i];
          if (numbers) return;
          for (int64_t ow = 0; ow < across.output; ++ow) {
            const int64_t column = ow * across.stride - across.pad_begin + across.first_tap(ow) * across.dilation;
            if (column < across.input && at[column] != at[column]) row[ow] = at[column];
          }
        });
  }
}
