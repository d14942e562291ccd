#include "compose/parts.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kw::compose {
namespace {

TEST(Parts, AreInlinedOnceWithWhatTheyInclude) {
  const auto text = with_parts_inlined(
      "#include <kernelwright.h>\n#include <kw/map.h>\n#include <kw/vector.h>\n#include <kw/none.h>\nKW_KERNEL(call) "
      "{}\n");
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(text->find("#include <kw/map.h>"), std::string::npos);
  EXPECT_EQ(text->find("#include \""), std::string::npos);
  EXPECT_NE(text->find("#include <kw/none.h>\nKW_KERNEL(call) {}\n"), std::string::npos) << "the compiler names it";
  std::size_t vectors = 0;
  for (std::size_t at = 0; (at = text->find("using Floats =", at)) != std::string::npos; ++at) ++vectors;
  EXPECT_EQ(vectors, 1u);
  EXPECT_LT(text->find("using Floats ="), text->find("inline void map(")) << "what is included comes first";
  EXPECT_EQ(*with_parts_inlined("int a;\n"), "int a;\n");
  const std::vector<std::string> all = *library_parts();
  EXPECT_TRUE(std::ranges::binary_search(all, "math_exp.h"));
}

}  // namespace
}  // namespace kw::compose
