#include "corpus/holes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace kw::corpus {
namespace {

constexpr char kKernel[] = R"(#include <kernelwright.h>

KW_TUNE(ROWS, 4, 2, 4);
KW_REQUIRE(ROWS < 8);

static float sum(const float* x, int64_t n) {
  float s = 0;  // } not a brace
  for (int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < 2; ++k) s += x[i];
  }
  while (n-- > 0) s += 1;
  return s;
}

KW_KERNEL(call) {
  auto y = call.output<float>(0);
  y[0] = sum(nullptr, 0);
}
)";

TEST(Holes, AreFunctionsLoopsAndThePlan) {
  const std::string source = kKernel;
  std::vector<std::string> found;
  for (const Hole& hole : holes_of(source)) {
    EXPECT_EQ(hole.prefix(source) + hole.middle(source) + hole.suffix(source), source);
    found.push_back(
        fmt::format("{} {} {}-{} {}", name_of(hole.kind), hole.name, hole.first_line, hole.last_line, hole.nesting));
  }
  EXPECT_EQ(found,
            (std::vector<std::string>{"plan tunables 3-4 0", "function sum 6-12 0", "loop sum 8-10 2", "loop sum 9-9 1",
                                      "loop sum 11-11 1", "function KW_KERNEL(call) 15-17 0"}));
}

TEST(Holes, CanAllBeFilledWithWhatWasThere) {
  const std::string source = kKernel;
  for (const Hole& hole : holes_of(source)) {
    const auto whole = filled(hole.prefix(source), hole.middle(source), hole.suffix(source));
    ASSERT_TRUE(whole.ok()) << whole.error().message << ": " << hole.middle(source);
    EXPECT_EQ(*whole, source);
    EXPECT_EQ(*middle_of(*whole, hole.prefix(source), hole.suffix(source)), hole.middle(source));
  }
}

TEST(Holes, OfEveryExemplarSurvive) {
  for (const auto& entry : std::filesystem::directory_iterator(*data_folder() / "kernels" / "exemplars")) {
    const std::string source = *read_file(entry.path());
    const std::vector<Hole> holes = holes_of(source);
    EXPECT_FALSE(holes.empty()) << entry.path();
    for (const Hole& hole : holes)
      EXPECT_TRUE(filled(hole.prefix(source), hole.middle(source), hole.suffix(source)).ok()) << entry.path();
  }
}

TEST(Holes, LetNothingOut) {
  const auto problem = [](const std::string& middle) {
    const auto whole = filled("void f() {", middle, "}\nint g;\n");
    return whole.ok() ? std::string() : whole.error().message;
  };
  EXPECT_EQ(problem("return;"), "");
  EXPECT_EQ(problem(" { /* } */ f(\"}\"); } "), "");
  EXPECT_EQ(problem("asm volatile(\"\" ::: \"memory\");"), "");
  EXPECT_EQ(problem("return;\r\n"), "");
  for (const char* escape :
       {"} void h() {", "{", "}", "/*", "// gone", "\"", "#define g h\n", "\n  #if 0\n", "/* */ #undef g\n", "f(", ")",
        "R\"(", "a[", "%>", "<% %>", "\n%:define g h\n", "x \\", "(]", "'",
        // joined lines: the compiler sees comments, braces and directives that stand on none of them
        "x /\\\n*", "/\\\n/ {\n} void h() {\n/\\\n/ }\n", "/\\ \t\n/ {\n} void h() { }\n", "x \\ ",
        "%\\\n:define g h\n",
        // lines that end with a carriage return, for compilers alone
        "f();\r#define g h\r\n", "// \r } void h() {\r\n",
        // what has another meaning for all that follows
        "_Pragma(\"weak g\");", "asm(\".macro nop\\n.endm\");", "asm(\"nop; .set g, 5\");",
        // the next statement would be its own
        "if (g)", "f(); if (g) f(); else", "int x =", "f(); return f() +",
        // a character after a number, and not a quote between digits
        "f(1'\"'); } void h() { f(1'\"');"}) {
    EXPECT_NE(problem(escape).find("not confined to its hole"), std::string::npos) << escape;
  }
  EXPECT_FALSE(filled("void f() { /*", "x", "*/ }").ok()) << "the hole itself is in a comment";
}

TEST(Holes, KnowWhetherTheirSurroundingsSurvived) {
  EXPECT_EQ(*middle_of("abcde", "ab", "e"), "cd");
  EXPECT_EQ(*middle_of("abe", "ab", "e"), "");
  EXPECT_FALSE(middle_of("abcde", "b", "e").ok());
  EXPECT_FALSE(middle_of("abcde", "ab", "d").ok());
  EXPECT_FALSE(middle_of("aba", "ab", "ba").ok()) << "one byte cannot be of both";
}

}  // namespace
}  // namespace kw::corpus
