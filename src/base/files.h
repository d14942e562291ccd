// The only place that opens files (tests/house_test.cpp names the exceptions): whole files are read and written here,
// with messages a person can act on.
//
// A file that comes from outside may be a FIFO that never answers, a device, a link to somewhere else, or larger than
// memory. So only regular files are read, up to a limit, and opening one never waits. What is written goes into a draft
// with a random name that must not exist yet, and is renamed: a planted link is replaced, not followed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace kw {

enum class Links { follow, refuse };  // of the path's last part

// A regular file of at most `most_bytes`; anything else is refused by name.
Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t most_bytes = std::uint64_t{1} << 31);
Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t most_bytes, Links links);
// What was read, so that what is checked and what is used cannot be two contents.
struct TextOfFile {
  std::filesystem::path path;
  std::string text;
};
// `count` bytes of a regular file from `offset`; fails where it is shorter.
Result<std::string> read_part(const std::filesystem::path& path, std::uint64_t offset, std::uint64_t count);
// A regular file, to be read by the caller.
Result<Descriptor> open_to_read(const std::filesystem::path& path, Links links = Links::follow);

// A regular file line by line, so that its size does not matter. A line without its end is a line too.
class LineReader {
 public:
  static Result<LineReader> open(const std::filesystem::path& path, std::uint64_t most_line_bytes);
  // False at the end. Fails where a line is longer than the limit.
  Result<bool> next(std::string& line);

 private:
  LineReader(std::filesystem::path path, Descriptor file, std::uint64_t most)
      : path_(std::move(path)), file_(std::move(file)), most_line_bytes_(most) {}

  std::filesystem::path path_;
  Descriptor file_;
  std::uint64_t most_line_bytes_;
  std::string read_;    // and not given out yet
  std::size_t at_ = 0;  // of it, where the next line begins
  bool ended_ = false;
};

// Writes beside the target and renames, so that a reader never sees half a file and a failure leaves the old one. A
// target that is a link is replaced; one that is a folder or a device is refused.
Status write_file(const std::filesystem::path& path, std::string_view content);
// A file that only this user may read; fails where there is one already, so that of two programs one makes it.
Status make_private_file(const std::filesystem::path& path, std::string_view content);

// The same for what is too long for a string: write to stream(), then finish(). Without finish() nothing happened.
class Draft {
 public:
  static Result<Draft> begin(const std::filesystem::path& path);
  Draft(Draft&& other) noexcept;
  ~Draft();

  std::ostream& stream();
  Status finish();

 private:
  struct Inside;
  explicit Draft(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

// To be written at its end, made where it is missing. A link to a regular file is refused; a pipe or terminal that the
// path leads to is taken where `pipes_too`.
Result<Descriptor> open_to_append(const std::filesystem::path& path, bool pipes_too = false);
// To be locked or used by its bytes, made where it is missing; never a link, always a regular file.
Result<Descriptor> open_lock_file(const std::filesystem::path& path);
// The same without making it.
Result<Descriptor> open_existing_lock_file(const std::filesystem::path& path);

// What a user may have put there on purpose: owned by this user or root, and writable by no other user. An Error says
// which of it does not hold, and what to do.
Status check_owner(const std::filesystem::path& path);

// Where the program's own data (suites, ...) lies: $KW_DATA, or ../share/kernelwright beside the executable's folder.
Result<std::filesystem::path> data_folder();

// $XDG_CACHE_HOME/kernelwright or ~/.cache/kernelwright; not created. Where neither is set, or where it belongs to
// another user: a folder under /tmp that only this user may enter; where that cannot be had either, a path under which
// nothing can be made.
std::filesystem::path cache_folder();
// $XDG_CONFIG_HOME/kernelwright or ~/.config/kernelwright; not created. The same rules hold.
std::filesystem::path config_folder();

}  // namespace kw
