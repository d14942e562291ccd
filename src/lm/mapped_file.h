// A file's bytes as memory that the system pages in when they are read: how weights of many gigabytes are opened at
// once.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "base/result.h"

namespace kw::lm {

// Shared by everything that points into it. A file that is cut short by another program while it is mapped ends the
// program, as the system gives no other answer.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace kw::lm
