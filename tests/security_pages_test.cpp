// The pages on security name tests: each of them must be there.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "base/files.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

std::set<std::string> tests_in(const fs::path& folder) {
  static const std::regex test(R"(\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\))");
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = *read_file(entry.path());
    for (std::sregex_iterator match(text.begin(), text.end(), test), end; match != end; ++match) {
      names.insert((*match)[1].str() + "." + (*match)[2].str());
    }
  }
  return names;
}

TEST(SecurityPages, NameOnlyTestsThatThereAre) {
  const fs::path project = KW_SOURCE_DIR;
  std::set<std::string> tests = tests_in(project / "tests");
  tests.merge(tests_in(project / "src"));
  static const std::regex named(R"(`([A-Z]\w+)\.([A-Z]\w+)`)");
  std::size_t found = 0;
  for (const char* page : {"security.md", "security-attempts.md", "security-attempts-2.md", "security-attempts-3.md",
                           "security-tests.md"}) {
    const std::string text = *read_file(project / "docs" / page);
    for (std::sregex_iterator match(text.begin(), text.end(), named), end; match != end; ++match, ++found) {
      const std::string name = (*match)[1].str() + "." + (*match)[2].str();
      EXPECT_TRUE(tests.contains(name)) << page << ": " << name;
    }
  }
  EXPECT_GT(found, 60u);
}

}  // namespace
}  // namespace kw
