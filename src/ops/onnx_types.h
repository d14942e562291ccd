// The numbers by which ONNX names element types in attributes (Cast's `to`, EyeLike's `dtype`).
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "base/result.h"
#include "core/dtype.h"

namespace kw::ops {

inline constexpr std::array<std::pair<std::int64_t, DType>, kDTypeCount> kOnnxTypes{{
    {1, DType::float32},
    {2, DType::uint8},
    {3, DType::int8},
    {4, DType::uint16},
    {5, DType::int16},
    {6, DType::int32},
    {7, DType::int64},
    {9, DType::boolean},
    {10, DType::float16},
    {11, DType::float64},
    {12, DType::uint32},
    {13, DType::uint64},
    {16, DType::bfloat16},
}};

inline Result<DType> dtype_of_onnx(std::int64_t number) {
  for (const auto& [known, dtype] : kOnnxTypes) {
    if (known == number) return dtype;
  }
  return fail(
      "ONNX type {} is none of ours (1 float32, 2 uint8, 3 int8, 4 uint16, 5 int16, 6 int32, 7 int64, 9 bool, "
      "10 float16, 11 float64, 12 uint32, 13 uint64, 16 bfloat16)",
      number);
}

inline std::int64_t onnx_number(DType dtype) {
  for (const auto& [number, known] : kOnnxTypes) {
    if (known == dtype) return number;
  }
  return 0;
}

}  // namespace kw::ops
