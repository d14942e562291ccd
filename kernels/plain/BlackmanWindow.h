#pragma once

#include <kernelwright.h>

#include "parts/cosine_window.h"

// BlackmanWindow: a window of two cosines, flatter at its ends than Hann's.
template <class I, class T>
void BlackmanWindow(const kw::Node& node, kw::Tensor<const I> size, kw::Tensor<T>& y) {
  cosine_window(node, size, y, 0.42, -0.5, 0.08);
}
