#pragma once

#include <kernelwright.h>

#include "threads.h"

#pragma GCC diagnostic ignored "-Wunused-function"  // a kernel takes from the parts what it needs

// Tensors that broadcast with one another, cut into runs: stretches of the result in which each input either goes along
// element by element or stays where it is. Axes that lie together in all of them are one, so that equal shapes are one
// run, and a bias of channels one run a channel.

template <int kInputs>
struct Runs {
  int rank = 0;  // of what is outside a run
  int64_t lengths[KW_MAX_RANK];
  int64_t steps[kInputs][KW_MAX_RANK];
  int64_t run = 1;           // elements in a run
  bool stays[kInputs] = {};  // inputs that stay where they are in a run
};

inline kw::Shape broadcast_shape(const kw::Shape& a, const kw::Shape& b) {
  kw::Shape both = a.rank >= b.rank ? a : b;
  const kw::Shape& other = a.rank >= b.rank ? b : a;
  for (int i = 1; i <= other.rank; ++i) {
    if (both[-i] == 1) both[-i] = other[-i];
  }
  return both;
}

template <int kInputs>
inline Runs<kInputs> runs_of(const kw::Shape& result, const kw::Shape* const (&inputs)[kInputs]) {
  // From the last axis on: the length of each group of axes and the steps of the inputs along it.
  int groups = 0;
  int64_t lengths[KW_MAX_RANK + 1] = {1};
  int64_t steps[kInputs][KW_MAX_RANK + 1] = {};
  int64_t counts[kInputs];  // elements of each input in the axes behind
  for (int64_t& count : counts) count = 1;
  for (int i = 1; i <= result.rank; ++i) {
    const int64_t length = result[-i];
    if (length == 1) continue;
    int64_t step[kInputs];
    bool together = groups > 0;
    for (int k = 0; k < kInputs; ++k) {
      const bool repeated = i > inputs[k]->rank || (*inputs[k])[-i] == 1;
      step[k] = repeated ? 0 : counts[k];
      if (!repeated) counts[k] *= length;
      if (groups > 0) together = together && step[k] == steps[k][groups - 1] * lengths[groups - 1];
    }
    if (together) {
      lengths[groups - 1] *= length;
    } else {
      lengths[groups] = length;
      for (int k = 0; k < kInputs; ++k) steps[k][groups] = step[k];
      ++groups;
    }
  }
  Runs<kInputs> runs;
  runs.run = lengths[0];
  for (int k = 0; k < kInputs; ++k) runs.stays[k] = groups > 0 && steps[k][0] == 0;
  for (int g = groups - 1; g > 0; --g) {
    runs.lengths[runs.rank] = lengths[g];
    for (int k = 0; k < kInputs; ++k) runs.steps[k][runs.rank] = steps[k][g];
    ++runs.rank;
  }
  return runs;
}

// Calls f(y, at) for the runs from `first` up to `last`: one begins at element y of the result and at element at[k] of
// input k.
template <int kInputs, class F>
inline void each_run_of(const Runs<kInputs>& runs, int64_t first, int64_t last, F f) {
  int64_t place[KW_MAX_RANK] = {};
  int64_t at[kInputs] = {};
  for (int64_t axis = runs.rank - 1, rest = first; axis >= 0 && first > 0; rest /= runs.lengths[axis--]) {
    place[axis] = rest % runs.lengths[axis];
    for (int k = 0; k < kInputs; ++k) at[k] += place[axis] * runs.steps[k][axis];
  }
  for (int64_t n = first; n < last; ++n) {
    f(n * runs.run, at);
    for (int axis = runs.rank - 1; axis >= 0; --axis) {
      for (int k = 0; k < kInputs; ++k) at[k] += runs.steps[k][axis];
      if (++place[axis] < runs.lengths[axis]) break;
      place[axis] = 0;
      for (int k = 0; k < kInputs; ++k) at[k] -= runs.steps[k][axis] * runs.lengths[axis];
    }
  }
}
template <int kInputs>
inline int64_t count_of(const Runs<kInputs>& runs) {
  int64_t count = 1;
  for (int i = 0; i < runs.rank; ++i) count *= runs.lengths[i];
  return count;
}

// Calls f(y, at) for every run.
template <int kInputs, class F>
inline void each_run(const Runs<kInputs>& runs, F f) {
  each_run_of(runs, 0, count_of(runs), f);
}

// The same on the threads that are lent, f(y, at, count): long runs come in pieces, at multiples of kRunStep elements,
// so that what compilers make vectors of stays where it was.
inline constexpr int64_t kRunStep = 1024;
template <int kInputs, class F>
inline void each_run(const kw::Node& node, const Runs<kInputs>& runs, F f) {
  const int64_t count = count_of(runs);
  const int threads = threads_for(node, count * runs.run);
  if (threads <= 1 || count >= threads * kPiecesOfThread) {
    share_ranges(node, threads, count, 1, [&](int64_t first, int64_t last, int) KW_IN_PLACE {
      each_run_of(runs, first, last, [&](int64_t y, const int64_t(&at)[kInputs]) { f(y, at, runs.run); });
    });
    return;
  }
  each_run_of(runs, 0, count, [&](int64_t y, const int64_t(&at)[kInputs]) {
    share_ranges(node, threads, runs.run, kRunStep, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
      int64_t from[kInputs];
      for (int k = 0; k < kInputs; ++k) from[k] = at[k] + (runs.stays[k] ? 0 : begin);
      f(y + begin, from, end - begin);
    });
  });
}
