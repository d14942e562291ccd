#include "targets/cpu/library.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace kw::cpu {
namespace {

TEST(CheckLibrary, RefusesWhatIsNone) {
  EXPECT_NE(check_library(""), "");
  EXPECT_NE(check_library("#!/bin/sh\n"), "");
  EXPECT_NE(check_library(std::string(100000, '\x7f')), "");
}

// Any library of the system: it has no kw_run and calls much that kernels may not.
TEST(CheckLibrary, RefusesALibraryThatIsNoKernel) {
  const auto self = read_file("/proc/self/exe");
  ASSERT_TRUE(self.ok());
  EXPECT_NE(check_library(*self), "");
}

TEST(CheckLibrary, SurvivesEveryCutAndChange) {
  std::string bytes = *read_file("/proc/self/exe", std::uint64_t{1} << 31);
  bytes.resize(std::min<std::size_t>(bytes.size(), 100'000));
  for (std::size_t size = 0; size < bytes.size(); size += 997) check_library(std::string_view(bytes).substr(0, size));
  for (std::size_t at = 0; at < 4096; ++at) {
    std::string changed = bytes.substr(0, 8192);
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    check_library(changed);
  }
}

}  // namespace
}  // namespace kw::cpu
