// Where one agent keeps its kernels' programs. The folder goes when the agent does; what an agent left that was killed,
// or whose device lost power, the next one removes: its lock is free.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace kw::remote {

class SessionFolder {
 public:
  bool make(const std::string& parent) {
    remove_old(parent);
    path_ = parent + "/session-" + std::to_string(::getpid());
    remove(path_);
    if (::mkdir(path_.c_str(), 0700) != 0) return false;
    lock_ = ::open((path_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) == 0;
  }

  const std::string& path() const { return path_; }
  void remove() const { remove(path_); }

 private:
  // A folder of files.
  static void remove(const std::string& path) {
    if (path.empty()) return;
    if (DIR* folder = ::opendir(path.c_str()); folder != nullptr) {
      while (const dirent* entry = ::readdir(folder)) ::unlink((path + "/" + entry->d_name).c_str());
      ::closedir(folder);
    }
    ::rmdir(path.c_str());
  }

  static void remove_old(const std::string& parent) {
    DIR* folder = ::opendir(parent.c_str());
    if (folder == nullptr) return;
    while (const dirent* entry = ::readdir(folder)) {
      if (std::string(entry->d_name).find("session-") != 0) continue;
      const std::string path = parent + "/" + entry->d_name;
      const int lock = ::open((path + "/lock").c_str(), O_RDWR | O_CLOEXEC);
      if (lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) == 0) remove(path);
      if (lock >= 0) ::close(lock);
    }
    ::closedir(folder);
  }

  std::string path_;
  int lock_ = -1;
};

inline SessionFolder session;

// The agent's end. Kernels end with it: the system sees to that.
[[noreturn]] inline void leave(int code) {
  session.remove();
  std::_Exit(code);
}

}  // namespace kw::remote
