#include "inspect/outline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace kw::inspect {
namespace {

// "NAME FIRST-LAST", indented by depth.
std::vector<std::string> outlined(std::string_view source, Listed listed = Listed::definitions) {
  std::vector<std::string> lines;
  for (const Scope& scope : outline_of(source, listed)) {
    lines.push_back(fmt::format("{}{} {}-{}", std::string(2 * static_cast<std::size_t>(scope.depth), ' '), scope.name,
                                scope.first_line, scope.last_line));
  }
  return lines;
}
using Lines = std::vector<std::string>;

TEST(Outline, ReadsTemplatesAttributesAndTrailingTypes) {
  EXPECT_EQ(outlined(R"(template <class T, int N = (3 > 2)>
  requires std::is_same_v<T, float>
[[nodiscard]] inline auto sum(const T (&x)[N]) noexcept(noexcept(x[0])) -> decltype(x[0] + x[0]) {
  return x[0];
}
template <template <class> class V>
struct alignas(64) [[deprecated("use Row")]] Tile final : Base<int, V<float>> {
  float v[16];
};
template <>
struct std::hash<Tile<int>> {
  __attribute__((always_inline)) size_t operator()(const Tile<int>& t) const { return 0; }
};
template <class A>
template <class B>
void Outer<A>::inner(B b) {
}
template <>
inline int key_of<int>(const Key& key) {
}
)"),
            (Lines{"sum 1-5", "Tile 6-9", "std::hash 10-13", "  operator() 12-12", "Outer<A>::inner 14-17",
                   "key_of<int> 18-20"}));
}

TEST(Outline, ReadsOperatorsAndConstructors) {
  EXPECT_EQ(outlined(R"(struct Big {
  Big(int n) : rows{n}, columns(n), data{new float[n]{}} {
    data[0] = 0;
  }
  ~Big() { delete[] data; }
  explicit operator bool() const { return rows > 0; }
  explicit(true) Big(float) {}
  bool operator<(const Big& o) const { return rows < o.rows; }
  auto operator<=>(const Big&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Big&) { return out; }
};
Big operator""_big(unsigned long long n) { return Big(n); }
bool Big::operator()(int i) const { return i > 0; }
)"),
            (Lines{"Big 1-11", "  Big 2-4", "  ~Big 5-5", "  operator bool 6-6", "  Big 7-7", "  operator< 8-8",
                   "  operator<< 10-10", "operator _big 12-12", "Big::operator() 13-13"}));
}

TEST(Outline, IsNotMisledByTextsAndNumbers) {
  EXPECT_EQ(outlined("const char* a = R\"x({ )\" { )x\";\nconst wchar_t b = L'{';\nauto c = u8R\"({)\";\n"
                     "int d = 1'000'000; /* { */ // {\nchar e = '\\'', f = '{';\nint g() { return '}'; }\n"),
            (Lines{"g 6-6"}));
}

TEST(Outline, TakesOneOfTwoHeadsOfOneBody) {
  EXPECT_EQ(outlined(R"(#if defined(__AVX2__)
void relu(const float* x, int n) {
#else
void relu(const double* x, int n) {
#endif
  work(x);
}
#ifdef A
int only_with_a() { return 1; }
#else
int only_without() { return 2; }
#endif
#if 0
int never() {
#endif
int last() { return 3; }
)"),
            (Lines{"relu 2-7", "only_with_a 9-9", "only_without 11-11", "last 16-16"}));
}

TEST(Outline, ReadsNamespacesMacrosAndLambdas) {
  EXPECT_EQ(outlined(R"(namespace ncnn::x86 {
namespace {
DEFINE_LAYER_CREATOR(Softmax)
static int forward(int n) { return n; }
auto twice = [](int a) { return 2 * a; };
static Registrar registrar("Relu", [](int a) { return a; });
const int table[] = {1, 2, 3};
enum class Kind : uint8_t { a, b };
}  // namespace
TEST(Softmax, IsRight) {
  const auto add = [&](int a) { return a; };
  if (add(1)) { forward(2); }
}
extern "C" {
void kw_run(void) {}
}
class NCNN_EXPORT Layer : public Base {
 public:
  virtual int run() { return 0; }
};
}  // namespace ncnn::x86
)"),
            (Lines{"ncnn::x86 1-21", "   2-9", "    forward 3-4", "    Kind 8-8", "  TEST(Softmax, IsRight) 10-13",
                   "  kw_run 15-15", "  Layer 17-20", "    run 19-19"}));
}

TEST(Outline, ReadsValuesInBracesAmongParameters) {
  EXPECT_EQ(outlined("struct Purse {\n  explicit Purse(Budget budget = {}, int n = {3}) : budget_(budget) {}\n};\n"
                     "int ask(const Endpoint& endpoint,\n        Options options = {.tries = 3}) {\n"
                     "  return call({1, 2}, [] { return 3; });\n}\nint last() { return 0; }\n"),
            (Lines{"Purse 1-3", "  Purse 2-2", "ask 4-7", "last 8-8"}));
}

TEST(Outline, ListsDeclarationsWhereTheyAreWanted) {
  constexpr std::string_view kHeader = R"(class Execution : public NonCopyable {
 public:
  explicit Execution(Backend* backend);
  virtual ~Execution() = default;
  virtual ErrorCode onResize(const std::vector<Tensor*>& inputs,
                             const std::vector<Tensor*>& outputs) = 0;
  bool operator==(const Execution&) const;
  int rows_ = 3;
  std::function<int(int)> make_;
  int (*run_)(int n) = nullptr;
  MNN_DISALLOW(Execution);
};
using Maker = int(int);
template <class T>
T sum(const T* x, std::size_t n);
float dot(const float*, const float*, int);
static Registrar registrar("Relu", make);
static const int table = lookup(3);
void last();
)";
  EXPECT_EQ(outlined(kHeader), (Lines{"Execution 1-12"}));
  EXPECT_EQ(outlined(kHeader, Listed::declarations_too),
            (Lines{"Execution 1-12", "  Execution 3-3", "  ~Execution 4-4", "  onResize 5-6", "  operator== 7-7",
                   "sum 14-15", "dot 16-16", "last 19-19"}));
  EXPECT_EQ(scope_at(outline_of(kHeader, Listed::declarations_too), 5)->name, "Execution");
}

TEST(Outline, ReadsCuda) {
  EXPECT_EQ(outlined(R"(template <int kBlock>
__global__ void __launch_bounds__(kBlock, 2) softmax(const float* __restrict__ x, float* y) {
  __shared__ float sums[kBlock];
  for (int i = threadIdx.x; i < 8; i += kBlock) { y[i] = x[i]; }
}
__device__ __forceinline__ float half_of(float v) { return v / 2; }
void launch(const float* x, float* y, cudaStream_t stream) {
  softmax<256><<<dim3(4, 1), 256, 0, stream>>>(x, y);
}
)"),
            (Lines{"softmax 1-5", "half_of 6-6", "launch 7-9"}));
}

}  // namespace
}  // namespace kw::inspect
