#pragma once

#include "broadcast_pair.cuh"

// Mod: the remainder of a divided by b, with the sign of b, or with fmod that of a.
struct Mod_node {
  BroadcastPair pair;
  int64_t sign_of_a;
};

#ifdef __CUDACC__
template <class T>
__device__ T Mod(const Mod_node& of, int64_t i, const T* a, const T* b) {
  const T p = a[of.pair.a.at(i)], q = b[of.pair.b.at(i)];
  T rest;
  if constexpr (T(0.5) != T(0)) {
    rest = T(fmod(double(p), double(q)));
  } else if constexpr (T(-1) < T(0)) {
    rest = q == T(-1) ? T(0) : T(p % q);
  } else {
    return T(p % q);
  }
  const bool other_side = rest != T(0) && (rest < T(0)) != (q < T(0));
  return other_side && of.sign_of_a == 0 ? T(rest + q) : rest;
}
#else
inline Mod_node Mod_plan(const kw::Node& node, kw::Shape* y, const Given& a, const Given& b) {
  return {broadcast_pair(y, a, b), node.integer("fmod")};
}
#endif
