// A 64-bit fingerprint of bytes: FNV-1a. For names of kept files, not against an adversary.
#pragma once

#include <cstdint>
#include <string_view>

namespace kw {

constexpr std::uint64_t hash_of(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325) {
  for (char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return seed;
}

}  // namespace kw
