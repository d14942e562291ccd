#include "core/tensor.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

namespace kw {
namespace {

template <class T>
double read_real(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Brain>) {
    return to_double(value);
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
T from_real(double value) {
  if constexpr (std::is_same_v<T, Half>) {
    return half_from(value);
  } else if constexpr (std::is_same_v<T, Brain>) {
    return brain_from(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (std::isnan(value)) return 0;
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace

void Tensor::Free::operator()(std::byte* memory) const { std::free(memory); }

void Tensor::allocate() {
  const std::size_t size = (byte_count() + 63) / 64 * 64;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, size == 0 ? 64 : size));
  if (!memory) throw std::bad_alloc();
  std::memset(memory, 0, size == 0 ? 64 : size);
  memory_.reset(memory);
}

Tensor::Tensor(const Tensor& other) : Tensor(other.dtype_, other.shape_) {
  std::memcpy(memory_.get(), other.memory_.get(), byte_count());
}

Tensor& Tensor::operator=(const Tensor& other) {
  if (this != &other) *this = Tensor(other);
  return *this;
}

double Tensor::real(std::int64_t index) const {
  return with_type(dtype_, [&](auto* tag) {
    return read_real(as<std::remove_pointer_t<decltype(tag)>>()[static_cast<std::size_t>(index)]);
  });
}

std::int64_t Tensor::integer(std::int64_t index) const {
  return with_type(dtype_, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const T value = as<T>()[static_cast<std::size_t>(index)];
    if constexpr (std::is_integral_v<T>) {
      return static_cast<std::int64_t>(value);
    } else {
      return from_real<std::int64_t>(read_real(value));
    }
  });
}

void Tensor::set_real(std::int64_t index, double value) {
  with_type(dtype_, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    as<T>()[static_cast<std::size_t>(index)] = from_real<T>(value);
  });
}

void Tensor::set_integer(std::int64_t index, std::int64_t value) {
  with_type(dtype_, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::is_integral_v<T>) {
      as<T>()[static_cast<std::size_t>(index)] = static_cast<T>(value);
    } else {
      as<T>()[static_cast<std::size_t>(index)] = from_real<T>(static_cast<double>(value));
    }
  });
}

std::vector<std::int64_t> Tensor::integers() const {
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(count()));
  for (std::int64_t i = 0; i < count(); ++i) values.push_back(integer(i));
  return values;
}

Tensor Tensor::of_integers(std::vector<std::int64_t> values, DType dtype) {
  Tensor tensor(dtype, Shape{static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) tensor.set_integer(static_cast<std::int64_t>(i), values[i]);
  return tensor;
}

Tensor Tensor::scalar(double value, DType dtype) {
  Tensor tensor(dtype, Shape{});
  tensor.set_real(0, value);
  return tensor;
}

}  // namespace kw
