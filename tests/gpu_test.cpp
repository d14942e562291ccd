// The judge on a GPU: what it must accept and what it must reject. Every kernel here is Relu or a product, right or
// cheating in one way.
#include <gtest/gtest.h>

#include "judge/judge.h"
#include "judge/plain_source.h"
#include "suites/catalog.h"

namespace kw::judge {
namespace {

constexpr char kDevice[] = "cuda:0";

struct Attempt {
  std::string name;
  std::string task;
  std::string parameters;   // of the kernel, after x and y
  std::string body;         // of the kernel k, with x, y, count and i
  std::string launch;       // of the plan, with count
  std::string before = {};  // device code before the kernel
};

std::string source_of(const Attempt& one) {
  return "#include <kernelwright_cuda.h>\n#ifndef __CUDACC__\n#include <cstdio>\n#endif\n#ifdef __CUDACC__\n" +
         one.before + "\nextern \"C\" __global__ void k(const float* x, float* y" + one.parameters +
         ", int64_t count) {\n  const int64_t i = int64_t(blockIdx.x) * 128 + threadIdx.x;\n" + one.body +
         "\n}\n#else\nKW_PLAN(plan) {\n  const int64_t count = plan.output(0).count();\n  if (count == 0) return;\n  " +
         one.launch + "\n}\n#endif\n";
}

constexpr char kUsual[] = "plan.launch(\"k\", kw::blocks(count, 128), 128, plan.input(0), plan.output(0), count);";
constexpr char kRight[] = "  if (i < count) y[i] = x[i] > 0 ? x[i] : 0;";

class GpuJudge : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto target = targets::target_of(kDevice);
    why_ = target->missing(kDevice);
    if (!why_.empty()) return;
    auto opened = Judge::open(kDevice);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    judge_ = new Judge(std::move(*opened));
  }
  static void TearDownTestSuite() {
    delete judge_;
    judge_ = nullptr;
  }
  void SetUp() override {
    if (!why_.empty()) GTEST_SKIP() << why_;
  }

  static Verdict judged(const std::string& task_name, const std::string& text, bool timed = false) {
    const Task task = *suites::find_task(task_name);
    Case one{.device = kDevice, .task = &task, .source = {"kernel.cu", text}};
    one.timed = timed;
    one.plain = timed;
    one.pairs = 60;
    const auto verdict = judge_->judge(one);
    EXPECT_TRUE(verdict.ok()) << verdict.error().message;
    return verdict.ok() ? *verdict : Verdict{};
  }

  static inline Judge* judge_ = nullptr;
  static inline std::string why_;
};

TEST_F(GpuJudge, AcceptsPlainKernelsAndTimesThemAgainstThemselves) {
  for (const char* name : {"Relu", "Softmax", "MatMul"}) {
    const Task task = *suites::find_task(name);
    const auto source = plain_source(kDevice, *ops::resolve(task));
    ASSERT_TRUE(source.ok()) << source.error().message;
    const Verdict verdict = judged(name, source->text, true);
    EXPECT_TRUE(verdict.accepted()) << name << ": " << text_of(verdict.reason);
    ASSERT_FALSE(verdict.speedups.empty()) << name;
    EXPECT_FALSE(verdict.speedups[0].claimed) << name << " against itself: " << verdict.speedups[0].median;
  }
}

TEST_F(GpuJudge, AcceptsScratchMemorySharedMemoryAndSeveralLaunches) {
  const std::string text = R"(#include <kernelwright_cuda.h>
#ifdef __CUDACC__
extern "C" __global__ void first(const float* x, float* between, int64_t count) {
  extern __shared__ float tile[];
  const int64_t i = int64_t(blockIdx.x) * 128 + threadIdx.x;
  tile[threadIdx.x] = i < count ? x[i] : 0;
  __syncthreads();
  if (i < count) between[i] = tile[threadIdx.x];
}
extern "C" __global__ void second(const float* between, float* y, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * 128 + threadIdx.x;
  if (i < count) y[i] = between[i] > 0 ? between[i] : 0;
}
#else
KW_PLAN(plan) {
  const int64_t count = plan.output(0).count();
  if (count == 0) return;
  const kw::PlanMemory between = plan.scratch(count * 4);
  plan.shared(64 << 10).launch("first", kw::blocks(count, 128), 128, plan.input(0), between, count);
  plan.launch("second", kw::blocks(count, 128), 128, between, plan.output(0), count);
}
#endif
)";
  const Verdict verdict = judged("Relu", text);
  EXPECT_TRUE(verdict.accepted()) << text_of(verdict.reason);
}

TEST_F(GpuJudge, RejectsEachOfThese) {
  const Attempt attempts[] = {
      {"a grid that covers half", "Relu", "", kRight,
       "plan.launch(\"k\", kw::blocks(count, 256), 128, plan.input(0), plan.output(0), count);"},
      {"an input changed", "Relu", "", std::string(kRight) + "\n  if (i == 0) const_cast<float*>(x)[0] = 7;", kUsual},
      {"an element before the output", "Relu", "", std::string(kRight) + "\n  if (i == 0) y[-1] = 7;", kUsual},
      {"an element after the output", "Relu", "", std::string(kRight) + "\n  if (i == 0) y[count] = 7;", kUsual},
      {"an element after the input read", "Relu", "", "  if (i < count) y[i] = x[i] > 0 ? x[i] : x[count] * 0;",
       kUsual},
      {"the first answer again", "Relu", "",
       "  if (i >= count) return;\n  if (kept_count == 0 || i >= 1 << 20) {\n    y[i] = x[i] > 0 ? x[i] : 0;\n    if "
       "(i < 1 "
       "<< 20) kept[i] = y[i];\n  } else {\n    y[i] = kept[i];\n  }\n  if (i == count - 1) kept_count = 1;",
       kUsual, "__device__ float kept[1 << 20];\n__device__ int kept_count;"},
      {"scratch memory that nothing wrote", "Relu", ", const float* s",
       "  if (i < count) y[i] = (x[i] > 0 ? x[i] : 0) + s[0];",
       "plan.launch(\"k\", kw::blocks(count, 128), 128, plan.input(0), plan.output(0), plan.scratch(256), count);"},
      {"never ends", "Relu", "", "  volatile float* v = y;\n  v[0] = 1;\n  while (v[0] == 1) continue;", kUsual},
      {"traps", "Relu", "", "  if (i == 0) __trap();\n", kUsual},
      {"a null pointer", "Relu", "", "  if (i == 0) *reinterpret_cast<volatile float*>(8) = 1;", kUsual},
      {"a grid of nothing", "Relu", "", kRight, "plan.launch(\"k\", 0, 128, plan.input(0), plan.output(0), count);"},
      {"a grid of 2^40", "Relu", "", kRight,
       "plan.launch(\"k\", int64_t{1} << 40, 128, plan.input(0), plan.output(0), count);"},
      {"a kernel that is not there", "Relu", "", kRight,
       "plan.launch(\"other\", 1, 128, plan.input(0), plan.output(0), count);"},
      {"an argument of another size", "Relu", "", kRight,
       "plan.launch(\"k\", 1, 128, plan.input(0), plan.output(0), static_cast<int>(count));"},
      {"an argument too few", "Relu", "", kRight, "plan.launch(\"k\", 1, 128, plan.input(0), plan.output(0));"},
      {"an argument that is no tensor", "Relu", "", kRight,
       "plan.launch(\"k\", 1, 128, plan.input(5), plan.output(0), count);"},
      {"more shared memory than there is", "Relu", "", kRight,
       "plan.shared(1 << 20).launch(\"k\", kw::blocks(count, 128), 128, plan.input(0), plan.output(0), count);"},
      {"a plan that reads a file", "Relu", "", kRight,
       "if (FILE* file = fopen(\"/etc/passwd\", \"r\")) plan.launch(\"k\", kw::blocks(count, 128), 128, plan.input(0), "
       "plan.output(0), count); else plan.fail(\"no file\");"},
  };
  for (const Attempt& one : attempts) {
    const Verdict verdict = judged(one.task, source_of(one));
    EXPECT_FALSE(verdict.accepted()) << one.name;
    std::printf("%-36s %s: %s\n", one.name.c_str(), std::string(name_of(verdict.stage)).c_str(),
                text_of(verdict.reason).substr(0, 110).c_str());
  }
  const Verdict honest = judged("Relu", source_of({"honest", "Relu", "", kRight, kUsual}));
  EXPECT_TRUE(honest.accepted()) << "the GPU serves the next one: " << text_of(honest.reason);
}

TEST_F(GpuJudge, RejectsAProductInTf32AndOneThatIsWrongAfterSomeCalls) {
  const std::string text = R"(#include <kernelwright_cuda.h>
#ifdef __CUDACC__
__device__ int calls;
__device__ float rounded(float v) {
#ifdef REDUCED
  return __uint_as_float((__float_as_uint(v) + 0x1000) & 0xffffe000);
#else
  return v;
#endif
}
extern "C" __global__ void product(const float* a, const float* b, float* y, int64_t m, int64_t k, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * 128 + threadIdx.x;
  if (i >= m * n) return;
  float sum = 0;
  for (int64_t l = 0; l < k; ++l) sum += rounded(a[i / n * k + l]) * rounded(b[l * n + i % n]);
#ifdef LATER
  if (calls > 200) sum = 0;
  __threadfence();
  if (i == 0) calls += 1;
#endif
  y[i] = sum;
}
#else
KW_PLAN(plan) {
  const kw::Shape a = plan.input(0).shape(), b = plan.input(1).shape();
  const int64_t m = a.count(0, a.rank - 1), k = a[-1], n = b[-1];
  if (m * n == 0) return;
  plan.launch("product", kw::blocks(m * n, 128), 128, plan.input(0), plan.input(1), plan.output(0), m, k, n);
}
#endif
)";
  const Verdict honest = judged("MatMul", text, true);
  EXPECT_TRUE(honest.accepted()) << text_of(honest.reason);
  EXPECT_FALSE(judged("MatMul", "#define REDUCED\n" + text).accepted());
  const Verdict later = judged("MatMul", "#define LATER\n" + text, true);
  EXPECT_FALSE(later.accepted());
}

}  // namespace
}  // namespace kw::judge
