#include "ops/workaday_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/draw.h"

namespace kw::ops {
namespace {

std::vector<float> numbers(std::size_t count) {
  Random random(1);
  std::vector<float> values(count);
  random.fill_normal(values, 0, 1);
  return values;
}

// How many of 400 matrices of 8 x 8 have a property.
template <class F>
int matrices_with(F&& has) {
  Random random(2);
  int count = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<float> values = numbers(64);
    make_matrix(values, Shape{8, 8}, true, static_cast<std::size_t>(i) % kMatrixKinds, random);
    count += has(values);
  }
  return count;
}

TEST(WorkadayData, HasMatricesOfEachKind) {
  const auto all = [](const std::vector<float>& m, auto&& holds) {
    for (std::size_t r = 0; r < 8; ++r) {
      for (std::size_t c = 0; c < 8; ++c) {
        if (!holds(m, r, c)) return false;
      }
    }
    return true;
  };
  const auto each = [&](auto&& holds) {
    return matrices_with(
        [&](const std::vector<float>& m) { return std::ranges::count(m, 0.0F) < 63 && all(m, holds); });
  };
  EXPECT_GT(each([](const auto& m, std::size_t r, std::size_t c) {
              return r <= c + 1 && c <= r + 1 ? true : m[8 * r + c] == 0;
            }),
            15)
      << "a band";
  EXPECT_GT(each([](const auto& m, std::size_t r, std::size_t c) { return (r < 4) == (c < 4) || m[8 * r + c] == 0; }),
            15)
      << "blocks";
  EXPECT_GT(each([](const auto& m, std::size_t r, std::size_t c) { return m[8 * r + c] == -m[8 * c + r]; }), 15)
      << "skew-symmetric";
  EXPECT_GT(each([](const auto& m, std::size_t r, std::size_t c) { return m[8 * r + c] == m[c]; }), 15) << "rows alike";
  EXPECT_GT(each([](const auto& m, std::size_t r, std::size_t c) {
              return r == 0 || c == 0 || m[8 * r + c] == m[8 * r + c - 9];
            }),
            15)
      << "along diagonals";
  EXPECT_GT(each([](const auto& m, std::size_t r, std::size_t c) { return m[8 * r + c] * m[0] == m[8 * r] * m[c]; }),
            15)
      << "of rank one";
  EXPECT_GT(
      each([](const auto& m, std::size_t r, std::size_t c) { return m[8 * r + c] == m[8 * (r - r % 2) + c - c % 2]; }),
      15)
      << "two by two";
  EXPECT_GT(matrices_with([](const std::vector<float>& m) { return std::ranges::count(m, 0.0F) == 63; }), 15)
      << "one element";
  EXPECT_GT(matrices_with([](const std::vector<float>& m) { return std::ranges::count(m, 0.0F) == 63 && m[36] != 0; }),
            15)
      << "in the middle";
  EXPECT_GT(matrices_with([](const std::vector<float>& m) {
              for (std::size_t i = 0; i < m.size(); ++i) {
                if ((m[i] == 0) != (i % 2 == 1)) return false;
              }
              return true;
            }),
            8)
      << "every other element";
}

// Elements that are kept among zeros are no zeros themselves: the structure would not be there.
TEST(WorkadayData, HasNoOtherZerosInMatricesWithZeros) {
  Random random(1);
  std::vector<float> values(64, 0.0F);
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] = 2;
  make_matrix(values, Shape{8, 8}, true, kZeroBelow, random);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i] != 0, i / 8 <= i % 8 + 1);
}

// Of a hundred draws in a row each stretch between two of the operator's points has one to itself.
TEST(Makes, LieBetweenEachTwoNeighbouringPointsOfAnOperator) {
  Task task;
  Value x{.name = "x", .lengths = {{40, ""}}};
  task.values = {x};
  task.nodes = {{.op = "Exp", .attributes = {}, .inputs = {"x"}, .outputs = {"y"}}};
  task.outputs = {{"y", std::nullopt, {}}};
  const Graph graph = *resolve(task);
  std::vector<double> points = first_reader(graph, 0)->domain.points;
  std::ranges::sort(points);
  std::set<std::size_t> between;
  int quarter = 0;
  for (std::uint64_t turn = 0; turn < 110; ++turn) {
    const std::vector<Tensor> inputs = draw_inputs(graph, InputClass::edges, turn, {.turn = turn});
    const auto values = inputs[0].as<float>();
    const auto [low, high] = std::ranges::minmax(values);
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      if (low >= static_cast<float>(points[i]) && high <= static_cast<float>(points[i + 1])) between.insert(i);
    }
    const auto at_top = std::ranges::count(values, high);
    quarter += at_top >= 5 && at_top <= 20 && std::set<float>(values.begin(), values.end()).size() > 20;
  }
  EXPECT_GE(between.size(), points.size() - 2);
  EXPECT_GT(quarter, 0) << "cut off at one number";
}

TEST(WorkadayData, HasRowsWhoseSumIsZeroAndCheckerboards) {
  std::vector<float> values = numbers(21);
  make_antisymmetric(values, 7);
  for (std::size_t i = 0; i < 21; ++i) EXPECT_EQ(values[i], -values[i - i % 7 + 6 - i % 7]);
  EXPECT_NE(values[0], 0);
  make_checkerboard(values, 7);
  for (std::size_t i = 8; i < 21; ++i) EXPECT_EQ(values[i], values[i - 8]);
  EXPECT_NE(values[0], values[1]);
}

TEST(WorkadayData, HasMasksByRowsByColumnsInRunsAndOfOne) {
  Random random(1);
  int rows = 0, columns = 0, first_half = 0, runs = 0, all_but_one = 0;
  for (int i = 0; i < 300; ++i) {
    Tensor mask(TensorType{DType::boolean, Shape{8, 16}});
    const auto values = mask.as<bool>();
    make_mask(values, mask.shape(), static_cast<std::size_t>(i) % kMaskKinds, random);
    const auto trues = std::ranges::count(values, true);
    const auto each = [&](auto&& like) {
      for (std::size_t at = 0; at < values.size(); ++at) {
        if (values[at] != values[like(at)]) return false;
      }
      return trues > 0 && trues < 128;
    };
    rows += each([](std::size_t at) { return at - at % 16; });
    columns += each([](std::size_t at) { return at % 16; });
    runs += each([](std::size_t at) { return at - at % 8; });
    all_but_one += trues == 127;
    first_half += trues == 64 && std::ranges::count(values.first(64), true) == 64;
  }
  EXPECT_GT(rows, 5);
  EXPECT_GT(columns, 5);
  EXPECT_GT(runs, 5);
  EXPECT_GT(all_but_one, 5);
  EXPECT_GT(first_half, 5);
}

TEST(WorkadayData, HasMapsThatAreFlatOrAlikeOrOfSumZero) {
  Random random(1);
  int flat = 0, alike = 0, zero = 0;
  for (int i = 0; i < 60; ++i) {
    std::vector<float> m = numbers(2 * 3 * 9);
    make_maps(m, Shape{2, 3, 3, 3}, true, random);
    flat += m[0] == m[8] && m[9] == m[10];
    alike += std::equal(m.begin(), m.begin() + 9, m.begin() + 9) && std::count(m.begin(), m.begin() + 9, m[0]) < 9;
    zero += m[0] == -m[8] && m[1] == -m[7] && m[4] == 0;
  }
  EXPECT_GT(flat, 5);
  EXPECT_GT(alike, 5);
  EXPECT_GT(zero, 5);
}

Graph masked_softmax(Task& task, std::int64_t length) {
  Value x{.name = "x", .lengths = {{2, ""}, {length, ""}, {length, ""}}};
  Value mask{.name = "mask", .lengths = {{length, ""}, {length, ""}}};
  task.values = {x, mask};
  task.nodes = {{.op = "Add", .attributes = {}, .inputs = {"x", "mask"}, .outputs = {"h"}},
                {.op = "Softmax", .attributes = {}, .inputs = {"h"}, .outputs = {"y"}}};
  task.outputs = {{"y", std::nullopt, {}}};
  return *resolve(task);
}

Task of_two(const std::string& op, Value first, Value second) {
  Task task;
  task.values = {std::move(first), std::move(second)};
  task.nodes = {{.op = op, .attributes = {}, .inputs = {"x", "i"}, .outputs = {"y"}}};
  task.outputs = {{"y", std::nullopt, {}}};
  return task;
}

TEST(WorkadayData, HasLabelsThatAreAllRight) {
  const Task task = of_two("SoftmaxCrossEntropyLoss", {.name = "x", .lengths = {{6, ""}, {5, ""}}},
                           {.name = "i", .dtype = DType::int64, .lengths = {{6, ""}}});
  const Graph graph = *resolve(task);
  int right = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::vector<Tensor> inputs = draw_inputs(graph, InputClass::tails, seed);
    const auto scores = inputs[0].as<float>();
    const auto labels = inputs[1].as<std::int64_t>();
    bool all = true;
    for (std::size_t r = 0; r < 6; ++r) {
      const auto row = scores.subspan(5 * r, 5);
      all = all && row[static_cast<std::size_t>(labels[r])] == std::ranges::max(row);
    }
    right += all;
  }
  EXPECT_GE(right, 3);
  EXPECT_LE(right, 40);
}

TEST(WorkadayData, HasIndicesThatAreAPermutationWhereThereAreAsManyAsPlaces) {
  const Task task =
      of_two("Gather", {.name = "x", .lengths = {{7, ""}}}, {.name = "i", .dtype = DType::int64, .lengths = {{7, ""}}});
  const Graph graph = *resolve(task);
  int permutations = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::vector<Tensor> inputs = draw_inputs(graph, InputClass::ties, seed);
    const auto places = inputs[1].as<std::int64_t>();
    std::set<std::int64_t> different;
    for (const std::int64_t place : places) different.insert((place + 7) % 7);
    permutations += different.size() == 7 && !std::ranges::is_sorted(places);
  }
  EXPECT_GE(permutations, 20);
}

TEST(WorkadayData, MasksWhatASoftmaxIsOf) {
  Task task;
  const Graph graph = masked_softmax(task, 9);
  int causal = 0, padded = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<Tensor> inputs = draw_inputs(graph, InputClass::ties, seed);
    const auto mask = inputs[1].as<float>();
    bool is_causal = true, is_padded = mask[8] <= -10;
    for (std::size_t i = 0; i < 81; ++i) {
      is_causal = is_causal && (i % 9 <= i / 9 ? mask[i] == 0 : mask[i] <= -10);
      is_padded = is_padded && mask[i] == mask[i % 9] && (mask[i] == 0 || mask[i] <= -10);
    }
    causal += is_causal;
    padded += is_padded;
  }
  EXPECT_GT(causal, 10);
  EXPECT_GT(padded, 10);
}

// Large elements among typical ones, also where more is computed from a convolution's result.
TEST(WideDraws, ReachFarIntoConvolutionsAndWhatFollowsThem) {
  Task task;
  Value x{.name = "x", .lengths = {{1, ""}, {4, ""}, {6, ""}, {6, ""}}};
  Value w{.name = "w", .role = Role::weight, .lengths = {{4, ""}, {4, ""}, {3, ""}, {3, ""}}};
  task.values = {x, w};
  task.nodes = {{.op = "Conv", .attributes = {}, .inputs = {"x", "w"}, .outputs = {"h"}},
                {.op = "Relu", .attributes = {}, .inputs = {"h"}, .outputs = {"y"}}};
  task.outputs = {{"y", std::nullopt, {}}};
  const Graph graph = *resolve(task);
  std::set<int> powers;
  for (std::uint64_t turn = 0; turn < 100; ++turn) {
    const std::vector<Tensor> inputs = draw_inputs(graph, InputClass::wide, turn, {.turn = turn});
    for (const float value : inputs[0].as<float>()) {
      if (value != 0) powers.insert(std::ilogb(value));
    }
    const auto expected = evaluate(graph, inputs);
    ASSERT_TRUE(expected.ok());
    for (const double value : (*expected)[0].reals) ASSERT_LT(std::fabs(value), 3e38);
  }
  for (int power = -140; power <= 110; ++power) EXPECT_TRUE(powers.contains(power)) << power;
}

}  // namespace
}  // namespace kw::ops
