#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ostream>

#include "base/scratch.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

std::string complaint(const auto& result) { return result.ok() ? "" : result.error().message; }

class FilesTest : public testing::Test {
 protected:
  fs::path at(const std::string& name) const { return folder_.path() / name; }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  const ScratchFolder folder_;
};

TEST_F(FilesTest, ReadsRegularFilesOnlyAndNeverWaits) {
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0644), 0);
  fs::create_symlink("fifo", at("link"));
  fs::create_directory(at("folder"));
  EXPECT_NE(complaint(read_file(at("fifo"))).find("is a FIFO, not a file"), std::string::npos);
  EXPECT_NE(complaint(read_file(at("link"))).find("is a FIFO, not a file"), std::string::npos);
  EXPECT_NE(complaint(read_file(at("folder"))).find("is a folder, not a file"), std::string::npos);
  EXPECT_NE(complaint(read_file("/dev/zero")).find("is a device, not a file"), std::string::npos);
  EXPECT_NE(complaint(read_file(at("missing"))).find("no such file"), std::string::npos);
  EXPECT_NE(complaint(read_part(at("fifo"), 0, 1)).find("is a FIFO"), std::string::npos);
}

TEST_F(FilesTest, ReadsUpToALimit) {
  ASSERT_TRUE(write_file(at("file"), "123456").ok());
  EXPECT_EQ(*read_file(at("file"), 6), "123456");
  EXPECT_FALSE(read_file(at("file"), 5).ok());
  EXPECT_EQ(*read_part(at("file"), 2, 3), "345");
  EXPECT_FALSE(read_part(at("file"), 2, 5).ok());
  EXPECT_FALSE(read_part(at("file"), 7, 0).ok());
  EXPECT_FALSE(read_file("/proc/self/environ", 1).ok()) << "whose size the system does not say";
}

TEST_F(FilesTest, FollowsLinksOnlyWhereAsked) {
  ASSERT_TRUE(write_file(at("file"), "x").ok());
  fs::create_symlink("file", at("link"));
  EXPECT_EQ(*read_file(at("link")), "x");
  EXPECT_FALSE(read_file(at("link"), 100, Links::refuse).ok());
}

TEST_F(FilesTest, ReplacesAPlantedLinkInsteadOfFollowingIt) {
  ASSERT_TRUE(write_file(at("victim"), "precious").ok());
  for (const std::string& name : std::vector<std::string>{"out", "out.new", fmt::format("out.new{}", ::getpid())}) {
    fs::create_symlink("victim", at(name));
  }
  ASSERT_TRUE(write_file(at("out"), "ours").ok());
  auto draft = Draft::begin(at("out"));
  ASSERT_TRUE(draft.ok());
  draft->stream() << "ours too";
  ASSERT_TRUE(draft->finish().ok());
  EXPECT_EQ(*read_file(at("victim")), "precious");
  EXPECT_EQ(*read_file(at("out"), 100, Links::refuse), "ours too");
}

TEST_F(FilesTest, ADraftThatIsNotFinishedLeavesNothing) {
  ASSERT_TRUE(write_file(at("out"), "before").ok());
  {
    auto draft = Draft::begin(at("out"));
    ASSERT_TRUE(draft.ok());
    draft->stream() << "half";
  }
  EXPECT_EQ(*read_file(at("out")), "before");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FilesTest, RefusesToReplaceWhatIsNoFile) {
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0644), 0);
  EXPECT_FALSE(write_file(at("fifo"), "x").ok());
  EXPECT_TRUE(fs::is_fifo(at("fifo")));
  EXPECT_FALSE(write_file("/dev/null", "x").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_FALSE(write_file(folder_.path(), "x").ok());
}

TEST_F(FilesTest, LocksAndAppendsThroughNoLink) {
  ASSERT_TRUE(write_file(at("victim"), "precious").ok());
  fs::create_symlink("victim", at("lock"));
  fs::create_symlink("missing", at("dangling"));
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0644), 0);
  for (const char* name : {"lock", "dangling", "fifo"}) {
    EXPECT_FALSE(open_lock_file(at(name)).ok()) << name;
    EXPECT_FALSE(open_existing_lock_file(at(name)).ok()) << name;
    EXPECT_FALSE(open_to_append(at(name)).ok()) << name;
  }
  EXPECT_FALSE(open_to_append(at("lock"), true).ok());
  EXPECT_FALSE(fs::exists(at("missing")));
  EXPECT_TRUE(open_to_append("/dev/null", true).ok());
  EXPECT_TRUE(open_lock_file(at("new")).ok());
}

TEST_F(FilesTest, KeepsTheCacheWhereOnlyThisUserMayWrite) {
  const ScratchVariable cache("XDG_CACHE_HOME", (folder_.path() / "cache").string());
  EXPECT_EQ(cache_folder(), folder_.path() / "cache" / "kernelwright");
  fs::create_directories(cache_folder());
  const fs::path usual = cache_folder();
  fs::permissions(usual, fs::perms::all);
  EXPECT_NE(cache_folder(), usual) << "all may write there";
  fs::permissions(usual, fs::perms::owner_all);
  EXPECT_EQ(cache_folder(), usual);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(usual.c_str(), 12345, 12345), 0);
    EXPECT_NE(cache_folder(), usual) << "another user's";
  }
}

TEST_F(FilesTest, WithoutAHomeTheCacheIsPrivate) {
  const ScratchVariable cache("XDG_CACHE_HOME", ""), home("HOME", "");
  const fs::path folder = cache_folder().parent_path();
  struct stat about {};
  if (folder == "/dev/null") GTEST_SKIP() << "somebody holds this user's folder under /tmp";
  ASSERT_EQ(::lstat(folder.c_str(), &about), 0);
  EXPECT_TRUE(S_ISDIR(about.st_mode));
  EXPECT_EQ(about.st_uid, ::geteuid());
  EXPECT_EQ(about.st_mode & 077, 0u);
}

TEST_F(FilesTest, ARelativeHomeIsNoHome) {
  const ScratchVariable cache("XDG_CACHE_HOME", "."), home("HOME", "home");
  EXPECT_TRUE(cache_folder().is_absolute());
}

TEST(LineReader, GivesLinesOfAnyLengthUpToItsLimit) {
  const ScratchFolder folder;
  const auto file = folder.path() / "lines";
  const std::string large(3'000'000, 'x');
  ASSERT_TRUE(write_file(file, "one\n\n" + large + "\nlast").ok());
  auto reader = LineReader::open(file, large.size());
  ASSERT_TRUE(reader.ok());
  std::string line;
  for (const std::string& wanted : {std::string("one"), std::string(), large, std::string("last")}) {
    ASSERT_TRUE(*reader->next(line));
    EXPECT_EQ(line, wanted);
  }
  EXPECT_FALSE(*reader->next(line));
  auto strict = LineReader::open(file, large.size() - 1);
  ASSERT_TRUE(*strict->next(line) && *strict->next(line));
  EXPECT_FALSE(strict->next(line).ok());
  EXPECT_FALSE(LineReader::open("/dev/zero", 10).ok());
}

}  // namespace
}  // namespace kw
