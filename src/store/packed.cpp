#include "store/packed.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>

namespace kw::store {
namespace {

static_assert(std::endian::native == std::endian::little, "packed numbers lie as a small-endian machine has them");

// Eight bytes of the size stand in front.
constexpr std::size_t kNumberBytes = sizeof(double);
constexpr std::size_t kStep = std::size_t{1} << 20;

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

Result<std::string> unpack(std::string_view packed, std::uint64_t most_bytes) {
  std::uint64_t size = 0;
  if (packed.size() < kNumberBytes) return fail("packed data is cut off");
  for (std::size_t i = 0; i < kNumberBytes; ++i) {
    size |= std::uint64_t{static_cast<unsigned char>(packed[i])} << (8 * i);
  }
  if (size > most_bytes) {
    return fail("packed data says that it has {} bytes, and at most {} are unpacked", size, most_bytes);
  }
  // The size is only what the file claims: memory is taken as the data comes.
  z_stream stream = {};
  if (::inflateInit(&stream) != Z_OK) return fail("packed data cannot be unpacked");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data())) + kNumberBytes;
  stream.avail_in = static_cast<uInt>(packed.size() - kNumberBytes);
  std::string bytes, block(std::min<std::uint64_t>(kStep, size + 1), '\0');
  int code = Z_OK;
  while (code == Z_OK && bytes.size() <= size) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    code = ::inflate(&stream, Z_NO_FLUSH);
    bytes.append(block.data(), block.size() - stream.avail_out);
  }
  ::inflateEnd(&stream);
  if (code != Z_STREAM_END || bytes.size() != size) return fail("packed data is damaged");
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
