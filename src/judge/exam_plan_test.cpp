#include "judge/exam_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace kw::judge {
namespace {

Task relu(Lengths lengths) {
  Task task;
  task.name = "t";
  Value x{.name = "x", .lengths = {}};
  for (const auto& [name, value] : lengths) x.lengths.push_back({value, name});
  if (lengths.empty()) x.lengths = {{64, ""}, {32, ""}};
  task.lengths = std::move(lengths);
  task.values = {x};
  task.nodes = {{.op = "Relu", .attributes = {}, .inputs = {"x"}, .outputs = {"y"}}};
  task.outputs = {{"y", std::nullopt, {}}};
  return task;
}

TEST(ExamPlan, HasAHardClassOnTheOwnShapeThatIsNotOptional) {
  Random random(1);
  std::set<ops::InputClass> required;
  for (int i = 0; i < 60; ++i) {
    for (const PlannedCase& one : plan_exam(relu({{"N", 100}}), 1, random)) {
      if (!one.hidden && !one.optional && one.input_class != ops::InputClass::typical) required.insert(one.input_class);
    }
  }
  EXPECT_EQ(required.size(), std::size(ops::kAllInputClasses) - 1) << "each is the required one now and then";
}

TEST(ExamPlan, MeetsAConditionOnFivePercentOfTheLengths) {
  Random random(2);
  int met = 0, both = 0;
  for (int i = 0; i < 40; ++i) {
    const std::vector<PlannedCase> plan = plan_exam(relu({{"N", 300}, {"D", 500}}), 1, random);
    // Of log(1200), 5 %.
    met += std::ranges::any_of(
        plan, [](const PlannedCase& one) { return one.lengths.at("N") >= 100 && one.lengths.at("N") <= 142; });
    // Of both ranges 3.5 %; and they cost much.
    both += std::ranges::any_of(
        plan, [](const PlannedCase& one) { return one.lengths.at("N") > 300 && one.lengths.at("D") > 500; });
  }
  EXPECT_GE(met, 37);
  EXPECT_GE(both, 20);
}

TEST(ExamPlan, GivesEachClassItsShareOfTheHiddenShapesHoweverTheyAreDrawn) {
  Random random(5);
  for (int i = 0; i < 40; ++i) {
    std::map<ops::InputClass, int> shapes;
    for (const PlannedCase& one : plan_exam(relu({{"N", 300}, {"D", 500}}), 1, random)) {
      if (one.hidden) ++shapes[one.input_class];
    }
    for (ops::InputClass one : ops::kAllInputClasses) EXPECT_GE(shapes[one], 10) << ops::name_of(one);
  }
}

// Their numbers decide what is drawn (ops/draw.h): any one left out would be a way that data is made left out.
TEST(ExamPlan, NumbersTheCasesOfAClassInARow) {
  Random random(6);
  std::map<ops::InputClass, std::vector<std::uint64_t>> turns;
  const Task task = relu({{"N", 300}, {"D", 500}});
  const std::vector<PlannedCase> plan = plan_exam(task, 1, random);
  for (const PlannedCase& one : plan) turns[one.input_class].push_back(one.turn);
  for (const PlannedCrowd& crowd : plan_crowds(task, plan, random)) {
    for (const PlannedCrowd::Set& set : crowd.sets) turns[set.input_class].push_back(set.turn);
  }
  EXPECT_GE(turns[ops::InputClass::ties].size(), 100u);
  EXPECT_GE(turns[ops::InputClass::wide].size(), 150u);
  for (auto& [input_class, numbers] : turns) {
    std::ranges::sort(numbers);
    for (std::size_t i = 1; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], numbers[i - 1] + 1);
  }
}

TEST(ExamPlan, TriesEachHardClassOnTheOwnShapeWhereThatCostsNextToNothing) {
  Random random(7);
  for (const PlannedCase& one : plan_exam(relu({{"N", 100}}), 1, random)) EXPECT_FALSE(one.optional);
  int optional = 0;
  for (const PlannedCase& one : plan_exam(relu({{"N", 3000}, {"D", 3000}}), 1, random)) optional += one.optional;
  EXPECT_EQ(optional, std::ssize(ops::kAllInputClasses) - 2) << "all but typical values and one of the others";
}

TEST(ExamPlan, HasCrowdsOfSmallShapesThatEndWithTypicalValues) {
  Random random(8);
  const Task task = relu({{"N", 300}, {"D", 500}});
  const std::vector<PlannedCrowd> crowds = plan_crowds(task, plan_exam(task, 1, random), random);
  ASSERT_EQ(crowds.size(), 12u);
  std::size_t sets = 0;
  for (const PlannedCrowd& crowd : crowds) {
    EXPECT_TRUE(crowd.hidden);
    EXPECT_LE(crowd.lengths.at("N") * crowd.lengths.at("D"), 2048);
    ASSERT_GE(crowd.sets.size(), 8u);
    EXPECT_EQ(crowd.sets.back().input_class, ops::InputClass::typical);
    sets += crowd.sets.size();
  }
  EXPECT_GE(sets, 200u);
}

TEST(ExamPlan, HasNoCrowdsWhereEveryShapeIsLarge) {
  Random random(9);
  Task task = relu({});
  task.values[0].lengths = {{1 << 12, ""}, {1 << 12, ""}};
  EXPECT_TRUE(plan_crowds(task, plan_exam(task, 1, random), random).empty());
}

TEST(ExamPlan, TriesEveryNumberOfThreadsUpToTheOneJudged) {
  Random random(3);
  std::set<int> threads;
  for (const PlannedCase& one : plan_exam(relu({{"N", 100}}), 3, random)) threads.insert(one.threads);
  EXPECT_EQ(threads, (std::set<int>{1, 2, 3}));
}

TEST(ExamPlan, GoesOnWithTheOwnShapeWhereNoLengthIsOpen) {
  Random random(4);
  const std::vector<PlannedCase> plan = plan_exam(relu({}), 1, random);
  EXPECT_GT(plan.size(), 50u);
  EXPECT_TRUE(std::ranges::none_of(plan, &PlannedCase::hidden));
}

}  // namespace
}  // namespace kw::judge
