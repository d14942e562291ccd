#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace kw {
namespace {

std::string why_not(std::string_view text) {
  try {
    Json::parse(text);
  } catch (const JsonError& error) {
    return error.what();
  }
  return "";
}

TEST(Json, ComesBackFromItsText) {
  const char* text =
      R"({"name":"Softmax","axes":[1,-2],"scale":0.25,"huge":18446744073709551615,"on":true,"none":null,"in":{"a":[]}})";
  EXPECT_EQ(Json::parse(text).dump(), text);
}

TEST(Json, KeepsTheOrderOfItsNames) {
  Json json;
  json["z"] = 1;
  json["a"] = 2;
  json["z"] = 3;
  EXPECT_EQ(json.dump(), R"({"z":3,"a":2})");
  EXPECT_EQ(json, (Json{{"a", 2}, {"z", 3}}));
}

TEST(Json, OfBracesIsAnObjectOnlyWhereAllArePairsThatBeginWithAText) {
  EXPECT_EQ((Json{{"a", 1}, {"b", "x"}}).dump(), R"({"a":1,"b":"x"})");
  EXPECT_EQ((Json{1, "b"}).dump(), R"([1,"b"])");
  EXPECT_EQ((Json::array({Json{{"a", 1}}})).dump(), R"([{"a":1}])");
}

TEST(Json, WritesNumbersSoThatTheyComeBackTheSame) {
  for (const double value : {0.1, 1.0, 1e15, 123456.0, 1e-7, 5e-324, 1.7976931348623157e308, -0.0, 1.0 / 3}) {
    const Json back = Json::parse(Json(value).dump());
    EXPECT_TRUE(back.is_number_float()) << Json(value).dump();
    EXPECT_EQ(back.get<double>(), value) << Json(value).dump();
  }
  EXPECT_EQ(Json(100000.0).dump(), "100000.0");
  EXPECT_EQ(Json(1e20).dump(), "1e+20");
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).dump(), "null");
  EXPECT_EQ(Json::parse("1e-999").get<double>(), 0);
  EXPECT_EQ(Json::parse("-9223372036854775808").get<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
}

TEST(Json, RefusesWhatIsNoJsonAndSaysWhere) {
  EXPECT_EQ(why_not("{\n  \"a\": tru}"), "line 2, column 8: expected a value");
  for (const char* text : {"", "{", "[1,]", "{\"a\"}", "01", "1.", "\"a", "\"\\x\"", "\"\\ud800\"", "nul", "[1] 2",
                           "\"\x01\"", "\"\xff\"", "\"\xed\xa0\x80\"", "1e999", "{a:1}", "'a'", "-", "\"\\u12\""}) {
    EXPECT_NE(why_not(text), "") << text;
    EXPECT_TRUE(Json::parse_quietly(text).is_discarded()) << text;
  }
}

TEST(Json, RefusesWhatIsNestedTooDeep) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_EQ(why_not(nested(Json::kMostDepth)), "");
  EXPECT_NE(why_not(nested(Json::kMostDepth + 2)).find("nested more than 200 deep"), std::string::npos);
  EXPECT_NE(why_not(nested(10'000'000)), "");
}

TEST(Json, RefusesMoreValuesThanMemoryIsWorth) {
  std::string text = "[0";
  for (std::size_t i = 2; i < Json::kMostValues; ++i) text += ",0";
  EXPECT_EQ(why_not(text + "]"), "");
  EXPECT_NE(why_not(text + ",0]").find("more than 4000000 values"), std::string::npos);
}

TEST(Json, ANumberThatDoesNotFitIsAnErrorAndNotAnotherNumber) {
  EXPECT_EQ(Json::parse("-2147483648").get<int>(), -2147483648);
  EXPECT_THROW(Json::parse("4294967297").get<int>(), JsonError);
  EXPECT_THROW(Json::parse("-1").get<std::uint8_t>(), JsonError);
  EXPECT_THROW(Json::parse("1e18").get<int>(), JsonError);
}

TEST(Json, ReadsEscapesAndWritesWhatIsNoUtf8AsAReplacement) {
  EXPECT_EQ(Json::parse(R"("\u00e4\ud83d\ude00\n\/")").text(), "\xc3\xa4\xf0\x9f\x98\x80\n/");
  EXPECT_EQ(Json("a\xff\x01\"").dump(), "\"a\xef\xbf\xbd\\u0001\\\"\"");
}

TEST(Json, OfANameThatComesTwiceTheLastCounts) {
  EXPECT_EQ(Json::parse(R"({"a":1,"b":2,"a":3})").dump(), R"({"a":3,"b":2})");
}

TEST(Json, OfAnotherTypeThanAskedForIsAnErrorThatNamesBoth) {
  const Json json = {{"a", "text"}};
  const auto error_of = [](auto&& action) -> std::string {
    try {
      action();
    } catch (const JsonError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of([&] { json.at("a").get<int>(); }), "expected a number, found a text");
  EXPECT_EQ(error_of([&] { json.at("b"); }), "\"b\" is missing");
  EXPECT_EQ(error_of([&] { json.at("a").at("b"); }), "\"b\" is looked for in a text, not in an object");
  EXPECT_EQ(error_of([&] { json.at("a").at(0); }), "element 0 is looked for in a text, not in an array");
  EXPECT_EQ(error_of([&] { Json(1e300).get<int>(); }), "expected a whole number, found one that is too large");
}

TEST(Json, BecomesContainersAndBack) {
  const std::vector<std::int64_t> list = {3, 4};
  EXPECT_EQ(Json(list).get<std::vector<std::int64_t>>(), list);
  const std::map<std::string, double> map = {{"x", 0.5}};
  EXPECT_EQ((Json(map).get<std::map<std::string, double>>()), map);
  const std::string text = Json{{"k", "v"}}.at("k");
  EXPECT_EQ(text, "v");
  EXPECT_EQ((Json{{"k", 7}}).value("k", 1), 7);
  EXPECT_EQ((Json{{"k", 7}}).value("other", std::string("none")), "none");
}

TEST(Json, ComparesNumbersByValue) {
  EXPECT_EQ(Json(2), Json(2.0));
  EXPECT_EQ(Json(2U), 2);
  EXPECT_NE(Json(-1), Json(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_NE(Json(1), Json(true));
}

}  // namespace
}  // namespace kw
