#include "ops/matmul_shape.h"

#include "ops/bilinear.h"
#include "ops/elementwise.h"

namespace kw::ops {
namespace {

Shape batch_of(const Shape& shape) {
  return shape.rank() < 3 ? Shape{} : Shape(std::vector<std::int64_t>(shape.begin(), shape.end() - 2));
}

}  // namespace

void ProductShape::add(const double* a, const double* b, double* y) const {
  for (std::int64_t i = 0; i < m; ++i) add_scaled_rows(a + i * k, k, b, n, y + i * n, n);
}

void ProductShape::add(const std::int64_t* a, const std::int64_t* b, std::int64_t* y) const {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t l = 0; l < k; ++l) {
      for (std::int64_t j = 0; j < n; ++j) y[i * n + j] = plus(y[i * n + j], times(a[i * k + l], b[l * n + j]));
    }
  }
}

Result<MatMulShape> matmul_shape(const Shape& a, const Shape& b) {
  if (a.rank() == 0 || b.rank() == 0) return fail("a scalar has no matrix product");
  const std::int64_t a_inner = a[a.rank() - 1];
  const std::int64_t b_inner = b.rank() == 1 ? b[0] : b[b.rank() - 2];
  if (a_inner != b_inner) {
    return fail("{} times {}: the inner lengths {} and {} differ", a.text(), b.text(), a_inner, b_inner);
  }
  MatMulShape shape{
      .matrix = {.m = a.rank() == 1 ? 1 : a[a.rank() - 2], .k = a_inner, .n = b.rank() == 1 ? 1 : b[b.rank() - 1]},
      .a_batch = batch_of(a),
      .b_batch = batch_of(b)};
  KW_TRY(shape.batch, broadcast(shape.a_batch, shape.b_batch));
  shape.result = shape.batch;
  if (a.rank() > 1) shape.result.append(shape.matrix.m);
  if (b.rank() > 1) shape.result.append(shape.matrix.n);
  return shape;
}

std::pair<Shape, Shape> sample_matmul_shapes(Random& random) {
  const std::int64_t k = random.pick({1, 2, 5, 16, 33});
  Shape a = random.chance(0.5) ? sample_shape(random, 0, 2) : Shape{};
  Shape b = random.chance(0.5) ? sample_broadcast(random, a) : Shape{};
  const bool row = random.chance(0.15), column = random.chance(0.15);
  if (row) a = Shape{};
  if (column) b = Shape{};
  if (!row) a.append(random.integer(1, 9));
  a.append(k);
  b.append(k);
  if (!column) b.append(random.integer(1, 9));
  return {std::move(a), std::move(b)};
}

}  // namespace kw::ops
