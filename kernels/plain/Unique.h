#include <numeric>
#include <vector>

#include "parts/axis.h"

// Unique: the distinct elements (or slices along an axis), sorted or as they appear; where each first stands, which of
// them each input is, and how often each occurs.
template <class T>
void Unique(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y, kw::Tensor<int64_t>& indices,
            kw::Tensor<int64_t>& inverse, kw::Tensor<int64_t>& counts) {
  const bool flat = !node.has("axis");
  const AlongAxis view = flat ? AlongAxis{1, x.count(), 1} : along(x.shape(), node.integer("axis"));
  // Negative, zero or positive: row a is before, equal to or behind row b.
  const auto compare = [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < view.outer; ++o) {
      const T* p = x.data() + (o * view.length + a) * view.inner;
      const T* q = x.data() + (o * view.length + b) * view.inner;
      for (int64_t i = 0; i < view.inner; ++i) {
        if (p[i] < q[i]) return -1;
        if (q[i] < p[i]) return 1;
      }
    }
    return 0;
  };
  // Rows in order, equal ones as they appear. Not in scratch memory, which is too small for it where elements are.
  std::vector<int64_t> order(static_cast<std::size_t>(view.length));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const int sign = compare(a, b);
    return sign != 0 ? sign < 0 : a < b;
  });

  // Of each group of equal rows the first stays in `order`, and all know it.
  std::vector<int64_t> first(order.size());
  int64_t count = 0;
  for (int64_t row : order) {
    if (count == 0 || compare(order[count - 1], row) != 0) order[count++] = row;
    first[row] = order[count - 1];
  }
  if (node.integer("sorted", 1) == 0) std::sort(order.begin(), order.begin() + count);

  kw::Shape shape{count};
  if (!flat) {
    shape = x.shape();
    shape[static_cast<int>(node.integer("axis"))] = count;
  }
  y.allocate(shape);
  T* to = y.data();
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < count; ++i) {
      to = std::copy_n(x.data() + (o * view.length + order[i]) * view.inner, view.inner, to);
    }
  }
  indices.allocate({count});
  inverse.allocate({view.length});
  counts.allocate({count});
  for (int64_t i = 0; i < count; ++i) {
    indices[i] = order[i];
    inverse[order[i]] = i;
    counts[i] = 0;
  }
  for (int64_t row = 0; row < view.length; ++row) {
    inverse[row] = inverse[first[row]];
    ++counts[inverse[row]];
  }
}
