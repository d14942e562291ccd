#include "base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

namespace kw {

Result<FolderLock> FolderLock::take(const std::filesystem::path& folder) {
  constexpr int kTries = 8;  // another may remove the folder between any two of these steps
  for (int i = 0; i < kTries; ++i) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) return fail("{}: could not be made: {}", folder.string(), failed.message());
    if (std::filesystem::is_symlink(folder, failed)) {
      return fail("{}: is a link, and kw does not work where a link leads; name the folder itself", folder.string());
    }
    Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!opened) continue;
    if (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return fail("{}: another kw works there now", folder.string());
      return fail("{}: could not be locked: {}", folder.string(), std::generic_category().message(errno));
    }
    FolderLock lock(std::move(opened));
    if (lock.is_of(folder)) return lock;
  }
  return fail("{}: could not be opened: {}", folder.string(), std::generic_category().message(errno));
}

bool FolderLock::is_of(const std::filesystem::path& folder) const {
  struct stat locked = {}, named = {};
  return ::fstat(folder_.get(), &locked) == 0 && ::lstat(folder.c_str(), &named) == 0 &&
         locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

}  // namespace kw
