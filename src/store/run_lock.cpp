#include "store/run_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"

namespace kw::store {
namespace {

// One file for all runs. Run N holds the bytes of its record: locked while a process works on it, and the record says
// who. A lock of the open file and not of the process, so that threads and tests exclude each other too.
constexpr off_t kRecordBytes = 16;

struct flock region(std::int64_t run, short kind) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(run) * kRecordBytes;
  lock.l_len = kRecordBytes;
  return lock;
}

std::filesystem::path file_in(const std::filesystem::path& folder) { return folder / "runs.lock"; }

int owner_written(int fd, std::int64_t run) {
  char text[kRecordBytes + 1] = {};
  return ::pread(fd, text, kRecordBytes, static_cast<off_t>(run) * kRecordBytes) > 0 ? std::atoi(text) : 0;
}

}  // namespace

Result<RunLock> RunLock::take(const std::filesystem::path& folder, std::int64_t run) {
  const std::filesystem::path file = file_in(folder);
  KW_TRY(Descriptor opened, open_lock_file(file));
  const int fd = opened.release();
  RunLock lock(fd);
  struct flock wanted = region(run, F_WRLCK);
  if (::fcntl(fd, F_OFD_SETLK, &wanted) != 0) {
    if (errno != EAGAIN && errno != EACCES)
      return fail("{}: cannot be locked: {}", file.string(), std::strerror(errno));
    return fail("r{} is being worked on by another kw (process {}); wait for it, or stop it with Ctrl-C and resume",
                run, owner_written(fd, run));
  }
  char text[kRecordBytes] = {};
  std::snprintf(text, sizeof text, "%d", ::getpid());
  // Only a message reads it: where the disk is full it says process 0.
  [[maybe_unused]] const ssize_t written = ::pwrite(fd, text, sizeof text, static_cast<off_t>(run) * kRecordBytes);
  return lock;
}

std::optional<int> RunLock::owner(const std::filesystem::path& folder, std::int64_t run) {
  const auto file = open_existing_lock_file(file_in(folder));
  if (!file.ok()) return std::nullopt;
  const int fd = file->get();
  struct flock asked = region(run, F_RDLCK);
  const bool taken = ::fcntl(fd, F_OFD_GETLK, &asked) == 0 && asked.l_type != F_UNLCK;
  const int owner = owner_written(fd, run);
  return taken ? std::optional(owner) : std::nullopt;
}

RunLock::~RunLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace kw::store
