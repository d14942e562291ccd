// Which devices are emulated, by their names: "emulated:aarch64", "cuda:emulated". Times there say nothing of a real
// device, and no speed is claimed.
#pragma once

#include <string>

namespace kw {

inline bool is_emulated(const std::string& device) {
  return device.starts_with("emulated:") || device.ends_with(":emulated");
}

}  // namespace kw
