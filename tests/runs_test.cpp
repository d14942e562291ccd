// kw runs, best, export and import over a record that was made up by hand.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <fstream>
#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "base/scratch.h"
#include "cli/program.h"
#include "runs/machine.h"
#include "store/by_hand.h"
#include "store/run_lock.h"
#include "suites/catalog.h"
#include "suites/task_snapshot.h"

namespace kw::cli {
namespace {

class Runs : public testing::Test {
 protected:
  struct Answer {
    int code = 0;
    std::string out;
    std::string err;
  };
  Answer run(const std::vector<std::string>& words) {
    std::ostringstream out, err;
    const int code = run_program(words, out, err);
    return {code, out.str(), err.str()};
  }

  struct Kernel {
    std::string source;
    double time_ns = 100;
    double speedup = 1;
    std::string version = "1";
    std::string machine = runs::machine_identity();
    std::string terms = "warm caches, 1 thread";
  };
  // A run with these kernels for Relu, all accepted; "" stands for one that is still open.
  void record(const std::vector<Kernel>& kernels) {
    auto store = store::Store::open(folder_.path());
    ASSERT_TRUE(store.ok()) << store.error().message;
    const Task relu = *suites::find_task("Relu");
    std::vector<store::NewItem> items;
    for (const Kernel& kernel : kernels) {
      items.push_back(store::item_by_hand(static_cast<std::int64_t>(items.size()) + 1, kernel.source));
      items.back().task = store::TaskSnapshot{relu.name, relu.suite, relu.category, suites::snapshot_of(relu)};
    }
    const auto run = store->begin_run({.command = "kw eval --batch x.jsonl", .author = "somebody"}, items);
    ASSERT_TRUE(run.ok());
    const auto open = store->open_items(*run);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (kernels[i].source.empty()) continue;
      const std::int64_t machine = *store->add_machine(store::machine_by_hand(kernels[i].machine));
      const Verdict verdict = store::verdict_by_hand(kernels[i].time_ns, kernels[i].speedup);
      store::Circumstances around = store::around_by_hand(machine, kernels[i].version);
      around.terms = kernels[i].terms;
      ASSERT_TRUE(store->record(open->at(i).id, verdict, store::json_by_hand(verdict), around).ok());
    }
  }
  Json best() { return Json::parse(run({"best", "Relu", "--json"}).out); }

  const ScratchFolder folder_;
  const ScratchVariable store_{"KW_STORE", folder_.path().string()};
};

TEST_F(Runs, SaysThatNothingWasRecorded) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"runs"}, {"best", "Relu"}, {"resume"}}) {
    const Answer answer = run(words);
    EXPECT_EQ(answer.code, kNo);
    for (const char* way : {"kw demo", "kw optimize", "kw bench", "kw eval --batch FILE"}) {
      EXPECT_NE(answer.out.find(way), std::string::npos) << answer.out;
    }
  }
  EXPECT_EQ(run({"runs", "show", "r1"}).code, kBroken);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "looking makes no record";
}

TEST_F(Runs, ListsAndShows) {
  record({{"one", 100, 2}, {"two", 100, 8}, {""}});
  const Answer list = run({"runs"});
  EXPECT_EQ(list.code, kYes);
  for (const char* part : {"r1", "Relu", "somebody", "stopped", "2 of 3 accepted, 4.00 x plain"}) {
    EXPECT_NE(list.out.find(part), std::string::npos) << part << "\n" << list.out;
  }
  const Json json = Json::parse(run({"runs", "--json"}).out);
  EXPECT_EQ(json[0]["run"], "r1");
  EXPECT_EQ(json[0]["accepted"], 2);
  EXPECT_NEAR(json[0]["speedup"], 4, 1e-9);
  const Answer show = run({"runs", "show", "r1"});
  EXPECT_NE(show.out.find("kw eval --batch x.jsonl"), std::string::npos) << show.out;
  EXPECT_NE(show.out.find("8.000 x plain"), std::string::npos) << show.out;
  const Json whole = Json::parse(run({"runs", "show", "r1", "--json"}).out);
  ASSERT_EQ(whole["items"].size(), 3u);
  EXPECT_EQ(whole["items"][1]["rivals"]["plain"], "1");
  EXPECT_TRUE(whole["items"][2]["verdict"].is_null());
}

TEST_F(Runs, ListsARunWhoseTimesAreNone) {
  record({{"one", 100, 2}});
  ASSERT_TRUE(store::Store::open(folder_.path())->database().execute("UPDATE run SET began_at = 'x'").ok());
  const Answer list = run({"runs"});
  EXPECT_EQ(list.code, kYes) << list.err;
  EXPECT_NE(list.out.find("r1     x "), std::string::npos) << list.out;
}

// A search judges the best of what it tried: the others are not failures.
TEST_F(Runs, SaysOfASearchWhatItFoundAndHowManyItTried) {
  auto store = store::Store::open(folder_.path());
  ASSERT_TRUE(store.ok());
  const std::int64_t machine = *store->add_machine(store::machine_by_hand());
  const std::string rules = R"({"tasks":[{"name":"Conv2d_of_a_long_family_name_with_stride_2"},{"name":"Relu"}]})";
  const std::int64_t run_id = *store->begin_run({.command = "kw bench", .strategy = "auto", .rules = rules}, {});
  EXPECT_NE(run({"runs"}).out.find("Conv2d_o...ith_stride_2 and 1 more"), std::string::npos) << run({"runs"}).out;
  const Verdict quick{.task = "Relu", .target = "cpu", .stage = VerdictStage::quick_check};
  const auto add = [&](int position, const std::string& source, store::Purpose purpose, const Verdict& verdict) {
    store::NewItem item = store::item_by_hand(position, source);
    item.purpose = purpose;
    const store::Circumstances around = store::around_by_hand(machine);
    ASSERT_TRUE(store->add_judged(run_id, item, verdict, store::json_by_hand(verdict), around).ok());
  };
  for (int i = 1; i <= 3; ++i) add(i, std::to_string(i), store::Purpose::search, quick);
  EXPECT_NE(run({"runs"}).out.find("no right kernel yet, 3 tried"), std::string::npos) << run({"runs"}).out;
  EXPECT_NE(run({"resume"}).out.find("Relu: stopped after 3 candidates"), std::string::npos) << run({"resume"}).out;
  add(4, "3", store::Purpose::confirm, store::verdict_by_hand(100, 2));
  ASSERT_TRUE(store->set_state(run_id, store::RunState::done).ok());
  EXPECT_NE(run({"runs"}).out.find("a right kernel, 3 tried, 2.00 x plain"), std::string::npos) << run({"runs"}).out;
  const Json json = Json::parse(run({"runs", "--json"}).out);
  EXPECT_EQ(json[0]["task"], "Relu");
  EXPECT_EQ(json[0]["solved"], 1);
}

TEST_F(Runs, SaysWhenAMeanIsOverThingsThatDoNotCompare) {
  record({{"one", 100, 2, "1"}, {"two", 100, 8, "2"}});
  EXPECT_NE(run({"runs"}).out.find("several versions"), std::string::npos);
  record({{"one", 100, 2, "1"}, {"two", 100, 8, "1", "another machine"}});
  EXPECT_NE(run({"runs"}).out.find("2 machines"), std::string::npos);
}

TEST_F(Runs, OffersTheNearestRun) {
  record({{"one"}});
  EXPECT_EQ(run({"__complete", "export", "r"}).out, "r1\n");
  for (const char* command : {"resume", "export"}) {
    EXPECT_NE(run({command, "r11"}).err.find("nearest: r1"), std::string::npos) << command;
  }
  // The name of a run alone shows it, and show alone the newest.
  EXPECT_EQ(run({"runs", "r1"}).out, run({"runs", "show", "r1"}).out);
  EXPECT_EQ(run({"runs", "show"}).out, run({"runs", "show", "r1"}).out);
  EXPECT_NE(run({"runs", "shwo", "r1"}).err.find("nearest: show"), std::string::npos);
}

TEST_F(Runs, RemovesARunThatNobodyWorksOn) {
  record({{"one"}});
  {
    const auto lock = store::RunLock::take(folder_.path(), 1);
    const Answer answer = run({"runs", "rm", "r1"});
    EXPECT_EQ(answer.code, kBroken);
    EXPECT_NE(answer.err.find("being worked on"), std::string::npos) << answer.err;
    EXPECT_NE(run({"resume", "r1"}).err.find("being worked on"), std::string::npos);
    EXPECT_NE(run({"runs"}).out.find("working"), std::string::npos);
  }
  EXPECT_EQ(run({"runs", "rm", "r1"}).code, kYes);
  EXPECT_EQ(run({"runs"}).code, kNo);
}

TEST_F(Runs, TellsTheBestBySpeedUpAndNotByTheHour) {
  // The second was timed while the machine was slow: its rival was slow as well.
  record({{"first", 100, 2}, {"second", 150, 3}, {"third", 120, 2.97}});
  const Json json = best();
  EXPECT_NEAR(json["rival"]["median"], 3, 1e-9);
  EXPECT_EQ(json["compared"], 3);
  EXPECT_EQ(json["ties"], 1);
  EXPECT_EQ(run({"best", "Relu", "--source"}).out, "second");
}

TEST_F(Runs, SaysWhatTheBestWasNotComparedWith) {
  record({{"other version", 90, 2, "2"},
          {"mine", 80, 3, "1"},
          {"other machine", 1, 100, "1", "another machine"},
          {"cold", 5, 50, "1", runs::machine_identity(), "cold caches, 1 thread"},
          {"newest", 100, 1, "1"}});
  const Json json = best();
  EXPECT_EQ(run({"best", "Relu", "--source"}).out, "mine");
  EXPECT_EQ(json["compared"], 2);
  EXPECT_EQ(json["by_time_alone"], 1);
  EXPECT_EQ(json["not_compared"]["other_machines"], 1);
  EXPECT_EQ(json["not_compared"]["other_terms"], 1);
  const Answer text = run({"best", "Relu"});
  EXPECT_NE(text.out.find("not side by side"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("other machines"), std::string::npos) << text.out;
}

TEST_F(Runs, HasNoBestOfAnotherMachine) {
  record({{"theirs", 100, 2, "1", "another machine"}});
  EXPECT_EQ(run({"best", "Relu"}).code, kNo);
  EXPECT_TRUE(best().is_null());
  EXPECT_EQ(run({"best", "Relu", "--source"}).code, kBroken);
  EXPECT_NE(run({"best", "Rlu"}).err.find("nearest: Relu"), std::string::npos);
}

TEST_F(Runs, GoesOutAndComesBackIn) {
  record({{"one"}, {"two"}});
  const std::string file = (folder_.path() / "r1.jsonl").string();
  ASSERT_EQ(run({"export", "r1", "--out", file}).code, kYes);
  const ScratchFolder other;
  const Answer imported = run({"import", file, "--store", other.path().string()});
  EXPECT_EQ(imported.code, kYes) << imported.err;
  EXPECT_EQ(run({"import", file, "--store", other.path().string()}).code, kNo);
  const Answer best = run({"best", "Relu", "--store", other.path().string()});
  EXPECT_EQ(best.code, kNo) << "nobody here has judged it";
  EXPECT_NE(best.out.find("imported or not judged by you"), std::string::npos) << best.out;
  EXPECT_EQ(run({"trust", "--store", other.path().string()}).code, kYes);
  EXPECT_EQ(run({"best", "Relu", "--store", other.path().string()}).code, kYes);
  EXPECT_EQ(run({"best", "Relu", "--source", "--store", other.path().string()}).out, "two");
  EXPECT_EQ(run({"export", "r1"}).out, *read_file(file));
  EXPECT_EQ(run({"export", "r1", "--out", (other.path() / "x.csv").string()}).code, kYes);
  EXPECT_EQ(run({"export", "r1", "--out", (other.path() / "kernels").string()}).code, kYes);
  EXPECT_TRUE(std::filesystem::exists(other.path() / "kernels/0002_Relu_accepted.cpp"));
  EXPECT_EQ(run({"export", "r1", "--out", (other.path() / "x.pdf").string()}).code, kBroken);
  EXPECT_EQ(run({"export", "r1", "--out", "/proc/nowhere/x.jsonl"}).code, kBroken);
  ASSERT_TRUE(write_file(file, "{}\n").ok());
  EXPECT_NE(run({"import", file}).err.find("r1.jsonl:1: "), std::string::npos);
}

TEST_F(Runs, ReadsARecordThatCannotBeWritten) {
  record({{"one"}});
  const ScratchFolder other;
  const std::string disk = other.path().string();
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=4m") != 0) GTEST_SKIP() << "no disk can be mounted here";
  std::filesystem::copy_file(store::Store::file_in(folder_.path()), store::Store::file_in(disk));
  ::mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=4m");
  const Answer list = run({"runs", "--store", disk});
  const Answer source = run({"best", "Relu", "--source", "--store", disk});
  const Answer removed = run({"runs", "rm", "r1", "--store", disk});
  ::umount2(disk.c_str(), MNT_DETACH);
  EXPECT_EQ(list.code, kYes) << list.err;
  EXPECT_EQ(source.out, "one") << source.err;
  EXPECT_EQ(removed.code, kBroken);
  EXPECT_NE(removed.err.find("Read-only"), std::string::npos) << removed.err;
}

TEST_F(Runs, RescuesWhatIsThere) {
  record({{"one"}, {"two"}});
  const ScratchFolder other;
  const std::string saved = (other.path() / "saved").string();
  const Answer answer = run({"runs", "rescue", "--out", saved});
  EXPECT_EQ(answer.code, kYes) << answer.err;
  EXPECT_NE(answer.out.find("1 runs, 2 verdicts"), std::string::npos) << answer.out;
  EXPECT_EQ(run({"best", "Relu", "--source", "--store", saved}).code, kYes);
  EXPECT_EQ(run({"runs", "rescue"}).code, kBroken);
}

}  // namespace
}  // namespace kw::cli
