#pragma once

#include <kernelwright.h>

#include "parts/log_softmax.h"
#include "parts/softmax_rows.h"

// LogSoftmax: the logarithm of the softmax along an axis.
template <class T>
void LogSoftmax(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  log_softmax(x, softmax_rows(node, x.shape()), y);
}
