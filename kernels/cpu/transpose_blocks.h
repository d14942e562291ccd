// Axes in another order: those that stay together are one axis; then whole runs are moved, or blocks of 8 x 8 elements
// are turned in registers.
//
// serves: Transpose, DepthToSpace, SpaceToDepth
#pragma once

#include <kernelwright.h>

#include "parts/runs.h"
#include "parts/turn.h"

// Elements that stay together.
template <class T>
struct Two {
  T first, second;
};

// Fills `to` in order with a tensor of this shape whose elements are `steps` apart in `from`, no two the same.
template <class T>
inline void permute(const kw::Node& node, const T* from, const kw::Shape& shape, const kw::Shape& steps, T* to) {
  kw::Shape lengths, strides, pitches;  // the last axis first; pitches: in `to`
  int64_t pitch = 1;
  for (int axis = shape.rank - 1; axis >= 0; --axis) {
    const int last = lengths.rank - 1;
    if (shape[axis] != 1 && last >= 0 && steps[axis] == lengths.dims[last] * strides.dims[last]) {
      lengths.dims[last] *= shape[axis];
    } else if (shape[axis] != 1) {
      lengths.push(shape[axis]);
      strides.push(steps[axis]);
      pitches.push(pitch);
    }
    pitch *= shape[axis];
  }
  int run = 0;  // the axis that follows in `from`
  while (run < lengths.rank && strides.dims[run] != 1) ++run;
  if constexpr (sizeof(T) <= 8) {
    bool in_twos = run == 0 && lengths.rank > 1 && lengths.dims[0] % 2 == 0;
    for (int axis = 1; axis < lengths.rank; ++axis) in_twos &= strides.dims[axis] % 2 == 0;
    if (in_twos && lengths.dims[0] * sizeof(T) <= 16) {
      kw::Shape twos, two_steps;
      for (int axis = lengths.rank - 1; axis >= 0; --axis) {
        twos.push(axis == 0 ? lengths.dims[0] / 2 : lengths.dims[axis]);
        two_steps.push(axis == 0 ? 1 : strides.dims[axis] / 2);
      }
      permute(node, reinterpret_cast<const Two<T>*>(from), twos, two_steps, reinterpret_cast<Two<T>*>(to));
      return;
    }
  }
  if (run == 0 || run == lengths.rank) {
    copy_in_runs(node, from, shape, steps, to);
    return;
  }
  // Matrices of the axis 0 and the run, one for each place on the other axes; threads share those, or rows of each.
  int64_t matrices = 1;
  for (int axis = 1; axis < lengths.rank; ++axis) matrices *= axis == run ? 1 : lengths.dims[axis];
  const int64_t rows = lengths.dims[0];
  const int threads = threads_for(node, matrices * rows * lengths.dims[run]);
  const auto turn = [&](int64_t matrix, int64_t first, int64_t last) {
    int64_t in = first * strides.dims[0], out = first;
    for (int axis = 1; axis < lengths.rank; ++axis) {
      if (axis == run) continue;
      in += matrix % lengths.dims[axis] * strides.dims[axis];
      out += matrix % lengths.dims[axis] * pitches.dims[axis];
      matrix /= lengths.dims[axis];
    }
    turn_matrix(from + in, last - first, lengths.dims[run], strides.dims[0], to + out, pitches.dims[run]);
  };
  if (matrices >= 2 * threads) {
    share_ranges(node, threads, matrices, 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
      for (int64_t i = begin; i < end; ++i) turn(i, 0, rows);
    });
    return;
  }
  for (int64_t i = 0; i < matrices; ++i) {
    share_ranges(node, threads, rows, 16, [&](int64_t begin, int64_t end, int) KW_IN_PLACE { turn(i, begin, end); });
  }
}

template <class T>
void Transpose(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  const kw::List<int64_t> perm = node.integers("perm");
  const kw::Shape strides = strides_of(x.shape());
  kw::Shape shape, steps;
  for (int i = 0; i < x.rank(); ++i) {
    const int axis = perm.empty() ? x.rank() - 1 - i : static_cast<int>(perm[i]);
    shape.push(x.shape(axis));
    steps.push(strides[axis]);
  }
  y.allocate(shape);
  if (y.count() > 0) permute(node, x.data(), shape, steps, y.data());
}

template <class T>
void DepthToSpace(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  const int64_t block = node.integer("blocksize");
  const int64_t channels = x.shape(1) / (block * block), height = x.shape(2), width = x.shape(3);
  y.allocate({x.shape(0), channels, height * block, width * block});
  if (y.count() == 0) return;
  const int64_t plane = height * width;
  const bool block_first = !node.is("mode", "CRD");
  const int64_t of_channel = block_first ? plane : block * block * plane;
  const int64_t of_block = block_first ? channels * plane : plane;
  permute(node, x.data(), {x.shape(0), channels, height, block, width, block},
          {x.shape(1) * plane, of_channel, width, block * of_block, 1, of_block}, y.data());
}

template <class T>
void SpaceToDepth(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  const int64_t block = node.integer("blocksize");
  const int64_t channels = x.shape(1), height = x.shape(2) / block, width = x.shape(3) / block;
  y.allocate({x.shape(0), channels * block * block, height, width});
  if (y.count() == 0) return;
  const int64_t line = x.shape(3), plane = x.shape(2) * line;
  if (node.is("mode", "CRD")) {
    permute(node, x.data(), {x.shape(0), channels, block, block, height, width},
            {channels * plane, plane, line, 1, block * line, block}, y.data());
  } else {
    permute(node, x.data(), {x.shape(0), block, block, channels, height, width},
            {channels * plane, line, 1, plane, block * line, block}, y.data());
  }
}
