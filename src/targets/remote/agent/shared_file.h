// Memory that the agent shares with kernels' processes: a file that lies nowhere, mapped here.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace kw::remote {

class SharedFile {
 public:
  SharedFile() = default;
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile() {
    unmap();
    if (file_ >= 0) ::close(file_);
    if (read_only_ >= 0) ::close(read_only_);
  }

  // In memory; where the system will not, in a file of `folder` that has no name any more.
  bool make(const std::string& folder) {
    file_ = static_cast<int>(::syscall(SYS_memfd_create, "kw", 1u));
    if (file_ >= 0) {
      const std::string again = "/proc/self/fd/" + std::to_string(file_);
      read_only_ = ::open(again.c_str(), O_RDONLY | O_CLOEXEC);
    }
    if (file_ < 0 || read_only_ < 0) {
      if (file_ >= 0) ::close(file_);
      const std::string name = folder + "/shared-" + std::to_string(::getpid());
      on_disk_ = true;
      file_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      read_only_ = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
      ::unlink(name.c_str());
    }
    return file_ >= 0 && read_only_ >= 0;
  }

  // False: there is not so much memory.
  bool resize(std::uint64_t bytes) {
    const std::uint64_t whole = bytes < 4096 ? 4096 : (bytes + 4095) / 4096 * 4096;
    if (whole == size_) return true;
    // Of 32-bit addresses there are fewer than there may be bytes.
    if (whole > SIZE_MAX / 2) return false;
    unmap();
    if (::ftruncate(file_, static_cast<off_t>(whole)) != 0) return false;
    // Without room set aside, a full disk would show as a signal at some later write.
    if (on_disk_ && ::posix_fallocate(file_, 0, static_cast<off_t>(whole)) != 0) return false;
    void* at = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (at == MAP_FAILED) return false;
    memory_ = static_cast<unsigned char*>(at);
    size_ = whole;
    return true;
  }

  // Null where that is not all inside.
  unsigned char* at(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= size_ && bytes <= size_ - offset ? memory_ + offset : nullptr;
  }
  int file() const { return file_; }
  // Cannot be mapped writable.
  int read_only() const { return read_only_; }

 private:
  void unmap() {
    if (memory_ != nullptr) ::munmap(memory_, size_);
    memory_ = nullptr;
    size_ = 0;
  }

  int file_ = -1;
  int read_only_ = -1;
  bool on_disk_ = false;
  unsigned char* memory_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace kw::remote
