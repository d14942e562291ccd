#pragma once

#include <kernelwright.h>

// The sums of signals of one length against the roots of unity, by definition: n^2 products for a signal of length n.
template <class W>
struct Fourier {
  int64_t length;
  W* cosine;  // the roots of unity; backward they turn the other way
  W* sine;
  W* real;  // the signal, to be filled in
  W* imaginary;

  Fourier(const kw::Node& node, int64_t length_, bool inverse)
      : length(length_),
        cosine(node.scratch<W>(length)),
        sine(node.scratch<W>(length)),
        real(node.scratch<W>(length)),
        imaginary(node.scratch<W>(length)) {
    for (int64_t i = 0; i < length; ++i) {
      const double angle = (inverse ? 2 : -2) * M_PI * double(i) / double(length);
      cosine[i] = W(std::cos(angle));
      sine[i] = W(std::sin(angle));
    }
  }

  struct Bin {
    W real, imaginary;
  };
  // Bin k; of a real signal the imaginary part is not read.
  Bin bin(int64_t k, bool is_real) const {
    Bin sum{0, 0};
    int64_t angle = 0;  // n * k, in whole turns less
    for (int64_t n = 0; n < length; ++n) {
      sum.real += real[n] * cosine[angle];
      sum.imaginary += real[n] * sine[angle];
      if (!is_real) {
        sum.real -= imaginary[n] * sine[angle];
        sum.imaginary += imaginary[n] * cosine[angle];
      }
      angle += k;
      if (angle >= length) angle -= length;
    }
    return sum;
  }
};
