#pragma once

#include "common.cuh"

#ifdef __CUDACC__
// An update joined with what is there: replaced, added, multiplied, or the larger or smaller of both.
template <class T>
__device__ T joined(int64_t how, T value, T update) {
  switch (how) {
    case 'a':
      return T(Wide<T>(value) + Wide<T>(update));
    case 'm':
      return T(Wide<T>(value) * Wide<T>(update));
    case 'x':
      return value < update ? update : value;
    case 'n':
      return update < value ? update : value;
    default:
      return update;
  }
}
#else
inline int64_t join_of(const kw::Node& node) {
  if (node.is("reduction", "add")) return 'a';
  if (node.is("reduction", "mul")) return 'm';
  if (node.is("reduction", "max")) return 'x';
  return node.is("reduction", "min") ? 'n' : 0;
}
#endif
