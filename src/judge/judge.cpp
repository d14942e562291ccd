#include "judge/judge.h"

#include <algorithm>

#include "judge/affordable.h"
#include "judge/large.h"
#include "judge/plain_source.h"
#include "ops/graph.h"

namespace kw::judge {
namespace {

constexpr char kPlain[] = "plain";
constexpr char kReference[] = "reference";
constexpr std::size_t kMostKept = 64;  // built kernels
constexpr int kQuickCheckRounds = 10;
// Calls of gigabytes take long, and their times hardly differ.
constexpr int kFewestLargeRounds = 12;

void reject(Verdict& verdict, VerdictStage stage, Reason reason) {
  verdict.stage = stage;
  verdict.reason = std::move(reason);
}

// When a device goes away in the middle of a judgement, missing answers look like a fault of the candidate: nothing
// that was found then counts.
Status still_there(targets::Device& device) {
  return device.alive() ? Status() : fail("{} went away while a kernel was judged on it", device.name());
}

Reason bad_source(const Source& source, const Error& error) {
  return {ReasonCode::bad_source, {{"text", fmt::format("{}: {}", source.name, error.message)}}};
}

}  // namespace

Result<Judge> Judge::open(const std::string& device) {
  Judge judge;
  KW_TRY(judge.device_, targets::open_device(device));
  judge.lock_ = std::make_unique<std::mutex>();
  return judge;
}

Result<Verdict> Judge::judge(const Case& one) {
  KW_TRY(Inspected inspected, inspect(one));
  return time(one, std::move(inspected));
}

Result<Inspected> Judge::inspect(const Case& one) {
  // A quick check has computed the reference already.
  std::optional<LargeTask> large;
  if (one.quick_check == nullptr || one.quick_check->large) {
    KW_TRY(large, large_task(*one.task, *device_, means_of_this_machine()));
  }
  Inspected inspected;
  Verdict& verdict = inspected.verdict;
  verdict.task = one.task->name;
  verdict.target = device_->name();
  verdict.isolation = device_->isolation();
  verdict.caches = one.cold || device_->times_cold_and_warm() ? "cold" : "warm";
  verdict.only_quick_check = one.quick_check != nullptr;

  const auto tunables = read_tunables(one.source.text);
  if (!tunables.ok()) {
    reject(verdict, VerdictStage::build, bad_source(one.source, tunables.error()));
    return inspected;
  }
  const BuildOptions options = targets::build_options(device_->name());
  const auto choice = choose(*tunables, one.settings, options);
  if (!choice.ok()) {
    // Wrong settings that the source itself names are the candidate's fault; those given from outside are an Error.
    if (!one.settings.empty()) return choice.error();
    reject(verdict, VerdictStage::build, bad_source(one.source, choice.error()));
    return inspected;
  }
  KW_TRY(inspected.built, build(one.source, *choice));
  const Built& built = *inspected.built;
  if (!built.ok()) {
    verdict.errors = built.errors;
    const bool made = built.reason.code == ReasonCode::bad_library;
    reject(verdict, made ? VerdictStage::load : VerdictStage::build, built.reason);
    return inspected;
  }
  KW_TRY(const Examined examined, examine({.task = one.task,
                                           .device = device_.get(),
                                           .built = &built,
                                           .threads = one.threads,
                                           .seed = secret(),
                                           .quick_check = one.quick_check,
                                           .large = large ? &*large : nullptr}));
  KW_CHECK(still_there(*device_));
  verdict.max_error = examined.max_error;
  verdict.varies = examined.varies;
  verdict.coverage = examined.coverage;
  if (examined.finding) {
    reject(verdict, examined.finding->stage, examined.finding->reason);
    return inspected;
  }
  verdict.stage = VerdictStage::accepted;
  inspected.allowed = examined.allowed;
  if (!one.timed) return inspected;

  const auto add_rival = [&](std::string name, const std::shared_ptr<const Built>& theirs) {
    inspected.rival_builds.push_back(theirs);
    inspected.rivals.push_back({std::move(name), theirs.get()});
  };
  if (one.reference != nullptr) add_rival(kReference, one.reference);
  KW_TRY(const ops::Graph graph, ops::resolve(*one.task));
  if (!one.plain) {
    // The other rivals are enough for a comparison.
  } else if (const auto source = plain_source(device_->name(), graph); source.ok()) {
    // The plain kernel is built with the compiler and flags that were given from outside, not with those that the
    // candidate's source chooses for itself.
    Settings level;
    for (const char* name : {"compiler", "flags"}) {
      if (const auto set = one.settings.find(name); set != one.settings.end()) level.insert(*set);
    }
    KW_TRY(const Choice plain_choice, choose({}, level, options));
    KW_TRY(const auto theirs, build(*source, plain_choice));
    if (theirs->ok()) {
      add_rival(kPlain, theirs);
    } else {
      inspected.plain_problem = text_of(theirs->reason);
    }
  } else {
    inspected.plain_problem = source.error().message;
  }
  for (const Source& other : one.against) {
    KW_TRY(const Tunables theirs, read_tunables(other.text));
    KW_TRY(const Choice their_choice, choose(theirs, {}, options));
    KW_TRY(const auto rival, build(other, their_choice));
    if (!rival->ok()) return fail("{}: the rival {}", other.name, text_of(rival->reason));
    add_rival(other.name, rival);
  }
  return inspected;
}

Result<std::shared_ptr<const Built>> Judge::build(const Source& source, const Choice& choice) {
  std::string key = source.name + '\0' + source.text + '\0' + choice.compiler;
  for (const std::string& flag : choice.flags) key += '\0' + flag;
  for (const auto& [name, value] : choice.values) key += fmt::format("\n{}={}", name, value);
  {
    const std::lock_guard guard(*lock_);
    if (const auto found = built_.find(key); found != built_.end()) return found->second;
  }
  KW_TRY(std::unique_ptr<const Built> built, device_->build(source, choice));
  std::shared_ptr<const Built> shared = std::move(built);
  // A compiler that was killed says nothing about the source.
  if (!shared->ok() && shared->errors.empty()) return shared;
  const std::lock_guard guard(*lock_);
  if (built_.contains(key)) return built_.at(key);
  built_order_.push_back(key);
  if (built_order_.size() > kMostKept) {
    built_.erase(built_order_.front());
    built_order_.pop_front();
  }
  return built_.emplace(std::move(key), std::move(shared)).first->second;
}

void Judge::keep_builds_of(const Judge& before) {
  const std::lock_guard guard(*before.lock_);
  built_ = before.built_;
  built_order_ = before.built_order_;
}

Timings Judge::timings() const {
  const std::lock_guard guard(*lock_);
  return timings_;
}

Judge* Judge::count_timing() {
  const std::lock_guard guard(*lock_);
  ++timings_.count;
  timings_.most_at_once = std::max(timings_.most_at_once, ++timing_now_);
  return this;
}

Result<Verdict> Judge::time(const Case& one, Inspected inspected) {
  Verdict verdict = std::move(inspected.verdict);
  if (!verdict.accepted() || !one.timed) return verdict;
  const std::shared_ptr<Judge> counted(count_timing(), [](Judge* judge) {
    const std::lock_guard guard(*judge->lock_);
    --judge->timing_now_;
  });
  RaceRules rules{.threads = one.threads,
                  .cold = one.cold || device_->times_cold_and_warm(),
                  .budget_s = one.budget_s,
                  .seed = secret(),
                  .quick_check = one.quick_check};
  if (one.quick_check != nullptr) rules.fewest_rounds = kQuickCheckRounds;
  std::optional<LargeTask> large;
  if (one.quick_check == nullptr || one.quick_check->large) {
    KW_TRY(large, large_task(*one.task, *device_, means_of_this_machine()));
  }
  if (large) {
    rules.large = &*large;
    rules.fewest_rounds = std::min(rules.fewest_rounds, kFewestLargeRounds);
  }
  if (one.pairs) {
    rules.most_rounds = *one.pairs;
    rules.stops_early = false;
    rules.budget_s = 600;
  }
  KW_TRY(const RaceResult result, race(*one.task, *device_, {one.source.name, inspected.built.get()}, inspected.rivals,
                                       one.frameworks, inspected.allowed, rules));
  KW_CHECK(still_there(*device_));
  if (result.finding) {
    reject(verdict, result.finding->stage, result.finding->reason);
    return verdict;
  }
  verdict.coverage.timed_calls_verified = result.verified;
  verdict.time_ns = result.time_ns;
  verdict.warm_time_ns = result.warm_time_ns;
  verdict.noise = result.noise;
  verdict.conditions = result.conditions;
  const auto claimed = [&](const Ratio& ratio) {
    return device_->claims_speed() && ratio.differs_by_more_than(result.noise);
  };
  for (std::size_t i = 0; i < inspected.rivals.size(); ++i) {
    const std::string& name = inspected.rivals[i].name;
    if (!result.dropped[i].empty()) {
      // The plain kernel is wrong under flags that break its arithmetic; a file that is wrong is no rival at all.
      if (name == kPlain) continue;
      return fail("{}: the rival {}", name, result.dropped[i]);
    }
    const Ratio& ratio = result.ratios[i];
    verdict.speedups.push_back({.rival = name,
                                .median = ratio.median,
                                .low = ratio.low,
                                .high = ratio.high,
                                .pairs = static_cast<int>(result.pairs[i].size()),
                                .claimed = claimed(ratio),
                                .times = result.pairs[i],
                                .called = {},
                                .warm = result.warm[i]});
  }
  for (const FrameworkResult& framework : result.frameworks) {
    if (!framework.dropped.empty()) {
      verdict.left_out.push_back({framework.name, framework.version, framework.dropped, framework.by_accident});
      continue;
    }
    const Ratio& ratio = framework.ratio;
    verdict.speedups.push_back(
        {.rival = framework.name,
         .median = ratio.median,
         .low = ratio.low,
         .high = ratio.high,
         .pairs = static_cast<int>(framework.pairs.size()),
         .claimed = claimed(ratio),
         .times = framework.pairs,
         .called = Called{framework.version, framework.as_called.median, framework.as_called.low,
                          framework.as_called.high, framework.time_ns, framework.overhead_ns, framework.apart},
         .warm = framework.warm});
  }
  KW_TRY(const ops::Graph graph, ops::resolve(*one.task));
  if (const auto least_ns = device_->least_time_ns(ops::cost_of(graph), one.threads)) {
    verdict.roof_fraction = *least_ns / result.time_ns;
  }
  return verdict;
}

}  // namespace kw::judge
