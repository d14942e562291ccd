// Elements as another type.
#include <algorithm>
#include <cmath>

#include "ops/accuracy.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/onnx_types.h"

namespace kw::ops::families {
namespace {

// The nearest number of a float type.
double rounded(double value, DType dtype) {
  switch (dtype) {
    case DType::float32:
      return static_cast<float>(value);
    case DType::float16:
      return to_double(half_from(value));
    case DType::bfloat16:
      return to_double(brain_from(value));
    default:
      return value;
  }
}

// An integer type holds the numbers [low, high).
double low_end(DType dtype) {
  return is_signed(dtype) ? -std::ldexp(1.0, 8 * static_cast<int>(size_bytes(dtype)) - 1) : 0;
}
double high_end(DType dtype) {
  return std::ldexp(1.0, 8 * static_cast<int>(size_bytes(dtype)) - (is_signed(dtype) ? 1 : 0));
}

// What one rounding from `value` to a 16-bit type and two, through float32, differ by: both are honest, and processors
// have only the second.
double detour(double value, double nearest, DType to) {
  if (size_bytes(to) != 2 || !std::isfinite(nearest)) return 0;
  const double other = rounded(rounded(value, DType::float32), to);
  return std::min(std::fabs(other - nearest), 4 * unit_roundoff(to) * std::fabs(nearest));
}

double integer_as_real(std::int64_t value, DType from, DType to) {
  // Straight from the integer: by way of a double, a float32 would be rounded twice.
  if (from == DType::uint64) {
    const auto whole = static_cast<std::uint64_t>(value);
    return to == DType::float32 ? static_cast<float>(whole) : static_cast<double>(whole);
  }
  return to == DType::float32 ? static_cast<float>(value) : static_cast<double>(value);
}

void cast_to_real(const WideTensor& x, WideTensor& y) {
  const bool coarser = is_float(x.dtype) && unit_roundoff(y.dtype) > unit_roundoff(x.dtype);
  if (!x.exact()) y.add_slack();
  for (std::size_t i = 0; i < y.reals.size(); ++i) {
    const double value = is_float(x.dtype) ? x.reals[i] : integer_as_real(x.integers[i], x.dtype, y.dtype);
    y.reals[i] = rounded(value, y.dtype);
    if (const double difference = detour(value, y.reals[i], y.dtype); difference > 0) {
      y.add_slack();
      y.slack[i] = difference;
    }
    if (!x.exact()) y.slack[i] += x.slack[i] + (coarser ? kRounded.bound(y.reals[i], y.dtype) : 0);
  }
}

Status cast_to_integer(const WideTensor& x, WideTensor& y) {
  for (std::size_t i = 0; i < y.integers.size(); ++i) {
    if (!is_float(x.dtype)) {
      y.integers[i] = wrap(x.integers[i], y.dtype);
    } else if (y.dtype == DType::boolean) {
      y.integers[i] = x.reals[i] != 0;
    } else {
      const double whole = std::trunc(x.reals[i]);
      if (!(whole >= low_end(y.dtype) && whole < high_end(y.dtype))) {
        return fail("{} is outside the range of {}, where ONNX leaves the result open", x.reals[i], name_of(y.dtype));
      }
      y.integers[i] = y.dtype == DType::uint64 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(whole))
                                               : static_cast<std::int64_t>(whole);
    }
  }
  return {};
}

Status cast_elements(const Call&, WideInputs in, std::span<WideTensor> out) {
  if (!is_float(out[0].dtype)) return cast_to_integer(*in[0], out[0]);
  cast_to_real(*in[0], out[0]);
  return {};
}

// Brings a number into the range of an integer type, so that the result is defined.
double in_range(double value, DType to) {
  if (!std::isfinite(value)) return 0;
  value = std::fmod(value, high_end(to));
  return value < 0 && !is_signed(to) ? -value : value;
}

void draw_castable(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
  if (!inputs[0] || inputs[0]->dtype() == DType::boolean) return;
  Tensor& x = *inputs[0];
  const DType to = call.outputs[0].dtype;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    if (to == DType::boolean) {
      // Without zeros every answer would be true.
      if (random.chance(0.5)) x.set_real(i, random.sign() * 0.0);
    } else if (is_float(x.dtype()) && is_integer(to)) {
      const double fraction = input_class == InputClass::edges ? random.pick({0.0, 0.5, 0.9375}) : 0;
      const double value =
          input_class == InputClass::edges ? std::trunc(x.real(i)) + random.sign() * fraction : x.real(i);
      x.set_real(i, value);
      x.set_real(i, in_range(x.real(i), to));  // what was rounded into the type stays in it
    }
  }
}

// Numbers that lie halfway between two of float16 or bfloat16, at the end of float16, and around its smallest.
Domain cast_domain() {
  return {.points = {0, 1, 2049, 2051, 65504, 65520, -65520, 0x1p-25, 0x1p-14, 257, 259, 1e39},
          .infinities = true,
          .nans = true,
          .far = 1e6};
}

Op cast_op(std::string name, std::string meaning, int since) {
  Op op;
  op.name = std::move(name);
  op.meaning = std::move(meaning);
  op.since = since;
  op.inputs = {{.name = "input", .types = kAnyType, .group = "", .domain = cast_domain()}};
  op.outputs = {{"output"}};
  op.reference = cast_elements;
  op.flops = input_count;
  op.draw = draw_castable;
  return op;
}

Op cast_to() {
  Op op = cast_op("Cast", "the elements as another type: floats rounded to nearest even, cut to integers", 13);
  // saturate and round_mode speak of 8-bit floats only.
  op.attributes = {{.name = "to", .required = true},
                   {.name = "saturate", .fallback = std::int64_t{1}},
                   {.name = "round_mode", .kind = AttributeKind::text, .fallback = "up"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const DType to, dtype_of_onnx(call.integer("to")));
    return Types{{to, call.shape(0)}};
  };
  op.sample = [](Random& random) {
    const DType to = random.pick(kOnnxTypes).second;
    return Sample()
        .input(sample_type(random, kAnyType), sample_shape(random, 0, 4, true))
        .attribute("to", onnx_number(to));
  };
  return op;
}

Op cast_like() {
  Op op = cast_op("CastLike", "the elements as the type of another tensor, whose own elements do not count", 15);
  op.inputs.push_back({.name = "target_type", .types = kAnyType, .group = ""});
  op.attributes = {{.name = "saturate", .fallback = std::int64_t{1}},
                   {.name = "round_mode", .kind = AttributeKind::text, .fallback = "up"}};
  op.infer = [](const Call& call) -> Result<Types> { return Types{{call.dtype(1), call.shape(0)}}; };
  op.bytes = [](const Call& call) { return bytes_of(*call.inputs[0]) + bytes_of(call.outputs[0]); };
  op.sample = [](Random& random) {
    return Sample()
        .input(sample_type(random, kAnyType), sample_shape(random, 0, 4, true))
        .input(random.pick(kOnnxTypes).second, sample_shape(random, 0, 1));
  };
  return op;
}

}  // namespace

std::vector<Op> cast() { return {cast_to(), cast_like()}; }

}  // namespace kw::ops::families
