#include "cli/recorded_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <ostream>
#include <thread>

#include "base/files.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/guests.h"
#include "cli/interruption.h"
#include "cli/store_folder.h"
#include "judge/batch.h"
#include "judge/kept_verdicts.h"
#include "judge/verdict_json.h"
#include "runs/case_record.h"
#include "runs/machine.h"
#include "store/packed.h"
#include "store/run_lock.h"
#include "store/sha256.h"
#include "suites/task_snapshot.h"

namespace kw::cli {
namespace {

using Clock = std::chrono::steady_clock;
using namespace runs;

// So many cases a core are handed to the judge at a time: after them a full disk ends the work.
constexpr std::size_t kSlicePerCore = 16;
// What the judge fails on twice is left open.
constexpr int kMostFailures = 2;
// A sandbox that was killed takes all with it that it holds; a new judge tries those again. So many in a row may come
// to nothing.
constexpr int kMostFruitlessJudges = kMostKills;

// The work on one run, by one program.
class Worker {
 public:
  Worker(store::Store& store, const store::RunSummary& run, bool is_resumed, Progress& progress, std::ostream& out)
      : store_(store), run_(run), is_resumed_(is_resumed), progress_(progress), out_(out) {}

  Result<int> work() {
    KW_TRY(const store::RunLock lock, store::RunLock::take(store_.folder(), run_.id));
    KW_CHECK(prepare());
    if (is_resumed_ && !items_.empty()) {
      KW_CHECK(store_.note(run_.id, "resumed", fmt::format("{} of {} left", items_.size(), run_.planned)));
    }
    if (!items_.empty()) progress_.plan({.title = run_.name(), .total = run_.planned, .done = run_.done});
    const Interruption interruption([this] { last_words(); });
    const Status status = judge_all();
    // The last words are being said, and they end the program.
    while (Interruption::happened()) ::pause();
    KW_CHECK(finish(status));
    KW_TRY(const store::RunSummary now, store_.run(run_.id));
    if (now.done < now.planned) {
      fmt::print(stderr, "kw: {} of {} could not be judged; {} tries them again\n", now.planned - now.done, now.planned,
                 how_to_resume(store_, run_.id));
      return kBroken;
    }
    if (problems_before_ > 0) return kBroken;
    return now.accepted == now.planned ? kYes : kNo;
  }

 private:
  Status prepare() {
    std::string rivals;
    KW_TRY(rules_, rules_from_json(run_.about.rules, fresh_, rivals));
    KW_TRY(guests_, Guests::chosen(rivals));
    KW_TRY(const auto against, store_.against(run_.id));
    for (const store::RivalSource& rival : against) rules_.against.push_back({rival.name, rival.text});
    KW_TRY(items_, store_.open_items(run_.id));
    for (const store::Item& item : items_) {
      if (tasks_.contains(item.task_hash)) continue;
      KW_TRY(Task task, suites::task_of_snapshot(item.what.task->text));
      tasks_.emplace(item.task_hash, std::move(task));
    }
    KW_TRY(problems_before_, store_.database().number(
                                 fmt::format("SELECT count(*) FROM item WHERE problem <> '' AND run = {}", run_.id)));
    return {};
  }

  Result<judge::Case> case_of(const store::Item& item) const {
    judge::Case one = rules_;
    one.task = &tasks_.at(item.task_hash);
    one.source = {item.what.candidate->file, item.what.candidate->source};
    KW_TRY(one.settings, settings_from_json(item.what.candidate->settings));
    KW_TRY(one.guests, guests_.of(*one.task, one.threads));
    return one;
  }

  Status judge_all() {
    std::vector<std::size_t> left(items_.size());
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
    tries_.assign(items_.size(), 0);
    const std::size_t most = kSlicePerCore * std::max(1u, std::thread::hardware_concurrency());
    for (int fruitless = 0; !left.empty() && fruitless < kMostFruitlessJudges;) {
      KW_TRY(judge::Judge judge, judge::Judge::open());
      KW_CHECK(know_machine(judge.device().isolation()));
      std::vector<std::size_t> again;
      const std::size_t before = recorded_;
      for (std::size_t begin = 0; begin < left.size(); begin += most) {
        KW_CHECK(judge_slice(judge, std::span(left).subspan(begin, std::min(most, left.size() - begin)), again));
      }
      fruitless = recorded_ > before ? 0 : fruitless + 1;
      left = std::move(again);
    }
    for (const std::size_t index : left)
      KW_CHECK(note_problem(items_[index], "its sandbox was killed again and again"));
    return {};
  }

  Status know_machine(const std::string& tier) {
    if (machine_ != 0) return {};
    const store::Machine machine = this_machine(tier);
    KW_TRY(machine_, store_.add_machine(machine));
    versions_ = std::make_unique<RivalVersions>(machine);
    return {};
  }

  // `again` gets those that shall be tried once more.
  Status judge_slice(judge::Judge& judge, std::span<const std::size_t> indices, std::vector<std::size_t>& again) {
    std::vector<judge::Case> cases;
    std::vector<std::string> keys;
    std::vector<std::size_t> item_of;
    for (const std::size_t index : indices) {
      KW_TRY(judge::Case one, case_of(items_[index]));
      const std::string key = judge::key_of(one);
      KW_TRY(const std::optional<Known> known, fresh_ ? std::optional<Known>() : known_verdict(key));
      if (known) {
        KW_CHECK(record(items_[index], one, key, known->verdict, known->versions));
        continue;
      }
      cases.push_back(std::move(one));
      keys.push_back(key);
      item_of.push_back(index);
    }
    Status status;
    const auto judged = [&](std::size_t i, const Result<Verdict>& verdict) {
      const std::size_t index = item_of[i];
      if (!status.ok()) return;  // the record cannot be written: nobody is told of anything more
      if (!verdict.ok() || may_be_somebody_elses_doing(*verdict)) {
        if (!lives(judge) || ++tries_[index] < (verdict.ok() ? kMostKills : kMostFailures)) {
          again.push_back(index);
          progress_.drop(items_[index].what.position);
          return;
        }
      }
      if (verdict.ok()) {
        status = record(items_[index], cases[i], keys[i], *verdict, versions_->of(cases[i]));
        if (status.ok()) judge::keep_verdict(keys[i], *verdict);
      } else {
        status = note_problem(items_[index], verdict.error().message);
      }
    };
    judge::judge_batch(judge, cases, judged, [&](std::size_t i, const char* doing) {
      const store::NewItem& item = items_[item_of[i]].what;
      progress_.start(item.position, item.task->name, item.candidate->file, doing);
    });
    return status;
  }

  // Judged before, with the times that it rests on and the rivals that it was timed against.
  struct Known {
    Verdict verdict;
    std::map<std::string, std::string> versions;
  };
  Result<std::optional<Known>> known_verdict(const std::string& key) const {
    KW_TRY(const auto earlier, store_.earlier(store::sha256(key)));
    if (!earlier) {
      // The cache keeps no times: what was never timed is whole without them.
      const std::optional<Verdict> kept = judge::kept_verdict(key);
      return kept && kept->speedups.empty() ? std::optional(Known{*kept, {}}) : std::nullopt;
    }
    Known known;
    KW_TRY(known.verdict, judge::verdict_from_json(earlier->json));
    if (!judge::lasts(known.verdict)) return std::optional<Known>();
    known.verdict.kept = true;
    for (const store::Recorded::Against& one : earlier->speedups) {
      const auto found = std::ranges::find(known.verdict.speedups, one.rival, &Speedup::rival);
      if (found == known.verdict.speedups.end()) continue;
      KW_TRY(found->times, store::unpack_pairs(one.packed_times));
      known.versions[one.rival] = one.version;
    }
    return std::optional(std::move(known));
  }

  Status record(const store::Item& item, const judge::Case& one, const std::string& key, const Verdict& verdict,
                const std::map<std::string, std::string>& versions) {
    const std::lock_guard guard(lock_);
    if (Interruption::happened()) return {};
    const auto now = Clock::now();
    const std::string json = judge::verdict_as_json(verdict);
    KW_CHECK(store_.record(item.id, verdict, json,
                           {.machine = machine_,
                            .spent_s = std::chrono::duration<double>(now - last_).count(),
                            .terms = terms_of(one),
                            .key = store::sha256(key),
                            .versions = versions}));
    last_ = now;
    ++recorded_;
    progress_.print(out_, answer_line(item.what.position, item.what.label, json, "") + "\n");
    progress_.finish(item.what.position, item.what.task->name, item.what.candidate->file, verdict);
    progress_.advance();
    return {};
  }

  // The item stays open: the machine failed, not the candidate.
  Status note_problem(const store::Item& item, const std::string& message) {
    const std::lock_guard guard(lock_);
    if (Interruption::happened()) return {};
    progress_.print(out_, answer_line(item.what.position, item.what.label, "", message) + "\n");
    progress_.drop(item.what.position);
    progress_.error("problem", message);
    return store_.note(run_.id, "problem", fmt::format("{}: {}", item.what.position, message));
  }

  Status finish(const Status& status) {
    const std::lock_guard guard(lock_);
    finished_ = true;
    if (!status.ok()) {
      progress_.end("stopped");
      // Where even that cannot be written, the run is open and nobody holds it: resumable all the same.
      [[maybe_unused]] const Status noted = store_.set_state(run_.id, "stopped", "stopped", status.error().message);
      return fail("{}; {} goes on", status.error().message, how_to_resume(store_, run_.id));
    }
    KW_TRY(const store::RunSummary now, store_.run(run_.id));
    const bool done = now.done == now.planned;
    progress_.end(done ? "done" : "stopped");
    if (now.state == "done" && done) return {};
    return store_.set_state(run_.id, done ? "done" : "stopped", done ? "done" : "stopped");
  }

  void last_words() {
    const std::lock_guard guard(lock_);
    if (finished_) return;
    [[maybe_unused]] const Status noted = store_.set_state(run_.id, "stopped", "stopped", "interrupted");
    progress_.end("stopped");
    say_stopped(store_, run_.id);
  }

  store::Store& store_;
  const store::RunSummary run_;
  const bool is_resumed_;
  Progress& progress_;
  std::ostream& out_;
  judge::Case rules_;
  bool fresh_ = false;
  std::vector<store::Item> items_;
  std::map<std::string, Task> tasks_;  // by hash; a map does not move what it holds
  std::vector<int> tries_;             // of each item, that a kill or the judge spoiled
  std::size_t recorded_ = 0;
  std::int64_t problems_before_ = 0;
  std::int64_t machine_ = 0;
  std::unique_ptr<RivalVersions> versions_;
  Guests guests_;
  bool finished_ = false;
  std::mutex lock_;  // of the record and of `out_`
  Clock::time_point last_ = Clock::now();
};

}  // namespace

Result<int> work_on(store::Store& store, std::int64_t run, bool is_resumed, Progress& progress, std::ostream& out) {
  KW_TRY(const store::RunSummary summary, store.run(run));
  return Worker(store, summary, is_resumed, progress, out).work();
}

std::string answer_line(std::int64_t position, const std::string& label, const std::string& verdict,
                        const std::string& error) {
  Json json = verdict.empty() ? Json::object() : Json::parse(verdict);
  json["line"] = position;
  if (const Json id = Json::parse_quietly(label); !id.is_discarded() && !id.is_null()) json["id"] = id;
  if (!error.empty()) json["error"] = error;
  return json.dump();
}

Status record_one(store::Store& store, const judge::Case& one, const Verdict& verdict, double spent_s,
                  const std::string& tier) {
  const store::Machine machine = this_machine(tier);
  KW_TRY(const std::int64_t machine_row, store.add_machine(machine));
  std::vector<store::RivalSource> against;
  for (const judge::Source& rival : one.against) against.push_back({as_utf8(rival.name), rival.text});
  const store::NewItem item = planned(1, one, "null");
  KW_TRY(const std::int64_t run, store.begin_run({.command = command_line(),
                                                  .suite = as_utf8(one.task->suite),
                                                  .rules = rules_as_json(one, true, names_of(one.guests)),
                                                  .against = std::move(against)},
                                                 std::span(&item, 1)));
  KW_TRY(const auto items, store.open_items(run));
  KW_CHECK(store.record(items.at(0).id, verdict, judge::verdict_as_json(verdict),
                        {.machine = machine_row,
                         .spent_s = spent_s,
                         .terms = terms_of(one),
                         .key = store::sha256(judge::key_of(one)),
                         .versions = RivalVersions(machine).of(one)}));
  return store.set_state(run, "done", "done");
}

std::string how_to_resume(const store::Store& store, std::int64_t run) {
  const bool usual = store.folder() == store_folder({});
  return fmt::format("`kw resume r{}{}`", run, usual ? "" : " --store " + store.folder().string());
}

void say_stopped(const store::Store& store, std::int64_t run) {
  fmt::print(stderr, "kw: stopped, and all that was judged is recorded; to go on: {}\n", how_to_resume(store, run));
}

std::string command_line() {
  const auto words = read_file("/proc/self/cmdline");
  if (!words.ok() || words->empty()) return "kw";
  std::string line;
  std::size_t begin = 0;
  for (std::size_t end; (end = words->find('\0', begin)) != std::string::npos; begin = end + 1) {
    std::string word = words->substr(begin, end - begin);
    if (begin == 0) word = std::filesystem::path(word).filename().string();
    const bool plain = word.find_first_of(" \t\n'\"\\$`*?;&|<>(){}") == std::string::npos && !word.empty();
    line += (line.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return as_utf8(line);
}

}  // namespace kw::cli
