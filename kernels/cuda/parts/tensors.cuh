// What every technique for CUDA stands on: how it reads an operand and writes its result, whatever else is computed on
// the way there, and what its plan says of launches.
//
// A technique's function gets its first operand as a reader (x(i), x.pack<4>(i)) and its result as a writer (y(i, v)).
// Both may hold a chain of neighbours that work element by element: what comes before is computed where an element is
// read, what comes after where it is written.
#pragma once

#include "../plain/common.cuh"

#ifdef __CUDACC__
// Elements that are loaded and stored at once.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};

template <int N, class T>
__device__ inline bool can_pack(const T* from) {
  return reinterpret_cast<uint64_t>(from) % (sizeof(T) * N) == 0;
}
template <int N, class T>
__device__ inline Pack<T, N> pack_at(const T* from, int64_t i) {
  return *reinterpret_cast<const Pack<T, N>*>(from + i);
}

__device__ inline float* shared_floats() {
  extern __shared__ __align__(16) float kw_shared_memory[];
  return kw_shared_memory;
}

// A tensor as it is.
template <class T>
struct Read {
  const T* from;
  using Element = T;
  __device__ T operator()(int64_t i) const { return from[i]; }
  template <int N>
  __device__ Pack<T, N> pack(int64_t i) const {
    return pack_at<N>(from, i);
  }
  // Whether packs may be read at multiples of N.
  template <int N>
  __device__ bool packs() const {
    return can_pack<N>(from);
  }
};
// Four elements from a multiple of four on, in one load where they lie so. Which thread has which elements, and so the
// order of a sum, must not depend on addresses: those decide here alone.
template <class X>
__device__ inline Pack<typename X::Element, 4> four_at(const X& x, bool packs, int64_t i) {
  if (packs) return x.template pack<4>(i);
  Pack<typename X::Element, 4> four;
#pragma unroll
  for (int j = 0; j < 4; ++j) four.at[j] = x(i + j);
  return four;
}

template <class T>
struct Write {
  T* to;
  using Element = T;
  __device__ void operator()(int64_t i, T value) const { to[i] = value; }
  template <int N>
  __device__ void pack(int64_t i, const Pack<T, N>& values) const {
    *reinterpret_cast<Pack<T, N>*>(to + i) = values;
  }
  template <int N>
  __device__ bool packs() const {
    return can_pack<N>(to);
  }
};
// Four results from a multiple of four on, in one store where they lie so.
template <class Y, class T>
__device__ inline void put_four(const Y& y, bool packs, int64_t i, const Pack<T, 4>& four) {
  if (packs) return y.template pack<4>(i, four);
#pragma unroll
  for (int j = 0; j < 4; ++j) y(i + j, four.at[j]);
}
#else
// The launches of a node, in order; every one gets all arguments of the node.
struct Steps {
  struct Step {
    int kernel;  // which of the technique's
    kw::Dim3 grid;
    int64_t shared;  // bytes
  };
  Step list[4];
  int count = 0;
  int64_t room = 0;  // bytes of scratch memory that all of them see
  const char* cannot = nullptr;

  void add(int kernel, kw::Dim3 grid, int64_t shared = 0) { list[count++] = {kernel, grid, shared}; }
};

// As many blocks as keep a GPU busy, and no more than there is work for.
inline int64_t few_blocks(int64_t wanted, int64_t most = 132 * 16) { return wanted < most ? wanted : most; }
#endif

// Where an operand that broadcasts has what element i of a result needs. Most lie in one of the simple ways.
struct Spread {
  enum Way : int64_t { same, one_value, one_axis, all_but_one, any };
  int64_t way;
  int64_t inner, length;  // one_axis: i / inner % length; all_but_one: i / (inner * length) * inner + i % inner
  int64_t short_counts;   // all indices fit into 32 bits
  Strided view;
#ifdef __CUDACC__
  __device__ int64_t at(int64_t i) const {
    if (way == same) return i;
    if (way == one_value) return 0;
    if (way == one_axis && short_counts != 0) return uint32_t(i) / uint32_t(inner) % uint32_t(length);
    return far_at(i);
  }
  // Out of line: it would stand in the code of every element.
  __device__ __noinline__ int64_t far_at(int64_t i) const {
    if (way == any) return view.at(i);
    if (way == one_axis) return i / inner % length;
    if (short_counts == 0) return i / (inner * length) * inner + i % inner;
    return uint32_t(i) / uint32_t(inner * length) * uint32_t(inner) + uint32_t(i) % uint32_t(inner);
  }
  // N results from element i on, a multiple of N.
  template <int N, class T>
  __device__ Pack<T, N> pack(const T* from, int64_t i) const {
    if (way == same) return pack_at<N>(from, i);
    Pack<T, N> result;
    if (way == one_value || (way == one_axis && inner % N == 0)) {
      const T value = from[at(i)];
#pragma unroll
      for (int k = 0; k < N; ++k) result.at[k] = value;
    } else if ((way == one_axis && inner == 1 && length % N == 0) || (way == all_but_one && inner % N == 0)) {
      return pack_at<N>(from, at(i));
    } else if (way == one_axis && inner >= N && short_counts != 0) {
      // At most one step to the next number on the way.
      const uint32_t line = uint32_t(i) / uint32_t(inner),
                     left = uint32_t(inner) - (uint32_t(i) - line * uint32_t(inner));
      const uint32_t place = line % uint32_t(length), next = place + 1 == uint32_t(length) ? 0 : place + 1;
      const T value = from[place], then = left < uint32_t(N) ? from[next] : value;
#pragma unroll
      for (int k = 0; k < N; ++k) result.at[k] = uint32_t(k) < left ? value : then;
    } else {
#pragma unroll
      for (int k = 0; k < N; ++k) result.at[k] = from[at(i + k)];
    }
    return result;
  }
  // The same at any address, to `to`.
  template <int N, class T>
  __device__ void few(const T* from, int64_t i, T* to) const {
    const bool repeats = way == one_value || (way == one_axis && inner % N == 0);
    const bool follows =
        way == same || (way == one_axis && inner == 1 && length % N == 0) || (way == all_but_one && inner % N == 0);
    const int64_t first = at(i);
#pragma unroll
    for (int k = 0; k < N; ++k) to[k] = from[repeats ? first : follows ? first + k : at(i + k)];
  }
  template <int N, class T>
  __device__ bool packs(const T* from) const {
    return (way != same && way != all_but_one && !(way == one_axis && inner == 1)) || can_pack<N>(from);
  }
#endif
};

#ifndef __CUDACC__
inline Spread spread_to(const kw::Shape& from, const kw::Shape& to) {
  Spread result{Spread::any, 1, 1, to.count() < (int64_t{1} << 31), broadcast_to(from, to)};
  if (from.count() == to.count()) {
    result.way = Spread::same;
    return result;
  }
  // One stretch of axes that it has, between axes that it repeats: i / inner % length. Or the other way round.
  int first = to.rank, last = -1, first_repeated = to.rank, last_repeated = -1;
  for (int axis = 0; axis < to.rank; ++axis) {
    if (to[axis] == 1) continue;
    if (result.view.strides[axis] != 0) {
      first = axis < first ? axis : first;
      last = axis;
    } else {
      first_repeated = axis < first_repeated ? axis : first_repeated;
      last_repeated = axis;
    }
  }
  for (int axis = first; axis <= last; ++axis) {
    if (result.view.strides[axis] != 0 || to[axis] == 1) continue;
    for (int other = first_repeated; other <= last_repeated; ++other) {
      if (result.view.strides[other] != 0 && to[other] != 1) return result;
    }
    result.way = Spread::all_but_one;
    result.inner = to.count(last_repeated + 1, to.rank);
    result.length = to.count(first_repeated, last_repeated + 1);
    return result;
  }
  result.way = last < 0 ? Spread::one_value : Spread::one_axis;
  if (last >= 0) {
    result.inner = to.count(last + 1, to.rank);
    result.length = to.count(first, last + 1);
  }
  return result;
}
#endif
