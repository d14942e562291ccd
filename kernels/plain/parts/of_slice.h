#pragma once

#include <kernelwright.h>

// Of a scale or zero point: the one for all, or that of a slice (a row, a column, a feature); 0 where it is left out.
template <class S>
S of_slice(kw::Tensor<const S> parameter, int64_t slice) {
  if (!parameter.given()) return S(0);
  return parameter[parameter.count() == 1 ? 0 : slice];
}
