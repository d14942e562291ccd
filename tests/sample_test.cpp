// Where the time of real kernels goes, on this machine's CPU.
#include "judge/sample.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "suites/catalog.h"

namespace kw::judge {
namespace {

// Three loops deep and run once; and a flat one where the time goes.
constexpr char kKernel[] = R"(#include <kernelwright.h>
KW_KERNEL(call) {
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  volatile float sum = 0;
  volatile int few = 2;
  for (int a = 0; a < few; ++a)
    for (int b = 0; b < few; ++b)
      for (int c = 0; c < few; ++c) sum = sum + a * b + c;
  for (int64_t i = 0; i < x.count(); ++i) {
    volatile float v = x[i];
    y[i] = v > 0 ? v : 0;
  }
}
)";

TEST(SamplesOfCalls, FindTheLoopWhereTheTimeGoes) {
  const auto device = targets::open_device("cpu");
  ASSERT_TRUE(device.ok()) << device.error().message;
  const Task task = *suites::find_task("Relu", {});
  const auto built = (*device)->build({"kernel.cpp", kKernel}, {.compiler = "g++", .flags = {"-O1"}});
  ASSERT_TRUE(built.ok() && (*built)->ok());
  // On a very busy machine one go may see little.
  std::vector<std::uint64_t> samples;
  for (int tries = 0; tries < 5 && samples.size() < 100; ++tries) {
    const auto more = sample_calls(task, **device, **built, 1);
    ASSERT_TRUE(more.ok()) << more.error().message;
    samples.insert(samples.end(), more->begin(), more->end());
  }
  ASSERT_GE(samples.size(), 100u);
  const auto notes = (*device)->look_into(**built, {.samples = samples});
  ASSERT_TRUE(notes.ok()) << notes.error().message;
  const Json hot = Json::parse(notes->json)["loops"][0];
  EXPECT_EQ(hot["depth"].get<int>(), 1) << notes->text;
  EXPECT_GT(hot["share"].get<double>(), 0.8) << notes->text;
  EXPECT_EQ(Json::parse((*device)->look_into(**built, {})->json)["loops"][0]["depth"].get<int>(), 3);
}

TEST(SamplesOfCalls, AreNoneOfAKernelThatFails) {
  const auto device = targets::open_device("cpu");
  ASSERT_TRUE(device.ok());
  const Task task = *suites::find_task("Relu", {});
  const auto built =
      (*device)->build({"kernel.cpp", "#include <kernelwright.h>\nKW_KERNEL(call) { __builtin_trap(); }\n"},
                       {.compiler = "g++", .flags = {"-O1"}});
  ASSERT_TRUE(built.ok() && (*built)->ok());
  const auto samples = sample_calls(task, **device, **built, 1);
  ASSERT_TRUE(samples.ok());
  EXPECT_TRUE(samples->empty());
}

}  // namespace
}  // namespace kw::judge
