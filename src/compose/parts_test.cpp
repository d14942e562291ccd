#include "compose/parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/files.h"

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
  const std::string said = "library of parts, version " + *library_version();
  EXPECT_NE(text->find(said), std::string::npos);
  EXPECT_EQ(text->find(said), text->rfind(said)) << "once";
  const std::vector<std::string> all = *library_parts();
  EXPECT_TRUE(std::ranges::binary_search(all, "math_exp.h"));
}

TEST(Parts, OfGpusAreInlinedAndLeaveTheLinesOfTheSource) {
  const auto text = with_parts_inlined(
      "#include <kernelwright_cuda.h>\n#include <kw/common.cuh>\n#include <kw/rows.cuh>\n#include <kw/../x.cuh>\nint "
      "here;\n",
      "kernel.cu");
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(text->find("#include \""), std::string::npos);
  EXPECT_NE(text->find("#line 4 \"kernel.cu\"\n#include <kw/../x.cuh>\nint here;\n"), std::string::npos);
  const std::size_t given = text->find("struct Given"), rows = text->find("struct Rows");
  EXPECT_LT(given, rows);
  EXPECT_EQ(text->find("struct Given", given + 1), std::string::npos) << "what rows.cuh includes is there already";
}

// The page that people read: every header that it names is there, with every function that its row names.
TEST(Parts, AreAsTheirPageSays) {
  const auto page = read_file(KW_SOURCE_DIR "/docs/parts.md");
  ASSERT_TRUE(page.ok());
  EXPECT_NE(page->find("This is version " + *library_version() + " "), std::string::npos);
  std::istringstream lines(*page);
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `kw/")) continue;
    ++rows;
    const std::size_t begin = line.find("kw/") + 3, end = line.find('`', begin);
    const auto text = read_file(KW_SOURCE_DIR "/kernels/cpu/parts/" + line.substr(begin, end - begin));
    ASSERT_TRUE(text.ok()) << line;
    const std::string names = line.substr(end + 1, line.find(" | ", end + 4) - end - 1);
    for (std::size_t at = 0; (at = names.find('`', at)) != std::string::npos;) {
      const std::size_t close = names.find('`', at + 1);
      std::string name = names.substr(at + 1, close - at - 1);
      name = name.substr(0, name.find_first_of("(<"));
      if (const std::size_t colons = name.find("::"); colons != std::string::npos) name = name.substr(colons + 2);
      EXPECT_NE(text->find(" " + name), std::string::npos) << name << " of " << line;
      at = close + 1;
    }
  }
  EXPECT_GT(rows, 14);
}

}  // namespace
}  // namespace kw::compose
