// Words of real compilers, as they were said. kw_errors_bench asks the compilers themselves, about many more sources.
#include "inspect/errors.h"

#include <gtest/gtest.h>

#include "inspect/outline.h"

namespace kw::inspect {
namespace {

const SourceText kSorting{"order.cpp", R"(#include <algorithm>
#include <vector>
struct Pair {
  float value;
};
void order(std::vector<Pair>& pairs) {
  std::sort(pairs.begin(), pairs.end());
}
)"};

TEST(Errors, LeadFromAHeaderBackToTheSource) {
  const auto errors = errors_in(
      R"(In file included from /usr/include/c++/12/bits/stl_algobase.h:71,
                 from /usr/include/c++/12/algorithm:60,
                 from order.cpp:1:
/usr/include/c++/12/bits/predefined_ops.h: In instantiation of 'constexpr bool __gnu_cxx::__ops::_Iter_less_iter::operator()(_Iterator1, _Iterator2) const [with _Iterator1 = __gnu_cxx::__normal_iterator<Pair*, std::vector<Pair> >]':
/usr/include/c++/12/bits/stl_algo.h:1818:14:   required from 'constexpr void std::__insertion_sort(...)'
/usr/include/c++/12/bits/stl_algo.h:4820:18:   required from 'constexpr void std::sort(_RAIter, _RAIter)'
order.cpp:7:12:   required from here
/usr/include/c++/12/bits/predefined_ops.h:45:23: error: no match for 'operator<' (operand types are 'Pair' and 'Pair')
   45 |       { return *__it1 < *__it2; }
)",
      {kSorting});
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].line, 7);
  EXPECT_EQ(errors[0].within, "order");
  EXPECT_TRUE(errors[0].local);
  EXPECT_EQ(errors[0].elsewhere, "/usr/include/c++/12/bits/predefined_ops.h:45");
  EXPECT_EQ(errors[0].message, "no match for 'operator<' (operand types are 'Pair' and 'Pair')");
}

TEST(Errors, AreTheSameInEveryLocale) {
  const SourceText source{"k.cpp", "int f(int a) {\n  int b = a * 2\n  return b;\n}\n"};
  const auto errors = errors_in(
      "k.cpp: In function \u2018int f(int)\u2019:\n"
      "k.cpp:3:3: error: expected \u2018,\u2019 or \u2018;\u2019 before \u2018return\u2019\n",
      {source});
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].line, 2);
  EXPECT_EQ(errors[0].message, "expected ',' or ';' before 'return'");
}

TEST(Errors, OfNvccAreRead) {
  const SourceText source{"relu.cu", R"(template <class T>
__device__ T clamp_at(T x) {
  return max(x, zero);
}
__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = clamp_at(x[i]);
  float z = 3
}
)"};
  const auto errors = errors_in(R"(relu.cu(3): error: identifier "zero" is undefined
    return max(x, zero);
                  ^

relu.cu(9): error: expected a ";"
  }
  ^

2 errors detected in the compilation of "relu.cu".
)",
                                {source});
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].line, 3);
  EXPECT_EQ(errors[0].within, "clamp_at");
  EXPECT_EQ(errors[1].line, 8);
  EXPECT_EQ(errors[1].within, "relu");
}

TEST(Errors, OfLinkersAndLoadersAreFoundInTheSource) {
  const SourceText source{"k.cpp", "float scale(float x);\n\nfloat run(float x) {\n  return scale(x);\n}\n"};
  for (const char* said : {"/usr/bin/ld: /tmp/ccXY.o: in function `run(float)':\nk.cpp:(.text+0x12): undefined "
                           "reference to `scale(float)'\n"
                           "collect2: error: ld returned 1 exit status\n",
                           "/bin/true: symbol lookup error: ./made.so: undefined symbol: _Z5scalef\n"}) {
    const auto errors = errors_in(said, {source});
    ASSERT_EQ(errors.size(), 1u) << said;
    EXPECT_EQ(errors[0].line, 4) << said;
    EXPECT_EQ(errors[0].within, "run") << said;
  }
}

TEST(Errors, AreMergedAndKeptShort) {
  std::string said;
  std::string text;
  for (int i = 1; i <= 30; ++i) {
    said += fmt::format("k.cpp:{}:5: error: 'n' was not declared in this scope\n", i);
    text += "int a = n;\n";
  }
  const auto errors = errors_in(said, {{"k.cpp", text}});
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].repeated_at.size(), 29u);
  std::string many;
  for (int i = 1; i <= 30; ++i) many += fmt::format("k.cpp:{}:5: error: 'n{}' was not declared in this scope\n", i, i);
  const auto all = errors_in(many, {{"k.cpp", text}});
  EXPECT_EQ(all.size(), 30u);
  EXPECT_LE(as_text(all, 100).size(), 460u);
  EXPECT_NE(as_text(all, 100).find("... and"), std::string::npos);
  EXPECT_TRUE(errors_in("", {}).empty());
  EXPECT_TRUE(errors_in("no compiler said: this(7 ::\n(((", {{"k.cpp", ""}}).empty());
}

// As it was seen: of two names that are missing on one line only the first was told, and the second cost another try.
TEST(Errors, TellEachMissingNameOfALine) {
  const SourceText source{"k.cpp", "KW_KERNEL(call) {\n  for (int i = 0; i < x.size(); ++i) y[i] = z[i];\n}\n"};
  const auto messages = [&](const char* said) {
    std::vector<std::string> all;
    for (const CodeError& error : errors_in(said, {source})) all.push_back(error.message);
    return all;
  };
  EXPECT_EQ(messages("k.cpp:2:25: error: 'class kw::Tensor<float>' has no member named 'size'\n"
                     "k.cpp:2:45: error: 'z' was not declared in this scope\n"
                     "k.cpp:2:49: error: 'z' was not declared in this scope; did you mean 'x'?\n"),
            (std::vector<std::string>{"'class kw::Tensor<float>' has no member named 'size'",
                                      "'z' was not declared in this scope"}));
  EXPECT_EQ(messages("k.cpp:2:25: error: no member named 'size' in 'kw::Tensor<float>'\n"
                     "k.cpp:2:45: error: use of undeclared identifier 'z'\n")
                .size(),
            2u);
  // What is missing on a line that was not understood follows from that.
  EXPECT_EQ(messages("k.cpp:2:3: error: 'vectr' is not a member of 'std'\n"
                     "k.cpp:2:45: error: 'z' was not declared in this scope\n")
                .size(),
            1u);
}

TEST(Errors, LoseTheirTemplateNoise) {
  EXPECT_EQ(
      without_template_noise("bad std::map<std::pair<int, std::tuple<a, b> >, std::__cxx11::basic_string<char> >"),
      "bad std::map<std::pair<int, std::tuple<...> >, std::string >");
  EXPECT_EQ(without_template_noise("x < y and a->b"), "x < y and a->b");
  EXPECT_LE(without_template_noise(std::string(5000, 'x')).size(), 300u);
}

std::string scopes_of(const std::string& source) {
  std::string text;
  for (const Scope& scope : outline_of(source)) {
    text += fmt::format("{}{}:{}-{} ", scope.kind == Scope::Kind::type ? "type " : "", scope.name, scope.first_line,
                        scope.last_line);
  }
  return text;
}

TEST(Outline, FindsFunctionsAndTypes) {
  EXPECT_EQ(scopes_of(R"(namespace a {
template <class T, int N = (3 < 4)>
struct Tile final : Base<T> {
  Tile(int rows) : rows_(rows), data_{1, 2} { fill(); }
  bool operator()(int a) const { return a > "}"[0]; }
  /* } */
};
static inline __attribute__((always_inline)) float* find(struct Tile<float>* t,
                                                         int k) {
  for (int i = 0; i < k; ++i) {
    auto f = [&](int j) { return j; };
  }
  if (k) { return nullptr; } else { }
}
KW_KERNEL(call) {
  const float w[] = {1, 2};
}
enum class Kind { a, b };
}  // namespace a
)"),
            "a:1-19 type Tile:2-7 Tile:4-4 operator():5-5 find:8-14 KW_KERNEL(call):15-17 type Kind:18-18 ");
}

TEST(Outline, SurvivesAMissingBrace) {
  const std::string source =
      "int f(int a) {\n  if (a) {\n    a = 1;\n  return a;\n}\n\nint g(int b) {\n  return b;\n}\n";
  EXPECT_EQ(scopes_of(source), "f:1-6 g:7-9 ");
  EXPECT_EQ(unclosed_brace(source), 2);
  EXPECT_EQ(unclosed_brace("int f() {\n  return 1;\n}\n"), 0);
}

}  // namespace
}  // namespace kw::inspect
