// HardSigmoid: Activation, Unary, Trigonometry, Logic, Binary, Loss, Quantized, Tensor, Layout, Indexing, Others
#include <kernelwright.h>
#include <kw/vector.h>

KW_TUNE(UNROLL, 4, 1, 2, 4);  // vectors in flight

KW_KERNEL(call) {
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  const float alpha = static_cast<float>(call.real("alpha", 0.2)), beta = static_cast<float>(call.real("beta", 0.5));
  const auto gate = [=](simd::Floats v) {
    // NaN stays NaN: of two, min and max give the second where one of them is NaN.
    return simd::min(simd::splat(1.0f),
                     simd::max(simd::splat(0.0f), simd::fma(v, simd::splat(alpha), simd::splat(beta))));
  };
  constexpr int64_t kStep = simd::kLanes;
  int64_t i = 0;
  for (; i + UNROLL * kStep <= x.count(); i += UNROLL * kStep) {
    KW_UNROLL for (int u = 0; u < UNROLL; ++u) simd::store(&y[i + u * kStep], gate(simd::load(&x[i + u * kStep])));
  }
  for (; i < x.count(); i += kStep) {
    const int64_t left = x.count() - i;
    simd::store_some(y.data() + i, gate(simd::load_some(x.data() + i, left)), left);
  }
}
