#include "judge/framework_lane.h"

#include <gtest/gtest.h>

namespace kw::judge {
namespace {

// Says what a call takes, and what of it is calling.
class MadeUpFramework final : public FrameworkRival {
 public:
  MadeUpFramework(double time_ns, double overhead_ns) : time_ns_(time_ns), overhead_ns_(overhead_ns) {}

  std::string name() const override { return "made up"; }
  std::string version() const override { return "1"; }
  FrameworkStatus enter(const Instance&, int) override { return std::nullopt; }
  const std::vector<Tensor>& weights() const override { return weights_; }
  double overhead_ns() const override { return overhead_ns_; }
  FrameworkStatus arrange(const targets::SharedCalls&, const Instance&, Clock::time_point) override { return {}; }
  FrameworkStatus run(std::uint32_t, std::uint32_t count, std::uint32_t, double* time_ns, Clock::time_point) override {
    *time_ns += count * time_ns_;
    return std::nullopt;
  }
  std::vector<Shape> shapes(std::size_t) const override { return {}; }
  void pin(int) const override {}

 private:
  double time_ns_, overhead_ns_;
  std::vector<Tensor> weights_;
};

FrameworkResult result_of(double time_ns, double overhead_ns, double candidate_ns) {
  MadeUpFramework framework(time_ns, overhead_ns);
  FrameworkLane lane = FrameworkLane::open(framework, Instance(), 1);
  std::vector<Pair> pairs;
  for (int i = 0; i < 20; ++i) {
    lane.lap(4);
    pairs.push_back({.a_ns = candidate_ns, .b_ns = lane.laps_ns().back()});
  }
  return lane.result({.headline = pairs, .called = pairs, .warm = {}}, 1);
}

TEST(AFrameworksLane, ComparesMinusCallOverhead) {
  const FrameworkResult result = result_of(10'000, 2000, 4000);
  EXPECT_EQ(result.dropped, "");
  EXPECT_DOUBLE_EQ(result.ratio.median, 2);
  EXPECT_DOUBLE_EQ(result.as_called.median, 2.5);
}

TEST(AFrameworksLane, ClaimsNoRatioWhereCallOverheadIsAllOfIt) {
  for (const double time_ns : {2000.0, 2010.0, 1500.0}) {  // the last: less than was measured of a one-element model
    const FrameworkResult result = result_of(time_ns, 2000, 4000);
    EXPECT_TRUE(result.dropped.starts_with("dominated by call overhead")) << result.dropped;
    EXPECT_FALSE(result.by_accident);
    EXPECT_EQ(result.ratio.median, Ratio().median) << "none was computed";
    EXPECT_TRUE(result.pairs.empty());
  }
}

}  // namespace
}  // namespace kw::judge
