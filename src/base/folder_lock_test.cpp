#include "base/folder_lock.h"

#include <gtest/gtest.h>

#include "base/scratch.h"

namespace kw {
namespace {

TEST(FolderLock, IsOneHoldersAtATimeAndFreeAfterwards) {
  const ScratchFolder scratch;
  const auto folder = scratch.path() / "made" / "here";
  {
    const auto first = FolderLock::take(folder);
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_TRUE(std::filesystem::is_directory(folder));
    const auto second = FolderLock::take(folder);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().message, folder.string() + ": another kw works there now");
  }
  EXPECT_TRUE(FolderLock::take(folder).ok());
}

TEST(FolderLock, KnowsAFolderThatTookItsName) {
  const ScratchFolder scratch;
  const auto folder = scratch.path() / "one";
  const auto lock = FolderLock::take(folder);
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(lock->is_of(folder));
  std::filesystem::rename(folder, scratch.path() / "other");
  EXPECT_FALSE(lock->is_of(folder));
  EXPECT_TRUE(FolderLock::take(folder).ok());
  EXPECT_FALSE(lock->is_of(folder));
}

TEST(FolderLock, SaysWhereThereIsAFile) {
  const ScratchFolder scratch;
  const auto inside = std::filesystem::path("/dev/null/none");
  const auto lock = FolderLock::take(inside);
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(lock.error().message, "/dev/null/none: could not be made: Not a directory");
}

}  // namespace
}  // namespace kw
