#include "ops/wide_tensor.h"

#include <limits>
#include <type_traits>

namespace kw::ops {

WideTensor::WideTensor(const TensorType& type) : dtype(type.dtype), shape(type.shape) {
  const auto size = static_cast<std::size_t>(shape.count());
  if (is_float(dtype)) {
    reals.resize(size);
  } else {
    integers.resize(size);
  }
}

WideTensor widen(const Tensor& tensor) {
  WideTensor wide(tensor.type());
  with_type(tensor.dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const auto elements = tensor.as<T>();
    if constexpr (std::is_integral_v<T>) {
      for (std::size_t i = 0; i < elements.size(); ++i) wide.integers[i] = static_cast<std::int64_t>(elements[i]);
    } else if constexpr (std::is_floating_point_v<T>) {
      for (std::size_t i = 0; i < elements.size(); ++i) wide.reals[i] = static_cast<double>(elements[i]);
    } else {
      for (std::size_t i = 0; i < elements.size(); ++i) wide.reals[i] = to_double(elements[i]);
    }
  });
  return wide;
}

Tensor narrow(const WideTensor& wide) {
  Tensor tensor(wide.dtype, wide.shape);
  with_type(wide.dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const auto elements = tensor.as<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if constexpr (std::is_same_v<T, Half>) {
        elements[i] = half_from(wide.reals[i]);
      } else if constexpr (std::is_same_v<T, Brain>) {
        elements[i] = brain_from(wide.reals[i]);
      } else if constexpr (std::is_floating_point_v<T>) {
        elements[i] = static_cast<T>(wide.reals[i]);
      } else {
        elements[i] = static_cast<T>(wide.integers[i]);
      }
    }
  });
  return tensor;
}

std::int64_t wrap(std::int64_t value, DType dtype) {
  switch (dtype) {
    case DType::int8:
      return static_cast<std::int8_t>(value);
    case DType::int16:
      return static_cast<std::int16_t>(value);
    case DType::int32:
      return static_cast<std::int32_t>(value);
    case DType::uint8:
      return static_cast<std::uint8_t>(value);
    case DType::uint16:
      return static_cast<std::uint16_t>(value);
    case DType::uint32:
      return static_cast<std::uint32_t>(value);
    case DType::boolean:
      return value != 0;
    default:
      return value;
  }
}

std::int64_t in_order(std::int64_t integer, DType dtype) {
  return dtype == DType::uint64 ? integer ^ std::numeric_limits<std::int64_t>::min() : integer;
}

}  // namespace kw::ops
