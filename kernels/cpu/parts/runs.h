#pragma once

#include <kernelwright.h>

#include "quiet.h"
#include "threads.h"

#include "../../plain/parts/copy_strided.h"
#include "../../plain/parts/strides.h"

// Memory moved in runs: short ones in vectors of 32 bytes, the last of which begins earlier, longer ones by the
// library, which knows the processor's best way.
template <class T>
inline T* copy_run(const T* from, int64_t count, T* to) {
  constexpr int64_t kVector = 32 / sizeof(T), kShort = 16 * kVector;
  const auto copy_vector = [&](int64_t at) { __builtin_memcpy(to + at, from + at, 32); };
  if (count >= kVector && count <= kShort) {
    for (int64_t i = 0; i + kVector <= count; i += kVector) copy_vector(i);
    copy_vector(count - kVector);
  } else if (count > 0) {
    memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  }
  return to + count;
}

// A tensor of some shape whose elements are some steps apart, as lengths and steps, the last axis first: axes that
// follow one another in memory are one.
struct Strided {
  kw::Shape lengths, steps;
};
inline Strided strided(const kw::Shape& shape, const kw::Shape& steps) {
  Strided runs;
  for (int axis = shape.rank - 1; axis >= 0; --axis) {
    const int last = runs.lengths.rank - 1;
    if (shape[axis] == 1) continue;
    if (last >= 0 && steps[axis] == runs.lengths.dims[last] * runs.steps.dims[last]) {
      runs.lengths.dims[last] *= shape[axis];
    } else {
      runs.lengths.push(shape[axis]);
      runs.steps.push(steps[axis]);
    }
  }
  return runs;
}

// Fills `to` in order: what is innermost is a run, one element repeated, or elements apart.
template <class T>
T* copy_in_runs(const T* from, const Strided& runs, T* to) {
  const kw::Shape &lengths = runs.lengths, &steps = runs.steps;
  if (lengths.rank == 0) {
    *to = *from;
    return to + 1;
  }
  const int64_t run = lengths.dims[0], step = steps.dims[0];
  int64_t at[KW_MAX_RANK] = {};
  for (;;) {
    if (step == 1) {
      to = copy_run(from, run, to);
    } else if (step == 0) {
      to = std::fill_n(to, run, *from);
    } else {
      for (int64_t i = 0; i < run; ++i) to[i] = from[i * step];
      to += run;
    }
    int axis = 1;
    for (; axis < lengths.rank; ++axis) {
      from += steps.dims[axis];
      if (++at[axis] < lengths.dims[axis]) break;
      from -= steps.dims[axis] * lengths.dims[axis];
      at[axis] = 0;
    }
    if (axis == lengths.rank) return to;
  }
}
template <class T>
T* copy_in_runs(const T* from, const kw::Shape& shape, const kw::Shape& steps, T* to) {
  return copy_in_runs(from, strided(shape, steps), to);
}

// ---- On the threads that are lent.

template <class T>
T* copy_run(const kw::Node& node, const T* from, int64_t count, T* to) {
  constexpr int64_t kStep = 4096 / sizeof(T);
  if (count < kLeastShared) return copy_run(from, count, to);
  share_ranges(node, threads_for(node, count), count, kStep,
               [&](int64_t begin, int64_t end, int) KW_IN_PLACE { copy_run(from + begin, end - begin, to + begin); });
  return to + count;
}

// Threads share the outermost axes, as many as there are pieces in, or the only run.
template <class T>
[[gnu::noinline]] T* copy_in_runs_among(const kw::Node& node, int threads, const T* from, int64_t all,
                                        const Strided& runs, T* to) {
  const kw::Shape &lengths = runs.lengths, &steps = runs.steps;
  if (lengths.rank == 1) {
    share_ranges(node, threads, all, 1024, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
      Strided part = runs;
      part.lengths.dims[0] = end - begin;
      copy_in_runs(from + begin * steps.dims[0], part, to + begin);
    });
    return to + all;
  }
  int inner = lengths.rank;  // axes that are not shared
  int64_t pieces = 1;
  while (inner > 1 && pieces < int64_t{threads} * kPiecesOfThread) pieces *= lengths.dims[--inner];
  Strided part;
  for (int axis = 0; axis < inner; ++axis) {
    part.lengths.push(lengths.dims[axis]);
    part.steps.push(steps.dims[axis]);
  }
  share_ranges(node, threads, pieces, 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
    for (int64_t i = begin; i < end; ++i) {
      int64_t place = 0;
      for (int64_t axis = inner, rest = i; axis < lengths.rank; rest /= lengths.dims[axis++]) {
        place += rest % lengths.dims[axis] * steps.dims[axis];
      }
      copy_in_runs(from + place, part, to + all / pieces * i);
    }
  });
  return to + all;
}
template <class T>
T* copy_in_runs(const kw::Node& node, const T* from, const Strided& runs, T* to) {
  int64_t all = 1;
  for (int axis = 0; axis < runs.lengths.rank; ++axis) all *= runs.lengths.dims[axis];
  const int threads = threads_for(node, all);
  return threads <= 1 ? copy_in_runs(from, runs, to) : copy_in_runs_among(node, threads, from, all, runs, to);
}
template <class T>
T* copy_in_runs(const kw::Node& node, const T* from, const kw::Shape& shape, const kw::Shape& steps, T* to) {
  return copy_in_runs(node, from, strided(shape, steps), to);
}
