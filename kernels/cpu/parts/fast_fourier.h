#pragma once

#include <kernelwright.h>

#include "vector.h"

// Fourier transforms of any length, of as many signals at a time as a vector has lanes: the length is split into its
// factors, fours first, and each is a pass over all elements (Stockham's, which leaves them in order). A prime factor p
// costs p products for each element.

namespace fourier {

using simd::Floats;
using simd::kLanes;

// exp(-2 pi i k / count) of all k.
struct Roots {
  int64_t count;
  float *cosine, *sine;

  Roots(const kw::Node& node, int64_t count_)
      : count(count_), cosine(node.scratch<float>(2 * count)), sine(cosine + count) {
    const auto exact = [&](int64_t k) { return float(std::cos(2 * M_PI * double(k) / double(count))); };
    if (count % 4 != 0) {
      for (int64_t k = 0; k < count; ++k)
        cosine[k] = exact(k), sine[k] = float(-std::sin(2 * M_PI * double(k) / double(count)));
      return;
    }
    const int64_t quarter = count / 4;
    for (int64_t k = 0; k <= quarter; ++k) {
      const float here = k == quarter ? 0 : exact(k);
      cosine[k] = cosine[(count - k) % count] = here;
      cosine[2 * quarter - k] = cosine[2 * quarter + k] = -here;
    }
    for (int64_t k = 0; k < count; ++k) sine[k] = cosine[(k + quarter) % count];
  }
};

// One element of kLanes signals.
struct Complex {
  Floats real, imaginary;

  friend Complex operator+(Complex a, Complex b) { return {a.real + b.real, a.imaginary + b.imaginary}; }
  friend Complex operator-(Complex a, Complex b) { return {a.real - b.real, a.imaginary - b.imaginary}; }
  Complex times(float cosine, float sine) const {
    const Floats c = simd::splat(cosine), s = simd::splat(sine);
    return {simd::fma(real, c, -(imaginary * s)), simd::fma(real, s, imaginary * c)};
  }
};
inline Complex load(const float* from, int64_t i) {
  from += i * 2 * kLanes;
  return {simd::load(from), simd::load(from + kLanes)};
}
inline void store(float* to, int64_t i, Complex value) {
  to += i * 2 * kLanes;
  simd::store(to, value.real);
  simd::store(to + kLanes, value.imaginary);
}

// The pass that splits transforms of `length` elements, `stride` of them side by side, into `radix` times as many.
inline void pass(const Roots& roots, int64_t radix, int64_t length, int64_t stride, const float* x, float* y) {
  const int64_t part = length / radix, turn = roots.count / length;
  for (int64_t p = 0; p < part; ++p) {
    if (radix == 4) {
      const int64_t one = p * turn, two = 2 * one, three = 3 * one;
      const float c1 = roots.cosine[one], c2 = roots.cosine[two], c3 = roots.cosine[three];
      const float s1 = roots.sine[one], s2 = roots.sine[two], s3 = roots.sine[three];
      for (int64_t q = 0; q < stride; ++q) {
        const int64_t from = q + stride * p, to = q + stride * 4 * p;
        const Complex a = load(x, from), b = load(x, from + stride * part), c = load(x, from + stride * 2 * part),
                      d = load(x, from + stride * 3 * part);
        const Complex even = a + c, odd = a - c, sum = b + d, difference = b - d;
        const Complex turned{difference.imaginary, -difference.real};  // by a quarter
        store(y, to, even + sum);
        store(y, to + stride, (odd + turned).times(c1, s1));
        store(y, to + 2 * stride, (even - sum).times(c2, s2));
        store(y, to + 3 * stride, (odd - turned).times(c3, s3));
      }
    } else if (radix == 2) {
      for (int64_t q = 0; q < stride; ++q) {
        const Complex a = load(x, q + stride * p), b = load(x, q + stride * (p + part));
        store(y, q + stride * 2 * p, a + b);
        store(y, q + stride * (2 * p + 1), (a - b).times(roots.cosine[p * turn], roots.sine[p * turn]));
      }
    } else {
      for (int64_t j = 0; j < radix; ++j) {
        const float cosine = roots.cosine[p * j * turn], sine = roots.sine[p * j * turn];
        for (int64_t q = 0; q < stride; ++q) {
          Complex sum = load(x, q + stride * p);
          int64_t angle = 0;  // j * k, in whole turns less
          for (int64_t k = 1; k < radix; ++k) {
            angle += angle + j < radix ? j : j - radix;
            const int64_t root = angle * (roots.count / radix);
            sum = sum + load(x, q + stride * (p + k * part)).times(roots.cosine[root], roots.sine[root]);
          }
          store(y, q + stride * (radix * p + j), sum.times(cosine, sine));
        }
      }
    }
  }
}

// Transforms `length` elements, which divides the number of roots. They are in x; the result is where it says, in x or
// in y.
inline float* transform(const Roots& roots, int64_t length, float* x, float* y) {
  int64_t stride = 1, radix = 4;
  for (int64_t left = length; left > 1; left /= radix, stride *= radix) {
    while (left % radix != 0) radix = radix == 4 ? 2 : radix == 2 ? 3 : radix * radix > left ? left : radix + 2;
    pass(roots, radix, left, stride, x, y);
    std::swap(x, y);
  }
  return x;
}

}  // namespace fourier
