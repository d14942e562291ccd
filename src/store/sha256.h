// SHA-256, as hexadecimal digits: the name under which a source, a task or a machine is kept once. Sources are written
// by those who would like to be taken for another, so a weaker sum will not do; and `sha256sum FILE` gives the same.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kw::store {

inline constexpr std::size_t kSha256Block = 64;  // bytes that are taken at a time

std::string sha256(std::string_view bytes);

}  // namespace kw::store
