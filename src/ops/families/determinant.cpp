// Determinants, by elimination.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "ops/accuracy.h"
#include "ops/bilinear.h"
#include "ops/elementwise.h"
#include "ops/families.h"

namespace kw::ops::families {
namespace {

// A matrix factored in place as P A = L U with partial pivoting: U in the upper triangle, L (ones on its diagonal)
// below.
class Factored {
 public:
  Factored(const double* matrix, std::int64_t n) : n_(n), lu_(matrix, matrix + n * n) {
    for (std::int64_t begin = 0; begin < n; begin += kPanel) {
      const std::int64_t end = std::min(begin + kPanel, n);
      factor_panel(begin, end);
      update_right_of(begin, end);
    }
  }

  double pivot(std::int64_t k) const { return row(k)[k]; }
  bool odd_swaps() const { return odd_swaps_; }
  double largest() const {
    return std::accumulate(lu_.begin(), lu_.end(), 0.0, [](double a, double b) { return std::max(a, std::fabs(b)); });
  }

  // Replaces v by the solution of L U x = v, with pivots taken no smaller than `least`.
  void solve(std::vector<double>& v, double least) const {
    for (std::int64_t i = 0; i < n_; ++i) v[index(i)] -= dot(row(i), v, 0, i);
    for (std::int64_t i = n_ - 1; i >= 0; --i) {
      v[index(i)] = (v[index(i)] - dot(row(i), v, i + 1, n_)) / away_from_zero(pivot(i), least);
    }
  }

  static double away_from_zero(double pivot, double least) {
    return std::fabs(pivot) < least ? std::copysign(least, pivot) : pivot;
  }

 private:
  // Columns that are factored before the rest of the matrix hears of it: the rest is then passed over n / kPanel times.
  static constexpr std::int64_t kPanel = 32;

  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  double* row(std::int64_t i) { return lu_.data() + i * n_; }
  const double* row(std::int64_t i) const { return lu_.data() + i * n_; }
  static double dot(const double* a, const std::vector<double>& b, std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t i = begin; i < end; ++i) sum += a[i] * b[index(i)];
    return sum;
  }

  void factor_panel(std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      std::int64_t best = k;
      for (std::int64_t i = k + 1; i < n_; ++i) {
        if (std::fabs(row(i)[k]) > std::fabs(row(best)[k])) best = i;
      }
      if (best != k) {
        std::swap_ranges(row(k), row(k) + n_, row(best));
        odd_swaps_ = !odd_swaps_;
      }
      if (pivot(k) == 0) continue;  // the column below is zero too
      for (std::int64_t i = k + 1; i < n_; ++i) {
        const double factor = -(row(i)[k] /= pivot(k));
        add_scaled_rows(&factor, 1, row(k) + k + 1, 0, row(i) + k + 1, end - k - 1);
      }
    }
  }

  // Brings the columns right of a panel up to date: its own rows one after another, then all below at once.
  void update_right_of(std::int64_t begin, std::int64_t end) {
    std::array<double, kPanel> factors;
    for (std::int64_t i = begin + 1; i < n_; ++i) {
      const std::int64_t depth = std::min(i, end) - begin;
      for (std::int64_t k = 0; k < depth; ++k) factors[index(k)] = -row(i)[begin + k];
      add_scaled_rows(factors.data(), depth, row(begin) + end, n_, row(i) + end, n_ - end);
    }
  }

  std::int64_t n_;
  std::vector<double> lu_;
  bool odd_swaps_ = false;
};

// A product that neither overflows nor vanishes on its way.
class LongProduct {
 public:
  void multiply(double factor) {
    int exponent = 0;
    mantissa_ = std::frexp(mantissa_ * factor, &exponent);
    exponent_ += exponent;
  }
  double value() const { return std::ldexp(mantissa_, exponent_); }

 private:
  double mantissa_ = 1;
  int exponent_ = 0;
};

// The root of the sum of the squares of the inverse's elements, from the factors. Unit vectors give its columns; for
// large matrices a few vectors of random signs v will do, as the mean of |inverse v|^2 is that sum.
double inverse_norm(const Factored& factors, std::int64_t n, double least_pivot) {
  constexpr std::int64_t kExactUpTo = 64, kProbes = 8;
  Random random(static_cast<std::uint64_t>(n));
  std::vector<double> v(static_cast<std::size_t>(n));
  const bool exactly = n <= kExactUpTo;
  const std::int64_t solutions = exactly ? n : kProbes;
  double sum = 0;
  for (std::int64_t k = 0; k < solutions; ++k) {
    for (std::int64_t i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = exactly ? (i == k) : random.sign();
    factors.solve(v, least_pivot);
    for (double x : v) sum += x * x;
  }
  return std::sqrt(exactly ? sum : sum / kProbes);
}

struct Determinant {
  double value;
  double slack;
};

// A right elimination in floating point is exact for a matrix A + E (backward stability), and to first order
// det(A + E) = det(A) (1 + trace(A^-1 E)). An element of E is the sum of up to n roundings of intermediate elements,
// none larger than g, the largest of A and U: about sqrt(n) u g, as good as random. So is then the trace, whose n^2
// terms add up like their root: sqrt(n) u g |A^-1|, with the Frobenius norm. Of four times
// that, plain float32 eliminations use up to a fifth. Multiplying the n pivots rounds n times more. `moved` is the norm
// of a change of A that its own slack allows.
//
// Where A is singular, A^-1 is not there but det(A) A^-1, the adjugate, is: pivots are taken no smaller than what
// rounding would leave of a zero.
Determinant determinant_of(const double* matrix, std::int64_t n, double moved, DType dtype) {
  const Factored factors(matrix, n);
  const double u = unit_roundoff(dtype);
  const double root = std::sqrt(static_cast<double>(n));
  const double largest = std::accumulate(matrix, matrix + n * n, factors.largest(),
                                         [](double a, double b) { return std::max(a, std::fabs(b)); });
  const double least_pivot = std::max(u * root * largest, smallest_normal(dtype));
  LongProduct value, away_from_zero;
  for (std::int64_t k = 0; k < n; ++k) {
    value.multiply(factors.pivot(k));
    away_from_zero.multiply(std::fabs(Factored::away_from_zero(factors.pivot(k), least_pivot)));
  }
  const double det = factors.odd_swaps() ? -value.value() : value.value();
  if (!std::isfinite(det)) return {det, 0};  // beyond even double's range: infinity is the one right answer
  const double change = (4 * root * u * largest + moved) * inverse_norm(factors, n, least_pivot);
  return {det, away_from_zero.value() * (change * (1 + change / 2) + 4 * root * u) + smallest_subnormal(dtype)};
}

Status det(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  const std::int64_t n = call.shape(0)[call.shape(0).rank() - 1];
  const auto size = static_cast<std::size_t>(n * n);
  out[0].add_slack();
  for (std::size_t i = 0; i < out[0].reals.size(); ++i) {
    double squares = 0;
    for (std::size_t k = i * size; k < (i + 1) * size; ++k) squares += x.slack_at(k) * x.slack_at(k);
    const Determinant result = determinant_of(x.reals.data() + i * size, n, std::sqrt(squares), x.dtype);
    out[0].reals[i] = result.value;
    out[0].slack[i] = result.slack;
  }
  return {};
}

// The determinant of a plain random matrix leaves float32's range at size 40. These matrices P (D + R) keep all partial
// products of their pivots near 1 and yet depend on every element: D is diagonal with magnitudes around 1, R small and
// dense, P a permutation of rows that only pivoting undoes. Ties: multiples of 1/64 (small integers where the matrix is
// small), now and then with two equal rows, so that the determinant is zero, or a permutation alone.
void draw_matrix(Tensor& tensor, std::int64_t first, std::int64_t n, InputClass input_class, Random& random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(std::span<std::int64_t>(order));
  const bool ties = input_class == InputClass::ties;
  if (ties && random.chance(0.15)) {
    for (std::int64_t i = 0; i < n * n; ++i) {
      tensor.set_real(first + i, order[static_cast<std::size_t>(i / n)] == i % n ? 1 : 0);
    }
    return;
  }
  if (ties && n > 1 && random.chance(0.25)) order[0] = order[1];
  const double width = 0.3 * std::sqrt(3 / static_cast<double>(n));
  const std::uint64_t seed = random.bits();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = order[static_cast<std::size_t>(i)];
    Random elements(seed + static_cast<std::uint64_t>(row));  // equal rows have equal elements
    for (std::int64_t j = 0; j < n; ++j) {
      double element = elements.uniform(-width, width);
      if (row == j) element += elements.sign() * std::exp2(elements.uniform(-0.32, 0.32));
      if (ties) element = n <= 8 ? std::round(4 * element) : std::round(64 * element) / 64;
      tensor.set_real(first + i * n + j, element);
    }
  }
}

Op det_op() {
  Op op;
  op.name = "Det";
  op.meaning = "the determinant of every matrix of a batch";
  op.since = 11;
  op.inputs = {{.name = "X"}};
  op.infer = [](const Call& call) -> Result<Types> {
    const Shape& x = call.shape(0);
    if (x.rank() < 2 || x[x.rank() - 1] != x[x.rank() - 2]) {
      return fail("X {} must hold square matrices in its last two axes", x.text());
    }
    return Types{{call.dtype(0), Shape(std::vector<std::int64_t>(x.begin(), x.end() - 2))}};
  };
  op.reference = det;
  op.flops = [](const Call& call) {
    const Shape& x = call.shape(0);
    return 2.0 / 3.0 * static_cast<double>(x.count()) * static_cast<double>(x[x.rank() - 1]);
  };
  op.draw = [](const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
    if (!inputs[0]) return;
    const std::int64_t n = call.shape(0)[call.shape(0).rank() - 1];
    for (std::int64_t i = 0; i < call.outputs[0].shape.count(); ++i) {
      draw_matrix(*inputs[0], i * n * n, n, input_class, random);
    }
  };
  op.sample = [](Random& random) {
    Shape shape = sample_shape(random, 0, 2);
    const std::int64_t n = random.pick({1, 2, 3, 4, 7, 8, 33});
    shape.append(n);
    shape.append(n);
    Sample sample;
    sample.input(DType::float32, std::move(shape));
    return sample;
  };
  return op;
}

}  // namespace

std::vector<Op> determinant() { return {det_op()}; }

}  // namespace kw::ops::families
