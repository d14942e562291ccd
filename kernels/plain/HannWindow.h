#pragma once

#include <kernelwright.h>

#include "parts/cosine_window.h"

// HannWindow: a window that rises from 0 to 1 and falls again as a cosine does.
template <class I, class T>
void HannWindow(const kw::Node& node, kw::Tensor<const I> size, kw::Tensor<T>& y) {
  cosine_window(node, size, y, 0.5, -0.5, 0);
}
