#include "search/gaussian.h"

#include <gtest/gtest.h>

namespace kw::search {
namespace {

// One tunable of five sizes and one of two, and nothing else to choose.
Space small_space() {
  const std::string source = "KW_TUNE(TILE, 4, 4, 8, 16, 32, 64);\nKW_TUNE(PACK, 0, 0, 1);";
  return *Space::of({{"tiles", "tiles.cpp", source, *read_tunables(source)}}, {});
}

Point at(std::size_t tile, std::size_t pack) { return {0, {tile, pack}}; }

std::vector<double> nothing_for(const std::vector<Point>& points) { return std::vector<double>(points.size(), 0); }

TEST(AGaussianProcess, BeginsWithWhatIsExpected) {
  const Space space = small_space();
  const Gaussian model(space);
  const std::vector<Point> points = {at(0, 0), at(1, 0), at(2, 0)};
  EXPECT_EQ(model.choose(points, {0.2, -0.3, 0.1}, 0, 1)[0].point, at(1, 0));
}

TEST(AGaussianProcess, TakesNeighbouringSizesForAlike) {
  const Space space = small_space();
  Gaussian model(space);
  model.observe(at(0, 0), 0, 0.01);
  model.observe(at(3, 0), -0.5, 0.01);  // 32 is fast
  const auto chosen = model.choose({at(1, 0), at(4, 0)}, {0, 0}, -0.5, 2);
  EXPECT_EQ(chosen[0].point, at(4, 0)) << "64 is nearer to 32 than 8 is";
}

TEST(AGaussianProcess, GainsLittleWhereItHasMeasured) {
  const Space space = small_space();
  Gaussian model(space);
  model.observe(at(2, 1), -0.4, 0.01);
  const auto measured = model.choose({at(2, 1)}, {0}, -0.4, 1);
  const auto unknown = model.choose({at(4, 0)}, {0}, -0.4, 1);
  EXPECT_LT(measured[0].gain, 0.02);
  EXPECT_LT(measured[0].hope, unknown[0].hope) << "what is not known may still be better";
}

TEST(AGaussianProcess, ChoosesEachOnceAndTheMostPromisingFirst) {
  const Space space = small_space();
  Gaussian model(space);
  model.observe(at(0, 0), 0, 0.01);
  model.observe(at(0, 1), -0.3, 0.01);
  const std::vector<Point> points = space.all(0, 100);
  const auto chosen = model.choose(points, nothing_for(points), -0.3, 4);
  ASSERT_EQ(chosen.size(), 4u);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) EXPECT_FALSE(chosen[i].point == chosen[k].point);
  }
  EXPECT_EQ(chosen[0].point.picks[1], 1u) << "packing was seen to help";
}

}  // namespace
}  // namespace kw::search
