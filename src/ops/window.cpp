#include "ops/window.h"

#include <algorithm>
#include <cassert>

namespace kw::ops {
namespace {

// Attributes and lengths up to here multiply without overflow.
constexpr std::int64_t kMost = std::int64_t{1} << 31;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

// The integers i in [0, count) with low <= first + i * step < high.
Range steps_inside(std::int64_t first, std::int64_t step, std::int64_t count, std::int64_t low, std::int64_t high) {
  return {std::clamp<std::int64_t>(ceil_div(low - first, step), 0, count),
          std::clamp<std::int64_t>(ceil_div(high - first, step), 0, count)};
}

// A list of one number for each axis, or `fallback` for all where the attribute is absent.
Result<std::vector<std::int64_t>> numbers(const Call& call, const char* name, std::size_t count, std::int64_t least,
                                          std::int64_t fallback) {
  if (!call.attributes.has(name)) return std::vector<std::int64_t>(count, fallback);
  const std::vector<std::int64_t>& list = call.integers(name);
  if (list.size() != count) return fail("attribute '{}' has {} numbers, not {}", name, list.size(), count);
  for (std::int64_t number : list) {
    if (number < least || number >= kMost) {
      return fail("attribute '{}' holds {}, but may only hold {} to {}", name, number, least, kMost - 1);
    }
  }
  return std::vector<std::int64_t>(list);
}

enum class Padding { given, same_upper, same_lower, none };

Padding padding_of(const Call& call) {
  const std::string& text = call.text("auto_pad");
  if (text == "SAME_UPPER") return Padding::same_upper;
  if (text == "SAME_LOWER") return Padding::same_lower;
  return text == "VALID" ? Padding::none : Padding::given;
}

// Everything that attributes say on each axis alone: kernel, stride, dilation and given pads.
Result<Window> described_window(const Call& call, const Shape& lengths, const Shape& kernel) {
  const auto rank = static_cast<std::size_t>(lengths.rank());
  if (rank == 0) return fail("the input needs at least one axis after batch and channel");
  if (kernel.rank() != lengths.rank()) {
    return fail("the kernel {} does not fit the spatial axes {}", kernel.text(), lengths.text());
  }
  KW_TRY(const auto strides, numbers(call, "strides", rank, 1, 1));
  KW_TRY(const auto dilations, numbers(call, "dilations", rank, 1, 1));
  KW_TRY(const auto pads, numbers(call, "pads", 2 * rank, 0, 0));
  if (padding_of(call) != Padding::given && std::ranges::any_of(pads, [](std::int64_t pad) { return pad != 0; })) {
    return fail("attribute 'pads' and auto_pad \"{}\" exclude each other", call.text("auto_pad"));
  }
  Window window(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const int axis = static_cast<int>(i);
    if (lengths[axis] < 1) return fail("axis {} is empty", axis + 2);
    if (lengths[axis] >= kMost || kernel[axis] >= kMost) return fail("axis {} is too long for a window", axis + 2);
    if (kernel[axis] < 1) return fail("the kernel {} has no taps", kernel.text());
    window[i] = {.kernel = kernel[axis],
                 .stride = strides[i],
                 .dilation = dilations[i],
                 .pad_begin = pads[i],
                 .pad_end = pads[rank + i]};
  }
  return window;
}

// Splits the padding over both ends; an odd one goes to the end, or to the beginning.
void split_padding(std::int64_t total, bool more_at_end, WindowAxis& axis) {
  const std::int64_t pads = std::max<std::int64_t>(total, 0);
  axis.pad_begin = more_at_end ? pads / 2 : pads - pads / 2;
  axis.pad_end = pads - axis.pad_begin;
}

std::int64_t window_count(const WindowAxis& axis, bool ceil) {
  const std::int64_t room = axis.input + axis.pad_begin + axis.pad_end - axis.span();
  if (!ceil) return floor_div(room, axis.stride) + 1;
  const std::int64_t count = ceil_div(room, axis.stride) + 1;
  return (count - 1) * axis.stride >= axis.input + axis.pad_begin ? count - 1 : count;
}

}  // namespace

Range WindowAxis::taps_on_input(std::int64_t window) const {
  return steps_inside(position(window, 0), dilation, kernel, 0, input);
}

Range WindowAxis::taps_on_padded(std::int64_t window) const {
  return steps_inside(position(window, 0), dilation, kernel, -pad_begin, input + pad_end);
}

Range WindowAxis::windows_on_input(std::int64_t tap) const {
  return steps_inside(position(0, tap), stride, output, 0, input);
}

std::vector<AttributeSpec> window_attributes() {
  return {{.name = "kernel_shape", .kind = AttributeKind::integers},
          {.name = "strides", .kind = AttributeKind::integers},
          {.name = "dilations", .kind = AttributeKind::integers},
          {.name = "pads", .kind = AttributeKind::integers},
          {.name = "auto_pad",
           .kind = AttributeKind::text,
           .fallback = std::string("NOTSET"),
           .choices = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}}};
}

Result<Window> sliding_window(const Call& call, const Shape& input, const Shape& kernel, bool ceil) {
  KW_TRY(Window window, described_window(call, input, kernel));
  const Padding padding = padding_of(call);
  for (std::size_t i = 0; i < window.size(); ++i) {
    WindowAxis& axis = window[i];
    axis.input = input[static_cast<int>(i)];
    if (padding == Padding::same_upper || padding == Padding::same_lower) {
      axis.output = ceil_div(axis.input, axis.stride);
      split_padding((axis.output - 1) * axis.stride + axis.span() - axis.input, padding == Padding::same_upper, axis);
    } else {
      axis.output = window_count(axis, ceil && padding == Padding::given);
    }
    if (axis.output < 1) {
      return fail("a window of {} does not fit into axis {} of length {} padded by {} and {}", axis.span(), i + 2,
                  axis.input, axis.pad_begin, axis.pad_end);
    }
  }
  return window;
}

Result<Window> transposed_window(const Call& call, const Shape& given, const Shape& kernel) {
  KW_TRY(Window window, described_window(call, given, kernel));
  KW_TRY(const auto more, numbers(call, "output_padding", window.size(), 0, 0));
  KW_TRY(const auto wanted, numbers(call, "output_shape", window.size(), 1, 0));
  const Padding padding = padding_of(call);
  for (std::size_t i = 0; i < window.size(); ++i) {
    WindowAxis& axis = window[i];
    axis.output = given[static_cast<int>(i)];
    if (more[i] >= std::max(axis.stride, axis.dilation)) {
      return fail("output_padding {} of axis {} must be below its stride or dilation", more[i], i + 2);
    }
    const std::int64_t whole = axis.stride * (axis.output - 1) + more[i] + axis.span();
    const bool same = padding == Padding::same_upper || padding == Padding::same_lower;
    if (wanted[i] > 0 || same) {
      axis.input = wanted[i] > 0 ? wanted[i] : axis.output * axis.stride;
      split_padding(whole - axis.input, padding == Padding::same_upper, axis);
    } else {
      axis.input = whole - axis.pad_begin - axis.pad_end;
    }
    if (axis.input < 1) return fail("pads {} and {} of axis {} leave nothing", axis.pad_begin, axis.pad_end, i + 2);
  }
  return window;
}

Shape spatial_axes(const Shape& shape) {
  assert(shape.rank() >= 2);
  return Shape(std::vector<std::int64_t>(shape.begin() + 2, shape.end()));
}

SampledWindow sample_window(Random& random, int rank, Sample& sample) {
  SampledWindow result;
  std::vector<std::int64_t> strides, dilations, pads;
  const std::string padding = random.chance(0.6) ? "NOTSET" : random.pick({"SAME_UPPER", "SAME_LOWER", "VALID"});
  const bool same = padding.starts_with("SAME");
  for (int axis = 0; axis < rank; ++axis) {
    result.kernel.append(random.integer(1, 4));
    // Runtimes disagree on what a kernel shorter than its stride means where lengths are to stay the same.
    strides.push_back(random.integer(1, same ? std::min<std::int64_t>(result.kernel[axis], 3) : 3));
    dilations.push_back(!same && random.chance(0.3) ? random.integer(2, 3) : 1);
    result.input.append((result.kernel[axis] - 1) * dilations.back() + random.integer(1, 9));
  }
  for (int side = 0; side < 2 * rank; ++side) pads.push_back(random.integer(0, result.kernel[side % rank] - 1));
  if (random.chance(0.8)) sample.attribute("strides", strides);
  if (random.chance(0.8)) sample.attribute("dilations", dilations);
  if (padding != "NOTSET" || random.chance(0.2)) sample.attribute("auto_pad", padding);
  if (padding == "NOTSET" && random.chance(0.8)) sample.attribute("pads", pads);
  return result;
}

}  // namespace kw::ops
