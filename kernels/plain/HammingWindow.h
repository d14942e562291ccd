#pragma once

#include <kernelwright.h>

#include "parts/cosine_window.h"

// HammingWindow: a window like Hann's that stays above 0 at its ends.
template <class I, class T>
void HammingWindow(const kw::Node& node, kw::Tensor<const I> size, kw::Tensor<T>& y) {
  cosine_window(node, size, y, 25.0 / 46, -21.0 / 46, 0);
}
