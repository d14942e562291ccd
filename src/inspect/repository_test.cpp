#include "inspect/repository.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <optional>

#include "base/files.h"
#include "base/scratch.h"

namespace kw::inspect {
namespace {

class ARepository : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const auto file = folder_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    ASSERT_TRUE(write_file(file, text).ok());
  }
  std::string show(const std::string& line, int tokens = 500) const {
    return Repository::open(folder_.path())->show({*look_of(line)}, tokens);
  }

  ScratchFolder folder_;
};

TEST_F(ARepository, ShowsWhatIsAskedFor) {
  write("cpu/softmax.cpp", "int helper();\nfloat row_sum(const float* x) {\n  return x[0];\n}\nvoid softmax() {\n}\n");
  write("cpu/x86/conv.cpp", "void conv() {\n}\n");
  EXPECT_NE(show("LIST").find("  cpu/ (2 files)\n"), std::string::npos) << show("LIST");
  EXPECT_EQ(show("LIST cpu"), "cpu:\n  softmax.cpp\n  x86/ (1 files)\n");
  EXPECT_EQ(show("FIND row_sum"), "'row_sum':\n  cpu/softmax.cpp:2: float row_sum(const float* x) {\n");
  EXPECT_EQ(show("READ cpu/softmax.cpp row_sum"),
            "cpu/softmax.cpp\n    2 float row_sum(const float* x) {\n    3   return x[0];\n    4 }\n");
  EXPECT_EQ(show("READ ./cpu/softmax.cpp 5-5"), "cpu/softmax.cpp\n    5 void softmax() {\n");
  EXPECT_NE(show("READ cpu/softmx.cpp").find("no such source; nearest: cpu/softmax.cpp"), std::string::npos);
  EXPECT_NE(show("READ cpu/softmax.cpp row_sun").find("nearest: row_sum"), std::string::npos);
  EXPECT_NE(Repository::open(folder_.path())->map({"Softmax"}, 300).find("    5 void softmax() {"), std::string::npos)
      << "whole functions that are like the subject";
  EXPECT_FALSE(Repository::open(folder_.path() / "gone").ok());
}

TEST_F(ARepository, LetsNobodyOut) {
  write("a.cpp", "int a;\n");
  EXPECT_NE(show("READ ../../etc/passwd").find("no such source"), std::string::npos);
  EXPECT_NE(show("READ /etc/passwd").find("no such source"), std::string::npos);
  std::filesystem::create_symlink("/etc/passwd", folder_.path() / "b.cpp");
  EXPECT_NE(show("READ b.cpp").find("no such source"), std::string::npos);
  EXPECT_EQ(look_of("DELETE a.cpp"), std::nullopt);
  EXPECT_EQ(look_of("READ"), std::nullopt);
}

TEST_F(ARepository, StaysWithinItsBudget) {
  write("a.cpp", std::string(4000, '\n') + "int a;\n" + std::string(100'000, 'x') + "\n");
  EXPECT_LE(show("READ a.cpp", 200).size(), 800u + 60u);
  EXPECT_LE(show("FIND x", 200).size(), 860u);
}

TEST_F(ARepository, IsUpToDate) {
  write("a.cpp", "void before() {\n}\n");
  EXPECT_NE(show("READ a.cpp before").find("void before"), std::string::npos);
  write("a.cpp", "void quite_another() {\n}\n");
  EXPECT_NE(show("READ a.cpp quite_another").find("void quite_another"), std::string::npos);
}

TEST_F(ARepository, OfFiveThousandFilesIsMappedInTwoSeconds) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text +=
        "// A function of a framework.\nstatic float work_" + std::to_string(i) +
        "(const float* x, int n) {\n  float sum = 0;\n  for (int i = 0; i < n; ++i) sum += x[i];\n  return sum;\n}\n";
  }
  for (int i = 0; i < 5000; ++i) write("m" + std::to_string(i / 100) + "/f" + std::to_string(i) + ".cpp", text);
  const auto begin = std::chrono::steady_clock::now();
  const auto repository = Repository::open(folder_.path());
  ASSERT_TRUE(repository.ok());
  EXPECT_EQ(repository->files().size(), 5000u);
  const std::string map = repository->map({"f4711"}, 1500);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::cout << "a map of 5,000 files (" << text.size() * 5000 / 1'000'000 << " MB): " << seconds << " s\n";
  EXPECT_NE(map.find("f4711.cpp"), std::string::npos);
  EXPECT_LT(seconds, 8) << "on a busy machine; alone it is to take less than 2";
}

}  // namespace
}  // namespace kw::inspect
