#include "runs/over_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <sstream>

#include "base/clock.h"
#include "judge/quick_check.h"
#include "judge/verdict_json.h"
#include "report/verdict_text.h"
#include "runs/batch_run.h"
#include "runs/judges.h"
#include "runs/takeaway.h"
#include "runs/workplace.h"
#include "search/engine.h"
#include "targets/target.h"

namespace kw::runs {
namespace {

constexpr double kQuickTiming_s = 0.2;
constexpr double kLoss = 1.05;

}  // namespace

Result<std::vector<TimedSize>> judge_over(const judge::Case& kernel, const Task& task,
                                          const std::vector<OverSize>& sizes, const Rivals& rivals, store::Store* store,
                                          const std::string& command) {
  std::optional<Workplace> recorded;
  if (store != nullptr) recorded.emplace(*store, kernel.device);
  Judges alone(kernel.device);
  Judges& judges = recorded ? recorded->judges() : alone;
  std::vector<TimedSize> timed;
  for (const OverSize& size : sizes) {
    const Task there = task_at(task, size);
    judge::Case one = kernel;
    one.task = &there;
    KW_TRY(one.frameworks, rivals.of(there, one.threads));
    const auto begin = std::chrono::steady_clock::now();
    KW_TRY(const Verdict verdict, judge_until_sure(judges, [&](judge::Judge& judge) { return judge.judge(one); }));
    if (recorded) KW_CHECK(record_one(*recorded, one, command, verdict, seconds_since(begin)));
    timed.push_back({size, verdict});
    if (!verdict.accepted()) break;
  }
  return timed;
}

OverChoice choose_over(const std::vector<std::vector<double>>& speeds, const std::vector<OverSize>& sizes) {
  OverChoice choice;
  double best = -1;
  for (std::size_t k = 0; k < speeds.size(); ++k) {
    double logarithms = 0;
    bool right = true;
    for (const double speed : speeds[k]) {
      right = right && speed > 0;
      if (right) logarithms += std::log(speed);
    }
    const double mean = right ? std::exp(logarithms / static_cast<double>(std::max<std::size_t>(sizes.size(), 1))) : 0;
    if (mean > best) {
      best = mean;
      choice.chosen = k;
    }
  }
  for (std::size_t i = 0; i < sizes.size() && !speeds.empty(); ++i) {
    std::size_t fastest = choice.chosen;
    for (std::size_t k = 0; k < speeds.size(); ++k) {
      if (speeds[k][i] > speeds[fastest][i]) fastest = k;
    }
    const double own = speeds[choice.chosen][i];
    if (own > 0 && speeds[fastest][i] > kLoss * own) {
      choice.losses.push_back({sizes[i].lengths, fastest, speeds[fastest][i] / own});
    }
  }
  return choice;
}

Result<OverChoice> race_over(const std::vector<SearchedTask>& kernels, const judge::Case& rules, const Task& task,
                             const std::vector<OverSize>& sizes) {
  Judges judges(rules.device);
  std::vector<OverSize> seen;
  for (const OverSize& size : sizes) {
    if (size.seen) seen.push_back(size);
  }
  std::vector<std::vector<double>> speeds(kernels.size());
  for (const OverSize& size : seen) {
    const Task there = task_at(task, size);
    KW_TRY(const judge::QuickCheck check, judge::make_quick_check(there));
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      judge::Case one = rules;
      one.task = &there;
      one.source = {kernels[k].file, kernels[k].source};
      one.settings = kernels[k].settings;
      one.quick_check = &check;
      one.budget_s = kQuickTiming_s;
      KW_TRY(const Verdict verdict, judge_until_sure(judges, [&](judge::Judge& judge) { return judge.judge(one); }));
      const bool timed = verdict.accepted() && !verdict.speedups.empty();
      speeds[k].push_back(timed ? verdict.speedups[0].median : 0);
    }
  }
  return choose_over(speeds, seen);
}

Result<Order> searches_over(Order order, const std::vector<OverRange>& over) {
  const Task task = order.tasks[0];
  order.out.clear();
  order.tasks.clear();
  for (const OverSize& size : sizes_over(over)) {
    if (size.seen) order.tasks.push_back(task_at(task, size));
  }
  KW_TRY(const search::Budget budget, search::parse_budget(order.search.budget));
  order.search.within_s = budget.seconds;
  return order;
}

Result<OverSearch> finish_over(const std::vector<SearchedTask>& found, const Order& order,
                               const std::vector<OverRange>& over, const Rivals& rivals, store::Store& store,
                               const std::string& command) {
  OverSearch done;
  for (const SearchedTask& one : found) {
    const auto is_same = [&](const SearchedTask& other) {
      return one.source == other.source && one.settings == other.settings;
    };
    if (one.verdict.accepted() && std::ranges::none_of(done.kernels, is_same)) done.kernels.push_back(one);
  }
  if (done.kernels.empty())
    return fail("the search ended without a kernel that is right; `kw runs` has what was tried");
  const Task& task = order.tasks[0];
  const std::vector<OverSize> sizes = sizes_over(over), own = {{}};
  KW_TRY(done.choice, race_over(done.kernels, order.rules, task, sizes));
  judge::Case kernel = order.rules;
  kernel.source = {done.best().file, done.best().source};
  kernel.settings = done.best().settings;
  KW_TRY(done.sizes, judge_over(kernel, task, sizes, rivals, &store, command));
  KW_TRY(const std::vector<TimedSize> whole, judge_over(kernel, task, own, rivals, &store, command));
  done.verdict = whole[0].verdict;
  if (done.verdict.accepted()) {
    KW_TRY(done.files, take_away(order.out, task, kernel.source, kernel.settings, done.verdict, order.rules.device,
                                 targets::facts_of(order.rules.device).name));
  }
  return done;
}

std::string answer_over(const OverSearch& done, const std::vector<OverRange>& over, std::int64_t run, bool as_json) {
  if (as_json) {
    Json json = Json::parse(judge::verdict_as_json(done.verdict));
    json["run"] = fmt::format("r{}", run);
    json["technique"] = done.best().technique;
    json["settings"] = done.best().settings;
    json["range"] = over_as_json(over, done.sizes);
    json["losses"] = Json::array();
    for (const OverChoice::Loss& loss : done.choice.losses) {
      json["losses"].push_back(
          {{"lengths", loss.lengths}, {"technique", done.kernels[loss.faster].technique}, {"times", loss.times}});
    }
    json["files"] = Json::array();
    for (const auto& file : done.files) json["files"].push_back(file.string());
    return json.dump() + "\n";
  }
  std::ostringstream text;
  report::print_verdict(done.verdict, text);
  text << fmt::format("\n  technique      {}", done.best().technique);
  for (const auto& [name, value] : done.best().settings) text << fmt::format("  {}={}", name, value);
  text << "\n\n" << over_as_text(done.sizes);
  for (const OverChoice::Loss& loss : done.choice.losses) {
    text << fmt::format("at {} another kernel is {:.2f} times as fast: {}\n", text_of_lengths(loss.lengths), loss.times,
                        done.kernels[loss.faster].technique);
  }
  for (const auto& file : done.files) text << fmt::format("  wrote          {}\n", file.string());
  return text.str();
}

}  // namespace kw::runs
