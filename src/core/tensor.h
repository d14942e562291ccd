// A dense row-major tensor in memory: type, shape and bytes.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/half.h"
#include "core/shape.h"

namespace kw {

struct TensorType {
  DType dtype = DType::float32;
  Shape shape;
  // The shape is only known from the values (Unique, NonZero): `shape` is then the largest it can be.
  bool from_values = false;

  bool operator==(const TensorType&) const = default;
  std::string text() const { return std::string(name_of(dtype)) + shape.text(); }
  std::int64_t bytes() const { return shape.count() * static_cast<std::int64_t>(size_bytes(dtype)); }
};

// Which C++ type holds a DType's elements.
template <class T>
constexpr bool holds(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return std::is_same_v<T, float>;
    case DType::float64:
      return std::is_same_v<T, double>;
    case DType::float16:
      return std::is_same_v<T, Half>;
    case DType::bfloat16:
      return std::is_same_v<T, Brain>;
    case DType::int8:
      return std::is_same_v<T, std::int8_t>;
    case DType::int16:
      return std::is_same_v<T, std::int16_t>;
    case DType::int32:
      return std::is_same_v<T, std::int32_t>;
    case DType::int64:
      return std::is_same_v<T, std::int64_t>;
    case DType::uint8:
      return std::is_same_v<T, std::uint8_t>;
    case DType::uint16:
      return std::is_same_v<T, std::uint16_t>;
    case DType::uint32:
      return std::is_same_v<T, std::uint32_t>;
    case DType::uint64:
      return std::is_same_v<T, std::uint64_t>;
    case DType::boolean:
      return std::is_same_v<T, bool>;
  }
  return false;
}

// Elements are aligned to 64 bytes and start as zeros. Copying copies the elements.
class Tensor {
 public:
  Tensor() : Tensor(DType::float32, Shape{0}) {}
  Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) { allocate(); }
  explicit Tensor(const TensorType& type) : Tensor(type.dtype, type.shape) {}
  Tensor(const Tensor& other);
  Tensor& operator=(const Tensor& other);
  Tensor(Tensor&&) = default;
  Tensor& operator=(Tensor&&) = default;

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  TensorType type() const { return {dtype_, shape_, false}; }
  std::int64_t count() const { return shape_.count(); }

  template <class T>
  std::span<T> as() {
    assert(holds<T>(dtype_));
    return {reinterpret_cast<T*>(memory_.get()), static_cast<std::size_t>(count())};
  }
  template <class T>
  std::span<const T> as() const {
    assert(holds<T>(dtype_));
    return {reinterpret_cast<const T*>(memory_.get()), static_cast<std::size_t>(count())};
  }
  std::span<std::byte> bytes() { return {memory_.get(), byte_count()}; }
  std::span<const std::byte> bytes() const { return {memory_.get(), byte_count()}; }

  // The element at a flat index as a number of any type, and back (rounded to nearest, saturated, for integers cut).
  double real(std::int64_t index) const;
  std::int64_t integer(std::int64_t index) const;
  void set_real(std::int64_t index, double value);
  void set_integer(std::int64_t index, std::int64_t value);

  // All elements, as the integers that shapes, axes and indices are.
  std::vector<std::int64_t> integers() const;

  static Tensor of_integers(std::vector<std::int64_t> values, DType dtype = DType::int64);  // rank 1
  static Tensor scalar(double value, DType dtype = DType::float32);                         // rank 0

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::size_t byte_count() const { return static_cast<std::size_t>(count()) * size_bytes(dtype_); }
  void allocate();

  DType dtype_;
  Shape shape_;
  std::unique_ptr<std::byte[], Free> memory_;
};

// Calls `f` with a null pointer of the C++ type that holds the DType: f(static_cast<float*>(nullptr)).
template <class F>
decltype(auto) with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float64:
      return f(static_cast<double*>(nullptr));
    case DType::float16:
      return f(static_cast<Half*>(nullptr));
    case DType::bfloat16:
      return f(static_cast<Brain*>(nullptr));
    case DType::int8:
      return f(static_cast<std::int8_t*>(nullptr));
    case DType::int16:
      return f(static_cast<std::int16_t*>(nullptr));
    case DType::int32:
      return f(static_cast<std::int32_t*>(nullptr));
    case DType::int64:
      return f(static_cast<std::int64_t*>(nullptr));
    case DType::uint8:
      return f(static_cast<std::uint8_t*>(nullptr));
    case DType::uint16:
      return f(static_cast<std::uint16_t*>(nullptr));
    case DType::uint32:
      return f(static_cast<std::uint32_t*>(nullptr));
    case DType::uint64:
      return f(static_cast<std::uint64_t*>(nullptr));
    case DType::boolean:
      return f(static_cast<bool*>(nullptr));
    case DType::float32:
      break;
  }
  return f(static_cast<float*>(nullptr));
}

}  // namespace kw
