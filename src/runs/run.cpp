#include "runs/run.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "judge/kept_verdicts.h"
#include "judge/verdict_json.h"

namespace kw::runs {
namespace {

// The items that are left of one run.
class ItemsOfARun final : public Pieces {
 public:
  ItemsOfARun(Run& run, Work& work, Observer& observer) : run_(run), work_(work), observer_(observer) {}

  std::shared_ptr<Piece> next() override {
    if (run_.stop().asked()) return nullptr;
    const std::size_t index = next_++;
    return index < work_.items() ? std::make_shared<Item>(*this, index) : nullptr;
  }
  int workers() const override { return std::min(work_.workers(), static_cast<int>(work_.items())); }

 private:
  class Item final : public Piece {
   public:
    Item(ItemsOfARun& items, std::size_t index) : items_(items), index_(index) {}
    Run& run() override { return items_.run_; }
    Status work(const std::shared_ptr<judge::Judge>& judge) override {
      return items_.work_.do_item(items_.run_, items_.observer_, judge, index_);
    }

   private:
    ItemsOfARun& items_;
    const std::size_t index_;
  };

  Run& run_;
  Work& work_;
  Observer& observer_;
  std::atomic<std::size_t> next_ = 0;
};

}  // namespace

Status work_off(Pieces& pieces) {
  std::atomic<bool> failed = false;
  std::mutex lock;
  Status status;  // the first that failed
  const auto go_on = [&] {
    for (std::shared_ptr<Piece> piece; !failed && (piece = pieces.next()) != nullptr;) {
      const Status one = piece->end(with_a_judge(
          piece->run().workplace().judges(),
          [&](const std::shared_ptr<judge::Judge>& judge) { return piece->work(judge); },
          [&] { return piece->recorded(); }, [&] { return piece->run().stop().asked(); }));
      if (one.ok()) continue;
      const std::lock_guard guard(lock);
      if (status.ok()) status = one;
      failed = true;
    }
  };
  if (pieces.workers() <= 1) {
    go_on();
    return status;
  }
  std::vector<std::jthread> threads;
  for (int i = 0; i < pieces.workers(); ++i) threads.emplace_back(go_on);
  threads.clear();
  return status;
}

Result<std::unique_ptr<Run>> Run::open(Workplace& workplace, std::int64_t id, Stop& stop) {
  const auto held = workplace.hold();
  KW_TRY(store::RunLock lock, store::RunLock::take(workplace.store().folder(), id));
  std::unique_ptr<Run> run(new Run(workplace, std::move(lock), stop));
  KW_TRY(run->summary_, workplace.store().run(id));
  KW_TRY(run->last_position_, workplace.store().database().number(
                                  fmt::format("SELECT coalesce(max(position), 0) FROM item WHERE run = {}", id)));
  return run;
}

Result<std::unique_ptr<Run>> Run::begin(Workplace& workplace, const store::NewRun& run,
                                        std::span<const store::NewItem> items, Stop& stop) {
  std::int64_t id = 0;
  {
    const auto held = workplace.hold();
    KW_TRY(id, workplace.store().begin_run(run, items));
  }
  return open(workplace, id, stop);
}

Result<std::unique_lock<std::mutex>> Run::hold() {
  std::unique_lock held = workplace_.hold();
  if (stop_.asked() || ended_) return fail("stopped");
  return held;
}

Result<std::int64_t> Run::add_item(store::NewItem& item) {
  KW_TRY(const auto held, hold());
  if (item.position == 0) item.position = last_position_ + 1;
  KW_TRY(const std::int64_t id, workplace_.store().add_item(summary_.id, item));
  last_position_ = std::max(last_position_, item.position);
  return id;
}

Status Run::record(std::int64_t item, const judge::Case& one, const Verdict& verdict, double spent_s,
                   const std::map<std::string, std::string>* known) {
  KW_TRY(const auto held, hold());
  KW_TRY(const store::Circumstances around, workplace_.circumstances(one, spent_s, judge::key_of(one), known));
  KW_CHECK(workplace_.store().record(item, verdict, judge::verdict_as_json(verdict), around));
  ++recorded_;
  return {};
}

Status Run::add_judged(store::NewItem item, const judge::Case& one, const Verdict& verdict, double spent_s) {
  KW_TRY(const auto held, hold());
  item.position = last_position_ + 1;
  // The same kernel may be judged more than once in a run, for one purpose after the other.
  const std::string key = judge::key_of(one) + std::string(store::name_of(item.purpose));
  KW_TRY(const store::Circumstances around, workplace_.circumstances(one, spent_s, key));
  KW_CHECK(workplace_.store().add_judged(summary_.id, item, verdict, judge::verdict_as_json(verdict), around));
  last_position_ = item.position;
  ++recorded_;
  return {};
}

Status Run::note(store::EventKind kind, const std::string& text) {
  KW_TRY(const auto held, hold());
  return workplace_.store().note(summary_.id, kind, text);
}

Result<std::string> Run::unjudged() const {
  const auto held = workplace_.hold();
  KW_TRY(const store::RunSummary now, workplace_.store().run(summary_.id));
  if (now.done == now.planned) return std::string();
  return fmt::format("{} of {} have no verdict", now.planned - now.done, now.planned);
}

Status Run::end(bool done, const std::string& why) {
  const auto held = workplace_.hold();
  if (ended_) return {};
  ended_ = true;
  KW_TRY(const store::RunSummary now, workplace_.store().run(summary_.id));
  if (done && now.state == store::RunState::done) return {};
  return workplace_.store().set_state(summary_.id, done ? store::RunState::done : store::RunState::stopped, why);
}

Result<Ended> work_on(Run& run, Work& work, Observer& observer, bool is_resumed) {
  KW_CHECK(work.prepare(run));
  if (is_resumed && work.items() > 0) {
    KW_CHECK(run.note(store::EventKind::resumed, fmt::format("{} of {} left", work.items(), work.plan(run).total)));
  }
  if (work.items() > 0) observer.plan(work.plan(run));
  // Where the state cannot be written, the run is open and not locked: resumable all the same.
  const auto stopped = [&](const std::string& why) {
    [[maybe_unused]] const Status noted = run.end(false, why);
    observer.end(store::RunState::stopped);
  };
  const Stop::LastWords last_words(run.stop(), [&] { stopped("interrupted"); });
  ItemsOfARun items(run, work, observer);
  Status status = work_off(items);
  std::string left;
  if (status.ok() && !run.stop().asked()) {
    auto unfinished = work.unfinished(run);
    if (unfinished.ok()) left = *std::move(unfinished);
    if (!unfinished.ok()) status = unfinished.error();
  }
  if (run.stop().asked()) {
    stopped("interrupted");
    return Ended{.interrupted = true, .unfinished = "interrupted"};
  }
  if (!status.ok()) {
    stopped(status.error().message);
    return status.error();
  }
  KW_CHECK(run.end(left.empty(), left));
  observer.end(left.empty() ? store::RunState::done : store::RunState::stopped);
  return Ended{.unfinished = left};
}

}  // namespace kw::runs
