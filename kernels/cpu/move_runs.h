// The same elements in another shape, and tensors put together, cut and repeated: whole runs of memory at a time.
//
// serves: Reshape, Flatten, Squeeze, Unsqueeze, Identity, Concat, Split, Slice, Pad, Tile, Expand, Gather
#pragma once

#include <kernelwright.h>

#include <vector>

#include "../plain/parts/axis.h"
#include "../plain/parts/broadcast.h"
#include "../plain/parts/normal_axis.h"
#include "../plain/parts/padding_of.h"
#include "../plain/parts/reshaped.h"
#include "../plain/parts/runs_of_slices.h"
#include "../plain/parts/sliced.h"
#include "parts/runs.h"

// The same elements in another shape. A result in between is no copy: it looks at where they are, and nothing writes to
// it.
template <class T>
void same_elements(const kw::Node& node, kw::Tensor<const T> x, const kw::Shape& shape, kw::Tensor<T>& y) {
  if (!y.given() && x.count() > 0) {
    y = kw::Tensor<T>(const_cast<T*>(x.data()), shape);
    return;
  }
  y.allocate(shape);
  copy_run(node, x.data(), x.count(), y.data());
}

template <class T>
void Reshape(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> shape, kw::Tensor<T>& y) {
  same_elements(node, x, reshaped(node, x.shape(), shape), y);
}

template <class T>
void Flatten(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  const int axis = normal_axis(node.integer("axis", 1), x.rank());
  same_elements(node, x, {x.shape().count(0, axis), x.shape().count(axis, x.rank())}, y);
}

template <class T>
void Squeeze(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y) {
  same_elements(node, x, squeezed(node, x.shape(), axes), y);
}

template <class T>
void Unsqueeze(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y) {
  same_elements(node, x, unsqueezed(node, x.shape(), axes), y);
}

template <class T>
void Identity(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  same_elements(node, x, x.shape(), y);
}

template <class T>
void Concat(const kw::Node& node, const std::vector<kw::Tensor<const T>>& xs, kw::Tensor<T>& y) {
  const int axis = normal_axis(node.integer("axis"), xs[0].rank());
  kw::Shape shape = xs[0].shape();
  shape[axis] = 0;
  for (const auto& x : xs) shape[axis] += x.shape(axis);
  y.allocate(shape);
  const AlongAxis all = along(shape, axis);
  const int threads = threads_for(node, y.count());
  const int64_t row = all.length * all.inner;
  if (all.outer < 2 * threads) {  // a few long runs
    T* to = y.data();
    for (int64_t o = 0; o < all.outer; ++o) {
      for (const auto& x : xs) {
        const int64_t run = x.shape(axis) * all.inner;
        to = copy_run(node, x.data() + o * run, run, to);
      }
    }
    return;
  }
  share_ranges(node, threads, all.outer, 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
    T* to = y.data() + begin * row;
    for (int64_t o = begin; o < end; ++o) {
      for (const auto& x : xs) {
        const int64_t run = x.shape(axis) * all.inner;
        to = copy_run(x.data() + o * run, run, to);
      }
    }
  });
}

template <class T>
void Split(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> split,
           const std::vector<kw::Tensor<T>*>& ys) {
  const int axis = normal_axis(node.integer("axis"), x.rank());
  if (threads_for(node, x.count()) <= 1 || along(x.shape(), axis).outer == 1) {
    return split_runs(node, x, split, ys,
                      [&](const T* from, int64_t count, T* to) { return copy_run(node, from, count, to); });
  }
  split_runs(node, x, split, ys, [](const T*, int64_t count, T* to) { return to + count; });  // only their shapes
  const AlongAxis all = along(x.shape(), axis);
  const T* from = x.data();
  for (kw::Tensor<T>* y : ys) {
    const int64_t run = y->shape(axis) * all.inner;
    if (y->count() > 0) copy_in_runs(node, from, {all.outer, run}, {all.length * all.inner, 1}, y->data());
    from += run;
  }
}

// What a Slice takes, found once for all calls where its input is the task's and the rest constant.
struct KeptSlice {
  kw::Shape shape;
  Strided runs;
  int64_t offset;
};
template <class T, class S, class E, class A, class P>
const void* prepare_Slice(const kw::Call& call, const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const S> starts,
                          kw::Tensor<const E> ends, kw::Tensor<const A> axes, kw::Tensor<const P> steps) {
  const auto known = []<class I>(kw::Tensor<const I> list) {  // or left out; of other integers a copy would be made
    return std::is_same_v<I, int64_t> && (list.given() || list.rank() == 0);
  };
  if (x.rank() == 0 || !known(starts) || !known(ends) || !known(axes) || !known(steps)) return nullptr;
  const Sliced taken = sliced(node, x, starts, ends, axes, steps);
  auto* kept = call.keep<KeptSlice>(1);
  *kept = {taken.shape, strided(taken.shape, taken.strides), taken.offset};
  return kept;
}
template <class T, class S, class E, class A, class P>
void Slice(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const S> starts, kw::Tensor<const E> ends,
           kw::Tensor<const A> axes, kw::Tensor<const P> steps, kw::Tensor<T>& y, const void* kept) {
  if (kept != nullptr) {
    const auto& [shape, runs, offset] = *static_cast<const KeptSlice*>(kept);
    y.allocate(shape);
    if (y.count() > 0) copy_in_runs(node, x.data() + offset, runs, y.data());
    return;
  }
  const Sliced taken = sliced(node, x, starts, ends, axes, steps);
  y.allocate(taken.shape);
  if (y.count() > 0) copy_in_runs(node, x.data() + taken.offset, taken.shape, taken.strides, y.data());
}

template <class T, class A>
void Pad(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> pads, kw::Tensor<const T> value,
         kw::Tensor<const A> axes, kw::Tensor<T>& y) {
  const kw::List<int64_t> margins = given_integers(node, pads, "pads");
  if (std::all_of(margins.begin(), margins.end(), [](int64_t margin) { return margin == 0; })) {
    same_elements(node, x, x.shape(), y);
    return;
  }
  pad_all(x, padding_of(node, x, margins, value, axes), y);
}

// Fills `to` with `from` repeated along the axes from this one on. Returns the end of it.
template <class T>
T* tile_from_axis(const T* from, const kw::Shape& shape, const int64_t* repeats, int axis, T* to) {
  T* end = to;
  bool plain = true;  // nothing behind this axis is repeated
  for (int i = axis + 1; i < shape.rank; ++i) plain &= repeats[i] == 1;
  if (plain) {
    end = copy_run(from, shape.count(axis, shape.rank), to);
  } else {
    const int64_t step = shape.count(axis + 1, shape.rank);
    for (int64_t i = 0; i < shape[axis]; ++i) end = tile_from_axis(from + i * step, shape, repeats, axis + 1, end);
  }
  const int64_t once = end - to;
  for (int64_t i = 1; i < repeats[axis]; ++i) end = copy_run(to, once, end);
  return end;
}

template <class T>
void Tile(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<const int64_t> repeats, kw::Tensor<T>& y) {
  kw::Shape shape = x.shape();
  for (int axis = 0; axis < x.rank(); ++axis) shape[axis] *= repeats[axis];
  y.allocate(shape);
  if (y.count() == 0) return;
  if (x.rank() == 0) {
    y[0] = x[0];
  } else {
    tile_from_axis(x.data(), x.shape(), repeats.data(), 0, y.data());
  }
}

template <class T>
void Expand(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> shape, kw::Tensor<T>& y) {
  y.allocate(broadcast(x.shape(), kw::Shape(static_cast<int>(shape.count()), shape.data())));
  if (y.count() > 0) copy_in_runs(node, x.data(), y.shape(), broadcast_steps(x.shape(), y.shape()), y.data());
}

template <class T, class I>
void Gather(const kw::Node& node, kw::Tensor<const T> data, kw::Tensor<const I> indices, kw::Tensor<T>& y) {
  const AlongAxis view = along(data.shape(), normal_axis(node.integer("axis"), data.rank()));
  const int64_t runs = view.outer * indices.count();
  const int threads = threads_for(node, runs * view.inner);
  if (threads <= 1 || runs < threads) {
    return gather_runs(node, data, indices, y,
                       [&](const T* from, int64_t count, T* to) { return copy_run(node, from, count, to); });
  }
  gather_runs(node, data, indices, y, [](const T*, int64_t count, T* to) { return to + count; });  // only its shape
  share_ranges(node, threads, runs, 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t index = indices[i % indices.count()];
      const int64_t place = i / indices.count() * view.length + (index < 0 ? index + view.length : index);
      copy_run(data.data() + place * view.inner, view.inner, y.data() + i * view.inner);
    }
  });
}
