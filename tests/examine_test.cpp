// What an examination tries and concludes, on a device whose kernels are scripts (tests/targets/made_up).
#include "judge/examine.h"

#include <gtest/gtest.h>

#include "judge/precision.h"
#include "ops/op.h"
#include "suites/catalog.h"
#include "targets/made_up/device.h"

namespace kw::judge {
namespace {

class AnExamination : public testing::Test {
 protected:
  void SetUp() override {
    device_ = *made_up::open("made_up");
    task_ = *suites::find_task("Relu");
    for (auto& [name, value] : task_.lengths) value = 8;
  }

  Examined examined(const std::string& script, std::uint64_t seed = 5, const QuickCheck* quick_check = nullptr) {
    const auto built = *device_->build({"script.txt", script}, {});
    const auto result = examine(
        {.task = &task_, .device = device_.get(), .built = built.get(), .seed = seed, .quick_check = quick_check});
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return *result;
  }

  std::int64_t own_elements() const {
    std::int64_t count = 1;
    for (const auto& [name, value] : task_.lengths) count *= value;
    return count;
  }

  std::unique_ptr<targets::Device> device_;
  Task task_;
};

TEST_F(AnExamination, FindsNothingInARightKernelAndSaysWhatItTried) {
  const Examined right = examined("lap_ns 10000");
  ASSERT_FALSE(right.finding);
  EXPECT_EQ(right.max_error, 0);
  EXPECT_EQ(right.allowed.size(), 1u);
  EXPECT_GT(right.coverage.cases, 100);
  EXPECT_GT(right.coverage.shapes, 100);
  EXPECT_GT(right.coverage.calls_in_a_row, 100);
  ASSERT_EQ(right.coverage.lengths.size(), task_.lengths.size());
  for (const auto& [name, range] : right.coverage.lengths) {
    EXPECT_EQ(range.low, 0) << name;
    EXPECT_GT(range.high, 4 * task_.lengths.at(name)) << name;
  }
  for (ops::InputClass one : ops::kAllInputClasses) {
    EXPECT_TRUE(right.coverage.input_classes.contains(std::string(ops::name_of(one)))) << ops::name_of(one);
  }
}

TEST_F(AnExamination, DrawsOtherShapesForAnotherSeed) {
  EXPECT_EQ(text_of(examined("", 5).coverage), text_of(examined("", 5).coverage));
  EXPECT_NE(text_of(examined("", 5).coverage), text_of(examined("", 6).coverage));
}

TEST_F(AnExamination, RejectsAWrongAnswerInTheTasksOwnShapeAndTellsItsAuthor) {
  const Examined wrong = examined("wrong");
  ASSERT_TRUE(wrong.finding);
  EXPECT_EQ(wrong.finding->stage, VerdictStage::verify);
  EXPECT_EQ(wrong.finding->reason.code, ReasonCode::wrong_output);
  EXPECT_FALSE(wrong.finding->reason.on_hidden_case);
}

TEST_F(AnExamination, RejectsAWrongAnswerInALongerShapeAsOneOfAHiddenCase) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Examined wrong = examined(fmt::format("wrong_beyond {}", own_elements()), seed);
    ASSERT_TRUE(wrong.finding) << "seed " << seed;
    EXPECT_EQ(wrong.finding->stage, VerdictStage::hidden);
    EXPECT_TRUE(wrong.finding->reason.on_hidden_case);
  }
}

TEST_F(AnExamination, RejectsAWrongAnswerToHardValues) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_TRUE(examined("wrong_for_tiny", seed).finding) << seed;
}

TEST_F(AnExamination, RejectsAWrongAnswerToAnySinglePowerOfTwo) {
  for (const int power : {-126, -61, -3, 9, 40, 77, 101, 119, 125}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      EXPECT_TRUE(examined(fmt::format("wrong_for_power {}", power), seed).finding) << power << " seed " << seed;
    }
  }
}

TEST_F(AnExamination, RejectsAKernelThatIsWrongForTwiceTheInputOfTheCallBefore) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) EXPECT_TRUE(examined("wrong_for_twice_the_last", seed).finding);
}

// A case makes four calls: in three places, then one of these again over other rubbish.
TEST_F(AnExamination, TellsAWrongAnswerElsewhereFromOneWhenRepeated) {
  EXPECT_EQ(examined("wrong_in_run 1").finding->reason.code, ReasonCode::wrong_output);
  EXPECT_EQ(examined("wrong_in_run 2").finding->reason.code, ReasonCode::wrong_when_moved);
  const Examined again = examined("wrong_in_run 4");
  EXPECT_EQ(again.finding->reason.code, ReasonCode::wrong_when_repeated);
  EXPECT_EQ(again.finding->stage, VerdictStage::behaviour);
}

TEST_F(AnExamination, HoldsAKernelToTheSameBitsWhereAnEqualNumberWouldBeRight) {
  const Examined negated = examined("negated_in_run 2");
  ASSERT_TRUE(negated.finding);
  EXPECT_EQ(negated.finding->reason.code, ReasonCode::other_bits);
  EXPECT_EQ(negated.finding->stage, VerdictStage::behaviour);
}

TEST_F(AnExamination, FindsMemoryThatIsNeverFreed) {
  const Examined leak = examined("leaks 5000");
  ASSERT_TRUE(leak.finding);
  EXPECT_EQ(leak.finding->reason.code, ReasonCode::leaks_memory);
  EXPECT_FALSE(examined("leaks 1").finding);
}

TEST_F(AnExamination, PutsWhatHappenedAtItsStage) {
  EXPECT_EQ(examined("overruns").finding->stage, VerdictStage::guard);
  EXPECT_EQ(examined("overruns").finding->reason.code, ReasonCode::wrote_after);
  EXPECT_EQ(examined("never_ends").finding->reason.code, ReasonCode::timed_out);
  EXPECT_EQ(examined("crashes").finding->reason.code, ReasonCode::aborted);
}

TEST_F(AnExamination, LooksAtOneCaseInAQuickCheck) {
  const auto quick_check = make_quick_check(task_);
  ASSERT_TRUE(quick_check.ok());
  EXPECT_FALSE(examined(fmt::format("wrong_beyond {}", own_elements()), 5, &*quick_check).finding);
  EXPECT_TRUE(examined("wrong", 5, &*quick_check).finding);
}

TEST(LostPrecision, IsNotSaidOfAWrongAnswerBesideAHugeOne) {
  ops::WideTensor expected(TensorType{DType::float32, Shape{32}});
  Tensor got(DType::float32, Shape{32});
  for (std::int64_t i = 0; i < 32; ++i) {
    expected.reals[static_cast<std::size_t>(i)] = i == 7 ? 1e36 : 90;
    got.set_real(i, i == 7 ? 1e36 : 90.01);
  }
  EXPECT_TRUE(lost_precision(expected, got)) << "off by little";
  for (std::int64_t i = 0; i < 32; ++i) got.set_real(i, i == 7 ? 1e36 : 93);
  EXPECT_FALSE(lost_precision(expected, got));
}

}  // namespace
}  // namespace kw::judge
