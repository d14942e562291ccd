#include "base/inside.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/scratch.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

class Inside : public testing::Test {
 protected:
  Inside() {
    fs::create_directories(root_ / "work" / "deep");
    fs::create_directories(root_ / "elsewhere");
    EXPECT_TRUE(write_file(root_ / "work" / "deep" / "a.txt", "right").ok());
    EXPECT_TRUE(write_file(root_ / "elsewhere" / "a.txt", "secret").ok());
  }

  const ScratchFolder folder_;
  const fs::path root_ = fs::canonical(folder_.path());
};

TEST_F(Inside, ReadsWhatLiesThere) {
  EXPECT_EQ(*read_without_links(root_ / "work" / "deep" / "a.txt", 100), "right");
  EXPECT_EQ(*read_part_without_links(root_ / "work" / "deep" / "a.txt", 1, 3), "igh");
  const auto large = read_without_links(root_ / "work" / "deep" / "a.txt", 2);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().message,
            (root_ / "work" / "deep" / "a.txt").string() + ": larger than 2 bytes, the most that is read");
}

TEST_F(Inside, ReadsThroughNoLinkAnywhereInThePath) {
  fs::rename(root_ / "work" / "deep", root_ / "work" / "before");
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "work" / "deep");
  EXPECT_FALSE(read_without_links(root_ / "work" / "deep" / "a.txt", 100).ok());
  EXPECT_FALSE(read_part_without_links(root_ / "work" / "deep" / "a.txt", 0, 3).ok());
  fs::create_symlink(root_ / "elsewhere" / "a.txt", root_ / "work" / "b.txt");
  EXPECT_FALSE(read_without_links(root_ / "work" / "b.txt", 100).ok());
}

TEST_F(Inside, WaitsForNoFifo) {
  ASSERT_EQ(::mkfifo((root_ / "work" / "fifo").c_str(), 0644), 0);
  const auto read = read_without_links(root_ / "work" / "fifo", 100);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("is a FIFO, not a file"), std::string::npos) << read.error().message;
}

TEST_F(Inside, WritesBelowTheFolderAndMakesTheWay) {
  ASSERT_TRUE(write_inside(root_ / "work", "new/er/b.txt", "b").ok());
  EXPECT_EQ(*read_file(root_ / "work" / "new" / "er" / "b.txt"), "b");
  ASSERT_TRUE(write_inside(root_ / "work", "c.txt", "c").ok());
  EXPECT_EQ(*read_file(root_ / "work" / "c.txt"), "c");
  fs::create_directory_symlink(root_ / "work", root_ / "named");
  ASSERT_TRUE(write_inside(root_ / "named", "d.txt", "d").ok()) << "the folder's own name is the user's";
  EXPECT_EQ(*read_file(root_ / "work" / "d.txt"), "d");
}

TEST_F(Inside, WritesNowhereElse) {
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "work" / "check");
  const Status through_a_link = write_inside(root_ / "work", "check/a.txt", "changed");
  ASSERT_FALSE(through_a_link.ok());
  EXPECT_NE(through_a_link.error().message.find("is a link"), std::string::npos) << through_a_link.error().message;
  fs::create_symlink(root_ / "elsewhere" / "a.txt", root_ / "work" / "a.txt");
  EXPECT_TRUE(write_inside(root_ / "work", "a.txt", "mine").ok()) << "a link in the file's place is replaced";
  EXPECT_EQ(*read_file(root_ / "elsewhere" / "a.txt"), "secret");
  for (const char* path : {"../elsewhere/a.txt", "deep/../../elsewhere/a.txt", "/elsewhere/a.txt"}) {
    EXPECT_FALSE(write_inside(root_ / "work", path, "changed").ok()) << path;
  }
}

}  // namespace
}  // namespace kw
