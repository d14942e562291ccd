#include "base/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>

namespace kw {
namespace fs = std::filesystem;
namespace {

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

}  // namespace

Result<std::string> read_file(const fs::path& path, std::uint64_t most_bytes) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (!fs::exists(status)) return fail("{}: no such file", path.string());
  if (fs::is_directory(status)) return fail("{}: is a folder, not a file", path.string());
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) return fail("{}: cannot be opened: {}", path.string(), std::strerror(errno));
  std::string content;
  char block[1 << 16];
  std::size_t got;
  while ((got = std::fread(block, 1, sizeof block, file)) > 0) {
    content.append(block, got);
    if (content.size() > most_bytes) break;
  }
  const bool broken = std::ferror(file) != 0;
  std::fclose(file);
  if (broken) return fail("{}: cannot be read: {}", path.string(), std::strerror(errno));
  if (content.size() > most_bytes)
    return fail("{}: larger than {} bytes, the most that is read", path.string(), most_bytes);
  return content;
}

Status write_file(const fs::path& path, std::string_view content) {
  const fs::path draft = path.string() + ".new" + std::to_string(::getpid());
  std::FILE* file = std::fopen(draft.c_str(), "wb");
  if (!file) return fail("{}: cannot be written: {}", path.string(), std::strerror(errno));
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) {
    const std::string reason = std::strerror(errno);
    std::remove(draft.c_str());
    return fail("{}: cannot be written: {}", path.string(), reason);
  }
  std::error_code code;
  fs::rename(draft, path, code);
  if (code) {
    std::remove(draft.c_str());
    return fail("{}: cannot be written: {}", path.string(), code.message());
  }
  return {};
}

Result<fs::path> data_folder() {
  if (const char* given = environment("KW_DATA")) {
    if (fs::is_directory(given)) return fs::path(given);
    return fail("KW_DATA names {}, which is not a folder", given);
  }
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  const fs::path folder = program.parent_path().parent_path() / "share" / "kernelwright";
  if (!code && fs::is_directory(folder)) return folder;
  return fail("the program's data folder {} is missing; install kw again or set KW_DATA to it", folder.string());
}

fs::path cache_folder() {
  if (const char* cache = environment("XDG_CACHE_HOME")) return fs::path(cache) / "kernelwright";
  if (const char* home = environment("HOME")) return fs::path(home) / ".cache" / "kernelwright";
  return fs::path("/tmp") / "kernelwright";
}

}  // namespace kw
