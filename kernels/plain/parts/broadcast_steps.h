#pragma once

#include <kernelwright.h>

// How far apart in `from` are the elements that follow one another along each axis of `to`: 0 where it is repeated.
inline kw::Shape broadcast_steps(const kw::Shape& from, const kw::Shape& to) {
  kw::Shape steps = to;
  int64_t step = 1;
  for (int i = 1; i <= to.rank; ++i) {
    steps[-i] = i <= from.rank && from[-i] != 1 ? step : 0;
    if (i <= from.rank) step *= from[-i];
  }
  return steps;
}
