// The element types of tensors, with the numbers that arithmetic in them obeys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kw {

enum class DType : std::uint8_t {
  float32,
  float64,
  float16,
  bfloat16,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,
};
inline constexpr int kDTypeCount = 13;

std::string_view name_of(DType dtype);                    // "float32", "bool"
std::optional<DType> dtype_named(std::string_view name);  // takes the names above
std::size_t size_bytes(DType dtype);

inline bool is_float(DType dtype) { return dtype <= DType::bfloat16; }
inline bool is_integer(DType dtype) { return dtype >= DType::int8 && dtype <= DType::uint64; }
inline bool is_signed(DType dtype) { return is_float(dtype) || (dtype >= DType::int8 && dtype <= DType::int64); }

// Of a float type: half the distance from 1 to the next number (2^-24 for float32; float64 has room for the references,
// which compute in it), the largest finite number, the smallest normal and the smallest subnormal number.
double unit_roundoff(DType dtype);
double largest_finite(DType dtype);
double smallest_normal(DType dtype);
double smallest_subnormal(DType dtype);

// Of an integer type (bool counts as 0..1); uint64's highest does not fit and is reported as int64's.
std::int64_t lowest_integer(DType dtype);
std::int64_t highest_integer(DType dtype);

// A set of types, as an operator's specification names it.
class DTypes {
 public:
  constexpr DTypes() = default;
  constexpr DTypes(std::initializer_list<DType> types) {
    for (DType type : types) bits_ |= bit(type);
  }
  constexpr bool has(DType type) const { return bits_ & bit(type); }
  constexpr DTypes operator|(DTypes other) const {
    DTypes both;
    both.bits_ = static_cast<std::uint16_t>(bits_ | other.bits_);
    return both;
  }
  std::vector<DType> list() const;

 private:
  static constexpr std::uint16_t bit(DType type) { return static_cast<std::uint16_t>(1u << static_cast<int>(type)); }
  std::uint16_t bits_ = 0;
};

inline constexpr DTypes kFloats{DType::float32, DType::float64, DType::float16, DType::bfloat16};
inline constexpr DTypes kSignedIntegers{DType::int8, DType::int16, DType::int32, DType::int64};
inline constexpr DTypes kUnsignedIntegers{DType::uint8, DType::uint16, DType::uint32, DType::uint64};
inline constexpr DTypes kWideIntegers{DType::int32, DType::int64, DType::uint32, DType::uint64};
inline constexpr DTypes kIntegers = kSignedIntegers | kUnsignedIntegers;
inline constexpr DTypes kNumbers = kFloats | kIntegers;
inline constexpr DTypes kBool{DType::boolean};
inline constexpr DTypes kAnyType = kNumbers | kBool;
inline constexpr DTypes kIndex{DType::int32, DType::int64};
inline constexpr DTypes kInt64{DType::int64};

}  // namespace kw
