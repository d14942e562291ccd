#include "rivals/answers.h"

#include <gtest/gtest.h>

namespace kw::rivals {
namespace {

Result<Times> times_of(const std::string& text, std::size_t count) {
  KW_TRY(const Json answer, answer_in(text));
  return times_in(answer, count);
}

TEST(RivalAnswers, AreReadAsTheWorkerWritesThem) {
  const auto times = times_of(R"({"times_ns":[10,12.5],"overhead_ns":3,"shapes":[[[2,3],[]],null]})", 2);
  ASSERT_TRUE(times.ok()) << times.error().message;
  EXPECT_EQ(times->each_ns, (std::vector<double>{10, 12.5}));
  EXPECT_EQ(times->overhead_ns, 3);
  ASSERT_EQ(times->shapes.size(), 2u);
  EXPECT_EQ(times->shapes[0], (std::vector<Shape>{Shape({2, 3}), Shape(std::vector<std::int64_t>())}));
  EXPECT_TRUE(times->shapes[1].empty());
  const About about = about_in(Json::parse(R"({"version":"1.2","settings":["fast","exact"]})"));
  EXPECT_EQ(about.version, "1.2");
  EXPECT_EQ(about.settings, (std::vector<std::string>{"fast", "exact"}));
}

TEST(RivalAnswers, ThatAreNoneAreErrorsAndNeverMoreThanWasAsked) {
  for (const char* text :
       {"", "[]", "null", "{", R"({"error":"no"})", R"({"error":7})", "{}", R"({"times_ns":7,"shapes":[]})",
        R"({"times_ns":[1],"shapes":[]})", R"({"times_ns":["1","2"],"shapes":[]})",
        R"({"times_ns":[-1,1],"shapes":[]})", R"({"times_ns":[1e300,1],"shapes":[]})",
        R"({"times_ns":[1,1],"shapes":[[],[],[[1]]]})", R"({"times_ns":[1,1],"shapes":{"a":1}})",
        R"({"times_ns":[1,1],"shapes":[[[-1]]]})", R"({"times_ns":[1,1],"shapes":[[[1e18,1e18]]]})",
        R"({"times_ns":[1,1],"shapes":[["x"]]})", R"({"times_ns":[1,1],"overhead_ns":"x","shapes":[]})"}) {
    EXPECT_FALSE(times_of(text, 2).ok()) << text;
  }
  EXPECT_EQ(about_in(Json::parse(R"({"version":[],"settings":{"a":1}})")).settings,
            std::vector<std::string>{"default"});
  EXPECT_EQ(about_in(Json::parse(R"({"settings":[1,null]})")).settings, std::vector<std::string>{"default"});
  EXPECT_EQ(folded_in(Json::parse(R"({"folded":1})")), "");
}

}  // namespace
}  // namespace kw::rivals
