// CUDA kernels on an emulated GPU, judged by the real judge: what works on a GPU is accepted, and what only happens to
// work in one order of threads is not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compose/techniques.h"
#include "judge/judge.h"
#include "judge/plain_source.h"
#include "judge/verdict_json.h"
#include "ops/graph.h"
#include "suites/catalog.h"
#include "targets/cuda/composed.h"
#include "targets/cuda/emulated/source.h"

namespace kw {
namespace {

constexpr char kDevice[] = "cuda:emulated";

// Softmax over the last axis, one row a block: a warp joins by shuffles, the block by shared memory.
constexpr char kSoftmax[] = R"(
#include <kernelwright_cuda.h>
KW_TUNE(BLOCK, 128, 64, 128);
#ifdef __CUDACC__
__device__ float joined(float v, bool maximum) {
  __shared__ float parts[32];
  for (int far = 16; far > 0; far /= 2) {
    const float other = __shfl_xor_sync(~0u, v, far);
    v = maximum ? fmaxf(v, other) : v + other;
  }
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads(); /* parts are written */
  v = parts[0];
  for (int i = 1; i < BLOCK / 32; ++i) v = maximum ? fmaxf(v, parts[i]) : v + parts[i];
  __syncthreads(); /* parts are read */
  return v;
}
extern "C" __global__ void __launch_bounds__(BLOCK) softmax(const float* x, float* y, int64_t n) {
  extern __shared__ float row[];
  const float lowest = __int_as_float(0xff800000);
  float largest = lowest;
  int nan = 0;
  for (int64_t i = threadIdx.x; i < n; i += BLOCK) {
    row[i] = x[blockIdx.x * n + i];
    nan |= row[i] != row[i];
    largest = fmaxf(largest, row[i]);
  }
  nan = __syncthreads_or(nan);
  largest = nan ? __int_as_float(0x7fc00000) : joined(largest, true);
  float sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += BLOCK) sum += row[i] = expf(row[i] - largest);
  sum = joined(sum, false);
  for (int64_t i = threadIdx.x; i < n; i += BLOCK) y[blockIdx.x * n + i] = row[i] / sum;
}
#else
KW_PLAN(plan) {
  const int64_t n = plan.input(0).shape(-1);
  if (plan.input(0).count() == 0) return;
  if (n * 4 > 200000) return plan.fail("a row is longer than shared memory");
  plan.shared(n * 4).launch("softmax", plan.input(0).count() / n, BLOCK, plan.input(0), plan.output(0), n);
}
#endif
)";

std::string with(std::string text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), now);
}

class EmulatedGpu : public testing::Test {
 protected:
  static Task small_task(const std::string& name) {
    Task task = *suites::find_task(name);
    for (auto& [_, value] : task.lengths) value = std::min<std::int64_t>(value, 24);
    return task;
  }

  Result<Verdict> judged(const std::string& name, const targets::Source& source, bool timed = false) {
    static Result<judge::Judge> judge = judge::Judge::open(kDevice);
    if (!judge.ok()) return judge.error();
    const Task task = small_task(name);
    judge::Case one{.device = kDevice, .task = &task, .source = source, .pairs = 8, .timed = timed};
    one.plain = timed;
    return judge->judge(one);
  }

  // Why a kernel for Softmax is rejected; "": it is not.
  std::string why_not(const std::string& text) {
    const auto verdict = judged("Softmax", {"softmax.cu", text});
    if (!verdict.ok()) return verdict.error().message;
    return verdict->accepted() ? "" : text_of(verdict->reason);
  }
};

TEST_F(EmulatedGpu, JudgesAKernelOfWarpsAndSharedMemoryAndClaimsNoSpeed) {
  const auto verdict = judged("Softmax", {"softmax.cu", kSoftmax}, true);
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict->accepted()) << text_of(verdict->reason);
  EXPECT_GT(verdict->coverage.shapes, 50);
  EXPECT_NE(judge::verdict_as_json(*verdict).find(R"("speed_claimed":false)"), std::string::npos);
}

TEST_F(EmulatedGpu, ShowsThatABarrierIsMissing) {
  EXPECT_NE(why_not(with(kSoftmax, "__syncthreads(); /* parts are written */", "")), "");
  EXPECT_NE(why_not(with(kSoftmax, "__syncthreads(); /* parts are read */", "")), "");
}

TEST_F(EmulatedGpu, FindsRubbishInSharedMemory) {
  const std::string text = with(kSoftmax, "if (threadIdx.x % 32 == 0) parts", "if (threadIdx.x == 0) parts");
  EXPECT_NE(why_not(text), "");
}

TEST_F(EmulatedGpu, FindsWritesPastSharedMemoryAndMoreOfItThanThereIs) {
  const std::string past = with(kSoftmax, "plan.shared(n * 4)", "plan.shared(n * 4 - 4)");
  EXPECT_NE(why_not(past).find("past the end of the shared memory"), std::string::npos) << why_not(past);
  const std::string more = with(kSoftmax, "__shared__ float parts[32];", "__shared__ float parts[13000];");
  EXPECT_NE(why_not(more).find("more than 48 KiB"), std::string::npos) << why_not(more);
}

TEST_F(EmulatedGpu, GivesNothingOfLanesThatHaveEnded) {
  const std::string text =
      with(kSoftmax, "const float lowest", "if (threadIdx.x >= 32 || threadIdx.x >= n) return;\n  const float lowest");
  EXPECT_NE(why_not(with(text, "BLOCK, 128, 64, 128", "BLOCK, 32, 32, 64")), "");
}

TEST_F(EmulatedGpu, SaysThatNotAllThreadsReachABarrier) {
  const std::string text = with(kSoftmax, "float sum = 0;", "float sum = 0; if (threadIdx.x == 3) __syncthreads();");
  EXPECT_NE(why_not(text).find("wait for each other for ever"), std::string::npos) << why_not(text);
}

TEST_F(EmulatedGpu, SeesALoadAfterTheEndOfAnInput) {
  const std::string text = with(kSoftmax, "row[i] = x[blockIdx.x * n + i];",
                                "row[i] = x[blockIdx.x * n + i]; if (x[blockIdx.x * n + i + 4096] == 77) row[i] = 0;");
  EXPECT_NE(why_not(text).find("memory that is not its own"), std::string::npos) << why_not(text);
}

TEST_F(EmulatedGpu, RefusesLaunchesThatNoGpuWouldTake) {
  const auto launched = [&](const std::string& old, const std::string& now) {
    return why_not(with(kSoftmax, old, now));
  };
  EXPECT_NE(launched("BLOCK, plan.input(0)", "2048, plan.input(0)").find("a block that no GPU has"), std::string::npos);
  EXPECT_NE(launched("\"softmax\", plan", "\"sofmax\", plan").find("no extern"), std::string::npos);
  EXPECT_NE(launched("plan.output(0), n)", "plan.output(0), int(n))").find("argument 2 has 4 bytes"),
            std::string::npos);
  EXPECT_NE(launched("plan.output(0), n)", "plan.output(0))").find("another number of arguments"), std::string::npos);
}

TEST_F(EmulatedGpu, NamesTheLineOfWhatItCannotDo) {
  const auto verdict = judged(
      "Softmax", {"softmax.cu", with(kSoftmax, "float sum = 0;", "float sum = 0; asm volatile(\"bar.sync 0;\");")});
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  ASSERT_FALSE(verdict->errors.empty());
  EXPECT_NE(verdict->errors[0].message.find("inline PTX is not emulated"), std::string::npos);
  EXPECT_EQ(verdict->errors[0].line, 30);
  const auto hidden =
      judged("Softmax",
             {"softmax.cu", with(kSoftmax, "float sum = 0;", "float sum = 0; //\r asm volatile(\"bar.sync 0;\");")});
  ASSERT_FALSE(hidden->errors.empty());
  EXPECT_NE(hidden->errors[0].message.find("inline PTX is not emulated"), std::string::npos);
  const auto typed = judged("Softmax", {"softmax.cu", with(kSoftmax, "float sum = 0;", "flot sum = 0;")});
  ASSERT_FALSE(typed->errors.empty());
  EXPECT_EQ(typed->errors[0].line, 30) << typed->errors[0].message;
}

// Each a family of kernels/cuda/plain; all tasks: kw_cuda_bench emulated.
// The techniques' device code has a name, so that what a model writes may be short.
TEST_F(EmulatedGpu, BuildsWithPartsThatAreIncludedByTheirNames) {
  const Task task = small_task("Relu");
  const auto drafts = compose::drafts_of(*ops::resolve(task), *compose::read_techniques("cuda"),
                                         compose::Parts::by_name, cuda::composed_kernel);
  ASSERT_TRUE(drafts.ok()) << drafts.error().message;
  const std::string& text = drafts->front().source;
  ASSERT_NE(text.find("#include <kw/packs.cuh>"), std::string::npos) << text;
  const auto right = judged("Relu", {"relu.cu", text});
  ASSERT_TRUE(right.ok()) << right.error().message;
  EXPECT_TRUE(right->accepted()) << text_of(right->reason);
  const auto line = 1 + std::count(text.begin(), text.end(), '\n');
  const auto wrong = judged("Relu", {"relu.cu", text + "nonsense;\n"});
  ASSERT_TRUE(wrong.ok()) << wrong.error().message;
  EXPECT_NE(text_of(wrong->reason).find(fmt::format("relu.cu:{}", line)), std::string::npos) << text_of(wrong->reason);
}

TEST_F(EmulatedGpu, FindsPlainKernelsRight) {
  for (const char* name : {"Softmax", "Deconvolution_1D", "MatMul", "ReduceMean", "Einsum_transpose", "Gather"}) {
    const Task task = small_task(name);
    const auto graph = ops::resolve(task);
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    const auto source = judge::plain_source(kDevice, *graph);
    ASSERT_TRUE(source.ok()) << name << ": " << source.error().message;
    const auto verdict = judged(name, *source);
    ASSERT_TRUE(verdict.ok()) << verdict.error().message;
    EXPECT_TRUE(verdict->accepted()) << name << ": " << text_of(verdict->reason);
  }
}

TEST(EmulatedSource, FindsTheKernelsOfAText) {
  EXPECT_EQ(cuda::kernels_in("extern \"C\" __global__ void a(int x) {}\n// __global__ void commented(int x);\n"
                             "template <class T>\n__global__ void general(T x) {}\n"
                             "__global__ void __launch_bounds__(max(1, 256)) b(int x) {}\n"
                             "const char* text = \"__global__ void quoted(\";"),
            (std::vector<std::string>{"a", "b"}));
}

TEST(EmulatedSource, HasSharedMemoryOfTheLaunchAsAPointer) {
  const auto made = *cuda::emulated_source(
      "#include <cmath>\nextern \"C\" __global__ void a() {\n  extern __shared__ __align__(16) unsigned char bytes[];\n"
      "  extern __shared__ float rows[];\n  extern __shared__ float fixed[4];\n}\n");
  EXPECT_NE(made.find("\n#include <cmath>\n"), std::string::npos);
  EXPECT_NE(made.find("\n__global__ void a() {\n"), std::string::npos);
  EXPECT_NE(made.find("  unsigned char* const bytes = reinterpret_cast<unsigned char*>(kw::emulated::dynamic_shared);\n"
                      "  float* const rows = reinterpret_cast<float*>(kw::emulated::dynamic_shared);\n"
                      "  extern __shared__ float fixed[4];\n"),
            std::string::npos);
}

// Each of these, as a kernel from anywhere, ended the judge itself: a regular expression's stack was as deep as its
// match was long.
TEST(EmulatedSource, TakesTextsOfAnyLength) {
  const auto times = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  for (const std::string& text :
       {"template <" + std::string(1'000'000, 'a') + "> __global__ void a(int x) {}",
        "__global__ __launch_bounds__(" + times("(1)", 300'000) + ") void a(int x) {}",
        times("extern __shared__ ", 50'000), times("__global__ __launch_bounds__(", 30'000),
        "extern __shared__ " + times("a ", 500'000) + "x[];", times("#include <cuda.h>\n", 50'000),
        "#include <" + std::string(1'000'000, 'a') + ">", std::string(1'000'000, ' ')}) {
    EXPECT_TRUE(cuda::emulated_source(text).ok());
  }
}

}  // namespace
}  // namespace kw
