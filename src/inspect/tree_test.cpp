#include "inspect/tree.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/scratch.h"

namespace kw::inspect {
namespace {

TEST(Tree, ShowsWhatASubjectNeedsWithinABudget) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.path() / "src" / ".git");
  ASSERT_TRUE(write_file(folder.path() / "src" / "softmax_x86.cpp",
                         "struct Softmax {\n  int forward(int n) { return n; }\n};\n")
                  .ok());
  ASSERT_TRUE(write_file(folder.path() / "src" / "conv.cu", "__global__ void conv(float* x) {\n}\n").ok());
  ASSERT_TRUE(write_file(folder.path() / "src" / ".git" / "softmax.cpp", "int softmax() { return 0; }\n").ok());
  ASSERT_TRUE(write_file(folder.path() / "notes.txt", "softmax").ok());

  const auto all = tree_of(folder.path());
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(as_text(*all, 1000),
            "src/conv.cu\n  __global__ void conv(float* x)  :1\n"
            "src/softmax_x86.cpp\n  struct Softmax  :1\n    int forward(int n)  :2\n");
  const auto some = tree_of(folder.path(), {"Softmax", "Activation"});
  EXPECT_EQ(as_text(*some, 1000),
            "src/softmax_x86.cpp\n  struct Softmax  :1\n    int forward(int n)  :2\n... and 1 more files\n");
  EXPECT_LE(as_text(*some, 20).size(), 80u);
  EXPECT_FALSE(tree_of(folder.path() / "gone").ok());
}

// Our own sources, within the budget that prompts have for them.
TEST(Tree, FitsThisProject) {
  const auto files = tree_of(KW_SOURCE_DIR "/kernels", {"MatMul"});
  ASSERT_TRUE(files.ok());
  EXPECT_GT(files->front().likeness, 0);
  EXPECT_LE(as_text(*files, 500).size(), 2000u);
}

TEST(Tree, FollowsNoLinkOutOfTheFolder) {
  const ScratchFolder folder;
  const std::filesystem::path tree = folder.path() / "tree";
  std::filesystem::create_directories(tree);
  std::filesystem::create_directories(folder.path() / "outside");
  ASSERT_TRUE(write_file(folder.path() / "outside" / "secret.cpp", "int secret_function() { return 1; }\n").ok());
  ASSERT_TRUE(write_file(tree / "own.cpp", "int own_function() { return 1; }\n").ok());
  std::filesystem::create_symlink(folder.path() / "outside" / "secret.cpp", tree / "link.cpp");
  std::filesystem::create_directory_symlink(folder.path() / "outside", tree / "more");
  const auto files = read_tree(tree);
  ASSERT_TRUE(files.ok());
  ASSERT_EQ(files->size(), 1u);
  EXPECT_EQ(files->front().path, "own.cpp");
}

}  // namespace
}  // namespace kw::inspect
