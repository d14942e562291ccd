#include "rivals/overview.h"

#include <gtest/gtest.h>

namespace kw::rivals {
namespace {

State one_named(const std::string& name) {
  State state;
  state.rival.name = name;
  return state;
}

TEST(RivalsOverview, SaysWhatToDoWhereSomethingIsNotKnown) {
  const std::string missing = overview_text({one_named("nimble")}, "mine", 3);
  EXPECT_NE(missing.find("kw rivals install nimble"), std::string::npos) << missing;
  State installed = one_named("nimble");
  installed.installed = true;
  const std::string unchecked = overview_text({installed}, "mine", 3);
  EXPECT_NE(unchecked.find("not known yet: kw rivals check nimble"), std::string::npos) << unchecked;
  installed.problem = "it does not start\nand more";
  const std::string broken = overview_text({installed}, "mine", 3);
  EXPECT_NE(broken.find("it does not start\n"), std::string::npos) << broken;
  EXPECT_EQ(broken.find("and more"), std::string::npos) << broken;
}

TEST(RivalsOverview, CountsRightTasksOfThoseThatWereTried) {
  State state = one_named("nimble");
  state.installed = true;
  state.overhead_ns = 1500;
  state.checked = Checked{};
  state.checked->tasks["Relu"].state = SettingTrial::State::right;
  state.checked->tasks["Det"].state = SettingTrial::State::wrong;
  const std::string text = overview_text({state}, "mine", 3);
  EXPECT_NE(text.find("1 of 3 (2 checked)"), std::string::npos) << text;
  const Json json = overview_json({state}, "mine", 3);
  EXPECT_EQ(json.at("rivals").at(0).at("right").get<int>(), 1);
  EXPECT_EQ(json.at("rivals").at(0).at("checked").get<int>(), 2);
  EXPECT_TRUE(json.at("rivals").at(0).at("problem").is_null());
}

}  // namespace
}  // namespace kw::rivals
