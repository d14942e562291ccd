#include "cli/search_options.h"

#include <gtest/gtest.h>

namespace kw::cli {
namespace {

Result<SearchOrder> order_of(const std::string& flag, const std::string& value) {
  Arguments arguments;
  arguments.add(flag, {value});
  SearchOrder order;
  KW_CHECK(read_search_options(arguments, order));
  return order;
}

TEST(SearchOptions, AreTakenAsTheyAreGiven) {
  EXPECT_EQ(order_of("--seed", "-7")->seed, -7);
  EXPECT_EQ(order_of("--budget", "5m")->budget, "5m");
  EXPECT_EQ(order_of("--strategy", "local")->strategy, "local");
  EXPECT_EQ(order_of("--strategy", "local")->budget, SearchOrder().budget);
}

TEST(SearchOptions, AreRefusedByTheirNames) {
  const auto message = [](const std::string& flag, const std::string& value) {
    return order_of(flag, value).error().message;
  };
  EXPECT_EQ(message("--seed", "abc"), "--seed abc: a whole number, please");
  EXPECT_EQ(message("--seed", "3x"), "--seed 3x: a whole number, please");
  EXPECT_EQ(message("--budget", "soon"), "--budget soon: a budget is a time or a number of candidates: 60s, 5m, 200");
  EXPECT_EQ(message("--strategy", "genius"),
            "--strategy: no strategy is called 'genius'; there are auto, evolve, local, random, surrogate, tree");
}

}  // namespace
}  // namespace kw::cli
