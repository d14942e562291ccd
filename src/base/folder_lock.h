// A folder that one process at a time works in. The kernel keeps the lock: it ends with the process, however that ends.
#pragma once

#include <filesystem>

#include "base/descriptor.h"
#include "base/result.h"

namespace kw {

class FolderLock {
 public:
  // Makes the folder where it is missing. Another process that works in it is an error, at once; so is a link in its
  // place: a program that works in a folder removes what is left there, and a foreign folder may hold a link.
  static Result<FolderLock> take(const std::filesystem::path& folder);

  // False once the folder was removed or renamed: what has this name then may be another's.
  bool is_of(const std::filesystem::path& folder) const;

 private:
  explicit FolderLock(Descriptor folder) : folder_(std::move(folder)) {}
  Descriptor folder_;
};

}  // namespace kw
