// Every strategy of the table, on spaces whose answers are known: what they propose is allowed and new, they repeat for
// a seed, and they come to the best point of an easy space.
#include <gtest/gtest.h>

#include <cmath>

#include "search/gaussian.h"
#include "search/strategy.h"

namespace kw::search {
namespace {

constexpr char kFirst[] = R"(
KW_TUNE(ROWS, 4, 1, 2, 4, 8, 16);
KW_TUNE(COLUMNS, 8, 4, 8, 16, 32, 64);
KW_TUNE(DEPTH, 64, 32, 64, 128, 256);
KW_REQUIRE(ROWS * COLUMNS <= 256);
)";
constexpr char kSecond[] = "KW_TUNE(UNROLL, 1, 1, 2, 4, 8);";

Kernel kernel_of(const std::string& technique, const std::string& source) {
  return {technique, technique + ".cpp", source, *read_tunables(source)};
}

// With compilers that are here.
BuildOptions builders(std::vector<std::string> here) {
  return {.compilers = {"g++", "clang++"},
          .here = std::move(here),
          .flags = {"-O3", "-O2", "-O3 -fno-math-errno -fno-trapping-math", "-O3 -funroll-loops"},
          .check_flag = [](const std::string&) -> Status { return {}; }};
}

Space easy_space() {
  return *Space::of({kernel_of("tiles", kFirst), kernel_of("loops", kSecond)}, builders({"g++", "clang++"}));
}

// The best: tiles of 8 x 32, depth 128, the second compiler; one step away costs a few percent each.
std::optional<double> time_of(const Space& space, const Point& point) {
  if (point.kernel == 1 || point.picks.size() < 5) return 2.0;  // of another space
  const double rows = std::log2(space.number(point, 0) / 8), columns = std::log2(space.number(point, 1) / 32);
  const double depth = std::log2(space.number(point, 2) / 128);
  if (space.number(point, 0) == 16) return std::nullopt;  // does not build
  return 0.5 * (1 + 0.05 * rows * rows + 0.04 * columns * columns + 0.02 * depth * depth) *
         (point.picks[3] == 1 ? 1.0 : 1.1) * (point.picks[4] == 0 ? 1.0 : 1.03);
}

struct Course {
  std::vector<Point> points;
  double best = 1e9;
};

Course run(const StrategyKind& kind, const Space& space, std::uint64_t seed, std::size_t budget) {
  const auto strategy = kind.make({.space = &space, .seed = seed});
  Course course;
  while (course.points.size() < budget) {
    const std::vector<Point> points = strategy->propose(std::min<std::size_t>(4, budget - course.points.size()));
    if (points.empty()) break;
    for (const Point& point : points) {
      course.points.push_back(point);
      const std::optional<double> time = time_of(space, point);
      if (time) course.best = std::min(course.best, *time);
      strategy->observe({point, time});
    }
  }
  return course;
}

class EveryStrategy : public testing::TestWithParam<std::string> {
 protected:
  StrategyKind kind() const { return *find_strategy(GetParam()); }
};

TEST_P(EveryStrategy, ProposesOnlyWhatIsAllowedAndNothingTwice) {
  const Space space = easy_space();
  const Course course = run(kind(), space, 7, 80);
  EXPECT_GE(course.points.size(), 20u);
  std::set<Point> seen;
  for (const Point& point : course.points) {
    EXPECT_TRUE(space.allows(point)) << space.text(point);
    EXPECT_TRUE(seen.insert(point).second) << "twice: " << space.text(point);
  }
}

TEST_P(EveryStrategy, RepeatsForASeed) {
  const Space space = easy_space();
  EXPECT_EQ(run(kind(), space, 3, 40).points, run(kind(), space, 3, 40).points);
}

TEST_P(EveryStrategy, ComesNearTheBestOfAnEasySpace) {
  const Space space = easy_space();
  const double wanted = GetParam() == "random" ? 0.6 : 0.55;
  EXPECT_LT(run(kind(), space, 5, 80).best, wanted);
}

TEST_P(EveryStrategy, EndsWhereASpaceIsTriedWhole) {
  const Space space =
      *Space::of({kernel_of("loops", "KW_TUNE(UNROLL, 1, 1, 2);\nKW_FLAGS(\"-O2\");")}, builders({"g++"}));
  const Course course = run(kind(), space, 1, 50);
  EXPECT_EQ(course.points.size(), 2u);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const strategies::Maker maker : strategies::table) all.push_back(maker().name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Strategies, EveryStrategy, testing::ValuesIn(names()),
                         [](const auto& one) { return one.param; });

TEST(FindStrategy, OffersTheNearestName) {
  const auto found = find_strategy("evolv");
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("evolve"), std::string::npos) << found.error().message;
}

TEST(Automatic, TriesFirstWhatWonOnLikeTasks) {
  const Space space = easy_space();
  Point won = space.first(0);
  won.picks[0] = 3;
  const auto strategy = find_strategy("auto")->make({.space = &space, .lessons = {{won, 0.7, 0.8}}});
  EXPECT_EQ(strategy->propose(4).at(0), won);
}

TEST(Space, CountsWhatRequirementsAllow) {
  const Space space = easy_space();
  int allowed = 0;
  for (int rows : {1, 2, 4, 8, 16}) {
    for (int columns : {4, 8, 16, 32, 64}) allowed += rows * columns <= 256 ? 1 : 0;
  }
  EXPECT_EQ(space.count(0), static_cast<std::uint64_t>(allowed * 4 * 2 * 4));
  EXPECT_EQ(space.all(1, 1000).size(), space.count(1));
}

TEST(Space, SaysWhenNothingIsAllowed) {
  const auto space =
      Space::of({kernel_of("none", "KW_TUNE(TILE, 4, 4, 8);\nKW_REQUIRE(TILE > 100);")}, builders({"g++"}));
  ASSERT_FALSE(space.ok());
  EXPECT_NE(space.error().message.find("TILE > 100"), std::string::npos) << space.error().message;
}

TEST(Space, BeginsBesideDefaultsThatAreForbidden) {
  const Space space =
      *Space::of({kernel_of("odd", "KW_TUNE(TILE, 4, 4, 8, 16);\nKW_REQUIRE(TILE > 4);")}, builders({"g++"}));
  EXPECT_TRUE(space.allows(space.first(0)));
}

TEST(Space, NamesACompilerThatIsHereWhereTheSourcesOwnIsNot) {
  const Space space = *Space::of({kernel_of("clang", "KW_COMPILER(\"clang++\", \"g++\");")}, builders({"g++"}));
  EXPECT_EQ(space.settings(space.first(0)).at("compiler"), "g++");
  const Space both =
      *Space::of({kernel_of("clang", "KW_COMPILER(\"clang++\", \"g++\");")}, builders({"g++", "clang++"}));
  EXPECT_TRUE(both.settings(both.first(0)).empty());
}

TEST(Gaussian, LearnsWhatAValueDoesAndKnowsWhatItDoesNotKnow) {
  const Space space = *Space::of({kernel_of("tiles", kFirst)}, builders({"g++", "clang++"}));
  Gaussian model(space);
  Random random(1);
  std::vector<Point> seen, others;
  for (const Point& point : space.all(0, 1000)) (random.chance(0.1) ? seen : others).push_back(point);
  const auto value_of = [](const Point& point) { return point.picks[3] == 1 ? -0.5 : 0.0; };
  for (const Point& point : seen) model.observe(point, value_of(point), 0.01);
  const std::vector<double> nothing(others.size(), 0);
  // The second compiler is faster, and it is known by how much.
  const auto chosen = model.choose(others, nothing, 0, 5);
  ASSERT_EQ(chosen.size(), 5u);
  for (const Gaussian::Choice& one : chosen) {
    EXPECT_EQ(one.point.picks[3], 1u);
    EXPECT_NEAR(one.gain, 0.5, 0.1);
  }
  // Where that is the best already, less is to be gained, and not nothing.
  const auto later = model.choose(others, nothing, -0.5, 1);
  EXPECT_LT(later[0].gain, 0.1);
  EXPECT_GT(later[0].gain, 0);
}

TEST(Gaussian, BelievesItsOwnTaskRatherThanManyOthers) {
  const Space space = *Space::of({kernel_of("tiles", kFirst)}, builders({"g++", "clang++"}));
  const std::vector<Point> all = space.all(0, 1000);
  const auto hope_of_first = [&](auto learn) {
    Gaussian model(space);
    for (int i = 0; i < 100; ++i) learn(model);
    const auto chosen = model.choose({all[0]}, {0}, 0, 1);
    return chosen[0].hope;
  };
  const double here = hope_of_first([&](Gaussian& model) { model.observe(all[0], -0.5, 0.1); });
  const double elsewhere = hope_of_first([&](Gaussian& model) { model.recall(all[0], -0.5, 0.1); });
  EXPECT_NEAR(here, 0.5, 0.05);
  // A hundred times the same of others leave it open what it is here.
  EXPECT_GT(elsewhere, 0.8);
}

}  // namespace
}  // namespace kw::search
