// Largest element, mean and norm under sliding windows or over whole channels.
#include <algorithm>
#include <cmath>

#include "ops/accuracy.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/walk.h"
#include "ops/window.h"

namespace kw::ops::families {
namespace {

// The elements of X that lie under one window, by flat index in row-major order.
struct Pooled {
  std::vector<std::size_t> elements;
  std::int64_t padded_count = 0;  // positions on the input and its padding; what runs off beyond that is not counted
};

// One window over each whole channel where there is no kernel_shape.
Result<Window> window_of(const Call& call) {
  const Shape spatial = spatial_axes(call.shape(0));
  if (call.attributes.has("kernel_shape")) {
    const Shape kernel(call.integers("kernel_shape"));
    const bool ceil = call.attributes.has("ceil_mode") && call.integer("ceil_mode") != 0;
    return sliding_window(call, spatial, kernel, ceil);
  }
  Window window;
  for (std::int64_t length : spatial) window.push_back({.input = length, .kernel = length});
  return window;
}

Result<Types> infer_pooling(const Call& call) {
  const Shape& x = call.shape(0);
  if (x.rank() < 3) return fail("X {} needs a batch, a channel and at least one spatial axis", x.text());
  KW_TRY(const Window window, window_of(call));
  Shape y{x[0], x[1]};
  for (const WindowAxis& axis : window) y.append(axis.output);
  KW_CHECK(check_shape(y));
  for (std::size_t i = 0; i < window.size(); ++i) {
    for (std::int64_t o = 0; o < window[i].output; ++o) {
      if (window[i].taps_on_input(o).count() == 0) {
        return fail("window {} of axis {} would lie on no element of X", o, i + 2);
      }
    }
  }
  return Types{{call.dtype(0), std::move(y)}};
}

// Calls f(out, pooled) for every element of the result.
template <class F>
void each_window(const Call& call, F&& f) {
  const Shape& x = call.shape(0);
  const Window window = *window_of(call);
  Shape windows;
  for (const WindowAxis& axis : window) windows.append(axis.output);
  const std::vector<std::int64_t> strides = spatial_axes(x).strides();
  const auto channel_size = static_cast<std::size_t>(x.count(2, x.rank()));
  const auto channels = static_cast<std::size_t>(x[0] * x[1]);
  std::size_t out = 0;
  Pooled pooled;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    each_index(windows, [&](const std::vector<std::int64_t>& at) {
      Shape taps;
      std::int64_t first = 0;  // of the taps on the input
      pooled.padded_count = 1;
      for (std::size_t i = 0; i < window.size(); ++i) {
        const Range range = window[i].taps_on_input(at[i]);
        taps.append(range.count());
        first += window[i].position(at[i], range.begin) * strides[i];
        pooled.padded_count *= window[i].taps_on_padded(at[i]).count();
      }
      pooled.elements.clear();
      each_index(taps, [&](const std::vector<std::int64_t>& tap) {
        std::int64_t offset = first;
        for (std::size_t i = 0; i < window.size(); ++i) offset += tap[i] * window[i].dilation * strides[i];
        pooled.elements.push_back(channel * channel_size + static_cast<std::size_t>(offset));
      });
      f(out++, std::as_const(pooled));
    });
  }
}

// An element's place as Indices counts it: within its channel by the storage order, channels one after another.
std::int64_t place(std::size_t element, const Shape& x, bool column_major) {
  auto index = static_cast<std::int64_t>(element);
  if (!column_major) return index;
  const std::int64_t channel_size = x.count(2, x.rank());
  std::int64_t within = index % channel_size;
  std::int64_t result = index - within;
  for (int axis = x.rank() - 1; axis >= 2; --axis) {
    result += within % x[axis] * x.count(2, axis);
    within /= x[axis];
  }
  return result;
}

Status pool_max(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  WideTensor& y = out[0];
  const bool column_major = call.attributes.has("storage_order") && call.integer("storage_order") != 0;
  if (!x.exact()) y.add_slack();
  each_window(call, [&](std::size_t o, const Pooled& pooled) {
    std::size_t best = pooled.elements.front();
    for (std::size_t i : pooled.elements) {
      if (x.number(i) > x.number(best)) best = i;
      if (!x.exact()) y.slack[o] = std::max(y.slack[o], x.slack[i]);
    }
    if (is_float(y.dtype)) {
      y.reals[o] = x.reals[best];
    } else {
      y.integers[o] = x.integers[best];
    }
    if (out.size() > 1) out[1].integers[o] = place(best, x.shape, column_major);
  });
  return {};
}

Status pool_average(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  WideTensor& y = out[0];
  const bool padding_counts = call.attributes.has("count_include_pad") && call.integer("count_include_pad") != 0;
  y.add_slack();
  each_window(call, [&](std::size_t o, const Pooled& pooled) {
    double sum = 0, squares = 0, carried = 0;
    for (std::size_t i : pooled.elements) {
      sum += x.reals[i];
      squares += x.reals[i] * x.reals[i];
      carried += x.slack_at(i);
    }
    const std::int64_t terms = std::ssize(pooled.elements);
    const auto divisor = static_cast<double>(padding_counts ? pooled.padded_count : terms);
    y.reals[o] = sum / divisor;
    y.slack[o] = (drawn_sum_bound(terms, sum, squares, y.dtype) + carried) / divisor +
                 Accuracy{.ulps = 2}.bound(y.reals[o], y.dtype);
  });
  return {};
}

// (sum of |x|^p)^(1/p)
Status pool_norm(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  WideTensor& y = out[0];
  const auto p = static_cast<double>(call.integer("p"));
  const Accuracy power = p <= 2 ? kRounded : kFunction;  // p == 1 and 2 need no function
  y.add_slack();
  each_window(call, [&](std::size_t o, const Pooled& pooled) {
    double sum = 0, error = 0;
    for (std::size_t i : pooled.elements) {
      const double term = std::pow(std::fabs(x.reals[i]), p);
      sum += term;
      error += power.bound(term, y.dtype) + std::pow(std::fabs(x.reals[i]) + x.slack_at(i), p) - term;
    }
    error += sum_bound(std::ssize(pooled.elements), sum, y.dtype);
    const auto root = [p](double value) { return std::pow(std::max(value, 0.0), 1 / p); };
    y.reals[o] = root(sum);
    // Near zero a root is steep: its ends say more than its derivative.
    y.slack[o] =
        std::max(root(sum + error) - y.reals[o], y.reals[o] - root(sum - error)) + power.bound(y.reals[o], y.dtype);
  });
  return {};
}

using Reference = Status (*)(const Call&, WideInputs, std::span<WideTensor>);

Op global_pooling(std::string name, std::string meaning, Reference reference, double flops) {
  Op op;
  op.name = std::move(name);
  op.meaning = std::move(meaning);
  op.inputs = {{.name = "X"}};
  op.infer = infer_pooling;
  op.reference = reference;
  op.flops = [flops](const Call& call) { return flops * input_count(call); };
  op.sample = [](Random& random) {
    Sample sample;
    sample.input(DType::float32, sample_shape(random, 3, 5));
    return sample;
  };
  return op;
}

// Each window costs `flops` for each of its elements on the input or its padding.
Op sliding_pooling(std::string name, std::string meaning, int since, Reference reference, double flops) {
  Op op = global_pooling(std::move(name), std::move(meaning), reference, flops);
  op.since = since;
  op.attributes = window_attributes();
  op.attributes.front().required = true;
  op.attributes.push_back({.name = "ceil_mode", .fallback = std::int64_t{0}});
  op.flops = [flops](const Call& call) {
    const Shape kernel(call.integers("kernel_shape"));
    return flops * output_count(call) * static_cast<double>(kernel.count());
  };
  return op;
}

Sample sample_sliding(Random& random, DTypes types) {
  Sample sample;
  const auto rank = static_cast<int>(random.integer(1, 3));
  const SampledWindow window = sample_window(random, rank, sample);
  sample.attribute("kernel_shape", window.kernel.lengths());
  if (!sample.attributes.has("auto_pad") && random.chance(0.5)) sample.attribute("ceil_mode", std::int64_t{1});
  Shape x{random.integer(1, 2), random.integer(1, 4)};
  for (std::int64_t length : window.input) x.append(length);
  sample.input(sample_type(random, types), std::move(x));
  return sample;
}

Op max_pool() {
  const DTypes types = kFloats | DTypes{DType::int8, DType::uint8};
  Op op = sliding_pooling("MaxPool", "the largest element under each window, and where it is (the first of equal ones)",
                          12, pool_max, 1);
  op.attributes.push_back({.name = "storage_order", .fallback = std::int64_t{0}});
  op.inputs = {{.name = "X", .types = types}};
  op.outputs = {{"Y"}, {.name = "Indices", .optional = true}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(Types result, infer_pooling(call));
    const TensorType indices{DType::int64, result[0].shape};
    result.push_back(indices);
    return result;
  };
  op.sample = [types](Random& random) {
    Sample sample = sample_sliding(random, types);
    if (random.chance(0.5)) {
      sample.outputs = 2;
      sample.attribute("storage_order", random.integer(0, 1));
    }
    return sample;
  };
  return op;
}

Op average_pool() {
  Op op = sliding_pooling("AveragePool", "the mean of the elements under each window, with or without padding", 19,
                          pool_average, 1);
  op.attributes.push_back({.name = "count_include_pad", .fallback = std::int64_t{0}});
  op.sample = [](Random& random) {
    Sample sample = sample_sliding(random, {DType::float32});
    sample.attribute("count_include_pad", random.integer(0, 1));
    return sample;
  };
  return op;
}

// Adds attribute p, and the check that a norm has one of at least 1.
Op norm(Op op) {
  op.attributes.push_back({.name = "p", .fallback = std::int64_t{2}});
  // |x|^p of the farthest must not leave float32's range.
  op.inputs[0].domain.far = 100;
  op.infer = [](const Call& call) -> Result<Types> {
    if (call.integer("p") < 1) return fail("attribute 'p' is {}, but must be at least 1", call.integer("p"));
    return infer_pooling(call);
  };
  op.sample = [sample_window_of = op.sample](Random& random) {
    Sample sample = sample_window_of(random);
    if (random.chance(0.8)) sample.attribute("p", random.integer(1, 3));
    return sample;
  };
  return op;
}

Op lp_pool() {
  Op op = sliding_pooling("LpPool", "the p-norm of the elements under each window", 18, pool_norm, 2);
  op.sample = [](Random& random) { return sample_sliding(random, {DType::float32}); };
  return norm(std::move(op));
}

}  // namespace

std::vector<Op> pooling() {
  Op global_max = global_pooling("GlobalMaxPool", "the largest element of each channel", pool_max, 1);
  return {
      max_pool(),
      average_pool(),
      lp_pool(),
      std::move(global_max),
      global_pooling("GlobalAveragePool", "the mean of each channel", pool_average, 1),
      norm(global_pooling("GlobalLpPool", "the p-norm of each channel", pool_norm, 2)),
  };
}

}  // namespace kw::ops::families
