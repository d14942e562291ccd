#pragma once

#include <kernelwright.h>

#include <numeric>

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
  if (count == 0) return;
  const AlongAxis view = along(x.shape(), axis);
  int64_t* found = node.scratch<int64_t>(count);
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.inner; ++i) {
      const T* from = x.data() + o * view.length * view.inner + i;
      const auto before = [&](int64_t a, int64_t b) {
        const T p = from[a * view.inner];
        const T q = from[b * view.inner];
        if (p == q) return a < b;
        return largest ? p > q : p < q;
      };
      // The best so far are a heap with the last of them on top.
      std::iota(found, found + count, 0);
      std::make_heap(found, found + count, before);
      for (int64_t place = count; place < view.length; ++place) {
        if (!before(place, found[0])) continue;
        std::pop_heap(found, found + count, before);
        found[count - 1] = place;
        std::push_heap(found, found + count, before);
      }
      std::sort_heap(found, found + count, before);
      for (int64_t n = 0; n < count; ++n) {
        const int64_t to = (o * count + n) * view.inner + i;
        values[to] = from[found[n] * view.inner];
        indices[to] = found[n];
      }
    }
  }
}
