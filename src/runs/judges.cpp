#include "runs/judges.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/verdict.h"
#include "judge/kills.h"
#include "targets/names.h"

namespace kw::runs {
namespace {

// What the judge itself fails on twice is given up.
constexpr int kMostFailures = 2;

// The number of lost judges after which a candidate that they were judging is judged alone.
constexpr int kLostTogether = 2;

}  // namespace

Losses::Losses(const std::string& device)
    : most_(targets::reached_by_a_program(device) ? kMostLostLinks : kMostLostJudges) {}

std::chrono::milliseconds Losses::pause() const {
  if (most_ != kMostLostLinks || count_ < 2) return {};
  return std::min(kLongestPause, std::chrono::milliseconds(250 << std::min(count_ - 2, 10)));
}

Result<std::shared_ptr<judge::Judge>> Judges::get() {
  const std::lock_guard guard(lock_);
  if (!judge_) {
    if (before_opening_) before_opening_();
    KW_TRY(judge::Judge opened, judge::Judge::open(device_));
    if (gone_) opened.keep_builds_of(*std::exchange(gone_, nullptr));
    judge_ = std::make_shared<judge::Judge>(std::move(opened));
  }
  return judge_;
}

bool Judges::lost(const std::shared_ptr<judge::Judge>& judge) {
  if (judge->device().alive()) return false;
  const std::lock_guard guard(lock_);
  if (judge_ == judge) gone_ = std::exchange(judge_, nullptr);
  return true;
}

judge::Timings Judges::timings() const {
  const std::lock_guard guard(lock_);
  return judge_ ? judge_->timings() : judge::Timings();
}

Status with_a_judge(Judges& judges, const std::function<Status(const std::shared_ptr<judge::Judge>&)>& use,
                    const std::function<std::int64_t()>& recorded, const std::function<bool()>& stopped) {
  Losses losses(judges.device());
  for (;;) {
    KW_TRY(const std::shared_ptr<judge::Judge> judge, judges.get());
    const std::int64_t before = recorded();
    const Status status = use(judge);
    if (status.ok() || stopped() || !judges.lost(judge)) return status;
    if (recorded() > before) losses.forget();
    if (!losses.may_go_on()) return status;
    judges.wait(losses.pause());
  }
}

Result<Verdict> judge_until_sure(Judges& judges, const std::function<Result<Verdict>(judge::Judge&)>& once) {
  Verdict verdict;
  KW_CHECK(with_a_judge(judges, [&](const std::shared_ptr<judge::Judge>& judge) -> Status {
    KW_TRY(verdict, judge::despite_kills([&] { return once(*judge); }));
    return {};
  }));
  return verdict;
}

namespace {

// One of many candidates, on its way.
struct Candidate {
  explicit Candidate(const std::string& device) : losses(device) {}

  bool waits = true;  // for its answer
  bool begun = false;
  int lost = 0;     // judges that were judging it
  Losses losses;    // the same since it last got on
  int spoiled = 0;  // how often a kill or the judge spoiled it
  std::optional<judge::Inspected> examination;
};

// All that nothing is held against; where there is none, the one of the others with the fewest losses.
std::vector<std::size_t> next_of(const std::vector<Candidate>& candidates) {
  std::vector<std::size_t> these, suspects;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].waits) (candidates[i].lost < kLostTogether ? these : suspects).push_back(i);
  }
  if (these.empty() && !suspects.empty()) {
    these.push_back(*std::ranges::min_element(suspects, {}, [&](std::size_t i) { return candidates[i].lost; }));
  }
  return these;
}

}  // namespace

Status judge_many(Judges& judges, std::span<const judge::Case> cases, const Answered& answer, const judge::Begin& begin,
                  const std::function<void(std::size_t)>& dropped) {
  std::vector<Candidate> candidates(cases.size(), Candidate(judges.device()));
  Losses in_a_row(judges.device());
  for (std::vector<std::size_t> these; !(these = next_of(candidates)).empty();) {
    KW_TRY(const std::shared_ptr<judge::Judge> judge, judges.get());
    std::vector<judge::Case> batch;
    judge::Examinations examinations;
    for (const std::size_t index : these) {
      batch.push_back(cases[index]);
      candidates[index].begun = false;
      examinations.push_back(std::exchange(candidates[index].examination, std::nullopt));
    }
    std::vector<bool> examined;
    for (const auto& one : examinations) examined.push_back(one.has_value());
    std::vector<std::size_t> lost;  // places in `these`
    Status status;
    const auto judged = [&](std::size_t i, const Result<Verdict>& verdict) {
      if (!status.ok()) return;
      const std::size_t index = these[i];
      Candidate& candidate = candidates[index];
      if (!verdict.ok() || may_be_killed_from_outside(verdict->reason)) {
        if (judges.lost(judge)) return lost.push_back(i);
        if (++candidate.spoiled < (verdict.ok() ? kMostKills : kMostFailures)) return dropped(index);
      }
      in_a_row.forget();
      candidate.waits = false;
      status = answer(index, verdict);
    };
    const auto begun = [&](std::size_t i, const char* doing) {
      candidates[these[i]].begun = true;
      begin(these[i], doing);
    };
    judge::judge_batch(*judge, batch, judged, begun, &examinations);
    KW_CHECK(status);
    for (const std::size_t i : lost) {
      Candidate& candidate = candidates[these[i]];
      candidate.examination = std::move(examinations[i]);
      if (!candidate.begun) continue;
      dropped(these[i]);
      if (candidate.examination && !examined[i]) {
        in_a_row.forget();
        candidate.losses.forget();
        continue;
      }
      ++candidate.lost;
      if (candidate.losses.may_go_on()) continue;
      candidate.waits = false;
      KW_CHECK(
          answer(these[i], fail("what judges it on {} was lost again and again while it was judged", judges.device())));
    }
    if (lost.empty()) continue;
    in_a_row.may_go_on();
    judges.wait(in_a_row.pause());
  }
  return {};
}

}  // namespace kw::runs
