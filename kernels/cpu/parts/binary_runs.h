#pragma once

#include <kernelwright.h>

#include "broadcast_runs.h"

// y = f(a, b), broadcast, for an f of single elements: loops over runs that both compilers turn into vectors. Bools are
// bytes that hold 0 or 1.

template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class A, class B, class Y, class F>
inline void binary_run(const A* __restrict a, bool a_stays, const B* __restrict b, bool b_stays, Y* __restrict y,
                       int64_t count, F f) {
  if (a_stays) {
    const A same = a[0];
    for (int64_t i = 0; i < count; ++i) y[i] = Y(f(same, b[i]));
  } else if (b_stays) {
    const B same = b[0];
    for (int64_t i = 0; i < count; ++i) y[i] = Y(f(a[i], same));
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = Y(f(a[i], b[i]));
  }
}

template <class A, class B, class Y, class F>
inline void binary(kw::Tensor<const A> a, kw::Tensor<const B> b, kw::Tensor<Y>& y, F f) {
  y.allocate(broadcast_shape(a.shape(), b.shape()));
  if (y.count() == 0) return;
  const auto* from_a = reinterpret_cast<const Stored<A>*>(a.data());
  const auto* from_b = reinterpret_cast<const Stored<B>*>(b.data());
  auto* to = reinterpret_cast<Stored<Y>*>(y.data());
  const Runs<2> runs = runs_of<2>(y.shape(), {&a.shape(), &b.shape()});
  each_run(runs, [&](int64_t i, const int64_t(&at)[2]) {
    binary_run(from_a + at[0], runs.stays[0], from_b + at[1], runs.stays[1], to + i, runs.run, f);
  });
}

// The same on the threads that are lent.
template <class A, class B, class Y, class F>
inline void binary(const kw::Node& node, kw::Tensor<const A> a, kw::Tensor<const B> b, kw::Tensor<Y>& y, F f) {
  y.allocate(broadcast_shape(a.shape(), b.shape()));
  if (y.count() == 0) return;
  const auto* from_a = reinterpret_cast<const Stored<A>*>(a.data());
  const auto* from_b = reinterpret_cast<const Stored<B>*>(b.data());
  auto* to = reinterpret_cast<Stored<Y>*>(y.data());
  const Runs<2> runs = runs_of<2>(y.shape(), {&a.shape(), &b.shape()});
  each_run(node, runs, [&](int64_t i, const int64_t(&at)[2], int64_t count) {
    binary_run(from_a + at[0], runs.stays[0], from_b + at[1], runs.stays[1], to + i, count, f);
  });
}
