#pragma once

#include <kernelwright.h>

#include "threads.h"

// Several operators, element by element, on one block of the tensors after the other: what is between two of them stays
// in the core's own cache.

KW_TUNE(FUSED_BLOCK, 4096, 1024, 2048, 4096, 8192, 16384);

// Whether every tensor has the same shape, but for single numbers.
template <class... T>
inline bool in_step(const kw::Tensor<const T>&... tensors) {
  const kw::Shape* all = nullptr;
  const auto fits = [&](const kw::Shape& shape, int64_t count) {
    if (count == 1) return true;
    if (all == nullptr) all = &shape;
    if (shape.rank != all->rank) return false;
    for (int i = 0; i < shape.rank; ++i) {
      if (shape[i] != (*all)[i]) return false;
    }
    return true;
  };
  return (fits(tensors.shape(), tensors.count()) && ...);
}

template <class... T>
inline int64_t most_elements(const kw::Tensor<const T>&... tensors) {
  int64_t most = 1;
  for (int64_t count : {tensors.count()...}) most = count == 1 ? most : count;
  return most;
}

template <class T>
inline kw::Tensor<const T> block_of(const kw::Tensor<const T>& x, int64_t begin, int64_t count) {
  if (x.count() == 1) return {x.data(), kw::Shape{1}};
  return {x.data() + begin, kw::Shape{count}};
}
template <class T>
inline kw::Tensor<T> block_to(const kw::Tensor<T>& y, int64_t begin, int64_t count) {
  return {y.data() + begin, kw::Shape{count}};
}

// work(begin, count, slot) for every block of elements, on the threads that are lent. An operator that works on
// a block sees too little of it to ask for threads itself.
static_assert(FUSED_BLOCK < kLeastShared);
template <class Work>
inline void each_block(const kw::Node& node, int threads, int64_t all, Work&& work) {
  share_ranges(node, threads, (all + FUSED_BLOCK - 1) / FUSED_BLOCK, 1,
               [&](int64_t first, int64_t last, int slot) KW_IN_PLACE {
                 for (int64_t at = first * FUSED_BLOCK; at < std::min(last * FUSED_BLOCK, all); at += FUSED_BLOCK) {
                   work(at, std::min<int64_t>(FUSED_BLOCK, all - at), slot);
                 }
               });
}
