// Which frameworks a run compares with, on machines that lack something: a network, Python, the user's leave.
#include "runs/rivals.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/scratch.h"
#include "suites/catalog.h"
#include "targets/instance.h"

namespace kw::runs {
namespace {

namespace fs = std::filesystem;

class ChosenRivals : public testing::Test {
 protected:
  struct Chosen {
    std::string names;
    std::string said;  // to the user
  };
  static Chosen chosen(const std::string& what, bool may_install = false) {
    std::string said;
    const auto rivals = Rivals::choose(
        what, {.may_install = may_install, .tell = [&](const std::string& line) { said += line + "\n"; }});
    return {rivals.ok() ? rivals->names() : "error: " + rivals.error().message, said};
  }

  // What kw takes for an installed one. Nothing can be run in it.
  static void pretend_to_install(const std::string& name) {
    const rivals::RivalFile rival = *rivals::find_rival(name);
    fs::create_directories(rival.environment() / "bin");
    ASSERT_TRUE(write_file(rival.python(), "").ok());
    ASSERT_TRUE(write_file(rival.environment() / "installed.txt", rivals::stamp_of(rival)).ok());
    ASSERT_TRUE(rivals::find_rival(name)->installed());
  }

  const ScratchFolder folder_;
  const ScratchVariable cache_{"XDG_CACHE_HOME", (folder_.path() / "cache").string()};
};

// They make an environment, or judge a kernel.
class SlowChosenRivals : public ChosenRivals {};

TEST_F(ChosenRivals, AreNoneWhereNoneIsInstalledAndNoneMayBe) {
  const Chosen nobody = chosen("");
  EXPECT_EQ(nobody.names, "none");
  EXPECT_EQ(nobody.said, "");
  EXPECT_EQ(chosen("none").names, "none");
  EXPECT_NE(chosen("best").names.find("kw rivals install mnn"), std::string::npos);
}

TEST_F(ChosenRivals, AreKnownByName) {
  EXPECT_NE(chosen("mmn").names.find("nearest: mnn"), std::string::npos);
  EXPECT_EQ(chosen("mnn,mnn").names, "error: mnn is named twice");
}

TEST_F(SlowChosenRivals, AreInstalledUnaskedAndMissingWithoutANetwork) {
  // No server listens there.
  const ScratchVariable index("PIP_INDEX_URL", "http://127.0.0.1:9/simple");
  const Chosen first = chosen("", true);
  EXPECT_EQ(first.names, "none");
  EXPECT_NE(first.said.find("installing mnn"), std::string::npos) << first.said;
  EXPECT_NE(first.said.find("the network does not answer"), std::string::npos) << first.said;
  EXPECT_EQ(std::ranges::count(first.said, '\n'), 2) << first.said;
  EXPECT_NE(first.said.find("and onnxruntime"), std::string::npos) << first.said;
  // It does not wait again, and says it once.
  const Chosen second = chosen("", true);
  EXPECT_EQ(second.names, "none");
  EXPECT_EQ(second.said, "");
  const auto known = rivals::failed_lately(*rivals::find_rival("mnn"));
  ASSERT_TRUE(known);
  EXPECT_EQ(*known, "mnn cannot be installed: the network does not answer");
}

TEST_F(ChosenRivals, AreMissingWithoutPython) {
  const ScratchVariable path("PATH", folder_.path().string());
  const Chosen nobody = chosen("", true);
  EXPECT_EQ(nobody.names, "none");
  EXPECT_NE(nobody.said.find("there is no python3"), std::string::npos) << nobody.said;
  // By name it is tried, and then every verdict says that it was not there.
  const Chosen named = chosen("ncnn", true);
  EXPECT_EQ(named.names, "ncnn");
  EXPECT_NE(named.said.find("going on without it"), std::string::npos) << named.said;
}

TEST_F(ChosenRivals, ThatAreLargeAreNotInstalledUnasked) {
  // The user who runs this may have it.
  if (rivals::find_rival("torch")->own) GTEST_SKIP() << "this machine's python3 has torch";
  const auto rivals = Rivals::choose("torch", {});
  ASSERT_TRUE(rivals.ok());
  const Task task = *suites::find_task("Relu");
  const auto all = rivals->of(task, 1);
  ASSERT_EQ(all->size(), 1u);
  const auto outcome = (*all)[0]->enter(*targets::make_instance(task, task.lengths, 1), 1);
  ASSERT_TRUE(outcome);
  EXPECT_NE(outcome->text.find("several GB: kw rivals install torch"), std::string::npos) << outcome->text;
  EXPECT_FALSE(fs::exists(rivals::find_rival("torch")->environment()));
}

TEST_F(ChosenRivals, TheBestIsFoundInTheTimingsThatAreKept) {
  for (const char* name : {"mnn", "onnxruntime"}) pretend_to_install(name);
  const Task task = *suites::find_task("Relu");
  // None was timed, and none can be: all are handed on, so that the verdict says of each why it does not count.
  ASSERT_EQ(Rivals::choose("best", {})->of(task, 1)->size(), 2u);
  const auto time_of = [&](const std::string& name, double time_ns, double overhead_ns) {
    for (const auto& model : fs::directory_iterator(rivals::find_rival(name)->environment() / "models")) {
      const rivals::SettingTrial trial{.state = rivals::SettingTrial::State::right,
                                       .setting = "some",
                                       .time_ns = time_ns,
                                       .overhead_ns = overhead_ns};
      ASSERT_TRUE(write_file(model.path() / "1-trial.json", rivals::trial_as_json(trial)).ok());
    }
  };
  const auto best = [&] {
    const Rivals rivals = *Rivals::choose("best", {});
    const auto of_task = *rivals.of(task, 1);
    return of_task.size() == 1 ? of_task[0]->name() : "not one";
  };
  time_of("mnn", 1000, 100);
  time_of("onnxruntime", 5000, 4500);
  EXPECT_EQ(best(), "onnxruntime");
  time_of("mnn", 500, 100);
  EXPECT_EQ(best(), "mnn");
}

}  // namespace
}  // namespace kw::runs
