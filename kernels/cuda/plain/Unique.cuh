#pragma once

#include "along_axis.cuh"

// Unique: the distinct elements (or slices along an axis), sorted or as they appear; where each first stands, which of
// them each input is, and how often each occurs. One thread; the room holds the rows in order and each row's first one.
struct Unique_node {
  int64_t rows, room;
  AlongAxis view;
  int64_t outer, sorted, rank, axis;
  int64_t lengths[8];
};

#ifdef __CUDACC__
template <class T, class A, class B, class C>
__device__ void Unique_row(const Unique_node& of, int64_t, const T* x, T* y, A* indices, B* inverse, C* counts,
                           int64_t* found, int64_t* found_indices, int64_t* found_inverse, int64_t* found_counts,
                           uint8_t* room) {
  const int64_t length = of.view.length, inner = of.view.inner;
  int64_t* order = reinterpret_cast<int64_t*>(room);
  int64_t* first = order + length;
  int64_t* place = first + length;  // of a row that is the first of its kind, among the distinct ones
  // Negative, zero or positive: row a is before, equal to or after row b.
  const auto compare = [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < of.outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const T p = x[(o * length + a) * inner + i], q = x[(o * length + b) * inner + i];
        if (p < q) return -1;
        if (q < p) return 1;
      }
    }
    return 0;
  };
  int64_t distinct = 0;
  for (int64_t row = 0; row < length; ++row) {
    first[row] = row;
    int64_t at = 0;  // where it stands, or where it belongs
    while (at < distinct && (of.sorted != 0 ? compare(order[at], row) < 0 : compare(order[at], row) != 0)) ++at;
    if (at < distinct && compare(order[at], row) == 0) {
      first[row] = order[at];
      continue;
    }
    for (int64_t k = distinct; k > at; --k) order[k] = order[k - 1];
    order[at] = row;
    ++distinct;
  }
  int64_t to = 0;
  for (int64_t o = 0; o < of.outer; ++o) {
    for (int64_t k = 0; k < distinct; ++k) {
      for (int64_t i = 0; i < inner; ++i) y[to++] = x[(o * length + order[k]) * inner + i];
    }
  }
  for (int64_t k = 0; k < distinct; ++k) {
    place[order[k]] = k;
    if (indices != nullptr) indices[k] = A(order[k]);
    if (counts != nullptr) counts[k] = C(0);
  }
  for (int64_t row = 0; row < length; ++row) {
    const int64_t k = place[first[row]];
    if (inverse != nullptr) inverse[row] = B(k);
    if (counts != nullptr) counts[k] = C(int64_t(counts[k]) + 1);
  }
  found[0] = of.rank;
  for (int64_t axis = 0; axis < of.rank; ++axis) found[1 + axis] = axis == of.axis ? distinct : of.lengths[axis];
  int64_t* one_axis[] = {found_indices, found_inverse, found_counts};
  for (int k = 0; k < 3; ++k) {
    if (one_axis[k] == nullptr) continue;
    one_axis[k][0] = 1;
    one_axis[k][1] = k == 1 ? length : distinct;
  }
}
#else
template <int outputs>
Unique_node Unique_plan(const kw::Node& node, kw::Shape (&y)[outputs], const Given& x) {
  Unique_node of{1, 0, {x.shape.count(), 1}, 1, node.integer("sorted", 1), 1, 0, {x.shape.count()}};
  y[0] = kw::Shape{x.shape.count()};
  if (node.has("axis")) {
    of.axis = from_front(node.integer("axis"), x.shape.rank);
    of.view = along(x.shape, of.axis);
    of.outer = x.shape.count(0, static_cast<int>(of.axis));
    of.rank = x.shape.rank;
    for (int i = 0; i < x.shape.rank; ++i) of.lengths[i] = x.shape[i];
    y[0] = x.shape;
  }
  for (int i = 1; i < outputs; ++i) y[i] = kw::Shape{of.view.length};
  of.room = 3 * 8 * of.view.length;
  return of;
}
#endif
