#include "agents/surrogate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kw::agents {
namespace {

// Kernels whose speed hangs on two facts, with some noise; the incumbent is the best of them so far.
struct World {
  explicit World(double noise) : noise_(noise) {}

  CodeFacts draw() {
    return {{"width", static_cast<double>(random_.integer(0, 3))},
            {"spills", static_cast<double>(random_.integer(0, 3))}};
  }
  double speed(const CodeFacts& facts) {
    return 0.5 * facts.at("width") - 0.3 * facts.at("spills") + noise_ * random_.uniform(-1, 1);
  }
  // One kernel through the surrogate as a session does it; true: it was measured.
  bool meet(Surrogate& surrogate) {
    const CodeFacts facts = draw();
    const double found = speed(facts);
    if (any_ && !surrogate.not_worth_measuring(facts, incumbent_).empty()) {
      lost_ += found > incumbent_;
      return false;
    }
    surrogate.learn(facts, found, any_ ? incumbent_ : found, any_ && found > incumbent_);
    incumbent_ = any_ ? std::max(incumbent_, found) : found;
    any_ = true;
    return true;
  }

  Random random_{7};
  double noise_ = 0;
  double incumbent_ = 0;
  bool any_ = false;
  int lost_ = 0;  // better kernels that were never measured
};

TEST(ASurrogate, LeavesNothingOutBeforeItIsCalibrated) {
  World world(0.02);
  Surrogate surrogate(1);
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(world.meet(surrogate)) << i;
  EXPECT_FALSE(surrogate.calibrated());
  EXPECT_NE(surrogate.reliability().find("not heeded, 0 kernels left out"), std::string::npos)
      << surrogate.reliability();
}

TEST(ASurrogate, LeavesOutWhatIsSlowOnceItHasBeenRightOftenEnough) {
  World world(0.02);
  Surrogate surrogate(1);
  int measured = 0;
  for (int i = 0; i < 300; ++i) measured += world.meet(surrogate);
  EXPECT_TRUE(surrogate.calibrated()) << surrogate.reliability();
  EXPECT_LT(measured, 200) << surrogate.reliability();
  EXPECT_EQ(world.lost_, 0);
  EXPECT_GT(surrogate.left_out(), 100);
  EXPECT_GT(surrogate.would_leave_out(), 16) << "some of what it would leave out is measured all the same";
  EXPECT_NE(surrogate.reliability().find("; heeded"), std::string::npos) << surrogate.reliability();
}

// Facts that say nothing of speed: guesses are far off, bounds are wide, and nothing can be left out.
TEST(ASurrogate, IsOfNoUseWhereSpeedDoesNotHangOnItsFacts) {
  Random random(3);
  Surrogate surrogate(1);
  double incumbent = -10;
  for (int i = 0; i < 200; ++i) {
    const CodeFacts facts = {{"width", random.uniform(0, 1)}};
    const double speed = random.uniform(-1, 1);
    EXPECT_EQ(surrogate.not_worth_measuring(facts, incumbent), "") << surrogate.reliability();
    surrogate.learn(facts, speed, incumbent, speed > incumbent);
    incumbent = std::max(incumbent, speed);
  }
  EXPECT_GT(surrogate.guesses(), 150);
}

// The kind of kernel that was always slow turns fast: that is counted, and this kind is not left out any more.
TEST(ASurrogate, CountsHowOftenItsWordWouldHaveBeenWrong) {
  World world(0.02);
  Surrogate surrogate(1);
  for (int i = 0; i < 200; ++i) world.meet(surrogate);
  ASSERT_TRUE(surrogate.calibrated());
  const int before = surrogate.wrongly();
  const CodeFacts slow = {{"width", 0}, {"spills", 3}};
  for (int i = 0; i < 25; ++i) surrogate.learn(slow, world.incumbent_ + 0.1, world.incumbent_, true);
  EXPECT_GT(surrogate.wrongly(), before) << surrogate.reliability();
  const std::string counted = std::to_string(surrogate.wrongly()) + " were better";
  EXPECT_NE(surrogate.reliability().find(counted), std::string::npos) << surrogate.reliability();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(surrogate.not_worth_measuring(slow, world.incumbent_), "");
}

TEST(CodeFacts, AreOfTheLoopThatDoesMostAndOfTheTunables) {
  const CodeFacts facts = code_facts(
      R"({"loops": [{"depth": 1, "vector_bits": 128}, {"depth": 3, "vector_bits": 512, "vector_arithmetic": 8}]})",
      "#include <kernelwright.h>\nKW_TUNE(UNROLL, 7, 1, 7);\nKW_PREPARE(call) {}\nKW_KERNEL(call) {}\n");
  EXPECT_EQ(facts.at("depth"), 3);
  EXPECT_NEAR(facts.at("width"), std::log2(513), 1e-9);
  EXPECT_EQ(facts.at("KW_TUNE UNROLL"), 3);
  EXPECT_EQ(facts.at("packs"), 1);
  EXPECT_EQ(code_facts("no JSON", "x").at("packs"), 0);
  for (const auto& [name, value] :
       code_facts(R"({"loops": [{"depth": -1e308, "vector_bits": -5, "loads": 1e308}]})", "x"))
    EXPECT_TRUE(std::isfinite(value)) << name << " of notes that are none";
}

}  // namespace
}  // namespace kw::agents
