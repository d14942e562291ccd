#include "lm/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"

namespace kw::lm {

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  KW_TRY(const Descriptor file, open_to_read(path));
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return fail("{}: {}", path.string(), std::strerror(errno));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return fail("{}: the file is empty", path.string());
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) return fail("{}: could not be mapped: {}", path.string(), std::strerror(errno));
  return std::shared_ptr<const MappedFile>(new MappedFile({static_cast<const std::byte*>(memory), size}));
}

MappedFile::~MappedFile() { ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

}  // namespace kw::lm
