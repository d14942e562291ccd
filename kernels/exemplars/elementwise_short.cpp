// Sqrt: Activation, Unary, Trigonometry, Logic, Binary, Loss, Quantized, Tensor, Layout, Indexing, Others
#include <kernelwright.h>
#include <kw/map.h>

KW_KERNEL(call) {
  auto y = call.output<float>(0);
  simd::map(call.input<float>(0), y, [](simd::Floats x) { return simd::sqrt(x); });
}
