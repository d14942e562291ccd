#include "quiet.h"

#include "../plain/parts/copy_strided.h"
#include "../plain/parts/strides.h"

// Memory moved in runs: a few elements one by one, longer runs by the library, which knows the processor's best way.
template <class T>
inline T* copy_run(const T* from, int64_t count, T* to) {
  if (count > 0) memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  return to + count;
}

// Fills `to` in order with a tensor of this shape whose elements are `steps` apart in `from`: axes that follow one
// another in memory become one, and what is left innermost is a run, one element repeated, or elements apart.
template <class T>
T* copy_in_runs(const T* from, const kw::Shape& shape, const kw::Shape& steps, T* to) {
  kw::Shape lengths, strides;  // the last axis first
  for (int axis = shape.rank - 1; axis >= 0; --axis) {
    const int last = lengths.rank - 1;
    if (shape[axis] == 1) continue;
    if (last >= 0 && steps[axis] == lengths.dims[last] * strides.dims[last]) {
      lengths.dims[last] *= shape[axis];
    } else {
      lengths.push(shape[axis]);
      strides.push(steps[axis]);
    }
  }
  if (lengths.rank == 0) {
    *to = *from;
    return to + 1;
  }
  const int64_t run = lengths.dims[0], step = strides.dims[0];
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
      from += strides.dims[axis];
      if (++at[axis] < lengths.dims[axis]) break;
      from -= strides.dims[axis] * lengths.dims[axis];
      at[axis] = 0;
    }
    if (axis == lengths.rank) return to;
  }
}
