#pragma once

#include "broadcast_pair.cuh"

// BitShift: the bits of a moved left or right by b. Zeros follow, or the signs of negative numbers that are moved right.
struct BitShift_node {
  BroadcastPair pair;
  int64_t left;
};

#ifdef __CUDACC__
template <class T>
__device__ T BitShift(const BitShift_node& of, int64_t i, const T* a, const T* b) {
  const T bits = a[of.pair.a.at(i)];
  const uint64_t by = uint64_t(b[of.pair.b.at(i)]);
  const bool all = by >= 8 * sizeof(T);
  if (of.left != 0) return all ? T(0) : T(uint64_t(bits) << by);
  return all ? T(bits < T(0) ? -1 : 0) : T(bits >> by);
}
#else
inline BitShift_node BitShift_plan(const kw::Node& node, kw::Shape* y, const Given& a, const Given& b) {
  return {broadcast_pair(y, a, b), node.is("direction", "LEFT") ? 1 : 0};
}
#endif
