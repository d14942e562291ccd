#include "store/sealed_line.h"

#include <gtest/gtest.h>

namespace kw::store {
namespace {

const Json& lesson() {
  static const Json one = {
      {"task", "Relu \xff \u00e4"}, {"gain", 1.1}, {"small", 1e-300}, {"list", {1, 2}}, {"sure", true}};
  return one;
}

TEST(SealedLine, ComesBackWithoutItsSeal) {
  const std::string line = sealed_line("lesson", lesson());
  EXPECT_TRUE(line.ends_with("}\n"));
  const auto back = own_line("lesson", line);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->dump(), lesson().dump());
}

TEST(SealedLine, IsNoOtherLineAndOfNoOtherKind) {
  const std::string line = sealed_line("lesson", lesson());
  EXPECT_FALSE(own_line("answer", line));
  std::string changed = line;
  changed.replace(changed.find("1.1"), 3, "9.9");
  EXPECT_FALSE(own_line("lesson", changed));
  EXPECT_FALSE(own_line("lesson", lesson().dump())) << "nobody has sealed it";
  for (const char* text : {"", "[]", "7", "{\"seal\": 3}", "{\"seal\": \"\"}", "{\"task\": \"a\""}) {
    EXPECT_FALSE(own_line("lesson", text)) << text;
  }
}

}  // namespace
}  // namespace kw::store
