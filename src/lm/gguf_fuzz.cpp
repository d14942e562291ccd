// Any bytes may come as a GGUF file: metadata, configuration and tensors are read or refused, and nothing worse.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lm/gguf.h"
#include "lm/model_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto gguf = kw::lm::parse_gguf({reinterpret_cast<const std::byte*>(data), size}, nullptr);
  if (!gguf.ok()) return 0;
  static_cast<void>(kw::lm::config_from_gguf(*gguf).ok());
  for (const auto& [name, tensor] : gguf->tensors) {
    std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
    static_cast<void>(kw::lm::to_floats(tensor, values).ok());
  }
  return 0;
}
