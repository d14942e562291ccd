// Fourier transforms of whole signals and of frames, and the windows that frames are weighted with.
//
// The reference is the defining sum with the angles reduced exactly: angle k * n of N is taken at (k * n) mod N. A fast
// transform is mostly better than the sum of N terms; the slack is made so that both are right.
#include <algorithm>
#include <cmath>

#include "ops/accuracy.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

// Complex signals with one number that bounds what the inputs' slack does to any sum of them.
struct Signal {
  std::vector<double> real;
  std::vector<double> imaginary;
  double magnitude = 0;  // the sum of |real| + |imaginary|
  double carried = 0;    // the sum of the slacks

  explicit Signal(std::size_t length) : real(length), imaginary(length) {}
  void put(std::size_t n, const WideTensor& tensor, std::size_t at, std::int64_t parts, double weight = 1) {
    real[n] = tensor.reals[at] * weight;
    imaginary[n] = parts == 2 ? tensor.reals[at + 1] * weight : 0;
    magnitude += std::fabs(real[n]) + std::fabs(imaginary[n]);
    carried += std::fabs(weight) * (tensor.slack_at(at) + (parts == 2 ? tensor.slack_at(at + 1) : 0));
  }
};

// The sums of a signal of length N against the N-th roots of unity.
class Transform {
 public:
  Transform(std::int64_t length, bool inverse) : cosine_(static_cast<std::size_t>(length)), sine_(cosine_.size()) {
    for (std::size_t i = 0; i < cosine_.size(); ++i) {
      const double angle = 2 * M_PI * static_cast<double>(i) / static_cast<double>(length);
      cosine_[i] = std::cos(angle);
      sine_[i] = inverse ? std::sin(angle) : -std::sin(angle);
    }
  }

  struct Bin {
    double real = 0;
    double imaginary = 0;
  };
  Bin bin(const Signal& signal, std::size_t k) const {
    Bin sum;
    std::size_t angle = 0;
    for (std::size_t n = 0; n < cosine_.size(); ++n) {
      sum.real += signal.real[n] * cosine_[angle] - signal.imaginary[n] * sine_[angle];
      sum.imaginary += signal.real[n] * sine_[angle] + signal.imaginary[n] * cosine_[angle];
      angle += k;
      if (angle >= cosine_.size()) angle -= cosine_.size();
    }
    return sum;
  }
  // Of the sum, of roots computed from rounded angles (of a dozen turns), and of Bluestein's way for lengths that are
  // no powers of two: three transforms, each twice as long or more.
  double slack(const Signal& signal, DType working) const {
    const double stages = std::log2(2 * static_cast<double>(cosine_.size()));
    return sum_bound(static_cast<std::int64_t>(cosine_.size()), signal.magnitude, working) +
           (96 + 8 * stages) * unit_roundoff(working) * signal.magnitude + signal.carried + smallest_normal(working);
  }

 private:
  std::vector<double> cosine_;
  std::vector<double> sine_;
};

constexpr std::int64_t kLongest = std::int64_t{1} << 24;

struct DftPlan {
  int axis;
  std::int64_t parts;   // 1: real input; 2: complex
  std::int64_t length;  // of the transform
  bool inverse;
  bool onesided;
  Shape shape;  // of the result
};

Result<DftPlan> plan_dft(const Call& call) {
  const Shape& shape = call.shape(0);
  if (shape.rank() < 2)
    return fail("the input must have a signal axis and one of 1 or 2 parts, but has shape {}", shape.text());
  DftPlan plan{.parts = shape[shape.rank() - 1],
               .inverse = call.integer("inverse") != 0,
               .onesided = call.integer("onesided") != 0,
               .shape = shape};
  if (plan.parts != 1 && plan.parts != 2) {
    return fail("the last axis must be 1 (real) or 2 (real and imaginary), but is {}", plan.parts);
  }
  std::int64_t axis = call.opset < 20 ? 1 : -2;
  if (call.attributes.has("axis")) axis = call.integer("axis");
  if (call.has(2)) {
    KW_TRY(axis, call.constant_integer(2));
  }
  KW_TRY(plan.axis, normal_axis(axis, shape.rank()));
  if (plan.axis == shape.rank() - 1) return fail("axis {} holds the parts of numbers: it is no signal", axis);
  const bool to_real = plan.inverse && plan.onesided;
  if (plan.onesided && plan.parts != (to_real ? 2 : 1)) {
    return fail("a onesided {}transform takes {} input", to_real ? "inverse " : "", to_real ? "complex" : "real");
  }
  const std::int64_t given = shape[plan.axis];
  plan.length = to_real ? 2 * (given - 1) : given;
  if (call.has(1)) {
    KW_TRY(plan.length, call.constant_integer(1));
  }
  if (plan.length < 1 || plan.length > kLongest) return fail("a transform of length {} is not possible", plan.length);
  plan.shape[plan.axis] = plan.onesided && !plan.inverse ? plan.length / 2 + 1 : plan.length;
  plan.shape[shape.rank() - 1] = to_real ? 1 : 2;
  return plan;
}

// The half spectrum of a real signal completed to the whole: bin N - k is the conjugate of bin k.
void complete(Signal& spectrum) {
  const std::size_t length = spectrum.real.size();
  spectrum.imaginary[0] = 0;
  if (length % 2 == 0) spectrum.imaginary[length / 2] = 0;
  for (std::size_t k = length / 2 + 1; k < length; ++k) {
    spectrum.real[k] = spectrum.real[length - k];
    spectrum.imaginary[k] = -spectrum.imaginary[length - k];
  }
  spectrum.magnitude *= 2;
  spectrum.carried *= 2;
}

Status transform(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  WideTensor& y = out[0];
  const DftPlan plan = *plan_dft(call);
  const Transform roots(plan.length, plan.inverse);
  const AxisView from(x.shape, plan.axis);
  const AxisView to(y.shape, plan.axis);
  const std::int64_t out_parts = y.shape[y.shape.rank() - 1];
  const bool half_spectrum = plan.inverse && plan.onesided;
  const std::int64_t used = std::min(from.length, half_spectrum ? plan.length / 2 + 1 : plan.length);
  const double scale = plan.inverse ? 1 / static_cast<double>(plan.length) : 1;
  y.add_slack();
  for (std::int64_t o = 0; o < from.outer; ++o) {
    for (std::int64_t i = 0; i < from.inner / plan.parts; ++i) {
      Signal signal(static_cast<std::size_t>(plan.length));  // what the input does not fill stays zero
      for (std::int64_t n = 0; n < used; ++n) {
        signal.put(static_cast<std::size_t>(n), x, from.index(o, n, i * plan.parts), plan.parts);
      }
      if (half_spectrum) complete(signal);
      const double slack = scale * roots.slack(signal, working_type(x.dtype));
      for (std::int64_t k = 0; k < to.length; ++k) {
        const Transform::Bin bin = roots.bin(signal, static_cast<std::size_t>(k));
        const std::size_t at = to.index(o, k, i * out_parts);
        y.reals[at] = scale * bin.real;
        y.slack[at] = slack + kRounded.bound(y.reals[at], y.dtype);
        if (out_parts == 1) continue;
        y.reals[at + 1] = scale * bin.imaginary;
        y.slack[at + 1] = slack + kRounded.bound(y.reals[at + 1], y.dtype);
      }
    }
  }
  return {};
}

// As a fast transform counts: 5 N log2(N), half of it for real signals.
double fourier_flops(std::int64_t length, bool real) {
  const auto n = static_cast<double>(length);
  return (real ? 2.5 : 5) * n * std::max(1.0, std::log2(n));
}

Op dft() {
  Op op;
  op.name = "DFT";
  op.meaning =
      "the discrete Fourier transform along an axis, or its inverse; the last axis holds real and imaginary part";
  op.since = 17;
  op.attributes = {{.name = "axis"},  // before opset 20; the default depends on the opset
                   {.name = "inverse", .fallback = std::int64_t{0}},
                   {.name = "onesided", .fallback = std::int64_t{0}}};
  op.inputs = {{.name = "input"},
               {.name = "dft_length", .types = kIndex, .group = "", .optional = true, .constant = true},
               {.name = "axis", .types = kInt64, .group = "", .optional = true, .constant = true}};
  op.outputs = {{"output"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(DftPlan plan, plan_dft(call));
    return Types{{call.dtype(0), std::move(plan.shape)}};
  };
  op.reference = transform;
  op.flops = [](const Call& call) {
    const DftPlan plan = *plan_dft(call);
    const Shape& shape = call.shape(0);
    const std::int64_t along = std::max<std::int64_t>(1, shape[plan.axis] * plan.parts);
    return static_cast<double>(shape.count() / along) * fourier_flops(plan.length, plan.parts == 1 || plan.onesided);
  };
  op.sample = [](Random& random) {
    Sample sample;
    const bool inverse = random.chance(0.4);
    const bool onesided = !inverse && random.chance(0.4);
    Shape shape{random.integer(1, 3), random.pick({1, 2, 5, 8, 16, 21, 32}), onesided || random.chance(0.4) ? 1 : 2};
    if (random.chance(0.3)) shape = Shape{shape[0], random.integer(1, 4), shape[1], shape[2]};
    sample.input(DType::float32, shape);
    const auto axis = static_cast<int>(random.integer(1, shape.rank() - 2));
    if (random.chance(0.3))
      sample.constant(Tensor::scalar(static_cast<double>(random.pick({4, 7, 16, 30})), DType::int64));
    sample.attribute("axis", sample_axis(random, axis, shape.rank()));
    if (inverse) sample.attribute("inverse", std::int64_t{1});
    if (onesided) sample.attribute("onesided", std::int64_t{1});
    return sample;
  };
  return op;
}

struct StftPlan {
  std::int64_t batch, length, parts;
  std::int64_t step, frame, frames, bins;
};

Result<StftPlan> plan_stft(const Call& call) {
  const Shape& shape = call.shape(0);
  if (shape.rank() != 3 && shape.rank() != 2)
    return fail("the signal must have shape [batch, length, 1 or 2], not {}", shape.text());
  StftPlan plan{.batch = shape[0], .length = shape[1], .parts = shape.rank() == 3 ? shape[2] : 1};
  if (plan.parts != 1 && plan.parts != 2) return fail("the signal's last axis must be 1 or 2, but is {}", plan.parts);
  KW_TRY(plan.step, call.constant_integer(1));
  plan.frame = plan.length;
  if (call.has(2)) {
    if (call.shape(2).rank() != 1) return fail("the window must have one axis, but has shape {}", call.shape(2).text());
    plan.frame = call.shape(2)[0];
  }
  if (call.has(3)) {
    KW_TRY(plan.frame, call.constant_integer(3));
    if (call.has(2) && call.shape(2)[0] != plan.frame) {
      return fail("frame_length is {}, but the window is {} long", plan.frame, call.shape(2)[0]);
    }
  }
  if (plan.step < 1) return fail("frame_step must be at least 1, but is {}", plan.step);
  if (plan.frame < 1 || plan.frame > plan.length) {
    return fail("a frame of {} does not fit into a signal of {}", plan.frame, plan.length);
  }
  const bool onesided = call.integer("onesided") != 0;
  if (onesided && plan.parts == 2) return fail("a onesided transform takes a real signal");
  plan.frames = (plan.length - plan.frame) / plan.step + 1;
  plan.bins = onesided ? plan.frame / 2 + 1 : plan.frame;
  return plan;
}

Status transform_frames(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& x = *in[0];
  const WideTensor* window = call.has(2) ? in[2] : nullptr;
  WideTensor& y = out[0];
  const StftPlan plan = *plan_stft(call);
  const Transform roots(plan.frame, false);
  y.add_slack();
  std::size_t at = 0;
  for (std::int64_t b = 0; b < plan.batch; ++b) {
    for (std::int64_t f = 0; f < plan.frames; ++f) {
      Signal signal(static_cast<std::size_t>(plan.frame));
      for (std::int64_t n = 0; n < plan.frame; ++n) {
        const auto w = static_cast<std::size_t>(n);
        const auto from = static_cast<std::size_t>((b * plan.length + f * plan.step + n) * plan.parts);
        signal.put(w, x, from, plan.parts, window ? window->reals[w] : 1);
        if (window && !window->exact()) signal.carried += window->slack[w] * std::fabs(x.reals[from]) * 2;
      }
      const double slack = roots.slack(signal, working_type(x.dtype));
      for (std::int64_t k = 0; k < plan.bins; ++k) {
        const Transform::Bin bin = roots.bin(signal, static_cast<std::size_t>(k));
        for (double part : {bin.real, bin.imaginary}) {
          y.reals[at] = part;
          y.slack[at++] = slack + kRounded.bound(part, y.dtype);
        }
      }
    }
  }
  return {};
}

Op stft() {
  Op op;
  op.name = "STFT";
  op.meaning = "the Fourier transforms of overlapping frames of a signal, each weighted by a window";
  op.since = 17;
  op.attributes = {{.name = "onesided", .fallback = std::int64_t{1}}};
  op.inputs = {{.name = "signal"},
               {.name = "frame_step", .types = kIndex, .group = "T2", .constant = true},
               {.name = "window", .optional = true},
               {.name = "frame_length", .types = kIndex, .group = "T2", .optional = true, .constant = true}};
  op.outputs = {{"output"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const StftPlan plan, plan_stft(call));
    return Types{{call.dtype(0), {plan.batch, plan.frames, plan.bins, 2}}};
  };
  op.reference = transform_frames;
  op.flops = [](const Call& call) {
    const StftPlan plan = *plan_stft(call);
    return static_cast<double>(plan.batch * plan.frames) *
           (fourier_flops(plan.frame, plan.parts == 1) + (call.has(2) ? static_cast<double>(plan.frame) : 0));
  };
  op.sample = [](Random& random) {
    Sample sample;
    const std::int64_t length = random.integer(20, 90);
    const std::int64_t frame = random.pick({4, 7, 16, 20});
    sample.input(DType::float32, {random.integer(1, 3), length, 1});
    sample.constant(Tensor::scalar(static_cast<double>(random.integer(1, 9)), DType::int64));
    const bool window = random.chance(0.7);
    if (window) {
      sample.input(DType::float32, {frame});
    } else {
      sample.absent();
    }
    if (!window || random.chance(0.5)) sample.constant(Tensor::scalar(static_cast<double>(frame), DType::int64));
    if (random.chance(0.6)) sample.attribute("onesided", random.integer(0, 1));
    return sample;
  };
  return op;
}

// Sums of cosines over one period.
struct Window {
  const char* name;
  const char* meaning;
  double constant;
  double once;   // of cos(2 pi n / N)
  double twice;  // of cos(4 pi n / N)
};

// The float types by ONNX's numbers.
Result<DType> window_type(const Call& call) {
  switch (call.integer("output_datatype")) {
    case 1:
      return DType::float32;
    case 10:
      return DType::float16;
    case 11:
      return DType::float64;
    case 16:
      return DType::bfloat16;
    default:
      return fail("output_datatype must be a float type (1, 10, 11 or 16), but is {}", call.integer("output_datatype"));
  }
}

Op window_op(const Window& window) {
  Op op;
  op.name = window.name;
  op.meaning = window.meaning;
  op.since = 17;
  op.attributes = {{.name = "output_datatype", .fallback = std::int64_t{1}},
                   {.name = "periodic", .fallback = std::int64_t{1}}};
  op.inputs = {{.name = "size", .types = kIndex, .group = "", .constant = true}};
  op.outputs = {{"output"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const std::int64_t size, call.constant_integer(0));
    KW_TRY(const DType dtype, window_type(call));
    if (size < 0) return fail("size must not be negative, but is {}", size);
    if (size == 1 && call.integer("periodic") == 0) return fail("a symmetric window needs a size of 2 or more");
    return Types{{dtype, {size}}};
  };
  op.reference = [window](const Call& call, WideInputs, std::span<WideTensor> out) -> Status {
    WideTensor& y = out[0];
    const double period = static_cast<double>(y.count()) - (call.integer("periodic") == 0 ? 1 : 0);
    y.add_slack();
    for (std::size_t n = 0; n < y.reals.size(); ++n) {
      const double angle = 2 * M_PI * static_cast<double>(n) / period;
      y.reals[n] = window.constant + window.once * std::cos(angle) + window.twice * std::cos(2 * angle);
      // The angles, up to 4 pi, are rounded before their cosine is taken.
      y.slack[n] = Accuracy{.ulps = 4, .absolute = 16}.bound(y.reals[n], y.dtype);
    }
    return {};
  };
  op.flops = [](const Call& call) { return 2 * kFunctionFlops * output_count(call); };
  op.sample = [](Random& random) {
    Sample sample;
    sample.constant(Tensor::scalar(static_cast<double>(random.integer(2, 60)), DType::int64));
    if (random.chance(0.6)) sample.attribute("periodic", random.integer(0, 1));
    return sample;
  };
  return op;
}

}  // namespace

std::vector<Op> signal() {
  return {dft(), stft(),
          window_op({"HannWindow", "a window that rises from 0 to 1 and falls again as a cosine does", 0.5, -0.5, 0}),
          window_op({"HammingWindow", "a window like Hann's that stays above 0 at its ends", 25.0 / 46, -21.0 / 46, 0}),
          window_op({"BlackmanWindow", "a window of two cosines, flatter at its ends than Hann's", 0.42, -0.5, 0.08})};
}

}  // namespace kw::ops::families
