// For tests: a folder, and variables of the environment, that are as they were before when the test ends.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

namespace kw {

// A new, empty folder that no other process uses.
class ScratchFolder {
 public:
  ScratchFolder() : path_(std::filesystem::path(testing::TempDir()) / name()) {
    std::filesystem::create_directories(path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }

 private:
  static std::string name() {
    static int folders = 0;
    return "kw_" + std::to_string(::getpid()) + "_" + std::to_string(++folders);
  }

  std::filesystem::path path_;
};

class ScratchVariable {
 public:
  ScratchVariable(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* before = ::getenv(name_.c_str())) before_ = before;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ScratchVariable(const ScratchVariable&) = delete;
  ScratchVariable& operator=(const ScratchVariable&) = delete;
  ~ScratchVariable() { before_ ? ::setenv(name_.c_str(), before_->c_str(), 1) : ::unsetenv(name_.c_str()); }

 private:
  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace kw
