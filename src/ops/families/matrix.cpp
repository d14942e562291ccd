// Products of matrices.
#include <algorithm>
#include <cmath>

#include "ops/accuracy.h"
#include "ops/bilinear.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/matmul_shape.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

constexpr DTypes kProductTypes = kFloats | kWideIntegers;

// ---- MatMul

Status matmul(const Call& call, WideInputs in, std::span<WideTensor> out) {
  KW_TRY(const MatMulShape shape, matmul_shape(call.shape(0), call.shape(1)));
  const auto add = [&](const auto& a, const auto& b, auto& y) { shape.add(a, b, y); };
  WideTensor& y = out[0];
  if (!is_float(y.dtype)) {
    add(in[0]->integers, in[1]->integers, y.integers);
    for (std::int64_t& element : y.integers) element = wrap(element, y.dtype);
    return {};
  }
  const Bilinear products = bilinear(*in[0], *in[1], y.reals.size(), add, call.precision);
  y.reals = products.sum;
  y.add_slack();
  for (std::size_t i = 0; i < y.reals.size(); ++i) {
    y.slack[i] = product_sum_bound(shape.matrix.k, products.sum[i], products.squares[i], y.dtype) +
                 (products.carried.empty() ? 0 : products.carried[i]);
  }
  return {};
}

Sample sample_matmul(Random& random) {
  const DType type = sample_type(random, kProductTypes);
  auto [a, b] = sample_matmul_shapes(random);
  Sample sample;
  sample.input(type, std::move(a)).input(type, std::move(b));
  return sample;
}

Op matmul_op() {
  Op op;
  op.name = "MatMul";
  op.meaning = "the matrix product, over batches of matrices as numpy has it";
  op.since = 13;
  op.inputs = {{.name = "A", .types = kProductTypes}, {.name = "B", .types = kProductTypes}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(MatMulShape shape, matmul_shape(call.shape(0), call.shape(1)));
    return Types{{call.dtype(0), std::move(shape.result)}};
  };
  op.reference = matmul;
  op.flops = [](const Call& call) {
    const Shape& a = call.shape(0);
    return 2 * output_count(call) * static_cast<double>(a[a.rank() - 1]);
  };
  op.sample = sample_matmul;
  return op;
}

// ---- Gemm

WideTensor transposed(const WideTensor& x) {
  WideTensor result({x.dtype, {x.shape[1], x.shape[0]}});
  if (!x.exact()) result.add_slack();
  const auto rows = static_cast<std::size_t>(x.shape[0]);
  const auto columns = static_cast<std::size_t>(x.shape[1]);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t from = i * columns + j, to = j * rows + i;
      if (is_float(x.dtype)) {
        result.reals[to] = x.reals[from];
      } else {
        result.integers[to] = x.integers[from];
      }
      if (!x.exact()) result.slack[to] = x.slack[from];
    }
  }
  return result;
}

Result<ProductShape> gemm_shape(const Call& call) {
  const Shape& a = call.shape(0);
  const Shape& b = call.shape(1);
  if (a.rank() != 2 || b.rank() != 2) return fail("A {} and B {} must be matrices", a.text(), b.text());
  const bool trans_a = call.integer("transA") != 0, trans_b = call.integer("transB") != 0;
  const ProductShape shape{a[trans_a ? 1 : 0], a[trans_a ? 0 : 1], b[trans_b ? 0 : 1]};
  if (b[trans_b ? 1 : 0] != shape.k) {
    return fail("A {}{} times B {}{}: the inner lengths {} and {} differ", a.text(), trans_a ? " transposed" : "",
                b.text(), trans_b ? " transposed" : "", shape.k, b[trans_b ? 1 : 0]);
  }
  return shape;
}

// What alpha and beta are must be an integer where the elements are.
bool is_whole(double value) { return value == std::floor(value) && std::fabs(value) < 0x1p53; }

Result<Types> infer_gemm(const Call& call) {
  KW_TRY(const ProductShape shape, gemm_shape(call));
  const Shape result{shape.m, shape.n};
  if (call.has(2)) {
    const auto both = broadcast(call.shape(2), result);
    if (!both.ok() || *both != result) {
      return fail("C {} does not broadcast to the product {}", call.shape(2).text(), result.text());
    }
  }
  if (!is_float(call.dtype(0)) && !(is_whole(call.real("alpha")) && is_whole(call.real("beta")))) {
    return fail("alpha and beta must be whole numbers where the matrices are {}", name_of(call.dtype(0)));
  }
  return Types{{call.dtype(0), result}};
}

Status gemm(const Call& call, WideInputs in, std::span<WideTensor> out) {
  KW_TRY(const ProductShape shape, gemm_shape(call));
  const WideTensor a = call.integer("transA") != 0 ? transposed(*in[0]) : *in[0];
  const WideTensor b = call.integer("transB") != 0 ? transposed(*in[1]) : *in[1];
  const double alpha = call.real("alpha"), beta = call.real("beta");
  const auto add = [&](const auto& left, const auto& right, auto& sums) {
    shape.add(left.data(), right.data(), sums.data());
  };
  WideTensor& y = out[0];
  if (!is_float(y.dtype)) {
    add(a.integers, b.integers, y.integers);
    for (std::int64_t& element : y.integers) {
      element = wrap(times(element, static_cast<std::int64_t>(alpha)), y.dtype);
    }
    if (!call.has(2)) return {};
    BroadcastWalk(y.shape, {in[2]->shape}).each([&](std::size_t i, const std::size_t* at) {
      const std::int64_t added = times(in[2]->integers[at[0]], static_cast<std::int64_t>(beta));
      y.integers[i] = wrap(plus(y.integers[i], added), y.dtype);
    });
    return {};
  }
  const Bilinear products = bilinear(a, b, y.reals.size(), add, call.precision);
  std::vector<double> squares = products.squares;
  y.add_slack();
  for (std::size_t i = 0; i < y.reals.size(); ++i) {
    y.reals[i] = alpha * products.sum[i];
    squares[i] *= alpha * alpha;
    if (!products.carried.empty()) y.slack[i] = std::fabs(alpha) * products.carried[i];
  }
  if (call.has(2)) {
    BroadcastWalk(y.shape, {in[2]->shape}).each([&](std::size_t i, const std::size_t* at) {
      const double added = beta * in[2]->reals[at[0]];
      y.reals[i] += added;
      squares[i] += added * added;
      y.slack[i] += std::fabs(beta) * in[2]->slack_at(at[0]);
    });
  }
  // C is a term like the others: a sum may begin with it, and then every partial sum is rounded at its size. C and the
  // two scalings are three more roundings.
  for (std::size_t i = 0; i < y.reals.size(); ++i) {
    y.slack[i] += product_sum_bound(shape.k + 3, y.reals[i], squares[i], y.dtype);
  }
  return {};
}

Sample sample_gemm(Random& random) {
  Sample sample;
  const std::int64_t m = random.integer(1, 9), k = random.pick({1, 3, 16, 40}), n = random.integer(1, 17);
  const std::int64_t trans_a = random.integer(0, 1), trans_b = random.integer(0, 1);
  sample.input(DType::float32, trans_a ? Shape{k, m} : Shape{m, k});
  sample.input(DType::float32, trans_b ? Shape{n, k} : Shape{k, n});
  if (random.chance(0.7)) sample.input(DType::float32, sample_broadcast(random, Shape{m, n}));
  sample.attribute("transA", trans_a).attribute("transB", trans_b);
  if (random.chance(0.5)) sample.attribute("alpha", random.pick({0.25, -1.5, 2.0}));
  if (random.chance(0.5)) sample.attribute("beta", random.pick({0.0, 0.5, -3.0}));
  return sample;
}

Op gemm_op() {
  Op op;
  op.name = "Gemm";
  op.meaning = "alpha * A * B + beta * C, with A or B transposed on request and C broadcast";
  op.since = 13;
  op.attributes = {{.name = "alpha", .kind = AttributeKind::real, .fallback = 1.0},
                   {.name = "beta", .kind = AttributeKind::real, .fallback = 1.0},
                   {.name = "transA", .fallback = std::int64_t{0}},
                   {.name = "transB", .fallback = std::int64_t{0}}};
  op.inputs = {{.name = "A", .types = kProductTypes},
               {.name = "B", .types = kProductTypes},
               {.name = "C", .types = kProductTypes, .optional = true}};
  op.infer = infer_gemm;
  op.reference = gemm;
  op.flops = [](const Call& call) {
    const ProductShape shape = *gemm_shape(call);
    const double results = static_cast<double>(shape.m) * static_cast<double>(shape.n);
    const double scalings = (call.real("alpha") != 1) + (call.has(2) ? 1 + (call.real("beta") != 1) : 0);
    return results * (2 * static_cast<double>(shape.k) + scalings);
  };
  op.sample = sample_gemm;
  return op;
}

}  // namespace

std::vector<Op> matrix() { return {matmul_op(), gemm_op()}; }

}  // namespace kw::ops::families
