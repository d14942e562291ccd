#pragma once

#include <kernelwright.h>

// Work shared among the threads that the caller of a kernel lends. It is cut by results: no piece reads or writes what
// another one writes, and no sum is cut differently for another number of threads, so that the bits are the same with
// any number of them. Work that takes a few microseconds is left to one thread: to hand it over would cost as much.

#if !defined(KW_LEAST_SHARED)  // tests share next to nothing too
#define KW_LEAST_SHARED (int64_t{1} << 16)
#define KW_LEAST_SHARED_PRODUCTS (int64_t{1} << 20)
#define KW_LONG_ROW (int64_t{1} << 20)
#endif
inline constexpr int64_t kLeastShared = KW_LEAST_SHARED;                   // elements moved or mapped
inline constexpr int64_t kLeastSharedProducts = KW_LEAST_SHARED_PRODUCTS;  // multiplications
inline constexpr int kPiecesOfThread = 4;  // so that a thread that is late holds up the others for little

// Of what is shared: it becomes part of what one thread runs, as if it stood there. A function that two ways call would
// else be called by both.
#define KW_IN_PLACE __attribute__((always_inline))

// How many threads serve work of this size. Scratch memory of a piece is one of as many parts.
inline int threads_for(const kw::Node& node, int64_t size, int64_t least = kLeastShared) {
  return size < least ? 1 : node.lent();
}

// As many of them as there is scratch memory for, where each takes so much of it; half of what is there is left alone.
inline int threads_within(const kw::Node& node, int threads, int64_t bytes) {
  if (threads <= 1) return 1;
  return static_cast<int>(std::clamp<int64_t>(node.scratch_left() / 2 / std::max<int64_t>(bytes, 1), 1, threads));
}

// The way of several threads is code of its own: what one thread runs is compiled as if there were no other way.
template <class Work>
[[gnu::noinline]] void share_among(const kw::Node& node, int threads, int64_t count, Work work) {
  int64_t next = 0;
  node.each(static_cast<int32_t>(std::min<int64_t>(threads, count)), [&](int32_t slot) {
    for (int64_t i; (i = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < count;) work(i, static_cast<int>(slot));
  });
}

// work(i, slot) for each i below count. No two pieces that run at once have the same slot, which is below `threads`.
template <class Work>
inline void share(const kw::Node& node, int threads, int64_t count, const Work& work) {
  if (threads > 1 && count > 1) [[unlikely]]
    return share_among(node, threads, count, work);
  for (int64_t i = 0; i < count; ++i) work(i, 0);
}

// Where piece number i of `pieces` begins, of `count` elements that are cut at multiples of `step`. The last piece has
// what is left over besides, so that none has less than a step.
inline int64_t cut_of(int64_t count, int64_t step, int64_t pieces, int64_t i) {
  return i == pieces ? count : count / step * i / pieces * step;
}
inline int64_t pieces_of(int threads, int64_t count, int64_t step) {
  return threads <= 1 ? 1 : std::clamp<int64_t>(count / step, 1, int64_t{threads} * kPiecesOfThread);
}

template <class Work>
[[gnu::noinline]] void share_ranges_among(const kw::Node& node, int threads, int64_t count, int64_t pieces,
                                          int64_t step, Work work) {
  share_among(node, threads, pieces, [&](int64_t i, int slot) {
    work(cut_of(count, step, pieces, i), cut_of(count, step, pieces, i + 1), slot);
  });
}

// The same of ranges: work(begin, end, slot).
template <class Work>
inline void share_ranges(const kw::Node& node, int threads, int64_t count, int64_t step, const Work& work) {
  if (threads > 1) [[unlikely]] {
    const int64_t pieces = pieces_of(threads, count, step);
    if (pieces > 1) return share_ranges_among(node, threads, count, pieces, step, work);
  }
  work(int64_t{0}, count, 0);
}
