#include "parts/broadcast.h"
#include "parts/wide.h"

// PRelu: x where it is not negative, slope * x elsewhere; the slope broadcasts to x.
template <class T>
void PRelu(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<const T> slope, kw::Tensor<T>& y) {
  broadcast_binary(x, slope, y,
                   [](T value, T factor) { return value < 0 ? T(Wide<T>(factor) * Wide<T>(value)) : value; });
}
