#pragma once

#include <kernelwright.h>

#include <numeric>
#include <vector>

#include "parts/axis.h"
#include "parts/distinct.h"

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
  const Distinct found = distinct_of(std::move(order), node.integer("sorted", 1) != 0, compare);
  const auto copy = [](const T* from, int64_t count, T* to) { std::copy_n(from, count, to); };
  put_distinct(node, x, view, found, copy, y, indices, inverse, counts);
}
