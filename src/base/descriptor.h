// An open file, socket or pipe, closed with its object.
#pragma once

#include <unistd.h>

#include <utility>

namespace kw {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) close_now(), fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~Descriptor() { close_now(); }

  int get() const { return fd_; }
  // The caller closes it.
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }
  void close_now() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace kw
