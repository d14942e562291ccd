#include "parts/reduce.h"
#include "parts/wide.h"

// ReduceLogSumExp: the logarithm of the sum of the exponentials along the axes, the largest element taken out first.
template <class T>
void ReduceLogSumExp(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y) {
  using W = Wide<T>;
  struct Sum {
    W largest, sum;
  };
  const Reduction to = reduction_of(node, x.shape(), axes);
  y.allocate(to.result);
  Sum* sums = node.scratch<Sum>(y.count());
  std::fill_n(sums, y.count(), Sum{W(-INFINITY), W(0)});
  fold_along(x.data(), x.shape(), to.steps, sums, [](Sum sum, T value) {
    return Sum{std::max(sum.largest, W(value)), W(0)};
  });
  for (int64_t i = 0; i < y.count(); ++i) {
    if (std::isinf(sums[i].largest)) sums[i].largest = 0;
  }
  fold_along(x.data(), x.shape(), to.steps, sums, [](Sum sum, T value) {
    return Sum{sum.largest, sum.sum + std::exp(W(value) - sum.largest)};
  });
  for (int64_t i = 0; i < y.count(); ++i) y[i] = T(std::log(sums[i].sum) + sums[i].largest);
}
