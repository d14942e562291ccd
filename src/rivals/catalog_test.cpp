#include "rivals/catalog.h"

#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "base/files.h"
#include "base/filter.h"
#include "base/scratch.h"

namespace kw::rivals {
namespace {

TEST(RivalCatalog, PinsEveryVersion) {
  const auto all = all_rivals();
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_GE(all->size(), 4u);
  for (const RivalFile& rival : *all) {
    EXPECT_FALSE(rival.about.empty()) << rival.name;
    EXPECT_NE(rival.version(), "any") << rival.name;
  }
}

// Every line of a lock is a package with its version, and is followed by hashes.
TEST(RivalCatalog, PinsEveryWheelByItsHash) {
  for (const RivalFile& rival : *all_rivals()) {
    std::istringstream lines(rival.lock);
    std::string open;  // the package that waits for its hash
    int packages = 0, hashes = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("#")) continue;
      if (line.starts_with("    --hash=sha256:")) {
        EXPECT_EQ(line.find_first_not_of("0123456789abcdef", 18), line.size() > 82 ? 82 : std::string::npos) << line;
        EXPECT_GE(line.size(), 82u) << line;
        ++hashes;
        open.clear();
        continue;
      }
      EXPECT_EQ(open, "") << rival.name << ": has no hash";
      EXPECT_TRUE(std::regex_match(line, std::regex(R"([a-z0-9-]+==[\w.]+ \\)"))) << line;
      open = line;
      ++packages;
    }
    EXPECT_EQ(open, "");
    EXPECT_GT(packages, 1) << rival.name;
    EXPECT_GT(hashes, 1) << rival.name;
    for (std::string package : rival.packages) {
      for (char& c : package) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      if (package.find("==") == std::string::npos) continue;
      EXPECT_NE(rival.lock.find("\n" + package + " "), std::string::npos) << rival.name << ": " << package;
    }
  }
}

// An index of its own with one package, whose file is what its hash says or not.
TEST(SlowRivalCatalog, InstallsNothingWhoseHashDiffers) {
  const ScratchFolder folder;
  const std::filesystem::path index = folder.path() / "simple" / "kw-nothing",
                              wheel = index / "kw_nothing-1-py3-none-any.whl";
  std::filesystem::create_directories(index);
  const auto made = run_filter({"python3", "-I", "-c", R"(
import hashlib, sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as file:
    file.writestr("kw_nothing.py", "")
    file.writestr("kw_nothing-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: kw-nothing\nVersion: 1\n")
    file.writestr("kw_nothing-1.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: kw\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    file.writestr("kw_nothing-1.dist-info/RECORD", "")
print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest(), end="")
)",
                                wheel.string()},
                               "");
  ASSERT_TRUE(made.ok() && made->well());
  ASSERT_TRUE(write_file(index / "index.html",
                         "<a href=\"" + wheel.filename().string() + "\">" + wheel.filename().string() + "</a>")
                  .ok());
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const ScratchVariable where("PIP_INDEX_URL", "file://" + (folder.path() / "simple").string());
  RivalFile rival{.name = "nothing", .about = "", .file = "nothing.py", .packages = {"kw-nothing==1"}};
  rival.lock = "kw-nothing==1 --hash=sha256:" + std::string(64, '0') + "\n";
  const Status wrong = install(rival);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("DO NOT MATCH THE HASHES"), std::string::npos) << wrong.error().message;
  EXPECT_FALSE(rival.installed());
  rival.lock = "kw-nothing==1 --hash=sha256:" + made->out + "\n";
  const Status right = install(rival);
  EXPECT_TRUE(right.ok()) << right.error().message;
  EXPECT_TRUE(rival.installed());
  rival.lock.clear();
  EXPECT_FALSE(install(rival).ok());
}

TEST(RivalCatalog, NamesTheNearest) {
  const auto rival = find_rival("onnxruntine");
  ASSERT_FALSE(rival.ok());
  EXPECT_NE(rival.error().message.find("onnxruntime"), std::string::npos);
}

TEST(RivalCatalog, KnowsThatNothingIsInstalledInAnEmptyCache) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", folder.path().string());
  for (const RivalFile& rival : *all_rivals()) EXPECT_EQ(rival.installed(), rival.own.has_value()) << rival.name;
}

}  // namespace
}  // namespace kw::rivals
