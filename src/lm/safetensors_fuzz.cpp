// Any bytes may come as a safetensors file: their tensors are read or refused, and nothing worse.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lm/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tensors = kw::lm::parse_safetensors({reinterpret_cast<const std::byte*>(data), size}, nullptr);
  if (!tensors.ok()) return 0;
  for (const auto& [name, tensor] : *tensors) {
    std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
    static_cast<void>(kw::lm::to_floats(tensor, values).ok());
  }
  return 0;
}
