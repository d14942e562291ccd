#pragma once

#include "common.cuh"

// Two operands that broadcast.
struct BroadcastPair {
  Strided a, b;
};

#ifndef __CUDACC__
inline BroadcastPair broadcast_pair(kw::Shape* y, const Given& a, const Given& b) {
  *y = broadcast(a.shape, b.shape);
  return {broadcast_to(a.shape, *y), broadcast_to(b.shape, *y)};
}
#endif
