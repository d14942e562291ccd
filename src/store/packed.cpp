#include "store/packed.h"

#include <zlib.h>

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>

namespace kw::store {
namespace {

static_assert(std::endian::native == std::endian::little, "packed numbers lie as a small-endian machine has them");

// Eight bytes of the size stand in front. No more than this is believed of them.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;
constexpr std::size_t kNumberBytes = sizeof(double);

}  // namespace

std::string pack(std::string_view bytes) {
  uLongf size = ::compressBound(bytes.size());
  std::string packed(kNumberBytes + size, '\0');
  for (std::size_t i = 0; i < kNumberBytes; ++i) packed[i] = static_cast<char>(std::uint64_t{bytes.size()} >> (8 * i));
  const int code = ::compress2(reinterpret_cast<Bytef*>(packed.data()) + kNumberBytes, &size,
                               reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_DEFAULT_COMPRESSION);
  assert(code == Z_OK);
  packed.resize(kNumberBytes + size);
  return packed;
}

Result<std::string> unpack(std::string_view packed) {
  std::uint64_t size = 0;
  if (packed.size() < kNumberBytes) return fail("packed data is cut off");
  for (std::size_t i = 0; i < kNumberBytes; ++i) {
    size |= std::uint64_t{static_cast<unsigned char>(packed[i])} << (8 * i);
  }
  if (size > kMostBytes) return fail("packed data is damaged");
  std::string bytes(size, '\0');
  uLongf got = size;
  const int code =
      ::uncompress(reinterpret_cast<Bytef*>(bytes.data()), &got,
                   reinterpret_cast<const Bytef*>(packed.data()) + kNumberBytes, packed.size() - kNumberBytes);
  if (code != Z_OK || got != size) return fail("packed data is damaged");
  return bytes;
}

std::string pack_pairs(std::span<const Pair> pairs) {
  const std::size_t count = 2 * pairs.size();
  std::string bytes(count * kNumberBytes, '\0');
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::array<double, 2> both = {pairs[i].a_ns, pairs[i].b_ns};
    for (std::size_t k = 0; k < 2; ++k) {
      const auto bits = std::bit_cast<std::array<char, kNumberBytes>>(both[k]);
      const std::size_t place = k * pairs.size() + i;
      for (std::size_t b = 0; b < kNumberBytes; ++b) bytes[b * count + place] = bits[b];
    }
  }
  return pack(bytes);
}

Result<std::vector<Pair>> unpack_pairs(std::string_view packed) {
  KW_TRY(const std::string bytes, unpack(packed));
  if (bytes.size() % (2 * kNumberBytes) != 0) return fail("packed times are damaged");
  const std::size_t count = bytes.size() / kNumberBytes;
  const auto number = [&](std::size_t place) {
    std::array<char, kNumberBytes> bits;
    for (std::size_t b = 0; b < kNumberBytes; ++b) bits[b] = bytes[b * count + place];
    return std::bit_cast<double>(bits);
  };
  std::vector<Pair> pairs(count / 2);
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {number(i), number(pairs.size() + i)};
  return pairs;
}

}  // namespace kw::store
