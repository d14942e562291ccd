#pragma once

#include <kernelwright.h>

// Shrink: x + bias below -lambd, x - bias above lambd, 0 between; of integers the fraction is cut off.
template <class T>
void Shrink(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  // A long double holds every 64-bit integer.
  using Real =
      std::conditional_t<std::is_integral_v<T>, long double, std::conditional_t<sizeof(T) == 8, double, float>>;
  const Real bias = Real(node.real("bias"));
  const Real lambd = Real(node.real("lambd"));
  y.allocate(x.shape());
  for (int64_t i = 0; i < x.count(); ++i) {
    const Real value = x[i];
    const Real shrunk = value < -lambd ? value + bias : value > lambd ? value - bias : Real(0);
    if constexpr (std::is_integral_v<T>) {
      y[i] = shrunk < 0 ? T(int64_t(shrunk)) : T(uint64_t(shrunk));  // wraps around
    } else {
      y[i] = T(shrunk);
    }
  }
}
