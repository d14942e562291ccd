// Running sums, one-hot rows, triangles and ranges: rows at a time, with what does not change worked out before.
//
// serves: CumSum, OneHot, Trilu, Range
#include "parts/quiet.h"
#include "../plain/OneHot.h"
#include "../plain/Range.h"
#include "../plain/parts/axis.h"
#include "../plain/parts/wide.h"

template <class T, class I>
void CumSum(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const I> axis, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const bool exclusive = node.integer("exclusive") != 0, reverse = node.integer("reverse") != 0;
  const AlongAxis view = along(x.shape(), axis[0]);
  y.allocate(x.shape());
  const int64_t first = reverse ? view.length - 1 : 0, step = reverse ? -1 : 1;
  if (view.inner == 1) {
    constexpr int kRows = 8;  // rows that run side by side: each sum waits for the one before
    int64_t o = 0;
    const auto rows = [&](auto count) {
      const T* from = x.data() + o * view.length + first;
      T* to = y.data() + o * view.length + first;
      W sums[count.value] = {};
      for (int64_t k = 0; k < view.length; ++k, from += step, to += step) {
        for (int r = 0; r < count.value; ++r) {
          const W before = sums[r];
          sums[r] += W(from[r * view.length]);
          to[r * view.length] = T(exclusive ? before : sums[r]);
        }
      }
    };
    for (; o + kRows <= view.outer; o += kRows) rows(std::integral_constant<int, kRows>());
    for (; o < view.outer; ++o) rows(std::integral_constant<int, 1>());
    return;
  }
  W* running = node.scratch<W>(view.inner);
  for (int64_t o = 0; o < view.outer; ++o) {
    std::fill_n(running, view.inner, W(0));
    for (int64_t k = 0; k < view.length; ++k) {
      const int64_t begin = (o * view.length + first + k * step) * view.inner;
      const T* from = x.data() + begin;
      T* __restrict to = y.data() + begin;
      for (int64_t i = 0; i < view.inner; ++i) {
        const W before = running[i];
        running[i] += W(from[i]);
        to[i] = T(exclusive ? before : running[i]);
      }
    }
  }
}

template <class I, class D, class T>
void OneHot(const kw::Node& node, kw::Tensor<const I> indices, kw::Tensor<const D> depth, kw::Tensor<const T> values,
            kw::Tensor<T>& y) {
  const int64_t axis = node.integer("axis", -1);
  if (!std::is_same_v<I, int64_t> || (axis != -1 && axis != indices.rank())) {
    return ::OneHot(node, indices, depth, values, y);
  }
  kw::Shape shape = indices.shape();
  const int64_t length = static_cast<int64_t>(depth[0]);
  shape.push(length);
  y.allocate(shape);
  const T off = values[0], on = values[1];
  T* to = y.data();
  std::fill_n(to, y.count(), off);
  for (int64_t i = 0; i < indices.count(); ++i, to += length) {
    const int64_t index = static_cast<int64_t>(indices[i]);
    const int64_t place = index < 0 ? index + length : index;
    if (place >= 0 && place < length) to[place] = on;
  }
}

template <class T>
void Trilu(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> k, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  const int64_t rows = x.shape(-2), columns = x.shape(-1);
  const bool upper = node.integer("upper", 1) != 0;
  const int64_t diagonal = k.given() ? std::clamp(k[0], -rows, columns) : 0;
  const T* from = x.data();
  T* to = y.data();
  const auto bytes = [](int64_t count) { return static_cast<std::size_t>(count) * sizeof(T); };
  for (int64_t matrix = 0; matrix < x.count(); matrix += rows * columns) {
    for (int64_t row = 0; row < rows; ++row, from += columns, to += columns) {
      const int64_t middle = std::clamp<int64_t>(row + diagonal + (upper ? 0 : 1), 0, columns);
      if (upper) {
        memset(static_cast<void*>(to), 0, bytes(middle));
        memcpy(to + middle, from + middle, bytes(columns - middle));
      } else {
        memcpy(to, from, bytes(middle));
        memset(static_cast<void*>(to + middle), 0, bytes(columns - middle));
      }
    }
  }
}

template <class T>
void Range(const kw::Node&, kw::Tensor<const T> start, kw::Tensor<const T> limit, kw::Tensor<const T> delta,
           kw::Tensor<T>& y) {
  using W = Wide<T>;
  y.allocate({range_count<T>(start[0], limit[0], delta[0])});
  const W first = W(start[0]), step = W(delta[0]);
  T* to = y.data();
  const auto count =
      static_cast<int32_t>(std::min<int64_t>(y.count(), 1 << 30));  // 32 bits turn into floats in vectors
  for (int32_t i = 0; i < count; ++i) to[i] = T(first + W(i) * step);
  for (int64_t i = count; i < y.count(); ++i) to[i] = T(first + W(i) * step);
}
