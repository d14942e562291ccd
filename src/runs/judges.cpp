#include "runs/judges.h"

#include <numeric>
#include <vector>

#include "core/verdict.h"

namespace kw::runs {
namespace {

// What the judge itself fails on twice is given up.
constexpr int kMostFailures = 2;

bool lives(judge::Judge& judge) { return judge.device().alive(); }

}  // namespace

Result<std::shared_ptr<judge::Judge>> Judges::get() {
  const std::lock_guard guard(lock_);
  if (!judge_) {
    if (before_opening_) before_opening_();
    KW_TRY(judge::Judge opened, judge::Judge::open(device_));
    judge_ = std::make_shared<judge::Judge>(std::move(opened));
  }
  return judge_;
}

bool Judges::lost(const std::shared_ptr<judge::Judge>& judge) {
  if (lives(*judge)) return false;
  const std::lock_guard guard(lock_);
  if (judge_ == judge) judge_ = nullptr;
  return true;
}

judge::Timings Judges::timings() const {
  const std::lock_guard guard(lock_);
  return judge_ ? judge_->timings() : judge::Timings();
}

Result<Verdict> judge_until_sure(Judges& judges, const std::function<Result<Verdict>(judge::Judge&)>& once) {
  for (int lost = 0, kills = 0;;) {
    KW_TRY(const std::shared_ptr<judge::Judge> judge, judges.get());
    Result<Verdict> verdict = once(*judge);
    if (verdict.ok() && !may_be_killed_from_outside(verdict->reason)) return verdict;
    if (judges.lost(judge) && ++lost < kMostLostJudges) continue;
    if (!verdict.ok() || ++kills >= kMostKills) return verdict;
  }
}

Status judge_many(Judges& judges, std::span<const judge::Case> cases, const Answered& answer, const judge::Begin& begin,
                  const std::function<void(std::size_t)>& dropped) {
  std::vector<std::size_t> left(cases.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  std::vector<int> spoiled(cases.size());  // how often a kill or the judge spoiled it
  for (int lost = 0; !left.empty();) {
    KW_TRY(const std::shared_ptr<judge::Judge> judge, judges.get());
    std::vector<judge::Case> these;
    for (const std::size_t index : left) these.push_back(cases[index]);
    std::vector<std::size_t> again;
    bool any = false, gone = false;
    Status status;
    const auto judged = [&](std::size_t i, const Result<Verdict>& verdict) {
      if (!status.ok()) return;
      const std::size_t index = left[i];
      if (!verdict.ok() || may_be_killed_from_outside(verdict->reason)) {
        gone = gone || judges.lost(judge);
        if (gone || ++spoiled[index] < (verdict.ok() ? kMostKills : kMostFailures)) {
          again.push_back(index);
          return dropped(index);
        }
      }
      any = true;
      status = answer(index, verdict);
    };
    judge::judge_batch(*judge, these, judged, [&](std::size_t i, const char* doing) { begin(left[i], doing); });
    KW_CHECK(status);
    left = std::move(again);
    lost = any || !gone ? 0 : lost + 1;
    if (lost < kMostLostJudges) continue;
    for (const std::size_t index : left) KW_CHECK(answer(index, fail("its sandbox was killed again and again")));
    return {};
  }
  return {};
}

}  // namespace kw::runs
