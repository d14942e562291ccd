#include <ranges>
#include <span>

#include "parts/axis.h"

// TopK: the k largest (or smallest) elements along an axis in order, and where they are; of equal ones the first first.
template <class T>
void TopK(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> k, kw::Tensor<T>& values,
          kw::Tensor<int64_t>& indices) {
  const int axis = static_cast<int>(node.integer("axis", -1));
  const bool largest = node.integer("largest", 1) != 0;
  const int64_t count = k.given() ? k[0] : node.integer("k");
  kw::Shape shape = x.shape();
  shape[axis] = count;
  values.allocate(shape);
  indices.allocate(shape);
  const AlongAxis view = along(x.shape(), axis);
  const std::span<int64_t> found(node.scratch<int64_t>(count), static_cast<std::size_t>(count));
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.inner; ++i) {
      const T* from = x.data() + o * view.length * view.inner + i;
      const auto before = [&](int64_t a, int64_t b) {
        const T p = from[a * view.inner];
        const T q = from[b * view.inner];
        if (p == q) return a < b;
        return largest ? p > q : p < q;
      };
      std::ranges::partial_sort_copy(std::views::iota(int64_t{0}, view.length), found, before);
      int64_t to = o * count * view.inner + i;
      for (int64_t place : found) {
        values[to] = from[place * view.inner];
        indices[to] = place;
        to += view.inner;
      }
    }
  }
}
