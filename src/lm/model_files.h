// A model as it lies on the disk, opened: configuration, weights under Hugging Face's names whatever the file, and the
// tokenizer's sources. Nothing is read but headers; weights are mapped.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "lm/gguf.h"
#include "lm/model_config.h"
#include "lm/stored_tensor.h"

namespace kw::lm {

struct ModelFiles {
  std::filesystem::path path;
  ModelConfig config;
  StoredTensors tensors;
  std::optional<Gguf> gguf;  // of a GGUF file: its metadata hold the tokenizer
  Json config_json;          // of a folder: as it was

  std::int64_t parameters() const;
  std::int64_t stored_bytes() const;
};

// A folder with config.json, or a *.gguf file. Fails where tensors and configuration contradict each other.
Result<ModelFiles> open_model(const std::filesystem::path& path);

}  // namespace kw::lm
