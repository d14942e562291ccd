#include "parts/given_integers.h"

// Reshape: the same elements in another shape; 0 copies a length, -1 takes what is left.
template <class T>
void Reshape(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> shape, kw::Tensor<T>& y) {
  kw::Shape to;
  int open = -1;
  for (int64_t length : given_integers(node, shape, "shape")) {
    if (length == 0 && node.integer("allowzero") == 0) length = x.shape(to.rank);
    if (length == -1) open = to.rank;
    to.push(length == -1 ? 1 : length);
  }
  if (open >= 0) to[open] = x.count() / to.count();
  y.allocate(to);
  std::copy(x.begin(), x.end(), y.data());
}
