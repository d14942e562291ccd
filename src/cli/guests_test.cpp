// Whom a command compares with, on machines that lack something: a network, Python, the user's leave.
#include "cli/guests.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "base/scratch.h"
#include "cli/program.h"
#include "judge/instance.h"
#include "suites/catalog.h"

namespace kw::cli {
namespace {

namespace fs = std::filesystem;

class ChosenGuests : public testing::Test {
 protected:
  struct Chosen {
    std::string names;
    std::string said;  // on stderr
  };
  static Chosen chosen(const std::string& what) {
    testing::internal::CaptureStderr();
    const auto guests = Guests::chosen(what);
    const std::string said = testing::internal::GetCapturedStderr();
    return {guests.ok() ? guests->names() : "error: " + guests.error().message, said};
  }

  // What kw takes for an installed one. Nothing can be run in it.
  static void pretend_to_install(const std::string& name) {
    const rivals::RivalFile rival = *rivals::find_rival(name);
    fs::create_directories(rival.environment() / "bin");
    ASSERT_TRUE(write_file(rival.python(), "").ok());
    std::string packages;
    for (const std::string& package : rival.packages) packages += package + " ";
    ASSERT_TRUE(write_file(rival.environment() / "installed.txt", packages).ok());
    ASSERT_TRUE(rivals::find_rival(name)->installed());
  }

  const ScratchFolder folder_;
  const ScratchVariable cache_{"XDG_CACHE_HOME", (folder_.path() / "cache").string()};
};

// They make an environment, or judge a kernel.
class SlowChosenGuests : public ChosenGuests {};

TEST_F(ChosenGuests, AreNoneWhereNoneIsInstalledAndNoneMayBe) {
  const Chosen nobody = chosen("");
  EXPECT_EQ(nobody.names, "none");
  EXPECT_EQ(nobody.said, "");
  EXPECT_EQ(chosen("none").names, "none");
  EXPECT_NE(chosen("best").names.find("kw rivals install mnn"), std::string::npos);
}

TEST_F(ChosenGuests, AreKnownByName) {
  EXPECT_NE(chosen("mmn").names.find("nearest: mnn"), std::string::npos);
  EXPECT_EQ(chosen("mnn,mnn").names, "error: mnn is named twice");
}

TEST_F(SlowChosenGuests, AreInstalledUnaskedAndMissingWithoutANetwork) {
  const ScratchVariable allowed("KW_INSTALL", "yes");
  // Nobody listens there.
  const ScratchVariable index("PIP_INDEX_URL", "http://127.0.0.1:9/simple");
  const Chosen first = chosen("");
  EXPECT_EQ(first.names, "none");
  EXPECT_NE(first.said.find("kw: installing mnn"), std::string::npos) << first.said;
  EXPECT_NE(first.said.find("the network does not answer"), std::string::npos) << first.said;
  EXPECT_EQ(std::ranges::count(first.said, '\n'), 2) << first.said;
  EXPECT_NE(first.said.find("and onnxruntime"), std::string::npos) << first.said;
  // It does not wait again, and says it once.
  const Chosen second = chosen("");
  EXPECT_EQ(second.names, "none");
  EXPECT_EQ(second.said, "");
  // Nor does the next command.
  const auto known = rivals::failed_lately(*rivals::find_rival("mnn"));
  ASSERT_TRUE(known);
  EXPECT_EQ(*known, "mnn cannot be installed: the network does not answer");
}

TEST_F(ChosenGuests, AreMissingWithoutPython) {
  const ScratchVariable allowed("KW_INSTALL", "yes");
  const ScratchVariable path("PATH", folder_.path().string());
  const Chosen nobody = chosen("");
  EXPECT_EQ(nobody.names, "none");
  EXPECT_NE(nobody.said.find("there is no python3"), std::string::npos) << nobody.said;
  // By name it is tried, and then every verdict says that it was not there.
  const Chosen named = chosen("ncnn");
  EXPECT_EQ(named.names, "ncnn");
  EXPECT_NE(named.said.find("going on without it"), std::string::npos) << named.said;
}

TEST_F(ChosenGuests, ThatAreLargeAreNotInstalledUnasked) {
  const ScratchVariable allowed("KW_INSTALL", "yes");
  // Whoever runs this may have it.
  if (rivals::find_rival("torch")->own) GTEST_SKIP() << "this machine's python3 has torch";
  const auto guests = Guests::chosen("torch");
  ASSERT_TRUE(guests.ok());
  const Task task = *suites::find_task("Relu");
  const auto all = guests->of(task, 1);
  ASSERT_EQ(all->size(), 1u);
  const auto outcome = (*all)[0]->enter(*judge::make_instance(task, task.lengths, 1), 1);
  ASSERT_TRUE(outcome);
  EXPECT_NE(outcome->text.find("several GB: kw rivals install torch"), std::string::npos) << outcome->text;
  EXPECT_FALSE(fs::exists(rivals::find_rival("torch")->environment()));
}

TEST_F(ChosenGuests, TheBestIsFoundInTheTimingsThatAreKept) {
  for (const char* name : {"mnn", "onnxruntime"}) pretend_to_install(name);
  const Task task = *suites::find_task("Relu");
  // Nobody was timed, and nobody can be: all are handed on, so that the verdict says of each why it does not count.
  ASSERT_EQ(Guests::chosen("best")->of(task, 1)->size(), 2u);
  const auto time_of = [&](const std::string& name, double time_ns, double overhead_ns) {
    for (const auto& model : fs::directory_iterator(rivals::find_rival(name)->environment() / "models")) {
      const rivals::Trial trial{
          .state = rivals::Trial::State::right, .setting = "some", .time_ns = time_ns, .overhead_ns = overhead_ns};
      ASSERT_TRUE(write_file(model.path() / "1-trial.json", rivals::trial_as_json(trial)).ok());
    }
  };
  const auto best = [&] {
    const Guests guests = *Guests::chosen("best");
    const auto chosen = *guests.of(task, 1);
    return chosen.size() == 1 ? chosen[0]->name() : "not one";
  };
  time_of("mnn", 1000, 100);
  time_of("onnxruntime", 5000, 4500);
  EXPECT_EQ(best(), "onnxruntime");
  time_of("mnn", 500, 100);
  EXPECT_EQ(best(), "mnn");
}

// The whole way: a verdict names who was to be compared with and was not there.
TEST_F(SlowChosenGuests, WhoIsMissingIsNamedInTheVerdict) {
  const std::string file = (folder_.path() / "relu.cpp").string();
  std::ostringstream out, err;
  ASSERT_EQ(run_program({"init", "Relu", "--out", file}, out, err), kYes);
  out.str("");
  pretend_to_install("ncnn");  // a half-installed one: it cannot be started
  ASSERT_EQ(run_program({"eval", "Relu", file, "--rival", "mnn,ncnn", "--budget", "0.1", "--json"}, out, err), kYes)
      << err.str();
  const auto verdict = Json::parse(out.str());
  EXPECT_EQ(verdict["speedup"].size(), 1u) << verdict["speedup"].dump();
  EXPECT_NE(verdict["left_out"]["mnn"]["why"].get<std::string>().find("not installed"), std::string::npos);
  EXPECT_NE(verdict["left_out"]["ncnn"]["why"].get<std::string>().find("does not start"), std::string::npos);
}

}  // namespace
}  // namespace kw::cli
