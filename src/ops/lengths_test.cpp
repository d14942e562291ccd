#include "ops/lengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ops/graph.h"

namespace kw::ops {
namespace {

// ArgMax over the last of two open axes.
Task argmax_of_open_lengths() {
  Task task;
  task.name = "t";
  task.lengths = {{"N", 64}, {"C", 100}};
  task.values = {{.name = "x", .lengths = {{64, "N"}, {100, "C"}}}};
  task.nodes = {{.op = "ArgMax", .attributes = {{"axis", {std::int64_t{1}, {}}}}, .inputs = {"x"}, .outputs = {"y"}}};
  task.outputs = {{"y", std::nullopt, {}}};
  return task;
}

TEST(HiddenLengths, AreManyAndDifferentAndAllowed) {
  const Task task = argmax_of_open_lengths();
  const std::vector<Lengths> hidden = hidden_lengths(task, 1, 12);
  EXPECT_EQ(std::set<Lengths>(hidden.begin(), hidden.end()).size(), hidden.size());
  // Each length that may be is empty in one of those that come on top.
  const auto is_empty = [](const Lengths& lengths) {
    return std::ranges::any_of(lengths, [](const auto& one) { return one.second == 0; });
  };
  EXPECT_EQ(std::ranges::count_if(hidden, is_empty), std::ssize(hidden) - 12);
  EXPECT_GT(hidden.size(), 12u);
  for (const Lengths& lengths : hidden) {
    EXPECT_NE(lengths, task.lengths);
    EXPECT_TRUE(resolve(task, lengths).ok());
  }
}

TEST(HiddenLengths, RepeatForASeedAndDifferForAnother) {
  const Task task = argmax_of_open_lengths();
  EXPECT_EQ(hidden_lengths(task, 5, 4), hidden_lengths(task, 5, 4));
  EXPECT_NE(hidden_lengths(task, 5, 4), hidden_lengths(task, 6, 4));
}

TEST(HiddenLengths, LeaveAnEmptyAxisOnlyWhereTheOperatorAllowsIt) {
  bool saw_empty = false;
  for (const Lengths& lengths : hidden_lengths(argmax_of_open_lengths(), 3, 200)) {
    EXPECT_GT(lengths.at("C"), 0);  // ArgMax has no answer along an empty axis
    saw_empty = saw_empty || lengths.at("N") == 0;
  }
  EXPECT_TRUE(saw_empty);
}

// A kernel that keeps the first 4096 of a row was accepted when chance made another length the long one.
TEST(HiddenLengths, AreMuchLongerThanTheTasksOwnInEachLength) {
  const Task task = argmax_of_open_lengths();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Lengths> hidden = hidden_lengths(task, seed, 120);
    for (const auto& [name, own] : task.lengths) {
      const auto much_longer = [&](const Lengths& lengths) { return lengths.at(name) > 30 * own; };
      EXPECT_TRUE(std::ranges::any_of(hidden, much_longer)) << name << ", seed " << seed;
    }
  }
}

// A kernel that keeps something for a shape must meet one that is nearly the same next.
TEST(HiddenLengths, AreOneMoreThanInTheShapeBeforeAFewTimes) {
  const Task task = argmax_of_open_lengths();
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const std::vector<Lengths> hidden = hidden_lengths(task, seed, 120);
    for (const auto& [name, own] : task.lengths) {
      int one_more = 0;
      for (std::size_t i = 1; i < hidden.size(); ++i) {
        one_more += hidden[i - 1].at(name) > 2 && hidden[i].at(name) == hidden[i - 1].at(name) + 1;
      }
      EXPECT_GE(one_more, 3) << name << ", seed " << seed;
    }
  }
}

TEST(LengthsWithin, AreTheTasksOwnWhereTheyFit) {
  const Task task = argmax_of_open_lengths();
  EXPECT_EQ(lengths_within(task, {.elements = 7000, .flops = 1e6}), task.lengths);
}

TEST(LengthsWithin, HalveTheLongestUntilAllFit) {
  const Task task = argmax_of_open_lengths();  // 64 of 100
  EXPECT_EQ(lengths_within(task, {.elements = 3300, .flops = 1e6}), (Lengths{{"C", 50}, {"N", 64}}));
  EXPECT_EQ(lengths_within(task, {.elements = 1700, .flops = 1e6}), (Lengths{{"C", 50}, {"N", 32}}));
  EXPECT_EQ(lengths_within(task, {.elements = 0, .flops = 0}), (Lengths{{"C", 1}, {"N", 1}}));
}

TEST(HiddenLengths, OfAGpusTaskStaySmall) {
  Task task = argmax_of_open_lengths();
  task.lengths = {{"N", 1 << 17}, {"C", 1 << 16}};
  double elements = 0;
  for (const Lengths& lengths : hidden_lengths(task, 1, 60)) {
    elements += static_cast<double>(lengths.at("N")) * static_cast<double>(lengths.at("C"));
  }
  EXPECT_LT(elements, 3e8);
}

TEST(TinyLengths, AreTheLeastThatTellAxesApart) {
  EXPECT_EQ(tiny_lengths(argmax_of_open_lengths()), (Lengths{{"C", 2}, {"N", 2}}));
}

}  // namespace
}  // namespace kw::ops
