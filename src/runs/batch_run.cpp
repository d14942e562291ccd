#include "runs/batch_run.h"

#include <algorithm>
#include <thread>

#include "base/json.h"
#include "core/settings_json.h"
#include "judge/kept_verdicts.h"
#include "judge/verdict_json.h"
#include "runs/case_record.h"
#include "store/packed.h"
#include "store/sha256.h"
#include "suites/task_snapshot.h"

namespace kw::runs {
namespace {

using Clock = std::chrono::steady_clock;

std::size_t slice_size() {
  constexpr std::size_t kPerCore = 16;
  return kPerCore * std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

std::string LineAnswer::text() const {
  Json json = verdict.empty() ? Json::object() : Json::parse(verdict);
  json["line"] = position;
  if (const Json id = Json::parse_quietly(label); !id.is_discarded() && !id.is_null()) json["id"] = id;
  if (!error.empty()) json["error"] = error;
  return json.dump();
}

// Judged before, with the times that it rests on and the rivals that it was timed against.
struct Batch::Known {
  Verdict verdict;
  std::map<std::string, std::string> versions;
};

Status Batch::prepare(Run& run) {
  KW_TRY(order_, order_of(run.summary()));
  const auto held = run.workplace().hold();
  const store::Store& store = run.workplace().store();
  KW_TRY(const auto against, store.against(run.id()));
  for (const store::RivalSource& rival : against) order_.rules.against.push_back({rival.name, rival.text});
  KW_TRY(open_, store.open_items(run.id()));
  answered_.assign(open_.size(), false);
  for (const store::Item& item : open_) {
    if (tasks_.contains(item.task_hash)) continue;
    KW_TRY(Task task, suites::task_of_snapshot(item.what.task->text));
    tasks_.emplace(item.task_hash, std::move(task));
  }
  last_ = Clock::now();
  return {};
}

report::PlannedWork Batch::plan(const Run& run) const {
  return {.title = run.name(), .total = run.summary().planned, .done = run.summary().done};
}

std::size_t Batch::items() const { return (open_.size() + slice_size() - 1) / slice_size(); }

Result<judge::Case> Batch::case_of(const store::Item& item) const {
  judge::Case one = order_.rules;
  one.task = &tasks_.at(item.task_hash);
  one.source = {item.what.candidate->file, item.what.candidate->source};
  KW_TRY(one.settings, settings_from_json(item.what.candidate->settings));
  KW_TRY(one.frameworks, rivals_.of(*one.task, one.threads));
  return one;
}

// It judges with the judges of the workplace: a lost one is its own to replace.
Status Batch::do_item(Run& run, Observer& observer, const std::shared_ptr<judge::Judge>&, std::size_t index) {
  const std::size_t begin = index * slice_size(), end = std::min(open_.size(), begin + slice_size());
  std::vector<judge::Case> cases;
  std::vector<const store::Item*> item_of;
  for (std::size_t i = begin; i < end; ++i) {
    if (answered_[i]) continue;
    KW_TRY(judge::Case one, case_of(open_[i]));
    KW_TRY(const std::optional<Known> known,
           order_.fresh ? std::optional<Known>() : known_verdict(run, judge::key_of(one)));
    if (known) {
      KW_CHECK(record(run, observer, open_[i], one, known->verdict, &known->versions));
      continue;
    }
    cases.push_back(std::move(one));
    item_of.push_back(&open_[i]);
  }
  const auto answer = [&](std::size_t i, const Result<Verdict>& verdict) -> Status {
    if (!verdict.ok()) return note_problem(run, observer, *item_of[i], verdict.error().message);
    KW_CHECK(record(run, observer, *item_of[i], cases[i], *verdict, nullptr));
    judge::keep_verdict(judge::key_of(cases[i]), *verdict);
    return {};
  };
  return judge_many(
      run.workplace().judges(), cases, answer,
      [&](std::size_t i, const char* doing) {
        const store::NewItem& item = item_of[i]->what;
        observer.start(item.position, item.task->name, item.candidate->file, doing);
      },
      [&](std::size_t i) { observer.drop(item_of[i]->what.position); });
}

Result<std::optional<Batch::Known>> Batch::known_verdict(Run& run, const std::string& key) const {
  std::optional<store::Store::Earlier> earlier;
  {
    const auto held = run.workplace().hold();
    KW_TRY(earlier, run.workplace().store().earlier(store::sha256(key)));
  }
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

Status Batch::record(Run& run, Observer& observer, const store::Item& item, const judge::Case& one,
                     const Verdict& verdict, const std::map<std::string, std::string>* versions) {
  const auto now = Clock::now();
  KW_CHECK(run.record(item.id, one, verdict, std::chrono::duration<double>(now - last_).count(), versions));
  last_ = now;
  answered_[static_cast<std::size_t>(&item - open_.data())] = true;
  tell_({.position = item.what.position, .label = item.what.label, .verdict = judge::verdict_as_json(verdict)});
  observer.finish(item.what.position, item.what.task->name, item.what.candidate->file, verdict);
  observer.advance(1);
  return {};
}

// The item stays open: the machine failed, not the candidate.
Status Batch::note_problem(Run& run, Observer& observer, const store::Item& item, const std::string& message) {
  KW_CHECK(run.note(store::EventKind::problem, fmt::format("{}: {}", item.what.position, message)));
  answered_[static_cast<std::size_t>(&item - open_.data())] = true;
  tell_({.position = item.what.position, .label = item.what.label, .error = message});
  observer.drop(item.what.position);
  observer.error(store::EventKind::problem, message);
  return {};
}

Result<std::string> Batch::unfinished(Run& run) { return run.unjudged(); }

Status record_one(Workplace& workplace, const judge::Case& one, const std::string& command, const Verdict& verdict,
                  double spent_s) {
  const Order order{.suite = one.task->suite, .rules = one, .rivals = names_of(one.frameworks)};
  const store::NewItem item = planned(1, one, "null");
  Stop never;
  KW_TRY(const std::unique_ptr<Run> run, Run::begin(workplace, run_of(order, command), std::span(&item, 1), never));
  KW_TRY(const auto items, workplace.store().open_items(run->id()));
  KW_CHECK(run->record(items.at(0).id, one, verdict, spent_s));
  return run->end(true);
}

}  // namespace kw::runs
