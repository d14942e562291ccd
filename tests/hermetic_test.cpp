// No test reaches out by itself: what a command would install unasked it does not, and no settings of the person at the
// keyboard are read. A test that is about these sets them itself.
#include <gtest/gtest.h>
#include <stdlib.h>

namespace kw {
namespace {

class Hermetic : public testing::Environment {
 public:
  void SetUp() override {
    ::setenv("KW_INSTALL", "no", 1);
    ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    for (const char* name : {"KW_RIVAL", "KW_PYTHON", "KW_THREADS", "KW_BUDGET", "KW_AUTHOR"}) ::unsetenv(name);
  }
};

[[maybe_unused]] const auto* const kHermetic = testing::AddGlobalTestEnvironment(new Hermetic);

TEST(Hermetic, InstallsNothing) { EXPECT_STREQ(::getenv("KW_INSTALL"), "no"); }

}  // namespace
}  // namespace kw
