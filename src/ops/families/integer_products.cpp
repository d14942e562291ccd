// Matrix products and convolutions of quantised numbers: sums of (a - zero point of a) * (b - zero point of b), exact
// in 32-bit integers, and the same brought back to eight bits by scales.
#include <algorithm>
#include <cmath>

#include "ops/bilinear.h"
#include "ops/convolution_shape.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/matmul_shape.h"
#include "ops/quantized.h"

namespace kw::ops::families {
namespace {

constexpr DTypes kBytes{DType::int8, DType::uint8};

// The inputs of the operators that bring their sums back to eight bits. Those that do not have a, b and zero points.
enum QuantizedInput : std::size_t { kA, kAScale, kAZero, kB, kBScale, kBZero, kYScale, kYZero, kBias };

// ---- Zero points and scales: one for a whole tensor, or one for each of its slices.

std::size_t slice_of(const WideTensor& parameter, std::size_t slice) { return parameter.count() == 1 ? 0 : slice; }

// The numbers that a quantised tensor stands for, in units of its scale; `slice(i)` is the slice of element i.
template <class Slice>
WideTensor centred(const WideTensor& x, const WideTensor* zeros, Slice&& slice) {
  WideTensor result(TensorType{DType::float64, x.shape});
  const bool exact = x.exact() && (!zeros || zeros->exact());
  if (!exact) result.add_slack();
  for (std::size_t i = 0; i < x.integers.size(); ++i) {
    const std::size_t s = zeros ? slice_of(*zeros, slice(i)) : 0;
    result.reals[i] = static_cast<double>(x.integers[i] - (zeros ? zeros->integers[s] : 0));
    if (!exact) result.slack[i] = x.slack_at(i) + (zeros ? zeros->slack_at(s) : 0);
  }
  return result;
}

struct ProductSum {
  std::int64_t value = 0;
  double slack = 0;
};

// The sum at an index as 32 bits hold it.
ProductSum sum_at(const Bilinear& products, std::size_t i, std::int64_t bias = 0) {
  return {wrap(static_cast<std::int64_t>(products.sum[i]) + bias, DType::int32),
          products.carried.empty() ? 0 : products.carried[i]};
}

// A scale as it enters a quotient.
struct Factor {
  double value = 1;
  double relative_slack = 0;

  Factor(const WideTensor& scales, std::size_t slice) {
    const std::size_t s = slice_of(scales, slice);
    value = scales.reals[s];
    relative_slack = scales.exact() ? 0 : scales.slack[s] / std::max(std::fabs(value) - scales.slack[s], 1e-300);
  }
};

// round(sum * a * b / y) + zero point, computed in the type of the scales.
Quantized requantized(ProductSum sum, Factor a, Factor b, Factor y, DType working, std::int64_t zero, DType dtype) {
  constexpr int kRoundings = 6;  // of the sum to a float, of products and quotients of scales, of the product with both
  const double multiplier = a.value * b.value / y.value;
  const double quotient = static_cast<double>(sum.value) * multiplier;
  const double relative = a.relative_slack + b.relative_slack + y.relative_slack;
  const bool shifts = is_power_of_two(a.value) && is_power_of_two(b.value) && is_power_of_two(y.value);
  const bool held = std::fabs(static_cast<double>(sum.value)) * unit_roundoff(working) < 1;
  const bool exact = shifts && held && sum.slack == 0 && relative == 0;
  const double error = exact ? 0
                             : quotient_error(quotient, zero, kRoundings, working) +
                                   sum.slack * std::fabs(multiplier) * (1 + relative) + std::fabs(quotient) * relative;
  return quantized(quotient, error, zero, 0, dtype);
}

Status check_scales(const Call& call, WideInputs in) {
  for (std::size_t input : {kAScale, kBScale, kYScale}) {
    for (double scale : in[input]->reals) {
      if (!(scale > 0)) return fail("{} holds {}: not positive", call.op->inputs[input].name, scale);
    }
  }
  return {};
}

Status check_same_shape(const Call& call, std::size_t scale, std::size_t zero) {
  if (call.shape(scale) == call.shape(zero)) return {};
  return fail("{} {} and {} {} must have one shape", call.op->inputs[scale].name, call.shape(scale).text(),
              call.op->inputs[zero].name, call.shape(zero).text());
}

// ---- Matrix products

// Slices are rows on the left and columns on the right: [length] beside a plain matrix, else the matrices' shape with
// `summed`, the axis that is summed over, of length 1.
Status check_slices(const Call& call, std::size_t input, const Shape& matrix, int summed) {
  if (!call.has(input) || call.shape(input).count() == 1) return {};
  const std::string& name = call.op->inputs[input].name;
  const Shape& given = call.shape(input);
  if (matrix.rank() < 2) return fail("{} of a vector must be one number, not {}", name, given.text());
  Shape sliced = matrix;
  sliced[summed] = 1;
  if (given == sliced || (matrix.rank() == 2 && given == Shape{sliced.count()})) return {};
  return fail("{} must be one number, or {}, not {}", name, sliced.text(), given.text());
}

Status check_row_slices(const Call& call, std::size_t input, const Shape& a) {
  return check_slices(call, input, a, a.rank() - 1);
}
Status check_column_slices(const Call& call, std::size_t input, const Shape& b) {
  return check_slices(call, input, b, b.rank() - 2);
}

Bilinear matrix_products(const MatMulShape& shape, const WideTensor& a, const WideTensor* a_zeros, const WideTensor& b,
                         const WideTensor* b_zeros) {
  const auto k = static_cast<std::size_t>(shape.matrix.k), n = static_cast<std::size_t>(shape.matrix.n);
  const WideTensor left = centred(a, a_zeros, [&](std::size_t i) { return i / k; });
  const WideTensor right = centred(b, b_zeros, [&](std::size_t i) { return i / (k * n) * n + i % n; });
  return bilinear(left, right, static_cast<std::size_t>(shape.result.count()),
                  [&](const auto& as, const auto& bs, auto& ys) { shape.add(as, bs, ys); });
}

void put_sums(const Bilinear& products, WideTensor& y) {
  for (std::size_t i = 0; i < y.integers.size(); ++i) {
    const ProductSum sum = sum_at(products, i);
    put({sum.value, sum.slack}, y, i);
  }
}

double matmul_flops(const Call& call) {
  const Shape& a = call.shape(0);
  return 2 * output_count(call) * static_cast<double>(a[a.rank() - 1]);
}

// Types that multiply; runtimes have no signed by unsigned.
std::pair<DType, DType> sample_bytes(Random& random) {
  const DType b = random.pick({DType::int8, DType::uint8});
  return {b == DType::int8 && random.chance(0.3) ? DType::int8 : DType::uint8, b};
}

// The shape of the right matrix's parameters.
Shape sample_columns(Random& random, const Shape& b) {
  if (b.rank() < 2 || random.chance(0.5)) return {};
  if (b.rank() == 2) return {b[1]};
  Shape columns = b;
  columns[b.rank() - 2] = 1;
  return columns;
}

Op matmul_integer_op() {
  Op op;
  op.name = "MatMulInteger";
  op.meaning = "the matrix product of quantised numbers, their zero points taken off, in 32-bit integers";
  op.since = 10;
  op.inputs = {{.name = "A", .types = kBytes, .group = "T1"},
               {.name = "B", .types = kBytes, .group = "T2"},
               {.name = "a_zero_point", .types = kBytes, .group = "T1", .optional = true},
               {.name = "b_zero_point", .types = kBytes, .group = "T2", .optional = true}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(MatMulShape shape, matmul_shape(call.shape(0), call.shape(1)));
    KW_CHECK(check_row_slices(call, 2, call.shape(0)));
    KW_CHECK(check_column_slices(call, 3, call.shape(1)));
    return Types{{DType::int32, std::move(shape.result)}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    KW_TRY(const MatMulShape shape, matmul_shape(call.shape(0), call.shape(1)));
    put_sums(matrix_products(shape, *in[0], call.has(2) ? in[2] : nullptr, *in[1], call.has(3) ? in[3] : nullptr),
             out[0]);
    return {};
  };
  op.flops = matmul_flops;
  op.sample = [](Random& random) {
    Sample sample;
    const auto [a, b] = sample_matmul_shapes(random);
    const auto [a_type, b_type] = sample_bytes(random);
    sample.input(a_type, a).input(b_type, b);
    if (random.chance(0.2)) return sample;
    if (a.rank() == 2 && random.chance(0.2)) {
      sample.input(a_type, {a[0]});
    } else {
      sample.input(a_type, {});
    }
    if (random.chance(0.7)) sample.input(b_type, sample_columns(random, b));
    return sample;
  };
  return op;
}

Status multiply_quantized(const Call& call, WideInputs in, std::span<WideTensor> out) {
  KW_CHECK(check_scales(call, in));
  KW_TRY(const MatMulShape shape, matmul_shape(call.shape(kA), call.shape(kB)));
  const Bilinear products = matrix_products(shape, *in[kA], in[kAZero], *in[kB], in[kBZero]);
  const auto m = static_cast<std::size_t>(shape.matrix.m), n = static_cast<std::size_t>(shape.matrix.n);
  const Factor y(*in[kYScale], 0);
  shape.each_product([&](std::size_t to, std::size_t left, std::size_t right) {
    for (std::size_t row = 0; row < m; ++row) {
      const Factor a(*in[kAScale], left * m + row);
      for (std::size_t column = 0; column < n; ++column) {
        const std::size_t i = (to * m + row) * n + column;
        const Factor b(*in[kBScale], right * n + column);
        put(requantized(sum_at(products, i), a, b, y, in[kYScale]->dtype, in[kYZero]->integers[0], out[0].dtype),
            out[0], i);
      }
    }
  });
  return {};
}

// ---- Drawing

struct ProductMoments {
  double mean = 0;
  double root = 0;  // of the mean of the squares
};

// Of a tensor's numbers with its first zero point taken off.
ProductMoments moments_of(const Tensor& x, const Tensor* zeros) {
  ProductMoments moments;
  const double zero = zeros && zeros->count() > 0 ? zeros->real(0) : 0;
  const auto count = static_cast<double>(std::max<std::int64_t>(x.count(), 1));
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const double value = x.real(i) - zero;
    moments.mean += value / count;
    moments.root += value * value / count;
  }
  moments.root = std::sqrt(moments.root);
  return moments;
}

// Results that all saturate, or are all zero, prove nothing: where the drawn scale of the result does not suit sums of
// `terms` products, it is replaced. Among ties all scales are powers of two, so that halves are halves.
void draw_fitting_scale(const Call& call, std::int64_t terms, InputClass input_class, Random& random,
                        std::span<Tensor* const> inputs) {
  const auto known = [&](std::size_t input) -> const Tensor* {
    return inputs[input] ? inputs[input] : call.constants[input];
  };
  if (input_class == InputClass::ties) {
    for (std::size_t input : {kAScale, kBScale}) {
      for (std::int64_t s = 0; inputs[input] && s < inputs[input]->count(); ++s) {
        inputs[input]->set_real(s, std::exp2(static_cast<double>(random.integer(-7, -4))));
      }
    }
  }
  if (!inputs[kYScale] || !known(kA) || !known(kB) || !known(kAScale) || !known(kBScale)) return;
  if (known(kAScale)->count() == 0 || known(kBScale)->count() == 0) return;
  const ProductMoments a = moments_of(*known(kA), known(kAZero));
  const ProductMoments b = moments_of(*known(kB), known(kBZero));
  const auto n = static_cast<double>(terms);
  const double sums = std::max(std::sqrt(n) * a.root * b.root, n * std::fabs(a.mean * b.mean));
  const double real = std::max(sums, 1.0) * known(kAScale)->real(0) * known(kBScale)->real(0);
  const double units = real / inputs[kYScale]->real(0);
  if (input_class != InputClass::ties && units >= 10 && units <= 100) return;
  const double fitting = real / random.uniform(30, 60);
  inputs[kYScale]->set_real(0, input_class == InputClass::ties ? std::exp2(std::round(std::log2(fitting))) : fitting);
}

Op requantizing_op(std::string name, std::string meaning, DTypes scales) {
  Op op;
  op.name = std::move(name);
  op.meaning = std::move(meaning);
  op.since = 10;
  const Domain scale = scale_domain();
  op.inputs = {{.name = "a", .types = kBytes, .group = "T1"},
               {.name = "a_scale", .types = scales, .group = "TS", .domain = scale},
               {.name = "a_zero_point", .types = kBytes, .group = "T1"},
               {.name = "b", .types = kBytes, .group = "T2"},
               {.name = "b_scale", .types = scales, .group = "TS", .domain = scale},
               {.name = "b_zero_point", .types = kBytes, .group = "T2"},
               {.name = "y_scale", .types = scales, .group = "TS", .domain = scale},
               {.name = "y_zero_point", .types = kBytes, .group = "T3"}};
  op.outputs = {{"y"}};
  return op;
}

Op qlinear_matmul_op() {
  Op op = requantizing_op("QLinearMatMul",
                          "the matrix product of quantised numbers, rounded to the scale and zero point of the result",
                          {DType::float32, DType::float16, DType::bfloat16});
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(MatMulShape shape, matmul_shape(call.shape(kA), call.shape(kB)));
    for (std::size_t input : {kAScale, kAZero}) KW_CHECK(check_row_slices(call, input, call.shape(kA)));
    for (std::size_t input : {kBScale, kBZero}) KW_CHECK(check_column_slices(call, input, call.shape(kB)));
    KW_CHECK(check_same_shape(call, kAScale, kAZero));
    KW_CHECK(check_same_shape(call, kBScale, kBZero));
    KW_CHECK(call.check_one_number({kYScale, kYZero}));
    return Types{{call.dtype(kYZero), std::move(shape.result)}};
  };
  op.reference = multiply_quantized;
  op.flops = matmul_flops;
  op.draw = [](const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
    const Shape& a = call.shape(kA);
    draw_fitting_scale(call, a[a.rank() - 1], input_class, random, inputs);
  };
  op.sample = [](Random& random) {
    Sample sample;
    const auto [a, b] = sample_matmul_shapes(random);
    const auto [a_type, b_type] = sample_bytes(random);
    const Shape rows = a.rank() == 2 && random.chance(0.1) ? Shape{a[0]} : Shape{};
    const Shape columns = sample_columns(random, b);
    sample.input(a_type, a).input(DType::float32, rows).input(a_type, rows);
    sample.input(b_type, b).input(DType::float32, columns).input(b_type, columns);
    sample.input(DType::float32, {}).input(a_type, {});
    return sample;
  };
  return op;
}

// ---- Convolutions

// Slices of the kernels are the features. Padding is a real zero: it adds nothing.
Bilinear convolution_products(const ConvolutionShape& shape, const WideTensor& x, const WideTensor* x_zero,
                              const WideTensor& w, const WideTensor* w_zeros) {
  const auto kernel = static_cast<std::size_t>(shape.terms());
  const WideTensor left = centred(x, x_zero, [](std::size_t) { return std::size_t{0}; });
  const WideTensor right = centred(w, w_zeros, [&](std::size_t i) { return i / kernel; });
  return bilinear(left, right, static_cast<std::size_t>(shape.result.count()),
                  [&](const auto& xs, const auto& ws, auto& ys) { shape.add(xs, ws, ys); });
}

Status check_features(const Call& call, std::size_t input, const ConvolutionShape& shape) {
  if (!call.has(input) || call.shape(input).count() == 1 || call.shape(input) == Shape{shape.result[1]}) return {};
  return fail("{} must be one number, or one for each of the {} features, not {}", call.op->inputs[input].name,
              shape.result[1], call.shape(input).text());
}

double convolution_flops(const Call& call, const Shape& w) {
  return 2 * output_count(call) * static_cast<double>(w.count(1, w.rank()));
}

std::vector<AttributeSpec> convolution_attributes() {
  std::vector<AttributeSpec> attributes = window_attributes();
  attributes.push_back({.name = "group", .fallback = std::int64_t{1}});
  return attributes;
}

Op conv_integer_op() {
  Op op;
  op.name = "ConvInteger";
  op.meaning = "the convolution of quantised numbers, their zero points taken off, in 32-bit integers";
  op.since = 10;
  op.attributes = convolution_attributes();
  op.inputs = {{.name = "x", .types = kBytes, .group = "T1"},
               {.name = "w", .types = kBytes, .group = "T2"},
               {.name = "x_zero_point", .types = kBytes, .group = "T1", .optional = true},
               {.name = "w_zero_point", .types = kBytes, .group = "T2", .optional = true}};
  op.outputs = {{"y"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(ConvolutionShape shape, convolution_shape(call, call.shape(0), call.shape(1), nullptr, false));
    KW_CHECK(call.check_one_number({2}));
    KW_CHECK(check_features(call, 3, shape));
    return Types{{DType::int32, std::move(shape.result)}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    KW_TRY(const ConvolutionShape shape, convolution_shape(call, call.shape(0), call.shape(1), nullptr, false));
    put_sums(convolution_products(shape, *in[0], call.has(2) ? in[2] : nullptr, *in[1], call.has(3) ? in[3] : nullptr),
             out[0]);
    return {};
  };
  op.flops = [](const Call& call) { return convolution_flops(call, call.shape(1)); };
  op.sample = [](Random& random) {
    Sample sample;
    const SampledConvolution shapes = sample_convolution(random, false, sample);
    const auto [x_type, w_type] = sample_bytes(random);
    sample.input(x_type, shapes.x).input(w_type, shapes.w);
    if (random.chance(0.2)) return sample;
    sample.input(x_type, {});
    if (random.chance(0.5)) sample.input(w_type, random.chance(0.3) ? Shape{shapes.features} : Shape{});
    return sample;
  };
  return op;
}

Result<ConvolutionShape> quantized_shape(const Call& call) {
  return convolution_shape(call, call.shape(kA), call.shape(kB), call.has(kBias) ? &call.shape(kBias) : nullptr, false);
}

Status convolve_quantized(const Call& call, WideInputs in, std::span<WideTensor> out) {
  KW_CHECK(check_scales(call, in));
  KW_TRY(const ConvolutionShape shape, quantized_shape(call));
  const Bilinear products = convolution_products(shape, *in[kA], in[kAZero], *in[kB], in[kBZero]);
  const Factor x(*in[kAScale], 0), y(*in[kYScale], 0);
  for (std::size_t i = 0; i < out[0].integers.size(); ++i) {
    const std::size_t feature = i / static_cast<std::size_t>(shape.y_size) % static_cast<std::size_t>(shape.result[1]);
    const ProductSum sum = sum_at(products, i, call.has(kBias) ? in[kBias]->integers[feature] : 0);
    const Factor w(*in[kBScale], feature);
    put(requantized(sum, x, w, y, DType::float32, in[kYZero]->integers[0], out[0].dtype), out[0], i);
  }
  return {};
}

Op qlinear_conv_op() {
  Op op = requantizing_op("QLinearConv",
                          "the convolution of quantised numbers, rounded to the scale and zero point of the result",
                          {DType::float32});
  const char* const names[] = {"x", "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point"};
  for (std::size_t i = 0; i < std::size(names); ++i) op.inputs[i].name = names[i];
  // Biases of about the size of the sums that they go into.
  op.inputs.push_back(
      {.name = "B", .types = {DType::int32}, .group = "", .domain = {.low = -20000, .high = 20000}, .optional = true});
  op.attributes = convolution_attributes();
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(ConvolutionShape shape, quantized_shape(call));
    KW_CHECK(call.check_one_number({kAScale, kAZero, kYScale, kYZero}));
    for (std::size_t input : {kBScale, kBZero}) KW_CHECK(check_features(call, input, shape));
    KW_CHECK(check_same_shape(call, kBScale, kBZero));
    return Types{{call.dtype(kYZero), std::move(shape.result)}};
  };
  op.reference = convolve_quantized;
  op.flops = [](const Call& call) { return convolution_flops(call, call.shape(kB)); };
  op.draw = [](const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
    draw_fitting_scale(call, call.shape(kB).count(1, call.shape(kB).rank()), input_class, random, inputs);
  };
  op.sample = [](Random& random) {
    Sample sample;
    const SampledConvolution shapes = sample_convolution(random, false, sample);
    const auto [x_type, w_type] = sample_bytes(random);
    const Shape features = random.chance(0.5) ? Shape{shapes.features} : Shape{};
    sample.input(x_type, shapes.x).input(DType::float32, {}).input(x_type, {});
    sample.input(w_type, shapes.w).input(DType::float32, features).input(w_type, features);
    sample.input(DType::float32, {}).input(x_type, {});
    if (random.chance(0.5)) sample.input(DType::int32, {shapes.features});
    return sample;
  };
  return op;
}

}  // namespace

std::vector<Op> integer_products() {
  return {matmul_integer_op(), qlinear_matmul_op(), conv_integer_op(), qlinear_conv_op()};
}

}  // namespace kw::ops::families
