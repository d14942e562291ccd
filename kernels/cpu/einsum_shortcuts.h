// Sums of products that are something simpler: a matrix product, products element by element, a transposed matrix, the
// sum of everything. What is none of these goes the plain way.
//
// serves: Einsum
// types: float32
// order: 10
#include "parts/product.h"
#include "parts/turn.h"
#include "../plain/Einsum.h"

// The letters of an equation without its blanks; false where it is too long or has "...".
inline bool letters_of(const char* equation, char (&letters)[16]) {
  int count = 0;
  for (; *equation != 0; ++equation) {
    if (*equation == ' ') continue;
    if (*equation == '.' || count == 15) return false;
    letters[count++] = *equation;
  }
  letters[count] = 0;
  return true;
}

// Whether the equation is like a pattern, whose letters each stand for one letter, different ones for different ones.
inline bool is_like(const char* equation, const char* pattern) {
  if (strlen(equation) != strlen(pattern)) return false;
  for (int i = 0; pattern[i] != 0; ++i) {
    const bool letter = pattern[i] >= 'a' && pattern[i] <= 'z';
    if (!letter && equation[i] != pattern[i]) return false;
    for (int j = 0; j < i; ++j) {
      if ((equation[i] == equation[j]) != (pattern[i] == pattern[j])) return false;
    }
  }
  return true;
}

inline bool same_shape(const kw::Shape& a, const kw::Shape& b) {
  for (int i = 0; i < a.rank && a.rank == b.rank; ++i) {
    if (a[i] != b[i]) return false;
  }
  return a.rank == b.rank;
}

inline float sum_of(const float* x, int64_t count) {
  simd::Floats sums[4] = {};
  int64_t i = 0;
  for (; i + 4 * simd::kLanes <= count; i += 4 * simd::kLanes) {
    KW_UNROLL for (int v = 0; v < 4; ++v) sums[v] += simd::load(x + i + v * simd::kLanes);
  }
  float sum = simd::sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < count; ++i) sum += x[i];
  return sum;
}

inline void Einsum(const kw::Node& node, const std::vector<kw::Tensor<const float>>& xs, kw::Tensor<float>& y) {
  char equation[16];
  if (letters_of(node.text("equation"), equation)) {
    const kw::Tensor<const float>&a = xs.front(), &b = xs.back();
    if (is_like(equation, "ij,jk->ik") && a.shape(1) == b.shape(0)) {
      const int64_t n = b.shape(1);
      y.allocate({a.shape(0), n});
      const product::Finish finish;
      return product::multiply(node, a.shape(0), a.shape(1), {a.data(), a.shape(1), 1}, b.data(), n, 1,
                               {y.data(), n, n, false, &finish});
    }
    if ((is_like(equation, "ij,ij->ij") || is_like(equation, "i,i->i") || is_like(equation, "ijk,ijk->ijk")) &&
        same_shape(a.shape(), b.shape())) {
      y.allocate(a.shape());
      for (int64_t i = 0; i < y.count(); ++i) y[i] = a[i] * b[i];
      return;
    }
    if (is_like(equation, "ij->ji")) {
      y.allocate({a.shape(1), a.shape(0)});
      return turn_matrix(a.data(), a.shape(0), a.shape(1), a.shape(1), y.data(), a.shape(0));
    }
    if (is_like(equation, "ij->") || is_like(equation, "i->") || is_like(equation, "ijk->")) {
      y.allocate({});
      y[0] = sum_of(a.data(), a.count());
      return;
    }
    if (is_like(equation, "ii->i") && a.shape(0) == a.shape(1)) {
      y.allocate({a.shape(0)});
      for (int64_t i = 0; i < y.count(); ++i) y[i] = a[i * (y.count() + 1)];
      return;
    }
  }
  ::Einsum(node, xs, y);
}
