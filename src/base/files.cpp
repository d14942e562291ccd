#include "base/files.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>

namespace kw {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;  // read at once of a file that is read in parts
constexpr mode_t kUsualMode = 0666;                   // less what the user's umask takes away

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISLNK(mode)) return "a link";
  return "a device";
}

Error not_regular(const fs::path& path, mode_t mode) {
  return fail("{}: is {}, not a file", path.string(), kind_of(mode));
}

Error cannot(const fs::path& path, const char* be, int error) {
  if (error == ENOENT) return fail("{}: no such file", path.string());
  if (error == ELOOP) return fail("{}: is a link, and links are not followed here", path.string());
  return fail("{}: cannot be {}: {}", path.string(), be, std::strerror(error));
}

Result<Descriptor> open_regular(const fs::path& path, int flags, const char* be) {
  struct stat about {};
  // Looked at before it is opened: opening a device can do something.
  if ((flags & O_NOFOLLOW ? ::lstat : ::stat)(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) {
    return not_regular(path, about.st_mode);
  }
  Descriptor file(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, kUsualMode));
  if (!file) return cannot(path, be, errno);
  if (::fstat(file.get(), &about) != 0) return cannot(path, be, errno);
  if (!S_ISREG(about.st_mode)) return not_regular(path, about.st_mode);
  return file;
}

// Reads at most `most` bytes; false where reading fails.
bool read_up_to(int fd, std::uint64_t most, std::string& content) {
  char block[1 << 16];
  while (content.size() < most) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(sizeof block, most - content.size()));
    const ssize_t got = ::read(fd, block, wanted);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) return true;
    content.append(block, static_cast<std::size_t>(got));
  }
  return true;
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

struct NewFile {
  fs::path path;
  Descriptor file;
};

Result<NewFile> draft_beside(const fs::path& path) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode) && !S_ISLNK(about.st_mode)) {
    return not_regular(path, about.st_mode);
  }
  for (int tries = 0;; ++tries) {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number) return fail("the system has no random numbers");
    NewFile draft{.path = fmt::format("{}.new-{:016x}", path.string(), number), .file = {}};
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    draft.file = Descriptor(::open(draft.path.c_str(), flags, kUsualMode));
    if (draft.file) return draft;
    if (errno != EEXIST || tries == 3) {
      return fail("{}: cannot be written: {}", path.string(), std::strerror(errno));
    }
  }
}

Status put_in_place(const fs::path& draft, const fs::path& path) {
  if (std::rename(draft.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  ::unlink(draft.c_str());
  return fail("{}: cannot be written: {}", path.string(), std::strerror(error));
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

// Only this user (or root) can put anything there: neither into the folder nor, where it does not exist yet, in
// its place.
bool is_only_ours(fs::path folder) {
  struct stat about {};
  bool exists = true;
  while (::stat(folder.c_str(), &about) != 0) {
    // A file in its way is no attack: writing fails, and the message says so.
    if (errno == ENOTDIR) return true;
    if (errno != ENOENT || folder == folder.parent_path()) return false;
    folder = folder.parent_path();
    exists = false;
  }
  if (!S_ISDIR(about.st_mode)) return false;
  const bool open_to_all = (about.st_mode & S_IWOTH) != 0;
  if (open_to_all && (exists || (about.st_mode & S_ISVTX) == 0)) return false;
  return about.st_uid == ::geteuid() || about.st_uid == 0;
}

fs::path private_folder() {
  const fs::path folder = fmt::format("/tmp/kernelwright-{}", ::geteuid());
  ::mkdir(folder.c_str(), 0700);
  struct stat about {};
  const bool ours = ::lstat(folder.c_str(), &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() &&
                    (about.st_mode & 077) == 0;
  // Below a device nothing can be made: every caller's write fails, and nothing is kept.
  return ours ? folder : fs::path("/dev/null/kernelwright");
}

fs::path folder_of_the_user(const char* variable, const char* below_home, const char* below_private) {
  fs::path folder;
  if (const char* given = environment(variable); given && *given == '/') {
    folder = fs::path(given) / "kernelwright";
  } else if (const char* home = environment("HOME"); home && *home == '/') {
    folder = fs::path(home) / below_home / "kernelwright";
  }
  if (!folder.empty() && is_only_ours(folder)) return folder;
  return private_folder() / below_private;
}

}  // namespace

Result<Descriptor> open_to_read(const fs::path& path, Links links) {
  return open_regular(path, O_RDONLY | (links == Links::refuse ? O_NOFOLLOW : 0), "opened");
}

Result<std::string> read_file(const fs::path& path, std::uint64_t most_bytes) {
  return read_file(path, most_bytes, Links::follow);
}

Result<std::string> read_file(const fs::path& path, std::uint64_t most_bytes, Links links) {
  KW_TRY(const Descriptor file, open_to_read(path, links));
  const auto too_large = [&] {
    return fail("{}: larger than {} bytes, the most that is read", path.string(), most_bytes);
  };
  struct stat about {};
  if (::fstat(file.get(), &about) == 0 && static_cast<std::uint64_t>(about.st_size) > most_bytes) return too_large();
  std::string content;
  if (!read_up_to(file.get(), most_bytes + 1, content)) return cannot(path, "read", errno);
  if (content.size() > most_bytes) return too_large();
  return content;
}

Result<LineReader> LineReader::open(const fs::path& path, std::uint64_t most_line_bytes) {
  KW_TRY(Descriptor file, open_to_read(path));
  return LineReader(path, std::move(file), most_line_bytes);
}

Result<bool> LineReader::next(std::string& line) {
  line.clear();
  for (;;) {
    const std::size_t end = read_.find('\n', at_);
    line.append(read_, at_, std::min(end, read_.size()) - at_);
    if (line.size() > most_line_bytes_) {
      return fail("{}: a line is longer than {} bytes, the most that is read", path_.string(), most_line_bytes_);
    }
    if (end != std::string::npos) {
      at_ = end + 1;
      return true;
    }
    at_ = 0;
    read_.clear();
    if (ended_) return !line.empty();
    if (!read_up_to(file_.get(), kBlock, read_)) return cannot(path_, "read", errno);
    ended_ = read_.empty();
  }
}

Result<std::string> read_part(const fs::path& path, std::uint64_t offset, std::uint64_t count) {
  KW_TRY(const Descriptor file, open_to_read(path));
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return cannot(path, "read", errno);
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (offset > size || size - offset < count) return fail("{}: has only {} bytes", path.string(), size);
  std::string content;
  if (::lseek(file.get(), static_cast<off_t>(offset), SEEK_SET) < 0 || !read_up_to(file.get(), count, content)) {
    return cannot(path, "read", errno);
  }
  if (content.size() != count) return fail("{}: became shorter while it was read", path.string());
  return content;
}

Status write_file(const fs::path& path, std::string_view content) {
  KW_TRY(NewFile draft, draft_beside(path));
  if (!write_all(draft.file.get(), content) || ::close(draft.file.release()) != 0) {
    const int error = errno;
    ::unlink(draft.path.c_str());
    return fail("{}: cannot be written: {}", path.string(), std::strerror(error));
  }
  return put_in_place(draft.path, path);
}

Status make_private_file(const fs::path& path, std::string_view content) {
  KW_TRY(NewFile draft, draft_beside(path));
  const bool written = ::fchmod(draft.file.get(), 0600) == 0 && write_all(draft.file.get(), content) &&
                       ::link(draft.path.c_str(), path.c_str()) == 0;
  const int error = errno;
  ::unlink(draft.path.c_str());
  if (!written) return fail("{}: cannot be made: {}", path.string(), std::strerror(error));
  return {};
}

struct Draft::Inside {
  fs::path path;
  fs::path draft;
  std::ofstream stream;
  bool finished = false;
};

Draft::Draft(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Draft::Draft(Draft&& other) noexcept = default;

Draft::~Draft() {
  if (inside_ && !inside_->finished) ::unlink(inside_->draft.c_str());
}

Result<Draft> Draft::begin(const fs::path& path) {
  KW_TRY(NewFile draft, draft_beside(path));
  auto inside = std::make_unique<Inside>();
  inside->path = path;
  inside->draft = draft.path;
  // Through the descriptor, so that it is the file that was just made.
  inside->stream.open(fmt::format("/proc/self/fd/{}", draft.file.get()), std::ios::binary);
  if (!inside->stream) return fail("{}: cannot be written: {}", path.string(), std::strerror(errno));
  return Draft(std::move(inside));
}

std::ostream& Draft::stream() { return inside_->stream; }

Status Draft::finish() {
  inside_->stream.close();
  if (!inside_->stream) return fail("{}: cannot be written: is the disk full?", inside_->path.string());
  inside_->finished = true;
  return put_in_place(inside_->draft, inside_->path);
}

Result<Descriptor> open_to_append(const fs::path& path, bool pipes_too) {
  struct stat about {};
  const bool pipe = pipes_too && ::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
  if (pipe && !S_ISDIR(about.st_mode)) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY));
    if (!file) return cannot(path, "written", errno);
    return file;
  }
  return open_regular(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, "written");
}

Result<Descriptor> open_lock_file(const fs::path& path) {
  return open_regular(path, O_RDWR | O_CREAT | O_NOFOLLOW, "opened");
}

Result<Descriptor> open_existing_lock_file(const fs::path& path) {
  return open_regular(path, O_RDONLY | O_NOFOLLOW, "opened");
}

Status check_owner(const fs::path& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return cannot(path, "opened", errno);
  if (about.st_uid != ::geteuid() && about.st_uid != 0) {
    return fail("{}: belongs to another user (number {}), and is not obeyed; remove it or make it yours", path.string(),
                about.st_uid);
  }
  if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail("{}: others may write to it, and so it is not obeyed; chmod go-w makes it yours alone", path.string());
  }
  return {};
}

Result<fs::path> data_folder() {
  if (const char* given = environment("KW_DATA")) {
    if (fs::is_directory(given)) return fs::absolute(given);
    return fail("KW_DATA names {}, which is not a folder", given);
  }
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  const fs::path folder = program.parent_path().parent_path() / "share" / "kernelwright";
  if (!code && fs::is_directory(folder)) return folder;
  return fail("the program's data folder {} is missing; install kw again or set KW_DATA to it", folder.string());
}

fs::path cache_folder() { return folder_of_the_user("XDG_CACHE_HOME", ".cache", "cache"); }

fs::path config_folder() { return folder_of_the_user("XDG_CONFIG_HOME", ".config", "config"); }

}  // namespace kw
