// How two tensors multiply as (batches of) matrices, for products of reals, of integers and of quantised numbers.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/shape.h"
#include "ops/walk.h"
#include "ops/wide_tensor.h"

namespace kw::ops {

// y [m, n] += a [m, k] * b [k, n], row-major.
struct ProductShape {
  std::int64_t m, k, n;

  void add(const double* a, const double* b, double* y) const;
  void add(const std::int64_t* a, const std::int64_t* b, std::int64_t* y) const;
};

// numpy's rule: a vector on the left is a row, on the right a column, and that axis is dropped from the result; axes
// before the last two are batches and broadcast.
struct MatMulShape {
  ProductShape matrix;
  Shape a_batch, b_batch, batch;
  Shape result;

  // f(matrix of the result, matrix of a, matrix of b), counted over the batches
  template <class F>
  void each_product(F&& f) const {
    BroadcastWalk(batch, {a_batch, b_batch}).each([&](std::size_t y, const std::size_t* at) { f(y, at[0], at[1]); });
  }

  template <class T>
  void add(const std::vector<T>& a, const std::vector<T>& b, std::vector<T>& y) const {
    each_product([&](std::size_t to, std::size_t left, std::size_t right) {
      matrix.add(a.data() + left * static_cast<std::size_t>(matrix.m * matrix.k),
                 b.data() + right * static_cast<std::size_t>(matrix.k * matrix.n),
                 y.data() + to * static_cast<std::size_t>(matrix.m * matrix.n));
    });
  }
};

Result<MatMulShape> matmul_shape(const Shape& a, const Shape& b);

// Two shapes that multiply, for random cases.
std::pair<Shape, Shape> sample_matmul_shapes(Random& random);

}  // namespace kw::ops
