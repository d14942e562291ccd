#pragma once

#include <kernelwright.h>

// The mean of numbers and of their squared distances from it, in two passes: one pass would lose the variance where the
// mean is much larger than the deviation. Sums are kept in double: float drops the many small terms of a long sum, all
// to the same side.
template <class W>
struct Moments {
  W mean, variance;
};

template <class W, class T>
Moments<W> moments_of(const T* x, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += W(x[i]);
  const W mean = W(sum / double(count));
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) squares += (W(x[i]) - mean) * (W(x[i]) - mean);
  return {mean, W(squares / double(count))};
}
