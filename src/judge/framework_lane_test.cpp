#include "judge/framework_lane.h"

#include <gtest/gtest.h>

namespace kw::judge {
namespace {

// Says what a call takes, and what of it is calling.
class MadeUpFramework final : public FrameworkRival {
 public:
  MadeUpFramework(double time_ns, double overhead_ns, std::optional<double> own_ns = std::nullopt)
      : time_ns_(time_ns), overhead_ns_(overhead_ns), own_ns_(own_ns) {}

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
  std::optional<double> own_ns() const override { return own_ns_; }
  std::optional<double> own_warm_ns() const override { return own_ns_ ? std::optional(*own_ns_ / 2) : std::nullopt; }

 private:
  double time_ns_, overhead_ns_;
  std::optional<double> own_ns_;
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

TEST(AFrameworksLane, ComparesWhatWasTimedApartHoweverLongACallTakes) {
  MadeUpFramework framework(50'000, 0, 2000);  // 50 us from Python, 2 us as a graph, 1 us with warm caches
  FrameworkLane lane = FrameworkLane::open(framework, Instance(), 1);
  FrameworkLane::Pairs pairs;
  for (int i = 0; i < 20; ++i) {
    lane.lap(1);
    pairs.headline.push_back({.a_ns = 1000, .b_ns = lane.laps_ns().back()});
    pairs.called.push_back({.a_ns = 1000, .b_ns = lane.called_ns().back()});
    pairs.warm.push_back({.a_ns = 500, .b_ns = lane.warm_ns().back()});
  }
  const FrameworkResult result = lane.result(pairs, 1);
  EXPECT_EQ(result.dropped, "");
  EXPECT_TRUE(result.apart);
  EXPECT_DOUBLE_EQ(result.ratio.median, 2);
  EXPECT_DOUBLE_EQ(result.as_called.median, 50);
  ASSERT_TRUE(result.warm);
  EXPECT_DOUBLE_EQ(result.warm->median, 2);
  EXPECT_DOUBLE_EQ(result.time_ns, 50'000);
  EXPECT_DOUBLE_EQ(result.overhead_ns, 48'000);
  EXPECT_DOUBLE_EQ(lane.ratio(pairs.headline, false, 1)->median, 2);
}

}  // namespace
}  // namespace kw::judge
