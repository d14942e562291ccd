#include "core/reason.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

Reason wrong_elements() {
  return {ReasonCode::wrong_output,
          {{"output", 0},
           {"name", "y"},
           {"wrong", 2},
           {"count", 64},
           {"examples", Json::array({{{"at", "[0, 2]"}, {"got", "1.5"}, {"expected", "1.25"}, {"allowed", "1e-06"}}})},
           {"pattern", "only the last 5 of axis 1"},
           {"case", {{"values", "typical"}, {"lengths", {{"N", 8}}}}}}};
}

TEST(Reason, TellsAPersonAll) {
  EXPECT_EQ(text_of(wrong_elements()),
            "output 0 (y): 2 of 64 elements are wrong; [0, 2]: got 1.5, expected 1.25 within 1e-06; only the last 5 of "
            "axis 1 (typical values, N=8)");
}

TEST(Reason, TellsAnAuthorNoExpectedValues) {
  EXPECT_EQ(
      text_of(wrong_elements(), Audience::author),
      "output 0 (y): 2 of 64 elements are wrong; [0, 2]: got 1.5; only the last 5 of axis 1 (typical values, N=8)");
}

TEST(Reason, TellsAnAuthorNothingOfAHiddenCaseButItsKind) {
  Reason reason = wrong_elements();
  reason.on_hidden_case = true;
  EXPECT_EQ(text_of(reason, Audience::author), "on a hidden shape: elements are wrong; typical values");
}

// Whatever code comes to be: of a hidden case an author sees no parameter.
TEST(Reason, LetsNoParameterOfAHiddenCaseThroughWhateverTheCode) {
  for (int i = 1; i <= static_cast<int>(ReasonCode::other); ++i) {
    Reason reason{static_cast<ReasonCode>(i), {}, true};
    for (const char* name : {"text", "said", "message", "where", "place", "name", "ending", "pattern", "shape", "dtype",
                             "address", "largest", "got_type", "rank", "first", "then"}) {
      reason.params[name] = "SECRET37";
    }
    for (const char* name : {"wrong", "count", "output", "element", "status", "threads", "us"})
      reason.params[name] = 373737;
    reason.params["case"] = {{"values", "ties"}, {"lengths", {{"N", 373737}}}};
    const std::string text = text_of(reason, Audience::author);
    EXPECT_EQ(text.find("37"), std::string::npos) << text;
    EXPECT_EQ(text.find("SECRET"), std::string::npos) << text;
  }
}

TEST(Reason, HasANameForEveryCodeThatComesBack) {
  for (int i = 0; i <= static_cast<int>(ReasonCode::other); ++i) {
    const auto code = static_cast<ReasonCode>(i);
    EXPECT_EQ(reason_code_named(name_of(code)), code) << i;
  }
}

TEST(Reason, KnowsWhatSomebodyElseMayHaveDone) {
  EXPECT_TRUE(may_be_killed_from_outside({ReasonCode::killed, {}}));
  EXPECT_TRUE(may_be_killed_from_outside({ReasonCode::compiler_killed, {}}));
  EXPECT_FALSE(may_be_killed_from_outside({ReasonCode::wrong_output, {}}));
  EXPECT_FALSE(may_be_killed_from_outside({ReasonCode::bad_source, {{"text", "was killed by signal 9"}}}));
}

}  // namespace
}  // namespace kw
