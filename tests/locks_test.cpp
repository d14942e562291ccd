// Every wheel that a command of ours fetches is named with its version and its hashes (rivals/shared/lock.py).
#include <gtest/gtest.h>

#include "house.h"

namespace kw {
namespace {

using namespace kw::house;

// "numpy==2.4.6" and how many hashes follow it, of each package of a lock.
std::map<std::string, int> hashes_in(const std::string& lock) {
  static const std::regex package("([a-z0-9-]+==[^ ]+) \\\\"), hash("    --hash=sha256:[0-9a-f]{64}( \\\\)?");
  std::map<std::string, int> found;
  std::string last;
  for (const std::string& line : lines_of(lock)) {
    std::smatch match;
    if (line.starts_with("#")) continue;
    if (std::regex_match(line, match, package)) {
      found[last = match[1]] = 0;
    } else if (std::regex_match(line, hash)) {
      ++found[last];
    } else {
      found[line] = 0;  // it names no hash
    }
  }
  return found;
}

TEST(Locks, SeeAPackageWithoutAHash) {
  const std::string hash = "    --hash=sha256:" + std::string(64, 'a') + "\n";
  EXPECT_EQ(hashes_in("# x\na==1 \\\n" + hash + "b==2\nc==3 \\\n"),
            (std::map<std::string, int>{{"a==1", 1}, {"b==2", 0}, {"c==3", 0}}));
}

TEST(Locks, NameEveryWheelWithItsHashes) {
  int locks = 0;
  for (const auto& [path, text] : this_project()) {
    if (!path.ends_with(".lock")) continue;
    ++locks;
    for (const auto& [package, hashes] : hashes_in(text)) EXPECT_GT(hashes, 0) << path << ": " << package;
  }
  EXPECT_EQ(locks, 7);
}

TEST(Locks, HoldWhatTheTestsAskFor) {
  for (const std::string list : {"tests/requirements", "tests/requirements_alone"}) {
    const auto locked = hashes_in(this_project().at(list + ".lock"));
    for (const std::string& line : lines_of(this_project().at(list + ".txt"))) {
      if (line.empty() || line.starts_with("#")) continue;
      EXPECT_TRUE(locked.contains(line)) << list << ".txt: " << line << ": make the lock again (rivals/shared/lock.py)";
    }
  }
}

}  // namespace
}  // namespace kw
