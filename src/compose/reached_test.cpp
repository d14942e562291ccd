#include "compose/reached.h"

#include <gtest/gtest.h>

namespace kw::compose {
namespace {

constexpr char kSource[] = R"(// A kernel.
#include <kernelwright.h>

#pragma GCC diagnostic ignored "-Wunused-function"

// Of vectors.
static constexpr int LANES = 8;
static constexpr int UNUSED_TILE = 4;
static_assert(UNUSED_TILE % 2 == 0);

#if defined(__AVX512F__)
inline int only_wide(int x) { return x; }
#endif
#define TWICE(x) (2 * (x))
#define THRICE(x) (3 * (x))

namespace simd {

template <class T, int N = (LANES > 4 ? 8 : 4)>
struct VectorOf {
  T lanes[N];
};
struct Forgotten {
  int x;
};

// Adds up.
template <class T>
[[gnu::noinline]] inline T sum(const T* from, int64_t count) {
  if (count > '{') return from[0];  // a brace in quotes: "}"
  return from[0] + from[1];
}
inline float forgotten(float x) { return sum(&x, 1); }
enum { kFirst, kSecond };

}  // namespace simd

namespace winograd {
[[gnu::cold]] inline void transform(float* x) { *x = 0; }
}  // namespace winograd

static const bool ready = (simd::kSecond == 1);
float helper(float x);  // defined below

KW_KERNEL(call) {
  auto y = call.output<float>(0);
  simd::VectorOf<float> v{};
  y[0] = helper(simd::sum(v.lanes, TWICE(1)));
}

float helper(float x) { return x + 1; }
)";

TEST(Reached, WhatNothingNamesIsGone) {
  const std::string text = with_reached_only(kSource);
  for (const char* gone : {"UNUSED_TILE", "only_wide", "#if", "#endif", "THRICE", "Forgotten", "forgotten", "winograd",
                           "Wunused-function"}) {
    EXPECT_EQ(text.find(gone), std::string::npos) << gone << " is still in:\n" << text;
  }
  for (const char* left : {"// A kernel.", "#include <kernelwright.h>", "// Of vectors.", "LANES = 8", "TWICE(x)",
                           "VectorOf", "// Adds up.", "T sum(", "kSecond", "bool ready",
                           "float helper(float x);  // defined below", "float helper(float x) {"}) {
    EXPECT_NE(text.find(left), std::string::npos) << left << " is missing in:\n" << text;
  }
}

TEST(Reached, OnlyEntryPointsAreSeenByALinker) {
  const std::string text = with_own_names_only(kSource);
  const std::size_t declared = text.find("float helper(float x);"), kernel = text.find("KW_KERNEL"),
                    defined = text.find("float helper(float x) {"), opened = text.find("namespace {"),
                    closed = text.find("}  // namespace\n\nKW_KERNEL");
  EXPECT_LT(opened, declared);
  EXPECT_LT(declared, closed) << text;
  EXPECT_LT(closed, kernel);
  EXPECT_NE(text.find("namespace {", kernel), std::string::npos);
  EXPECT_LT(text.find("namespace {", kernel), defined);
}

// A name that only a macro makes cannot be seen, and neither can what lies between braces that do not match.
TEST(Reached, WhatIsNotUnderstoodStays) {
  for (const std::string source :
       {"#define MAKE(x) int f_##x() { return 0; }\nMAKE(a)\nint b() { return f_a(); }\n", "int f() { return 0;\n",
        "int g() { return 0; } }\n", "const char* s = R\"(})\";\nint h;\n"}) {
    EXPECT_EQ(with_own_names_only(source), source);
  }
}

TEST(Reached, AValueWithBracesInItIsOne) {
  const std::string kept = with_reached_only(
      "inline constexpr int64_t kFew = int64_t{1} << 18;\n"
      "template <class T = int>\ninline T more(T x) { return x + kFew; }\n"
      "KW_KERNEL(call) { call.output<float>(0)[0] = more(1); }\n");
  EXPECT_NE(kept.find("int64_t{1} << 18;\n"), std::string::npos) << kept;
  EXPECT_NE(kept.find("return x + kFew; }"), std::string::npos) << kept;
}

TEST(Reached, NothingIsTornApart) {
  const std::string source =
      "#include <kernelwright.h>\n"
      "#if defined(__x86_64__)\n#include <immintrin.h>\n#endif\n"
      "#if defined(__AVX__)\nstatic int lanes() { return 8; }\n#else\nstatic int lanes() { return 4; }\n#endif\n"
      "struct Table {\n  int entries[4];\n} table = {{1, 2, 3, 4}};\n"
      "using A = int; using kw::Shape;\n"
      "extern \"C\" {\nint kw_run(kw_call* call) { (void)call; A a = lanes(); return a; }\n}\n";
  const std::string text = with_own_names_only(source);
  for (const char* left : {"#include <immintrin.h>\n#endif", "return 8", "#else", "return 4", "table = {{1",
                           "using A = int;", "int kw_run"}) {
    EXPECT_NE(text.find(left), std::string::npos) << left << " is missing in:\n" << text;
  }
  EXPECT_EQ(text.find("using kw::Shape"), std::string::npos);
  EXPECT_LT(text.find("#include <immintrin.h>"), text.find("namespace {"));
}

}  // namespace
}  // namespace kw::compose
