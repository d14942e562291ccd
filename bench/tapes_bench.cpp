// What the tapes of tests/models/tapes say: exchanges with a capable model, played again without it.
//
//   kw_tapes_bench check [FOLDER]   that no tape dropped a kernel which was faster than the incumbent beyond the
//                                   interval: each round's comparison is with the best of its time. Judges nothing.
//   kw_tapes_bench table [FOLDER]   plays every tape again as it was decided, has its kernels judged on this machine
//                                   (a line for each tells where the verdicts differ), and races the best kernels of
//                                   the authors oneshot and moka of each task side by side
//   kw_tapes_bench recorded [FOLDER]  the table of docs/results.md: how much faster than its round 0 the best kernel of
//                                   moka was, by the intervals that the tape holds, and from nothing CSR and FCR.
//                                   Judges nothing.
//   kw_tapes_bench record STORE     the check, over all authors' runs of a record
//
// Without a word: check and table. A tape is a folder that --record has filled, somewhere below FOLDER; the folder next
// to FOLDER on the way to it is called as its author, or begins so ("moka", "moka-2"). Exit code 1 where the check
// fails.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "agents/decisions.h"
#include "agents/round_record.h"
#include "agents/session.h"
#include "agents/tape_gains.h"
#include "base/files.h"
#include "base/json.h"
#include "base/units.h"
#include "suites/catalog.h"

namespace {

namespace fs = std::filesystem;
using namespace kw;

constexpr double kReplayed_s = 0.1;  // of timing, for a round whose decision is the tape's
constexpr double kRaced_s = 4;       // for the best kernels

struct Tape {
  fs::path folder;
  std::string name;  // "moka-ten"
  agents::AuthorKind author;
  std::map<std::string, agents::TapedTask> tasks;
};

Result<std::vector<Tape>> tapes_in(const fs::path& root) {
  std::error_code error;
  std::set<fs::path> folders;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root, error)) {
    if (entry.path().extension() == ".json") folders.insert(entry.path().parent_path());
  }
  if (error) return fail("{}: {}", root.string(), error.message());
  std::vector<Tape> tapes;
  for (const fs::path& folder : folders) {
    const std::string first = folder.lexically_relative(root).begin()->string();
    KW_TRY(agents::AuthorKind author, agents::find_author(first.substr(0, first.find_first_of("-_."))));
    KW_TRY(auto tasks, agents::tasks_of(folder));
    tapes.push_back({folder, first, std::move(author), std::move(tasks)});
  }
  if (tapes.empty()) return fail("{}: no tapes below it", root.string());
  return tapes;
}

// --- check -----------------------------------------------------------------------------------------------------------

struct Checked {
  int rounds = 0, compared = 0, faster = 0, breaches = 0;

  bool print(const char* of) const {
    fmt::print("{}: {} rounds, {} timed beside the incumbent, {} faster beyond the interval, {} of these dropped\n", of,
               rounds, compared, faster, breaches);
    return breaches == 0;
  }
};

void check(const std::string& where, const std::vector<agents::Round>& rounds, std::optional<int> taken,
           Checked& checked) {
  for (const agents::Round& round : rounds) {
    ++checked.rounds;
    checked.compared += round.beside.has_value();
    checked.faster += round.beside && round.beside->faster();
  }
  for (const std::string& breach : agents::breaches_of_the_order(rounds, taken)) {
    ++checked.breaches;
    fmt::print("{}: {}\n", where, breach);
  }
}

Result<bool> check_tapes(const std::vector<Tape>& tapes) {
  Checked checked;
  for (const Tape& tape : tapes) {
    KW_TRY(const auto decisions, agents::Decisions::to_replay(tape.folder));
    std::map<std::string, std::vector<agents::Round>> by_task;
    for (const auto& [at, decided] : decisions->all())
      by_task[at.first].push_back({.number = at.second, .beside = decided.beside});
    for (const auto& [task, rounds] : by_task) check(tape.name + ", " + task, rounds, std::nullopt, checked);
  }
  return checked.print("tapes");
}

Result<bool> check_record(const fs::path& folder) {
  KW_TRY(const store::Store store, store::Store::open(folder));
  KW_TRY(const auto runs, store.runs());
  Checked checked;
  for (const store::RunSummary& run : runs) {
    const auto recorded = agents::recorded_rounds(store, run.id);
    if (!recorded.ok()) continue;  // another kind of run
    std::map<std::string, std::string> taken;
    KW_CHECK(store.each_recorded(run.id, [&](const store::Recorded& one) -> Status {
      if (one.purpose == store::Purpose::confirm) taken[one.task_hash] = one.candidate_hash;
      return {};
    }));
    for (const auto& [task, rounds] : *recorded) {
      const auto place = std::ranges::find(rounds.candidates, taken[task]);
      const bool known = !taken[task].empty() && place != rounds.candidates.end();
      check(fmt::format("run {}", run.id), rounds.rounds,
            known ? std::optional(static_cast<int>(place - rounds.candidates.begin())) : std::nullopt, checked);
    }
  }
  return checked.print("record");
}

// --- recorded --------------------------------------------------------------------------------------------------------

Status print_recorded(const std::vector<Tape>& tapes) {
  for (const Tape& tape : tapes) {
    KW_TRY(const auto decisions, agents::Decisions::to_replay(tape.folder));
    const std::vector<agents::TapeGain> gains = agents::gains_of(*decisions);
    const auto count = std::ssize(gains);
    const auto built = std::ranges::count_if(gains, &agents::TapeGain::built);
    const auto right = std::ranges::count_if(gains, &agents::TapeGain::right);
    const auto faster = std::ranges::count_if(gains, [](const agents::TapeGain& gain) { return !gain.steps.empty(); });
    if (tape.author.name == "moka") {
      fmt::print("{}:\n| task | times as fast as round 0 | steps |\n|---|---|---|\n", tape.name);
      for (const agents::TapeGain& gain : gains) fmt::print("{}\n", agents::row_of(gain));
    }
    fmt::print("{}, from nothing: built {} of {}, right {} of {}; a later kernel faster beyond the interval on {}\n",
               tape.name, built, count, right, count, faster);
  }
  return {};
}

// --- table -----------------------------------------------------------------------------------------------------------

// What an author's tape comes to on a task.
struct Played {
  int rounds = 0;  // that the model was asked for
  bool built = false;
  bool right = false;  // a kernel of the model, by the judge of now
  std::string best;    // the source, as the tape decided; empty: no kernel was right
  std::string replay;  // how many verdicts of now are those of the tape
  std::string over;    // why it ended early
  std::vector<std::string> breaches;
};

Result<Played> play(const Tape& tape, const std::string& name, int rounds, judge::Judge& judge) {
  KW_TRY(const Task task, suites::find_task(name, {}));
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  KW_TRY(const std::string model, llm::recorded_model(tape.folder));
  KW_TRY(llm::Endpoint endpoint, llm::endpoint_named(model));
  KW_TRY(llm::Client client, llm::Client::open(std::move(endpoint), {.replay = tape.folder}));
  KW_TRY(const agents::Prompts prompts, agents::Prompts::open());
  KW_TRY(const auto decisions, agents::Decisions::to_replay(tape.folder));
  agents::SessionOptions options{.author = tape.author, .rounds = rounds};
  options.rules.budget_s = kReplayed_s;
  options.decisions = decisions.get();
  options.tune = 0;  // the tape knows what the tuner chose
  KW_TRY(const agents::SessionResult result,
         agents::run_session(judge, task, graph, client, prompts, options,
                             [](const agents::Round&, const judge::Case&, double) { return Status(); }));
  Played played{.replay = result.replay, .over = result.over};
  for (const agents::Round& round : result.work.rounds) {
    played.rounds += round.role != agents::RoundRole::tuner;
    played.built = played.built || (round.verdict && round.verdict->stage != VerdictStage::build);
    played.right = played.right || (round.verdict && round.verdict->accepted());
  }
  const agents::Round* best = result.work.best_of_author();
  if (best != nullptr) played.best = best->source;
  played.breaches =
      agents::breaches_of_the_order(result.work.rounds, best != nullptr ? std::optional(best->number) : std::nullopt);
  return played;
}

// MoKA's best beside oneshot's, in one race.
Result<std::string> race(const std::string& name, const Played& oneshot, const Played& moka, judge::Judge& judge,
                         int& faster, int& alone) {
  KW_TRY(const Task task, suites::find_task(name, {}));
  const bool both = !oneshot.best.empty() && !moka.best.empty();
  judge::Case one;
  one.task = &task;
  one.source = {"moka.cpp", moka.best.empty() ? oneshot.best : moka.best};
  if (both && oneshot.best != moka.best) one.against.push_back({"oneshot.cpp", oneshot.best});
  one.budget_s = kRaced_s;
  if (one.source.text.empty()) return std::string("none | - | - | no kernel is right");
  KW_TRY(const Verdict verdict, judge.judge(one));
  if (!verdict.accepted()) return fmt::format("- | - | - | {}", text_of(verdict.reason));
  std::string plain = "-", beside = both ? "1 | the same kernel" : "- | only one has a right kernel";
  for (const Speedup& speedup : verdict.speedups) {
    const std::string interval = fmt::format("{:.2f} [{:.2f}, {:.2f}]", speedup.median, speedup.low, speedup.high);
    if (speedup.rival == "plain") plain = interval;
    if (speedup.rival != "oneshot.cpp") continue;
    const bool ahead = speedup.claimed && speedup.low > 1;
    faster += ahead;
    beside = interval + (ahead ? " | faster" : speedup.claimed && speedup.high < 1 ? " | slower" : " | no difference");
  }
  if (!both) alone += !moka.best.empty();
  return fmt::format("{} | {} | {}", time_text(*verdict.time_ns), plain, beside);
}

Result<bool> table(const std::vector<Tape>& tapes) {
  KW_TRY(judge::Judge judge, judge::Judge::open());
  std::map<std::string, std::map<std::string, Played>> by_task;  // and tape
  bool whole = true;
  for (const Tape& tape : tapes) {
    for (const auto& [task, taped] : tape.tasks) {
      KW_TRY(Played played, play(tape, task, taped.rounds, judge));
      for (const std::string& breach : played.breaches) {
        fmt::print("{}, {}, played again: {}\n", tape.name, task, breach);
        whole = false;
      }
      fmt::print("{}, {}: {}{}\n", tape.name, task,
                 played.replay.empty() ? "the tape holds no verdicts" : played.replay,
                 played.over.empty() ? "" : "; ended early: " + played.over);
      std::fflush(stdout);
      by_task[task][tape.name] = std::move(played);
    }
  }
  std::map<std::string, std::array<int, 3>> figures;  // tasks, built, right
  fmt::print("\n| task | rounds | MoKA's best | x plain | x oneshot's best | |\n|---|---|---|---|---|---|\n");
  int faster = 0, alone = 0, compared = 0;
  for (auto& [task, played_by] : by_task) {
    for (const auto& [tape, played] : played_by) {
      auto& [count, built, right] = figures[tape];
      ++count;
      built += played.built;
      right += played.right;
    }
    if (!played_by.contains("oneshot") || !played_by.contains("moka")) continue;
    ++compared;
    KW_TRY(const std::string row, race(task, played_by["oneshot"], played_by["moka"], judge, faster, alone));
    fmt::print("| {} | {} | {} |\n", task, played_by["moka"].rounds, row);
    std::fflush(stdout);
  }
  fmt::print("\n");
  for (const auto& [tape, figure] : figures) {
    fmt::print("{}, from nothing: CSR {:.0f} % ({} of {}), FCR {:.0f} % ({} of {})\n", tape,
               100.0 * figure[1] / figure[0], figure[1], figure[0], 100.0 * figure[2] / figure[0], figure[2],
               figure[0]);
  }
  if (compared > 0) {
    fmt::print(
        "MoKA's best is faster than oneshot's beyond the interval on {} of {} tasks, and the only right kernel on {}\n",
        faster, compared, alone);
  }
  return whole;
}

Result<bool> run(const std::string& what, const fs::path& folder) {
  if (what == "record") return check_record(folder);
  KW_TRY(const std::vector<Tape> tapes, tapes_in(folder));
  bool good = true;
  if (what == "recorded") {
    KW_CHECK(print_recorded(tapes));
    return true;
  }
  if (what != "table") {
    KW_TRY(good, check_tapes(tapes));
  }
  if (what != "check") {
    KW_TRY(const bool whole, table(tapes));
    good = good && whole;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const std::set<std::string> known = {"", "check", "table", "record", "recorded"};
  if (!known.contains(what) || argc > 3 || (what == "record" && argc < 3))
    return fmt::print(stderr, "kw_tapes_bench [check|table|recorded [FOLDER]] | record STORE\n"), 2;
  const auto good = run(what, argc > 2 ? fs::path(argv[2]) : fs::path(KW_SOURCE_DIR "/tests/models/tapes"));
  if (!good.ok()) return fmt::print(stderr, "{}\n", good.error().message), 2;
  return *good ? 0 : 1;
}
