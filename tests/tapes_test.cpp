// What the tapes of tests/models/tapes hold: a capable model's exchanges, and what was decided in each round. No kernel
// of theirs is built: where they are played again, the device is made up (tests/targets/made_up).
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "agents/decisions.h"
#include "agents/session.h"
#include "agents/tape_gains.h"
#include "base/files.h"
#include "base/json.h"
#include "suites/catalog.h"

namespace kw::agents {
namespace {

namespace fs = std::filesystem;

using Tape = std::map<std::string, std::vector<std::pair<int, Decided>>>;  // rounds, by task

Tape tape_of(const fs::path& folder) {
  const auto decisions = Decisions::to_replay(folder);
  EXPECT_TRUE(decisions.ok()) << decisions.error().message;
  Tape tape;
  for (const auto& [at, decided] : (*decisions)->all()) tape[at.first].emplace_back(at.second, decided);
  return tape;
}

std::set<fs::path> tapes() {
  std::set<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(KW_SOURCE_DIR "/tests/models/tapes")) {
    if (entry.is_directory()) folders.insert(entry.path());
  }
  return folders;
}

TEST(Tapes, DropNoKernelThatWasFasterThanTheIncumbent) {
  int compared = 0, faster = 0;
  for (const fs::path& folder : tapes()) {
    for (const auto& [task, decided] : tape_of(folder)) {
      std::vector<Round> rounds;
      for (const auto& [number, one] : decided) {
        rounds.push_back({.number = number, .beside = one.beside});
        compared += one.beside.has_value();
        faster += one.beside && one.beside->faster();
      }
      for (const std::string& breach : breaches_of_the_order(rounds, {}))
        ADD_FAILURE() << folder.filename() << ", " << task << ": " << breach;
    }
  }
  EXPECT_GT(compared, 100);
  EXPECT_GT(faster, 15);
}

// FCR from nothing, and that a replay knows how each kernel did.
TEST(Tapes, HoldEachVerdictAndAreRightOnNineOfTenTasks) {
  for (const fs::path& folder : tapes()) {
    const Tape tape = tape_of(folder);
    int right = 0;
    for (const auto& [task, decided] : tape) {
      bool any = false;
      for (const auto& [number, one] : decided) {
        EXPECT_FALSE(one.stages.empty()) << folder << ", " << task << ", round " << number;
        const bool is_right = !one.stages.empty() && one.stages.back() == VerdictStage::accepted;
        any = any || is_right;
        EXPECT_TRUE(is_right || !one.beside) << folder << ", " << task << ", round " << number;
      }
      right += any;
    }
    const std::map<std::string, std::size_t> tasks = {{"passk", 4}, {"dice", 4}, {"moka-ten", 3}};
    const auto fewer = tasks.find(folder.filename().string());
    EXPECT_EQ(tape.size(), fewer == tasks.end() ? 10u : fewer->second) << folder;
    EXPECT_GE(10 * right, 9 * static_cast<int>(tape.size())) << folder;
  }
}

// Whichever verdicts and times are found now, an author asks what it asked then: each question has its answer, and each
// answer is asked for. The task is another one, since nothing but its name leads to an exchange.
TEST(Tapes, ArePlayedToTheirEnd) {
  judge::Judge judge = *judge::Judge::open("made_up");
  const Prompts prompts = *Prompts::open();
  Task task = *suites::find_task("Relu", {});
  for (auto& [name, value] : task.lengths) value = 2;
  const ops::Graph graph = *ops::resolve(task);
  int longest = 0;
  for (const fs::path& folder : tapes()) {
    const std::string tape = folder.filename().string();
    const AuthorKind author = *find_author(tape.substr(0, tape.find('-')));
    const auto decisions = *Decisions::to_replay(folder);
    const auto tasks = tasks_of(folder);
    ASSERT_TRUE(tasks.ok()) << tasks.error().message;
    for (const auto& [name, taped] : *tasks) {
      llm::Client client =
          *llm::Client::open(*llm::endpoint_named(*llm::recorded_model(folder)), llm::ClientOptions{.replay = folder});
      task.name = name;
      SessionOptions options{.author = author, .rounds = taped.rounds, .tune = 0, .decisions = decisions.get()};
      options.rules.device = "made_up";
      options.rules.budget_s = 0.001;
      const auto played = run_session(judge, task, graph, client, prompts, options,
                                      [](const Round&, const judge::Case&, double) { return Status(); });
      ASSERT_TRUE(played.ok()) << played.error().message;
      EXPECT_EQ(played->over, "") << tape << ", " << name;
      EXPECT_EQ(client.spent().requests, taped.questions) << tape << ", " << name;
      longest = std::max(longest, taped.rounds);
    }
  }
  EXPECT_EQ(longest, 10);
}

// kw_tapes_bench recorded prints it.
TEST(Tapes, AreTheTableInTheResults) {
  const auto tape = Decisions::to_replay(KW_SOURCE_DIR "/tests/models/tapes/moka");
  ASSERT_TRUE(tape.ok()) << tape.error().message;
  const std::string page = *read_file(KW_SOURCE_DIR "/docs/results.md");
  std::size_t at = 0;
  int faster = 0;
  for (const TapeGain& gain : gains_of(**tape)) {
    const std::size_t found = page.find(row_of(gain), at);
    EXPECT_NE(found, std::string::npos) << row_of(gain);
    at = found == std::string::npos ? at : found;
    faster += !gain.steps.empty();
  }
  EXPECT_GE(faster, 8) << "of ten tasks";
}

}  // namespace
}  // namespace kw::agents
