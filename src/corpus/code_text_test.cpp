#include "corpus/code_text.h"

#include <gtest/gtest.h>

namespace kw::corpus {
namespace {

TEST(CodeText, BlanksCommentsAndQuotesAndNothingElse) {
  EXPECT_EQ(code_text("a /* { */ b // }\nc").text, "a         b     \nc");
  EXPECT_EQ(code_text("f(\"}\\\"{\", '{', 1'000)").text, "f(\"    \", ' ', 1'000)");
  EXPECT_EQ(code_text("R\"x({)x\" + {").text.find('{'), 11u);
  EXPECT_EQ(code_text("// a \\\n { still\n{").text.find('{'), 16u);
}

TEST(CodeText, KnowsHowItEnds) {
  using End = CodeText::End;
  EXPECT_EQ(code_text("a;").end, End::code);
  EXPECT_EQ(code_text("a; // b").end, End::line_comment);
  EXPECT_EQ(code_text("a; // b\n").end, End::code);
  EXPECT_EQ(code_text("a; /* b").end, End::comment);
  EXPECT_EQ(code_text("a = \"b").end, End::quotes);
  EXPECT_EQ(code_text("R\"(b\"").end, End::quotes);
}

TEST(CodeText, FindsTheEndOfStatements) {
  const auto rest = [](const std::string& code) { return code.substr(end_of_statement(code, 0)); };
  EXPECT_EQ(rest("for (;;) x = 1; y"), " y");
  EXPECT_EQ(rest("for (;;) { a; { b; } } y"), " y");
  EXPECT_EQ(rest("for (;;) for (;;) if (a) b; else { c; } y"), " y");
  EXPECT_EQ(rest("KW_UNROLL for (int i = 0; i < 4; ++i) f([&] { return i; }); y"), " y");
  EXPECT_EQ(rest("if constexpr (a) b; y"), " y");
  EXPECT_EQ(end_of_statement("for (;;) { a;", 0), std::string::npos);
  EXPECT_EQ(end_of_statement("x }", 0), std::string::npos);
}

TEST(Shortened, LeavesOutWhatNothingUses) {
  EXPECT_EQ(shortened(R"(// a comment
#include <kernelwright.h>

KW_TUNE(USED, 1, 1, 2);  // of used
KW_TUNE(UNUSED, 4, 4, 8);
KW_REQUIRE(USED < 4);
KW_REQUIRE(UNUSED < 9);

using Floats = float;
using Unused = int;
template <class T>
using UnusedToo = T;

// of helper
inline int helper(int x) { return x + USED; }

inline int unused(int x) {
  return helper(x) * UNUSED;
}
template <class T>
struct Never {
  T t;
};
inline Floats used(int x) { return helper(x); }

KW_KERNEL(call) {
  call.output<float>(0)[0] = used(1);
}
)"),
            R"(#include <kernelwright.h>

KW_TUNE(USED, 1, 1, 2);
KW_REQUIRE(USED < 4);

using Floats = float;

inline int helper(int x) { return x + USED; }

inline Floats used(int x) { return helper(x); }

KW_KERNEL(call) {
  call.output<float>(0)[0] = used(1);
}
)");
}

TEST(Shortened, KeepsQuotesAndBothOfTwoFunctionsOfOneName) {
  const std::string source =
      "inline int f(int x) { return x; }\ninline int f(float x) { return 1; }\n"
      "KW_KERNEL(call) {\n  f(call.is(\"// no comment\"));\n}\n";
  EXPECT_EQ(shortened(source), source);
}

TEST(Shortened, KeepsWhatIsLaunchedByItsName) {
  const std::string kernel = "extern \"C\" __global__ void pass(float* y) { y[0] = 1; }\n";
  const std::string text = shortened("inline int unused() { return 1; }\n" + kernel +
                                     "KW_PLAN(plan) { plan.launch(\"pass\", 1, 1, plan.output(0)); }\n");
  EXPECT_NE(text.find(kernel), std::string::npos) << text;
  EXPECT_EQ(text.find("unused"), std::string::npos) << text;
}

}  // namespace
}  // namespace kw::corpus
