// Texts and numbers made small for the disk (zlib), and given back as they were.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/paired_ratio.h"
#include "base/result.h"

namespace kw::store {

// More is not unpacked, whatever the data says of itself: a record may have come from anywhere.
inline constexpr std::uint64_t kMostPackedBytes = std::uint64_t{256} << 20;

// At most kMostPackedBytes.
std::string pack(std::string_view bytes);
// A verdict's JSON is some thousand bytes; a long list of compiler errors makes it some hundred thousand.
inline constexpr std::uint64_t kMostVerdictBytes = std::uint64_t{16} << 20;

// Refuses what pack did not make, and what is longer than `most_bytes`.
Result<std::string> unpack(std::string_view packed, std::uint64_t most_bytes = kMostPackedBytes);

// Bit for bit. Neighbours are alike, so that the bytes are sorted by their place in the number first: half the size.
std::string pack_pairs(std::span<const Pair> pairs);
Result<std::vector<Pair>> unpack_pairs(std::string_view packed);

}  // namespace kw::store
