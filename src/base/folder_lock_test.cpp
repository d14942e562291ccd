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

// A cloned folder with a link "model.part" to somebody's home: what lies there was removed.
TEST(FolderLock, IsNeverOfWhereALinkLeads) {
  const ScratchFolder scratch;
  const auto home = scratch.path() / "home", link = scratch.path() / "model.part";
  std::filesystem::create_directory(home);
  std::filesystem::create_directory_symlink(home, link);
  const auto lock = FolderLock::take(link);
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(lock.error().message,
            link.string() + ": is a link, and kw does not work where a link leads; name the folder itself");
  const auto own = FolderLock::take(home);
  ASSERT_TRUE(own.ok());
  EXPECT_FALSE(own->is_of(link));
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
