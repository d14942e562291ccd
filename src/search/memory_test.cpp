#include "search/memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/scratch.h"

namespace kw::search {
namespace {

constexpr char kMachine[] = "this machine";

// y = OP(x) with the given number of elements.
Task task_by_hand(const std::string& name, const std::string& op, std::int64_t elements) {
  Task task;
  task.name = name;
  task.opset = 17;
  task.values.push_back({.name = "x", .dtype = DType::float32, .lengths = {{.value = elements}}});
  task.nodes.push_back({.op = op, .inputs = {"x"}, .outputs = {"y"}});
  task.outputs.push_back({.name = "y"});
  return task;
}

Space space_of(const std::string& source) {
  return *Space::of({{"tiles", "tiles.cpp", source, *read_tunables(source)}}, {});
}

class Memory : public testing::Test {
 protected:
  Memory() : space_(space_of("KW_TUNE(TILE, 4, 4, 8, 16);")), store_(*store::Store::open(folder_.path() / "store")) {}

  // TILE=4, the default, took 2; TILE=8 took 1; TILE=16 was wrong.
  void remember_one(const Task& task, const std::string& machine = kMachine) {
    const ops::Graph graph = *ops::resolve(task);
    ASSERT_TRUE(
        remember(store_, machine, graph, space_, {{{0, {0}}, 2.0}, {{0, {1}}, 1.0}, {{0, {2}}, std::nullopt}}).ok());
  }

  const ScratchFolder folder_;
  const ScratchVariable config_{"XDG_CONFIG_HOME", (folder_.path() / "config").string()};
  const Space space_;
  const store::Store store_;
};

TEST_F(Memory, GivesTheSameTaskBackWhatItLearned) {
  const Task task = task_by_hand("mine", "Relu", 1000);
  remember_one(task);
  const auto lessons = recall(store_, kMachine, *ops::resolve(task), space_);
  ASSERT_TRUE(lessons.ok()) << lessons.error().message;
  ASSERT_EQ(lessons->size(), 2u) << "what was wrong teaches nothing";
  for (const PastResult& one : *lessons) {
    EXPECT_EQ(one.weight, 1);
    EXPECT_EQ(one.time, one.point.picks[0] == 0 ? 1.0 : 0.5) << "against the default";
  }
}

TEST_F(Memory, CountsATaskOfAnotherSizeLessTheFartherItIs) {
  remember_one(task_by_hand("mine", "Relu", 1000));
  const auto weight_for = [&](std::int64_t elements) {
    const Task task = task_by_hand("another", "Relu", elements);
    return recall(store_, kMachine, *ops::resolve(task), space_)->at(0).weight;
  };
  EXPECT_LT(weight_for(1000), 1);
  EXPECT_LT(weight_for(16'000), weight_for(1000));
}

TEST_F(Memory, StartsOnAnotherDeviceFromWhatWonHere) {
  const Task task = task_by_hand("mine", "Relu", 1000);
  remember_one(task);
  const auto elsewhere = recall(store_, "a phone", *ops::resolve(task), space_);
  ASSERT_EQ(elsewhere->size(), 1u) << "the winner alone";
  EXPECT_EQ(elsewhere->at(0).point.picks[0], 1u);
  EXPECT_EQ(elsewhere->at(0).weight, 0.5);
  // The strategy that is usual tries it before anything else.
  const auto first = find_strategy("auto")->make({.space = &space_, .seed = 1, .lessons = *elsewhere})->propose(1);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0], elsewhere->at(0).point);
  // Once it was searched there, what was found there counts.
  remember_one(task, "a phone");
  EXPECT_EQ(recall(store_, "a phone", *ops::resolve(task), space_)->size(), 2u);
}

TEST_F(Memory, IsOfOneFamily) {
  const Task task = task_by_hand("mine", "Relu", 1000);
  remember_one(task);
  const Task other = task_by_hand("other", "Abs", 1000);
  EXPECT_TRUE(recall(store_, kMachine, *ops::resolve(other), space_)->empty());
}

TEST_F(Memory, LeavesOutWhatThisSpaceDoesNotHave) {
  const Task task = task_by_hand("mine", "Relu", 1000);
  remember_one(task);
  const Space without = space_of("KW_TUNE(TILE, 4, 4, 16);");
  const auto lessons = recall(store_, kMachine, *ops::resolve(task), without);
  ASSERT_EQ(lessons->size(), 1u);
  EXPECT_EQ(lessons->at(0).point.picks[0], 0u);
}

TEST_F(Memory, LeansTowardsWhatHelpedOtherTasksOfAnyKind) {
  remember_one(task_by_hand("mine", "Relu", 1000));
  remember_one(task_by_hand("yours", "Abs", 50));
  const Task third = task_by_hand("third", "Neg", 10);
  const auto leanings = recall_leanings(store_, kMachine, *ops::resolve(third));
  ASSERT_TRUE(leanings.ok());
  const auto found = std::ranges::find(*leanings, "8", &Leaning::value);
  ASSERT_NE(found, leanings->end());
  EXPECT_EQ(found->dimension, "TILE");
  EXPECT_LT(found->effect, 0) << "it was faster than the default";
  const Task first = task_by_hand("mine", "Relu", 1000);
  const auto of_one = recall_leanings(store_, kMachine, *ops::resolve(first));
  ASSERT_EQ(of_one->size(), 1u);
  EXPECT_GT(of_one->at(0).effect, found->effect) << "a task's own search is not counted, and one other says less";
}

}  // namespace
}  // namespace kw::search
