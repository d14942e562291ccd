// A device that goes away costs a retry and never a verdict: at whichever request it goes, and however often. The
// device is made up (tests/targets/made_up), so that each request can be the last one.
#include <gtest/gtest.h>

#include <algorithm>

#include "judge/judge.h"
#include "runs/judges.h"
#include "suites/catalog.h"
#include "targets/made_up/device.h"

namespace kw {
namespace {

constexpr char kFar[] = "far:away";

class LostDevices : public testing::Test {
 protected:
  LostDevices() : task_(*suites::find_task("Relu")) {
    for (auto& [name, value] : task_.lengths) value = 8;
  }
  ~LostDevices() override { made_up::let_devices_go({}); }

  judge::Case case_of(const std::string& script, const std::string& device = kFar) const {
    judge::Case one{.device = device, .task = &task_, .source = {"kernel.txt", script}};
    one.pairs = 10;
    return one;
  }
  Result<Verdict> judged(const std::string& script) {
    runs::Judges judges(kFar, {}, [](auto) {});
    const judge::Case one = case_of(script);
    return runs::judge_until_sure(judges, [&](judge::Judge& judge) { return judge.judge(one); });
  }
  // The number of answers that are verdicts for the candidate itself, and are as they should be.
  struct Answers {
    std::vector<std::string> texts;
    int accepted = 0, errors = 0;
  };
  Answers judged_many(const std::vector<std::string>& scripts, const std::string& device = kFar) {
    std::vector<judge::Case> cases;
    for (const std::string& script : scripts) cases.push_back(case_of(script, device));
    Answers answers;
    answers.texts.resize(cases.size());
    runs::Judges judges(device, {}, [](auto) {});
    const Status status = runs::judge_many(
        judges, cases,
        [&](std::size_t i, const Result<Verdict>& verdict) -> Status {
          answers.errors += !verdict.ok();
          answers.accepted += verdict.ok() && verdict->accepted();
          answers.texts[i] = verdict.ok() ? text_of(verdict->reason) : verdict.error().message;
          return {};
        },
        [](std::size_t, const char*) {});
    EXPECT_TRUE(status.ok()) << status.error().message;
    return answers;
  }

  Task task_;
};

// What was found on a device that is gone says nothing of the candidate: outputs that could not be read look wrong.
TEST_F(LostDevices, CostARetryAtWhicheverRequestTheyGo) {
  int gone = 0;
  for (int request = 1;; request = request < 40 ? request + 1 : request * 5 / 4) {
    made_up::let_devices_go({request});
    const auto verdict = judged("lap_ns 10000");
    ASSERT_TRUE(verdict.ok()) << request << ": " << verdict.error().message;
    ASSERT_TRUE(verdict->accepted()) << request << ": " << text_of(verdict->reason);
    ASSERT_EQ(verdict->speedups.size(), 1u) << request << ": beside the plain kernel";
    if (made_up::devices_opened() == 1) break;
    ++gone;
  }
  EXPECT_GT(gone, 40) << "in examining and in timing";
}

TEST_F(LostDevices, DoNotMakeAWrongKernelRight) {
  made_up::let_devices_go({3, 5, 8});
  const auto verdict = judged("wrong");
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_EQ(verdict->reason.code, ReasonCode::wrong_output);
}

TEST_F(LostDevices, AreAnErrorAndNoVerdictOfTheJudge) {
  made_up::let_devices_go({5});
  auto judge = judge::Judge::open(kFar);
  const auto verdict = judge->judge(case_of("lap_ns 10000"));
  ASSERT_FALSE(verdict.ok());
  EXPECT_NE(verdict.error().message.find("far:away went away"), std::string::npos) << verdict.error().message;
}

// Eight times in a row nothing gets judged at all: more often than a sandbox may be killed.
TEST_F(LostDevices, MayGoAgainAndAgainUnderABatch) {
  made_up::let_devices_go({1, 2, 300, 2, 3, 500, 1, 700, 40, 2'000});
  const std::vector<std::string> scripts(8, "lap_ns 10000");
  const Answers answers = judged_many(scripts);
  EXPECT_EQ(answers.accepted, 8) << answers.texts[0];
  EXPECT_GE(made_up::devices_opened(), 5);
}

// What was examined before the device went is only timed after that: the second device goes before it could serve an
// examination once more.
TEST_F(LostDevices, DoNotCostAnExaminationThatWasFinished) {
  judge::Case only_examined = case_of("lap_ns 10000");
  only_examined.timed = false;
  int needed = 0;  // the fewest requests that an examination takes
  for (int step = 1 << 20; step > 0; step /= 2) {
    made_up::let_devices_go({needed + step});
    if (!judge::Judge::open(kFar)->judge(only_examined).ok()) needed += step;
  }
  ++needed;
  // Draws are fresh, and some examinations take more requests: then the first device goes too early, and next time it
  // goes later. Two devices are enough only where nothing was examined twice.
  int opened = 0;
  for (int i = 0; i < 8 && opened != 2; ++i) {
    made_up::let_devices_go({needed + 5 * (i + 1), needed - 1});
    const Answers answers = judged_many({"lap_ns 10000"});
    EXPECT_EQ(answers.accepted, 1) << answers.texts[0];
    opened = made_up::devices_opened();
  }
  EXPECT_EQ(opened, 2);
}

// One that ends its device each time is an error; those beside it get their verdicts all the same.
TEST_F(LostDevices, AreHeldAgainstTheCandidateThatEndsThem) {
  const Answers answers =
      judged_many({"lap_ns 10000", "lap_ns 11000", "ends_its_device", "lap_ns 12000", "wrong"}, "made_up");
  EXPECT_EQ(answers.accepted, 3);
  EXPECT_EQ(answers.errors, 1);
  EXPECT_NE(answers.texts[2].find("again and again"), std::string::npos) << answers.texts[2];
}

TEST_F(LostDevices, AreWaitedForLongerAndLonger) {
  runs::Losses link(kFar), sandbox("cpu");
  int links = 0, sandboxes = 0;
  std::chrono::milliseconds all{}, longest{};
  for (; link.may_go_on(); ++links) {
    all += link.pause();
    longest = std::max(longest, link.pause());
  }
  for (; sandbox.may_go_on(); ++sandboxes) EXPECT_EQ(sandbox.pause().count(), 0);
  EXPECT_EQ(links, runs::kMostLostLinks - 1);
  EXPECT_EQ(sandboxes, runs::kMostLostJudges - 1);
  EXPECT_EQ(longest, runs::kLongestPause);
  EXPECT_LT(all, std::chrono::minutes(1));
  link.forget();
  EXPECT_TRUE(link.may_go_on());
  EXPECT_EQ(link.pause().count(), 0);
}

}  // namespace
}  // namespace kw
