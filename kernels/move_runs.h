// The same elements in another shape, and tensors put together, cut and repeated: whole runs of memory at a time.
//
// serves: Reshape, Flatten, Squeeze, Unsqueeze, Identity, Concat, Split, Slice, Pad, Tile, Expand, Gather
#include <vector>

#include "parts/runs.h"
#include "plain/parts/axis.h"
#include "plain/parts/broadcast.h"
#include "plain/parts/given_integers.h"
#include "plain/parts/margins.h"
#include "plain/parts/named_axes.h"
#include "plain/parts/normal_axis.h"

template <class T>
void Reshape(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> shape, kw::Tensor<T>& y) {
  kw::Shape to;
  int open = -1;
  for (int64_t length : given_integers(node, shape, "shape")) {
    if (length == 0 && node.integer("allowzero") == 0) length = x.shape(to.rank);
    if (length == -1) open = to.rank;
    to.push(length == -1 ? 1 : length);
  }
  if (open >= 0) to[open] = x.count() / to.count();
  y.allocate(to);
  copy_run(x.data(), x.count(), y.data());
}

template <class T>
void Flatten(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  const int axis = normal_axis(node.integer("axis", 1), x.rank());
  y.allocate({x.shape().count(0, axis), x.shape().count(axis, x.rank())});
  copy_run(x.data(), x.count(), y.data());
}

template <class T>
void Squeeze(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y) {
  const bool all = !axes.given() && !node.has("axes");
  const auto named = named_axes(given_integers(node, axes, "axes"), x.rank());
  kw::Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!(all ? x.shape(axis) == 1 : named[axis])) shape.push(x.shape(axis));
  }
  y.allocate(shape);
  copy_run(x.data(), x.count(), y.data());
}

template <class T>
void Unsqueeze(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> axes, kw::Tensor<T>& y) {
  const kw::List<int64_t> list = given_integers(node, axes, "axes");
  const int rank = x.rank() + static_cast<int>(list.size());
  const auto named = named_axes(list, rank);
  kw::Shape shape;
  int next = 0;
  for (int axis = 0; axis < rank; ++axis) shape.push(named[axis] ? 1 : x.shape(next++));
  y.allocate(shape);
  copy_run(x.data(), x.count(), y.data());
}

template <class T>
void Identity(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  y.allocate(x.shape());
  copy_run(x.data(), x.count(), y.data());
}

template <class T>
void Concat(const kw::Node& node, const std::vector<kw::Tensor<const T>>& xs, kw::Tensor<T>& y) {
  const int axis = normal_axis(node.integer("axis"), xs[0].rank());
  kw::Shape shape = xs[0].shape();
  shape[axis] = 0;
  for (const auto& x : xs) shape[axis] += x.shape(axis);
  y.allocate(shape);
  const AlongAxis all = along(shape, axis);
  T* to = y.data();
  for (int64_t o = 0; o < all.outer; ++o) {
    for (const auto& x : xs) {
      const int64_t run = x.shape(axis) * all.inner;
      to = copy_run(x.data() + o * run, run, to);
    }
  }
}

template <class T>
void Split(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> split,
           const std::vector<kw::Tensor<T>*>& ys) {
  const int axis = normal_axis(node.integer("axis"), x.rank());
  const AlongAxis all = along(x.shape(), axis);
  const kw::List<int64_t> lengths = given_integers(node, split, "split");
  const int64_t parts = static_cast<int64_t>(ys.size());
  const int64_t equal = (all.length + parts - 1) / parts;
  int64_t begin = 0;
  for (int64_t part = 0; part < parts; ++part) {
    kw::Shape shape = x.shape();
    shape[axis] = lengths.empty() ? std::min(equal, all.length - begin) : lengths[part];
    ys[part]->allocate(shape);
    T* to = ys[part]->data();
    for (int64_t o = 0; o < all.outer; ++o) {
      to = copy_run(x.data() + (o * all.length + begin) * all.inner, shape[axis] * all.inner, to);
    }
    begin += shape[axis];
  }
}

template <class T, class S, class E, class A, class P>
void Slice(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const S> starts, kw::Tensor<const E> ends,
           kw::Tensor<const A> axes, kw::Tensor<const P> steps, kw::Tensor<T>& y) {
  const kw::List<int64_t> from = given_integers(node, starts, "starts");
  const kw::List<int64_t> until = given_integers(node, ends, "ends");
  const kw::List<int64_t> named = given_integers(node, axes, "axes");
  const kw::List<int64_t> by = given_integers(node, steps, "steps");
  kw::Shape shape = x.shape();
  kw::Shape strides = strides_of(x.shape());
  int64_t offset = 0;
  for (int64_t i = 0; i < from.size(); ++i) {
    const int axis = static_cast<int>(named.empty() ? i : named[i]);
    const int64_t length = x.shape(axis);
    if (length == 0) continue;
    // A step beyond the axis takes one element, however large it is.
    const int64_t step = by.empty() ? 1 : std::clamp(by[i], -length, length);
    // Backwards the first element is at most the last one, and the end may lie before the first.
    const int64_t low = step > 0 ? 0 : -1;
    const int64_t high = step > 0 ? length : length - 1;
    const int64_t start = std::clamp<int64_t>(from[i] < 0 ? from[i] + length : from[i], 0, high);
    const int64_t end = std::clamp(until[i] < 0 ? until[i] + length : until[i], low, high);
    const int64_t distance = step > 0 ? end - start : start - end;
    shape[axis] = distance > 0 ? 1 + (distance - 1) / std::abs(step) : 0;
    offset += start * strides[axis];
    strides[axis] *= step;
  }
  y.allocate(shape);
  if (y.count() > 0) copy_in_runs(x.data() + offset, shape, strides, y.data());
}

template <class T, class A>
void Pad(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<const int64_t> pads, kw::Tensor<const T> value,
         kw::Tensor<const A> axes, kw::Tensor<T>& y) {
  const kw::List<int64_t> margins = given_integers(node, pads, "pads");
  if (std::all_of(margins.begin(), margins.end(), [](int64_t margin) { return margin == 0; })) {
    y.allocate(x.shape());
    copy_run(x.data(), x.count(), y.data());
    return;
  }
  Padding<T> padding;
  padding.outside = node.is("mode", "edge")      ? Outside::edge
                    : node.is("mode", "reflect") ? Outside::reflect
                    : node.is("mode", "wrap")    ? Outside::wrap
                                                 : Outside::constant;
  padding.filler = value.given() ? value[0] : T(node.real("value"));
  for (int axis = 0; axis < x.rank(); ++axis) padding.axes[axis] = padded_axis(x.shape(axis), 0, 0);
  const int64_t count = margins.size() / 2;
  for (int64_t i = 0; i < count; ++i) {
    const int axis = axes.given() ? normal_axis(axes[i], x.rank()) : static_cast<int>(i);
    padding.axes[axis] = padded_axis(x.shape(axis), margins[i], margins[count + i]);
  }
  pad_all(x, padding, y);
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
void Expand(const kw::Node&, kw::Tensor<const T> x, kw::Tensor<const int64_t> shape, kw::Tensor<T>& y) {
  y.allocate(broadcast(x.shape(), kw::Shape(static_cast<int>(shape.count()), shape.data())));
  if (y.count() > 0) copy_in_runs(x.data(), y.shape(), broadcast_steps(x.shape(), y.shape()), y.data());
}

template <class T, class I>
void Gather(const kw::Node& node, kw::Tensor<const T> data, kw::Tensor<const I> indices, kw::Tensor<T>& y) {
  const int axis = normal_axis(node.integer("axis"), data.rank());
  kw::Shape shape;
  for (int i = 0; i < axis; ++i) shape.push(data.shape(i));
  for (int i = 0; i < indices.rank(); ++i) shape.push(indices.shape(i));
  for (int i = axis + 1; i < data.rank(); ++i) shape.push(data.shape(i));
  y.allocate(shape);
  const AlongAxis view = along(data.shape(), axis);
  T* to = y.data();
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t index : indices) {
      const int64_t place = o * view.length + (index < 0 ? index + view.length : index);
      to = copy_run(data.data() + place * view.inner, view.inner, to);
    }
  }
}
