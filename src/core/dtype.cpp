#include "core/dtype.h"

#include <array>
#include <cassert>
#include <cfloat>
#include <limits>

namespace kw {
namespace {

struct Facts {
  std::string_view name;
  std::size_t size_bytes;
};

constexpr std::array<Facts, kDTypeCount> kFacts{{
    {"float32", 4},
    {"float64", 8},
    {"float16", 2},
    {"bfloat16", 2},
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"bool", 1},
}};

const Facts& facts(DType dtype) { return kFacts[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view name_of(DType dtype) { return facts(dtype).name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kFacts[static_cast<std::size_t>(i)].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::size_t size_bytes(DType dtype) { return facts(dtype).size_bytes; }

double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 0x1p-49;  // the references compute in double: nothing can be told more finely than they do
    case DType::float16:
      return 0x1p-11;
    case DType::bfloat16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return DBL_MAX;
    case DType::float16:
      return 65504.0;
    case DType::bfloat16:
      return 0x1.FEp127;
    default:
      return FLT_MAX;
  }
}

double smallest_normal(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return DBL_MIN;
    case DType::float16:
      return 0x1p-14;
    default:
      return FLT_MIN;
  }
}

double smallest_subnormal(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return DBL_TRUE_MIN;
    case DType::float16:
      return 0x1p-24;
    case DType::bfloat16:
      return 0x1p-133;
    default:
      return FLT_TRUE_MIN;
  }
}

std::int64_t lowest_integer(DType dtype) {
  switch (dtype) {
    case DType::int8:
      return std::numeric_limits<std::int8_t>::min();
    case DType::int16:
      return std::numeric_limits<std::int16_t>::min();
    case DType::int32:
      return std::numeric_limits<std::int32_t>::min();
    case DType::int64:
      return std::numeric_limits<std::int64_t>::min();
    default:
      return 0;
  }
}

std::int64_t highest_integer(DType dtype) {
  switch (dtype) {
    case DType::int8:
      return std::numeric_limits<std::int8_t>::max();
    case DType::int16:
      return std::numeric_limits<std::int16_t>::max();
    case DType::int32:
      return std::numeric_limits<std::int32_t>::max();
    case DType::uint8:
      return std::numeric_limits<std::uint8_t>::max();
    case DType::uint16:
      return std::numeric_limits<std::uint16_t>::max();
    case DType::uint32:
      return std::numeric_limits<std::uint32_t>::max();
    case DType::boolean:
      return 1;
    default:
      return std::numeric_limits<std::int64_t>::max();
  }
}

std::vector<DType> DTypes::list() const {
  std::vector<DType> types;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (has(static_cast<DType>(i))) types.push_back(static_cast<DType>(i));
  }
  return types;
}

}  // namespace kw
