// Operators that read or write where indices say.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/accuracy.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/move.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

// Where indices point along an axis: negative ones count from its end.
Result<Integers> places_of(const WideTensor& indices, std::int64_t length) {
  Integers places = indices.integers;
  for (std::int64_t& place : places) {
    if (place < -length || place >= length) return fail("index {} is outside an axis of length {}", place, length);
    if (place < 0) place += length;
  }
  return places;
}

// Index `place` as a task may write it: hard input classes count from the end too.
std::int64_t written(std::int64_t place, std::int64_t length, InputClass input_class, Random& random) {
  return input_class != InputClass::typical && random.chance(0.5) ? place - length : place;
}

std::int64_t draw_index(std::int64_t length, InputClass input_class, Random& random) {
  const bool at_an_end = input_class == InputClass::edges && random.chance(0.5);
  const std::int64_t place = at_an_end ? random.pick({std::int64_t{0}, length - 1}) : random.integer(0, length - 1);
  return written(place, length, input_class, random);
}

// Of indices that follow each other, or are all the same.
constexpr double kInOrderShare = 0.5;

bool one_after_another(InputClass input_class, Random& random) {
  return input_class != InputClass::typical && random.chance(kInOrderShare);
}

// Two in turn, each place once in any order, or all counted from the end.
void draw_in_pattern(Tensor& indices, std::int64_t length, Random& random) {
  Integers places(size_of(length));
  std::iota(places.begin(), places.end(), 0);
  random.shuffle(std::span(places));
  const std::int64_t kind = indices.count() == length ? random.integer(1, 2) : random.integer(0, 2);
  const std::int64_t period = kind == 0 ? std::min<std::int64_t>(length, 2) : length;
  for (std::int64_t i = 0; i < indices.count(); ++i) {
    indices.set_integer(i, places[size_of(i % period)] - (kind == 2 ? length : 0));
  }
}

// Along `axis` of the indices, where they may be put in order.
void draw_indices(Tensor& indices, std::int64_t length, int axis, InputClass input_class, Random& random) {
  if (length > 0 && indices.shape().rank() > 0 && one_after_another(input_class, random)) {
    const AxisView view(indices.shape(), axis);
    const std::int64_t first = random.pick({std::int64_t{0}, length - 1, random.integer(0, length - 1)});
    const std::int64_t step = random.pick({1, 1, 1, -1, 0, 2}), from_end = random.chance(0.3) ? length : 0;
    // Where there are as many as places, a permutation is likely: chance hardly ever makes lengths so.
    if (random.chance(indices.count() == length ? 0.8 : 0.4)) return draw_in_pattern(indices, length, random);
    // Now and then each twice.
    const std::int64_t times = random.chance(0.2) ? 2 : 1;
    for (std::int64_t i = 0; i < indices.count(); ++i) {
      const std::int64_t place = first + step * (i / view.inner % view.length / times) % length;
      indices.set_integer(i, (place + length) % length - from_end);
    }
    return;
  }
  for (std::int64_t i = 0; i < indices.count(); ++i) indices.set_integer(i, draw_index(length, input_class, random));
}

// An operator that reads from `data` at `indices`.
Op reader(std::string name, std::string meaning, int since, DTypes index_types) {
  Op op;
  op.name = std::move(name);
  op.meaning = std::move(meaning);
  op.since = since;
  op.inputs = {{.name = "data", .types = kAnyType, .domain = whole_line()},
               {.name = "indices", .types = index_types, .group = ""}};
  op.outputs = {{"output"}};
  op.flops = no_flops;
  op.bytes = [](const Call& call) {
    const double result = bytes_of(call.outputs[0]);
    return bytes_of(*call.inputs[1]) + std::min(result, bytes_of(*call.inputs[0])) + result;
  };
  return op;
}

// --- Gather ---

Result<Types> infer_gather(const Call& call) {
  const Shape& data = call.shape(0);
  const Shape& indices = call.shape(1);
  KW_TRY(const int axis, normal_axis(call.integer("axis"), data.rank()));
  if (data[axis] == 0 && indices.count() > 0) return fail("axis {} of {} has nothing to gather", axis, data.text());
  Shape to;
  for (int i = 0; i < axis; ++i) to.append(data[i]);
  for (std::int64_t length : indices) to.append(length);
  for (int i = axis + 1; i < data.rank(); ++i) to.append(data[i]);
  return Types{{call.dtype(0), std::move(to)}};
}

Op gather() {
  Op op = reader("Gather", "slices of the data along an axis, in the order of the indices", 13, kIndex);
  op.attributes = {{.name = "axis", .fallback = std::int64_t{0}}};
  op.infer = infer_gather;
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const AxisView view(in[0]->shape, *normal_axis(call.integer("axis"), in[0]->shape.rank()));
    KW_TRY(const Integers places, places_of(*in[1], view.length));
    const std::size_t run = size_of(view.inner);
    std::size_t target = 0;
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t place : places) {
        copy_elements(*in[0], view.index(o, place, 0), out[0], target, run);
        target += run;
      }
    }
    return {};
  };
  op.draw = [](const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
    const int axis = *normal_axis(call.integer("axis"), call.shape(0).rank());
    if (inputs[1]) draw_indices(*inputs[1], call.shape(0)[axis], call.shape(1).rank() - 1, input_class, random);
  };
  op.sample = [](Random& random) {
    const Shape data = sample_shape(random, 1, 3);
    return Sample()
        .input(sample_type(random, kAnyType), data)
        .input(random.pick({DType::int64, DType::int32}), sample_shape(random, 0, 2))
        .attribute("axis", random.integer(-data.rank(), data.rank() - 1));
  };
  return op;
}

// --- Indices of the data's rank: one coordinate is replaced ---

// Checks that indices point into data along the axis and stay within it along the others.
Result<int> pointed_axis(const Call& call) {
  const Shape& data = call.shape(0);
  const Shape& indices = call.shape(1);
  KW_TRY(const int axis, normal_axis(call.integer("axis"), data.rank()));
  if (indices.rank() != data.rank()) return fail("{} and indices {} differ in rank", data.text(), indices.text());
  for (int i = 0; i < data.rank(); ++i) {
    if (i != axis && indices[i] > data[i]) return fail("indices {} go beyond {}", indices.text(), data.text());
  }
  if (data[axis] == 0 && indices.count() > 0) return fail("axis {} of {} is empty", axis, data.text());
  return axis;
}

// Calls f(i, place) for every element i of the indices with the flat place in the data that it points to.
template <class F>
Status each_pointed(const Shape& data, const WideTensor& indices, int axis, F&& f) {
  const auto along = static_cast<std::size_t>(axis);
  const Integers strides = data.strides();
  KW_TRY(const Integers places, places_of(indices, data[axis]));
  std::size_t i = 0;
  each_index(indices.shape, [&](const Integers& at) {
    f(i, flat(at, strides) + size_of((places[i] - at[along]) * strides[along]));
    ++i;
  });
  return {};
}

// A shape for indices into data: its own, but for the axis and now and then a shorter one.
Shape sample_pointing(Random& random, const Shape& data, int axis, std::int64_t most) {
  Shape indices = data;
  for (int i = 0; i < data.rank(); ++i) {
    if (random.chance(0.2)) indices[i] = random.integer(1, data[i]);
  }
  indices[axis] = random.integer(1, most);
  return indices;
}

Op gather_elements() {
  Op op = reader("GatherElements", "for every index the element that it points to along an axis", 13, kIndex);
  op.attributes = {{.name = "axis", .fallback = std::int64_t{0}}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_CHECK(pointed_axis(call));
    return Types{{call.dtype(0), call.shape(1)}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    return each_pointed(in[0]->shape, *in[1], *pointed_axis(call),
                        [&](std::size_t i, std::size_t place) { copy_elements(*in[0], place, out[0], i); });
  };
  op.draw = [](const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
    if (inputs[1])
      draw_indices(*inputs[1], call.shape(0)[*pointed_axis(call)], *pointed_axis(call), input_class, random);
  };
  op.sample = [](Random& random) {
    const Shape data = sample_shape(random, 1, 4);
    const auto axis = static_cast<int>(random.integer(0, data.rank() - 1));
    return Sample()
        .input(sample_type(random, kAnyType), data)
        .input(random.pick({DType::int64, DType::int32}), sample_pointing(random, data, axis, data[axis] + 3))
        .attribute("axis", sample_axis(random, axis, data.rank()));
  };
  return op;
}

// --- Indices as tuples: the last axis holds the coordinates of a slice ---

// What tuples of `width` coordinates point to, behind `batch` axes that data and indices share: slices of `run`
// elements.
struct Tuples {
  int batch = 0;
  int width = 0;
  std::int64_t count = 0;
  std::int64_t per_batch = 0;
  std::int64_t cells = 0;  // places that tuples of one batch can point to
  std::int64_t run = 0;
  Shape result;  // of what is read, or of the updates
};

Result<Tuples> tuples_of(const Shape& data, const Shape& indices, std::int64_t batch) {
  const int last = indices.rank() - 1;
  if (last < 0 || data.rank() == 0) return fail("neither data nor indices may be a scalar");
  if (batch < 0 || batch > last || batch >= data.rank()) return fail("batch_dims cannot be {}", batch);
  Tuples tuples{.batch = static_cast<int>(batch)};
  const int free = data.rank() - tuples.batch;
  if (indices[last] < 1 || indices[last] > free) {
    return fail("a tuple of indices has {} numbers, but {} axes are there to point into", indices[last], free);
  }
  for (int i = 0; i < tuples.batch; ++i) {
    if (indices[i] != data[i]) return fail("{} and {} differ in batch axis {}", data.text(), indices.text(), i);
  }
  tuples.width = static_cast<int>(indices[last]);
  const int slice = tuples.batch + tuples.width;
  tuples.count = indices.count(0, last);
  tuples.per_batch = indices.count(tuples.batch, last);
  tuples.cells = data.count(tuples.batch, slice);
  tuples.run = data.count(slice, data.rank());
  if (tuples.cells == 0 && tuples.count > 0) return fail("the indices point into an empty axis of {}", data.text());
  for (int i = 0; i < last; ++i) tuples.result.append(indices[i]);
  for (int i = slice; i < data.rank(); ++i) tuples.result.append(data[i]);
  return tuples;
}

// Calls f(source, place) for every tuple: where its slice begins in what is read or written by tuples, and in the data.
template <class F>
Status each_slice(const Tuples& tuples, const Shape& data, const WideTensor& indices, F&& f) {
  const std::int64_t* index = indices.integers.data();
  for (std::int64_t tuple = 0; tuple < tuples.count; ++tuple) {
    std::int64_t place = tuple / tuples.per_batch;
    for (int i = 0; i < tuples.width; ++i, ++index) {
      const std::int64_t length = data[tuples.batch + i];
      if (*index < -length || *index >= length) {
        return fail("index {} is outside an axis of length {}", *index, length);
      }
      place = place * length + (*index < 0 ? *index + length : *index);
    }
    f(size_of(tuple * tuples.run), size_of(place * tuples.run));
  }
  return {};
}

void draw_tuples(const Tuples& tuples, const Shape& data, Tensor& indices, InputClass input_class, Random& random) {
  for (std::int64_t i = 0; i < indices.count(); ++i) {
    indices.set_integer(i, draw_index(data[tuples.batch + static_cast<int>(i % tuples.width)], input_class, random));
  }
}

Result<Tuples> gathered(const Call& call) {
  return tuples_of(call.shape(0), call.shape(1), call.integer("batch_dims"));
}

Op gather_nd() {
  Op op = reader("GatherND", "for every tuple of indices the slice of the data that it points to", 13, kInt64);
  op.attributes = {{.name = "batch_dims", .fallback = std::int64_t{0}}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const Tuples tuples, gathered(call));
    return Types{{call.dtype(0), tuples.result}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const Tuples tuples = *gathered(call);
    return each_slice(tuples, in[0]->shape, *in[1], [&](std::size_t target, std::size_t place) {
      copy_elements(*in[0], place, out[0], target, size_of(tuples.run));
    });
  };
  op.draw = [](const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
    if (inputs[1]) draw_tuples(*gathered(call), call.shape(0), *inputs[1], input_class, random);
  };
  op.sample = [](Random& random) {
    const Shape data = sample_shape(random, 1, 4);
    const std::int64_t batch = random.integer(0, std::min(2, data.rank() - 1));
    Shape indices;
    for (int i = 0; i < batch; ++i) indices.append(data[i]);
    for (std::int64_t i = random.integer(0, 2); i > 0; --i) indices.append(random.integer(1, 5));
    indices.append(random.integer(1, data.rank() - batch));
    return Sample()
        .input(sample_type(random, kAnyType), data)
        .input(DType::int64, indices)
        .attribute("batch_dims", batch);
  };
  return op;
}

// --- Scatter ---

// Puts updates into a copy of the data by the call's rule, and keeps account of what may be lost in rounding.
class Scattering {
 public:
  Scattering(const std::string& reduction, const WideTensor& data, WideTensor& result)
      : reduction_(reduction), data_(data), result_(result) {
    copy_elements(data, 0, result, 0, size_of(data.count()));
    if (reduction == "none" || reduction == "add") updates_.resize(size_of(data.count()));
    if (reduction == "add") magnitude_.resize(data.reals.size());
  }

  void put(const WideTensor& updates, std::size_t source, std::size_t target) {
    if (!updates_.empty()) ++updates_[target];
    if (reduction_ == "none") {
      copy_elements(updates, source, result_, target);
    } else if (is_float(result_.dtype)) {
      put_real(updates.reals[source], updates.slack_at(source), target);
    } else {
      put_integer(updates.integers[source], result_.integers[target]);
    }
  }

  Status finish() {
    if (reduction_ == "none" && std::ranges::any_of(updates_, [](std::int64_t count) { return count > 1; })) {
      return fail("two updates go to one place; without a reduction ONNX leaves open which one stays");
    }
    for (std::size_t i = 0; i < magnitude_.size(); ++i) {
      if (updates_[i] == 0) continue;
      result_.add_slack();
      result_.slack[i] += sum_bound(updates_[i] + 1, magnitude_[i] + std::fabs(data_.reals[i]), result_.dtype);
    }
    return {};
  }

 private:
  void put_real(double update, double slack, std::size_t target) {
    double& value = result_.reals[target];
    if (reduction_ == "add") {
      value += update;
      magnitude_[target] += std::fabs(update);
      if (slack > 0) widen_slack(target, result_.slack_at(target) + slack);
    } else if (reduction_ == "mul") {
      const double carried = std::fabs(value) * slack + (std::fabs(update) + slack) * result_.slack_at(target);
      value *= update;
      widen_slack(target, carried + kRounded.bound(value, result_.dtype));
    } else {
      value = reduction_ == "max" ? std::max(value, update) : std::min(value, update);
      if (slack > result_.slack_at(target)) widen_slack(target, slack);
    }
  }

  void put_integer(std::int64_t update, std::int64_t& value) {
    const bool below = in_order(update, result_.dtype) < in_order(value, result_.dtype);
    if (reduction_ == "add") value = wrap(plus(value, update), result_.dtype);
    if (reduction_ == "mul") value = wrap(times(value, update), result_.dtype);
    if ((reduction_ == "max" && !below) || (reduction_ == "min" && below)) value = update;
  }

  void widen_slack(std::size_t target, double slack) {
    result_.add_slack();
    result_.slack[target] = slack;
  }

  const std::string& reduction_;
  const WideTensor& data_;
  WideTensor& result_;
  std::vector<std::int64_t> updates_;  // how many go to each place, where that matters
  std::vector<double> magnitude_;      // of the updates added at each place
};

// What all operators that write have in common; `reduces`: the attribute that joins updates exists.
Op writer(std::string name, std::string meaning, int since, DTypes index_types, bool reduces) {
  Op op;
  op.name = std::move(name);
  op.meaning = std::move(meaning);
  op.since = since;
  op.attributes = {{.name = "reduction",
                    .kind = AttributeKind::text,
                    .fallback = "none",
                    .choices = reduces ? std::vector<std::string>{"none", "add", "mul", "min", "max"}
                                       : std::vector<std::string>{"none"}}};
  op.inputs = {{.name = "data", .types = kAnyType, .domain = whole_line()},
               {.name = "indices", .types = index_types, .group = ""},
               {.name = "updates", .types = kAnyType, .domain = whole_line()}};
  op.outputs = {{"output"}};
  op.flops = [](const Call& call) {
    return call.text("reduction") == "none" ? 0 : static_cast<double>(call.shape(2).count());
  };
  // Without a reduction, the data under an update need not be read.
  op.bytes = [](const Call& call) {
    return bytes_of(*call.inputs[0]) + bytes_of(*call.inputs[1]) + bytes_of(call.outputs[0]) +
           (call.text("reduction") == "none" ? 0 : bytes_of(*call.inputs[2]));
  };
  return op;
}

Status check_reduction(const Call& call) {
  if (call.text("reduction") != "none" && call.dtype(0) == DType::boolean) return fail("bool has no reduction");
  return {};
}

// Reductions are defined for numbers, and products must neither vanish nor overflow: magnitudes around 1, both signs.
void draw_operands(const Call& call, Random& random, std::span<Tensor* const> inputs) {
  const std::string& reduction = call.text("reduction");
  if (reduction == "none") return;
  for (Tensor* tensor : {inputs[0], inputs[2]}) {
    if (!tensor || !is_float(tensor->dtype())) continue;
    for (std::int64_t i = 0; i < tensor->count(); ++i) {
      if (reduction == "mul") tensor->set_real(i, random.sign() * std::exp(0.2 * random.normal()));
      if (!std::isfinite(tensor->real(i))) tensor->set_real(i, random.normal());
    }
  }
}

std::string sample_reduction(Random& random, DType type) {
  static const std::vector<std::string> kReductions{"none", "add", "mul", "min", "max"};
  return type == DType::float32 || type == DType::int64 ? random.pick(kReductions) : "none";
}

Result<Types> infer_scatter_elements(const Call& call) {
  KW_CHECK(check_reduction(call));
  KW_TRY(const int axis, pointed_axis(call));
  if (call.shape(2) != call.shape(1)) {
    return fail("indices {} and updates {} differ", call.shape(1).text(), call.shape(2).text());
  }
  if (call.text("reduction") == "none" && call.shape(1).count() > 0 && call.shape(1)[axis] > call.shape(0)[axis]) {
    return fail("more updates than places along axis {}: without a reduction ONNX leaves open which stay", axis);
  }
  return Types{*call.inputs[0]};
}

// Distinct indices along the axis: each lane is the beginning of a random order of the places.
void draw_scattered(const Call& call, InputClass input_class, Random& random, Tensor& indices) {
  const int axis = *pointed_axis(call);
  const std::int64_t length = call.shape(0)[axis];
  const AxisView view(indices.shape(), axis);
  Integers places(size_of(length));
  std::iota(places.begin(), places.end(), 0);
  const bool ordered = one_after_another(input_class, random);
  if (ordered && random.chance(0.3)) std::ranges::reverse(places);
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      for (std::int64_t k = 0; k < view.length; ++k) {
        if (!ordered) std::swap(places[size_of(k)], places[size_of(random.integer(k, length - 1))]);
        const std::int64_t place = places[size_of(k)];
        indices.set_integer(static_cast<std::int64_t>(view.index(o, k, i)),
                            ordered ? place : written(place, length, input_class, random));
      }
    }
  }
}

Op scatter_elements(std::string name, std::string meaning, int since, bool reduces) {
  Op op = writer(std::move(name), std::move(meaning), since, kIndex, reduces);
  op.attributes.push_back({.name = "axis", .fallback = std::int64_t{0}});
  op.infer = infer_scatter_elements;
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    Scattering scattering(call.text("reduction"), *in[0], out[0]);
    KW_CHECK(each_pointed(in[0]->shape, *in[1], *pointed_axis(call),
                          [&](std::size_t i, std::size_t place) { scattering.put(*in[2], i, place); }));
    return scattering.finish();
  };
  op.draw = [](const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
    draw_operands(call, random, inputs);
    if (!inputs[1]) return;
    if (call.text("reduction") == "none") {
      draw_scattered(call, input_class, random, *inputs[1]);
    } else {
      draw_indices(*inputs[1], call.shape(0)[*pointed_axis(call)], *pointed_axis(call), input_class, random);
    }
  };
  op.sample = [reduces](Random& random) {
    const Shape data = sample_shape(random, 1, 4);
    const auto axis = static_cast<int>(random.integer(0, data.rank() - 1));
    const DType type = sample_type(random, kAnyType);
    const std::string reduction = reduces ? sample_reduction(random, type) : "none";
    const Shape indices = sample_pointing(random, data, axis, reduction == "none" ? data[axis] : data[axis] + 3);
    return Sample()
        .input(type, data)
        .input(random.pick({DType::int64, DType::int32}), indices)
        .input(type, indices)
        .attribute("reduction", reduction)
        .attribute("axis", sample_axis(random, axis, data.rank()));
  };
  return op;
}

Result<Types> infer_scatter_nd(const Call& call) {
  KW_CHECK(check_reduction(call));
  KW_TRY(const Tuples tuples, tuples_of(call.shape(0), call.shape(1), 0));
  if (call.shape(2) != tuples.result) {
    return fail("updates must be {}, not {}", tuples.result.text(), call.shape(2).text());
  }
  if (call.text("reduction") == "none" && tuples.count > tuples.cells) {
    return fail("{} updates for {} places: without a reduction ONNX leaves open which stay", tuples.count,
                tuples.cells);
  }
  return Types{*call.inputs[0]};
}

// Distinct tuples: the beginning of a random order of the places.
void draw_distinct_tuples(const Tuples& tuples, const Shape& data, Tensor& indices, InputClass input_class,
                          Random& random) {
  Integers places(size_of(tuples.cells));
  std::iota(places.begin(), places.end(), 0);
  const bool ordered = one_after_another(input_class, random);
  const std::int64_t last = std::max<std::int64_t>(tuples.cells - tuples.count, 0);
  const std::int64_t first = ordered ? random.pick({std::int64_t{0}, last, random.integer(0, last)}) : 0;
  const bool backwards = ordered && random.chance(0.3);
  for (std::int64_t tuple = 0; tuple < tuples.count; ++tuple) {
    if (!ordered) std::swap(places[size_of(tuple)], places[size_of(random.integer(tuple, tuples.cells - 1))]);
    std::int64_t place = places[size_of(first + (backwards ? tuples.count - 1 - tuple : tuple))];
    for (int i = tuples.width - 1; i >= 0; --i) {
      const std::int64_t at = place % data[i];
      indices.set_integer(tuple * tuples.width + i, ordered ? at : written(at, data[i], input_class, random));
      place /= data[i];
    }
  }
}

Op scatter_nd() {
  Op op = writer("ScatterND", "the data with a slice replaced (or joined) at every tuple of indices", 18, kInt64, true);
  op.infer = infer_scatter_nd;
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const Tuples tuples = *tuples_of(call.shape(0), call.shape(1), 0);
    Scattering scattering(call.text("reduction"), *in[0], out[0]);
    KW_CHECK(each_slice(tuples, in[0]->shape, *in[1], [&](std::size_t source, std::size_t place) {
      for (std::size_t i = 0; i < size_of(tuples.run); ++i) scattering.put(*in[2], source + i, place + i);
    }));
    return scattering.finish();
  };
  op.draw = [](const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
    draw_operands(call, random, inputs);
    if (!inputs[1]) return;
    const Tuples tuples = *tuples_of(call.shape(0), call.shape(1), 0);
    if (call.text("reduction") == "none") {
      draw_distinct_tuples(tuples, call.shape(0), *inputs[1], input_class, random);
    } else {
      draw_tuples(tuples, call.shape(0), *inputs[1], input_class, random);
    }
  };
  op.sample = [](Random& random) {
    const Shape data = sample_shape(random, 1, 4);
    const DType type = sample_type(random, kAnyType);
    const std::string reduction = sample_reduction(random, type);
    const std::int64_t width = random.integer(1, data.rank());
    const std::int64_t cells = data.count(0, static_cast<int>(width));
    Shape indices{random.integer(1, reduction == "none" ? std::min<std::int64_t>(cells, 20) : 20), width};
    const Shape updates = tuples_of(data, indices, 0)->result;
    return Sample()
        .input(type, data)
        .input(DType::int64, indices)
        .input(type, updates)
        .attribute("reduction", reduction);
  };
  return op;
}

// --- OneHot ---

Result<std::int64_t> depth_of(const Call& call) {
  KW_TRY(const std::int64_t depth, call.constant_integer(1));
  if (depth < 1) return fail("depth cannot be {}", depth);
  return depth;
}

// Where an index points, or -1 for nowhere. A float counts as the integer that it is cut to.
std::int64_t hot_place(const WideTensor& indices, std::size_t i, std::int64_t depth) {
  if (indices.dtype == DType::uint64 && indices.integers[i] < 0) return -1;  // beyond int64
  const double index = std::trunc(indices.number(i));
  const auto length = static_cast<double>(depth);
  if (!(index >= -length && index < length)) return -1;
  return static_cast<std::int64_t>(index < 0 ? index + length : index);
}

void draw_one_hot(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
  const std::int64_t depth = *depth_of(call);
  if (Tensor* indices = inputs[0]) {
    const std::int64_t low = is_signed(indices->dtype()) ? -depth - 1 : 0;
    const bool in_order = depth > 0 && one_after_another(input_class, random);
    const bool outside = input_class != InputClass::typical && random.chance(0.1);
    const std::int64_t first = depth > 0 ? random.integer(0, depth - 1) : 0,
                       step = random.pick<std::int64_t>({0, 1, 1, depth - 1});
    for (std::int64_t i = 0; i < indices->count(); ++i) {
      indices->set_integer(i, in_order                             ? (first + step * (i % depth)) % depth
                              : outside                            ? depth + random.integer(0, 1)
                              : input_class == InputClass::typical ? random.integer(0, depth - 1)
                                                                   : random.integer(low, depth + 1));
    }
  }
  // On and off must differ, or every answer is right.
  if (Tensor* values = inputs[2]; values && values->real(0) == values->real(1)) {
    values->set_real(1, values->real(0) == 0 ? 1 : 0);
  }
}

Op one_hot() {
  Op op;
  op.name = "OneHot";
  op.meaning = "`off` everywhere but `on` where the new axis' place is the index; indices out of range give only `off`";
  op.since = 11;
  op.attributes = {{.name = "axis", .fallback = std::int64_t{-1}}};
  op.inputs = {{.name = "indices", .types = kNumbers, .group = ""},
               {.name = "depth", .types = kNumbers, .group = "", .constant = true},
               {.name = "values", .types = kAnyType, .group = ""}};
  op.outputs = {{"output"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const std::int64_t depth, depth_of(call));
    KW_TRY(const int axis, normal_axis(call.integer("axis"), call.shape(0).rank() + 1));
    if (call.shape(2) != Shape{2}) return fail("values must be [off, on], not {}", call.shape(2).text());
    std::vector<std::int64_t> lengths = call.shape(0).lengths();
    lengths.insert(lengths.begin() + axis, depth);
    return Types{{call.dtype(2), Shape(std::move(lengths))}};
  };
  op.reference = [](const Call& call, WideInputs in, std::span<WideTensor> out) -> Status {
    const AxisView view(out[0].shape, *normal_axis(call.integer("axis"), out[0].shape.rank()));
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        const std::int64_t hot = hot_place(*in[0], size_of(o * view.inner + i), view.length);
        for (std::int64_t k = 0; k < view.length; ++k) {
          copy_elements(*in[2], k == hot ? 1 : 0, out[0], view.index(o, k, i));
        }
      }
    }
    return {};
  };
  op.flops = no_flops;
  op.draw = draw_one_hot;
  op.sample = [](Random& random) {
    const Shape shape = sample_shape(random, 1, 3);
    Tensor depth(DType::int64, Shape{});
    depth.set_integer(0, random.integer(1, 9));
    return Sample()
        .input(DType::int64, shape)
        .constant(std::move(depth))
        .input(random.pick({DType::float32, DType::int64}), {2})
        .attribute("axis", random.integer(-shape.rank() - 1, shape.rank()));
  };
  return op;
}

}  // namespace

std::vector<Op> indexing() {
  return {gather(),
          gather_elements(),
          gather_nd(),
          scatter_elements("ScatterElements",
                           "the data with an element replaced (or joined) at every index along an axis", 18, true),
          scatter_elements("Scatter", "ScatterElements without reductions, by its name before opset 11", 9, false),
          scatter_nd(),
          one_hot()};
}

}  // namespace kw::ops::families
