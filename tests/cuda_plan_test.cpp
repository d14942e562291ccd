#include "targets/cuda/plan.h"

#include <gtest/gtest.h>

#include <cstring>

#include "suites/catalog.h"

namespace kw::cuda {
namespace {

// The bytes of a plan, as kernelwright_cuda.h writes them.
class Bytes {
 public:
  Bytes& numbers(std::initializer_list<std::int64_t> all) {
    for (std::int64_t one : all) add(&one, 8);
    return *this;
  }
  Bytes& text(const std::string& value) {
    numbers({static_cast<std::int64_t>(value.size())});
    add(value.data(), value.size());
    return *this;
  }
  Bytes& head(std::int64_t launches, std::int64_t scratch = 0, std::int64_t kept = 0) {
    return numbers({0x314e414c50574b, launches, scratch, kept, 0});
  }
  // A launch of "relu" without its arguments.
  Bytes& launch(std::int64_t grid, std::int64_t block, std::int64_t arguments, std::int64_t shared = 0,
                std::int64_t cluster = 1, std::int64_t once = 0) {
    return text("relu").numbers({once, grid, 1, 1, block, 1, 1, cluster, 1, 1, shared, arguments});
  }

  std::span<const std::byte> all() const { return bytes_; }

 private:
  void add(const void* data, std::size_t count) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), from, from + count);
  }
  std::vector<std::byte> bytes_;
};

class APlan : public testing::Test {
 protected:
  APlan() : task_(*suites::find_task("Relu")), instance_(*targets::make_instance(task_, task_.lengths, 1)) {}

  std::string problem(const Bytes& bytes, const PlanLimits& limits = {}) const {
    const auto plan = read_plan(bytes.all(), instance_, limits);
    return plan.ok() ? "" : plan.error().message;
  }

  Task task_;
  targets::Instance instance_;
};

TEST_F(APlan, IsReadWithItsArguments) {
  Bytes bytes;
  bytes.head(1, 512)
      .launch(4, 128, 4, 1024)
      .numbers({0, 0})
      .numbers({1, 0})
      .numbers({2, 256})
      .numbers({4})
      .text("abcd");
  const auto plan = read_plan(bytes.all(), instance_, {.scratch_bytes = 512});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const Launch& launch = plan->launches.at(0);
  EXPECT_EQ(launch.kernel, "relu");
  EXPECT_EQ(launch.grid[0], 4);
  EXPECT_EQ(launch.block[0], 128);
  EXPECT_EQ(launch.shared_bytes, 1024);
  ASSERT_EQ(launch.arguments.size(), 4u);
  EXPECT_EQ(launch.arguments[0].kind, ArgumentKind::input);
  EXPECT_EQ(launch.arguments[1].kind, ArgumentKind::output);
  EXPECT_EQ(launch.arguments[2].at, 256);
  EXPECT_EQ(launch.arguments[3].value, "abcd");
  EXPECT_EQ(json_of(plan_of(json_of(*plan))).dump(), json_of(*plan).dump()) << "it passes to the worker unchanged";
}

TEST_F(APlan, IsRefusedWithTheNumberThatIsWrong) {
  EXPECT_EQ(problem(Bytes().head(1).launch(0, 128, 0)),
            "relu: a grid of 0 blocks in x; from 1 to 2147483647 are possible");
  EXPECT_EQ(problem(Bytes().head(1).launch(std::int64_t{1} << 40, 128, 0)),
            "relu: a grid of 1099511627776 blocks in x; from 1 to 2147483647 are possible");
  EXPECT_EQ(problem(Bytes().head(1).launch(1, 2048, 0)),
            "relu: a block of 2048 threads in x; from 1 to 1024 are possible");
  EXPECT_EQ(problem(Bytes().head(1).launch(1, 32, 0, 1 << 20)),
            "relu: 1048576 bytes of shared memory; 49152 are the most");
  EXPECT_EQ(problem(Bytes().head(1).launch(3, 32, 0, 0, 2)),
            "relu: a grid of 3 blocks in x is no multiple of its clusters' 2");
  EXPECT_EQ(problem(Bytes().head(1, 1024).launch(1, 32, 0)),
            "1024 bytes of scratch memory; 0 are the most for this call");
  EXPECT_EQ(problem(Bytes().head(100'000)), "100000 launches; 512 are the most");
}

TEST_F(APlan, IsRefusedWithAnArgumentThatIsNone) {
  EXPECT_EQ(problem(Bytes().head(1).launch(1, 32, 1).numbers({0, 7})), "argument 0 of relu: there is no input 7");
  EXPECT_EQ(problem(Bytes().head(1).launch(1, 32, 1).numbers({9, 0})),
            "an argument is neither a tensor nor memory nor a value");
  EXPECT_EQ(problem(Bytes().head(1).launch(1, 32, 1).numbers({2, 64})),
            "argument 0 of relu: offset 64 is not in the scratch memory");
  EXPECT_EQ(problem(Bytes().head(1).launch(1, 32, 1, 0, 1, 1).numbers({0, 0})),
            "argument 0 of relu: input 0 is no constant: launches that prepare do not see it");
  EXPECT_EQ(problem(Bytes().head(1).launch(1, 32, 1).numbers({4, 1'000'000})),
            "the plan holds a value of 1000000 bytes; 2048 are the most");
}

TEST_F(APlan, IsRefusedWhereverItIsCut) {
  Bytes bytes;
  bytes.head(1, 512).launch(4, 128, 2).numbers({0, 0}).numbers({1, 0});
  const PlanLimits limits{.scratch_bytes = 512};
  ASSERT_TRUE(read_plan(bytes.all(), instance_, limits).ok());
  for (std::size_t size = 0; size < bytes.all().size(); ++size) {
    EXPECT_FALSE(read_plan(bytes.all().first(size), instance_, limits).ok()) << size;
  }
}

}  // namespace
}  // namespace kw::cuda
