// SHA-256, as hexadecimal digits: the name under which a source, a task or a machine is kept once. Sources are written
// by those who would like to be taken for another, so a weaker sum will not do; and `sha256sum FILE` gives the same.
#pragma once

#include <string>
#include <string_view>

namespace kw::store {

std::string sha256(std::string_view bytes);

}  // namespace kw::store
