// GGUF, the file of llama.cpp: metadata as named values, then tensors that are mostly quantised in blocks.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "lm/stored_tensor.h"

namespace kw::lm {

struct Gguf {
  std::map<std::string, Json> metadata;
  StoredTensors tensors;  // by GGUF's own names; shapes as everywhere, the last axis closest

  const Json* find(const std::string& name) const;
};

// Versions 2 and 3, little-endian.
Result<Gguf> parse_gguf(std::span<const std::byte> file, const std::shared_ptr<const void>& keeps);
Result<Gguf> open_gguf(const std::filesystem::path& path);

}  // namespace kw::lm
