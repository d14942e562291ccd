// Weights as *.safetensors: eight bytes of length, a JSON header of names, types, shapes and offsets, then the bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "lm/stored_tensor.h"

namespace kw::lm {

// The tensors of the bytes of one file. Offsets must cover the data once, without holes or overlaps.
Result<StoredTensors> parse_safetensors(std::span<const std::byte> file, const std::shared_ptr<const void>& keeps);
Result<StoredTensors> open_safetensors(const std::filesystem::path& path);
// The weights of a Hugging Face folder: model.safetensors, or the files that model.safetensors.index.json names.
Result<StoredTensors> open_weights_folder(const std::filesystem::path& folder);

// Writes tensors one after the other, as they come; what they are must be known before. Nothing is under the final
// name until finish().
class SafetensorsWriter {
 public:
  struct Entry {
    std::string name;
    StoredType type = StoredType::f32;
    Sizes shape;
  };
  static Result<SafetensorsWriter> begin(const std::filesystem::path& path, const std::vector<Entry>& entries,
                                         const std::map<std::string, std::string>& metadata = {});
  // In the order of `entries`, each with exactly its bytes.
  void write(std::span<const std::byte> bytes);
  Status finish();

 private:
  explicit SafetensorsWriter(Draft draft, std::size_t bytes) : draft_(std::move(draft)), left_(bytes) {}
  Draft draft_;
  std::size_t left_;  // bytes that are still to come
};

}  // namespace kw::lm
