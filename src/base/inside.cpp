#include "base/inside.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/files.h"

namespace kw {
namespace fs = std::filesystem;
namespace {

constexpr int kFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;
constexpr mode_t kUsualFolderMode = 0777;  // less what the user's umask takes away

Error no_way(const fs::path& path, int error) {
  if (error == ENOENT) return fail("{}: no such file", path.string());
  if (error == ELOOP || error == ENOTDIR) {
    return fail("{}: a part of it is a link, or no folder, and links are not followed here", path.string());
  }
  return fail("{}: {}", path.string(), std::strerror(error));
}

// The folder of a path's last part, starting from `start`. With `makes`, folders that are missing are made.
Result<Descriptor> folder_on_the_way(Descriptor start, const fs::path& way, const fs::path& whole, bool makes) {
  for (const fs::path& part : way) {
    if (part == ".." || part == "." || part.empty()) return fail("{}: is no plain path", whole.string());
    if (makes) ::mkdirat(start.get(), part.c_str(), kUsualFolderMode);
    Descriptor next(::openat(start.get(), part.c_str(), kFolder | O_NOFOLLOW));
    if (!next) return no_way(whole, errno);
    start = std::move(next);
  }
  return start;
}

// The open file's own name in the system: opened by it, it is that file and no other.
std::string name_of(const Descriptor& file) { return fmt::format("/proc/self/fd/{}", file.get()); }

Result<Descriptor> held(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  KW_TRY(const Descriptor folder,
         folder_on_the_way(Descriptor(::open("/", kFolder)), whole.parent_path().relative_path(), path, false));
  // Nothing happens yet, whatever it is: a device is not opened, and a FIFO is not waited for.
  Descriptor file(::openat(folder.get(), whole.filename().c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) return no_way(path, errno);
  if (S_ISLNK(about.st_mode)) return no_way(path, ELOOP);
  return file;
}

// An error about `name` as one about `path`.
Error renamed(const Error& error, const std::string& name, const fs::path& path) {
  const std::string& said = error.message;
  return said.starts_with(name) ? fail("{}{}", path.string(), said.substr(name.size())) : error;
}

}  // namespace

Result<std::string> read_without_links(const fs::path& path, std::uint64_t most_bytes) {
  KW_TRY(const Descriptor file, held(path));
  auto text = read_file(name_of(file), most_bytes);
  if (!text.ok()) return renamed(text.error(), name_of(file), path);
  return text;
}

Result<std::string> read_part_without_links(const fs::path& path, std::uint64_t offset, std::uint64_t count) {
  KW_TRY(const Descriptor file, held(path));
  auto text = read_part(name_of(file), offset, count);
  if (!text.ok()) return renamed(text.error(), name_of(file), path);
  return text;
}

Status write_inside(const fs::path& folder, const fs::path& path, std::string_view content) {
  const fs::path whole = folder / path;
  Descriptor start(::open(folder.c_str(), kFolder));
  if (!start) return no_way(folder, errno);
  if (path.is_absolute()) return fail("{}: is no plain path", path.string());
  KW_TRY(const Descriptor last, folder_on_the_way(std::move(start), path.parent_path(), whole, true));
  const std::string there = fmt::format("{}/{}", name_of(last), path.filename().string());
  const Status written = write_file(there, content);
  if (!written.ok()) return renamed(written.error(), there, whole);
  return {};
}

}  // namespace kw
