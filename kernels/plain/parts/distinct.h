#pragma once

#include <kernelwright.h>

#include <algorithm>
#include <vector>

#include "axis.h"

// The distinct rows along an axis.
struct Distinct {
  std::vector<int64_t> rows;   // the first of each group of equal ones, as the result has them
  std::vector<int64_t> first;  // of every row, the first that equals it
};

// `order`: all rows in the order of `compare`, equal ones as they appear.
template <class Compare>
inline Distinct distinct_of(std::vector<int64_t> order, bool stays_sorted, const Compare& compare) {
  Distinct found{{}, std::vector<int64_t>(order.size())};
  for (int64_t row : order) {
    if (found.rows.empty() || compare(found.rows.back(), row) != 0) found.rows.push_back(row);
    found.first[row] = found.rows.back();
  }
  if (!stays_sorted) std::sort(found.rows.begin(), found.rows.end());
  return found;
}

// The outputs of Unique; copy(from, count, to) moves one run of a row. `view` is x along its axis, or all of it as rows
// of one element.
template <class T, class Copy>
inline void put_distinct(const kw::Node& node, kw::Tensor<const T> x, const AlongAxis& view, const Distinct& found,
                         const Copy& copy, kw::Tensor<T>& y, kw::Tensor<int64_t>& indices, kw::Tensor<int64_t>& inverse,
                         kw::Tensor<int64_t>& counts) {
  const int64_t count = static_cast<int64_t>(found.rows.size());
  kw::Shape shape{count};
  if (node.has("axis")) {
    shape = x.shape();
    shape[static_cast<int>(node.integer("axis"))] = count;
  }
  y.allocate(shape);
  T* to = y.data();
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t row : found.rows) {
      copy(x.data() + (o * view.length + row) * view.inner, view.inner, to);
      to += view.inner;
    }
  }
  indices.allocate({count});
  inverse.allocate({view.length});
  counts.allocate({count});
  for (int64_t i = 0; i < count; ++i) {
    indices[i] = found.rows[i];
    inverse[found.rows[i]] = i;
    counts[i] = 0;
  }
  for (int64_t row = 0; row < view.length; ++row) {
    inverse[row] = inverse[found.first[row]];
    ++counts[inverse[row]];
  }
}
