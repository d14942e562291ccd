// Threads that the judge lends to a kernel, and the kernels of techniques that use them.
#include <gtest/gtest.h>

#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "base/scratch.h"
#include "cli/program.h"

namespace kw::cli {
namespace {

// Relu in eight pieces; `piece` comes before the work of each.
std::string in_pieces(const std::string& piece) {
  return R"(#include <kernelwright.h>
#include <sched.h>
KW_KERNEL(call) {
  if (call.lent() != call.threads() && call.lent() != 1) return call.fail("it was lent another number of threads");
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  int begun = 0;
  call.each(8, [&](int32_t i) {
    )" + piece +
         R"(
    for (int64_t k = x.count() * i / 8; k < x.count() * (i + 1) / 8; ++k) y[k] = x[k] < 0 ? 0 : x[k];
  });
}
)";
}

// The first two pieces begin together where a second thread comes to take one of them: a caller may do all by itself.
constexpr char kTogether[] =
    "if (i < 2 && call.lent() > 1) {\n"
    "  __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);\n"
    "  for (int k = 0; k < 300 && __atomic_load_n(&begun, __ATOMIC_SEQ_CST) < 2; ++k) sched_yield();\n"
    "}\n";

class SlowThreads : public testing::Test {
 protected:
  Json run(const std::vector<std::string>& words) {
    std::ostringstream out, err;
    code_ = run_program(words, out, err);
    error_ = err.str();
    return Json::parse_quietly(out.str());
  }
  Json eval(const std::string& task, const std::string& source, const std::string& threads) {
    const auto file = folder_.path() / "kernel.cpp";
    EXPECT_TRUE(write_file(file, source).ok());
    return run({"eval", task, file.string(), "--threads", threads, "--untimed", "--json", "--no-store"});
  }

  int code_ = 0;
  std::string error_;
  const ScratchFolder folder_;
  const ScratchFolder cache_folder_;
  const ScratchVariable cache_{"XDG_CACHE_HOME", cache_folder_.path().string()};
  const ScratchVariable store_{"KW_STORE", (folder_.path() / "record").string()};
};

TEST_F(SlowThreads, AreLentToAKernelAsManyAsItMayUse) {
  for (const char* threads : {"1", "2", "3"}) {
    const Json verdict = eval("Relu", in_pieces(threads[0] == '1' ? "" : kTogether), threads);
    EXPECT_EQ(code_, kYes) << threads << " threads: " << verdict.dump() << error_;
  }
}

TEST_F(SlowThreads, WhatAPieceLeavesInTheControlRegistersShows) {
#if defined(__x86_64__)
  const std::string flush = "if (i == 1 && call.lent() > 1) _mm_setcsr(_mm_getcsr() | 0x8000);\n";
  const Json verdict = eval("Relu", in_pieces(kTogether + flush), "2");
  EXPECT_EQ(code_, kNo);
  EXPECT_EQ(verdict["reason_code"], "registers_changed") << verdict.dump() << error_;
#endif
}

TEST_F(SlowThreads, AreNotWaitedForInsideOfPrepare) {
  const Json verdict = eval("Relu",
                            "#include <kernelwright.h>\n"
                            "KW_PREPARE(call) { if (call.lent() != 1) call.fail(\"threads are lent\"); }\n"
                            "KW_KERNEL(call) {\n  const auto x = call.input<float>(0);\n"
                            "  auto y = call.output<float>(0);\n"
                            "  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] < 0 ? 0 : x[i];\n}\n",
                            "2");
  EXPECT_EQ(code_, kYes) << verdict.dump() << error_;
}

// By the judge: hidden shapes, guards, every number of threads up to the given one.
TEST_F(SlowThreads, ServeTechniques) {
  const std::pair<const char*, const char*> all[] = {{"Softmax_vit", "softmax_vector"},
                                                     {"Gemm_transA_odd", "gemm_packed"}};
  for (const auto& [task, technique] : all) {
    const std::string file = (folder_.path() / (std::string(technique) + ".cpp")).string();
    run({"init", task, "--technique", technique, "--out", file});
    ASSERT_EQ(code_, kYes) << error_;
    const Json verdict = run({"eval", task, file, "--threads", "3", "--untimed", "--json", "--no-store"});
    EXPECT_EQ(code_, kYes) << technique << ": " << verdict.dump() << error_;
    EXPECT_EQ(verdict["coverage"]["threads"], Json::array({1, 2, 3})) << verdict.dump();
  }
}

TEST_F(SlowThreads, AreLentInASearch) {
  const Json found = run({"optimize", "Relu", "--budget", "1", "--threads", "2", "--rival", "none", "--quiet", "--json",
                          "--out", (folder_.path() / "relu").string()});
  EXPECT_EQ(code_, kYes) << error_;
  EXPECT_EQ(found["coverage"]["threads"], Json::array({1, 2})) << found.dump();
  run({"optimize", "Relu", "--threads", "0", "--out", (folder_.path() / "none").string()});
  EXPECT_EQ(code_, kBroken);
  EXPECT_NE(error_.find("--threads"), std::string::npos) << error_;
}

}  // namespace
}  // namespace kw::cli
