#include "judge/race.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <thread>

#include "judge/hidden_work.h"
#include "judge/lap_book.h"
#include "judge/large.h"
#include "judge/secret.h"
#include "judge/stopping_rule.h"
#include "judge/timed_answers.h"
#include "ops/draw.h"

namespace kw::judge {
namespace {

using namespace std::chrono_literals;
using targets::Warmth;

constexpr auto kMostLoadTime = 10s;
// The examination has already seen the kernel end within its own limit.
constexpr auto kMostCallTime = 10s;
// A group of calls should take this long at least: then what the start and the end cost is below a percent.
constexpr double kGroupNs = 150'000;
// Calls shorter than this are preceded by one on old inputs, so that code and tables are warm.
constexpr double kWarmUpBelowNs = 300'000;
// A turn without calls is the host's own work. A candidate whose empty turn takes this many times as long as a rival's,
// and this much longer, did something else in it.
constexpr double kSlowEmpty = 3;
constexpr double kSlowEmptyNs = 20'000;
// An undisturbed empty turn, with a thread that watches the clock, takes far less than this.
constexpr double kMostEmptyNs = 5'000;
// How much longer than a timed call the warm-up call may take: a factor, and a time on top.
constexpr double kSlowWarmUp = 20;
constexpr double kSlowWarmUpNs = 5'000'000;
// Two copies of one kernel that differ by more show that other programs used the cores.
constexpr double kMostNoise = 0.5;
// A disturbed race is repeated up to this many times, after a pause.
constexpr int kMoreRaces = 2;
constexpr auto kBetweenRaces = 200ms;
// Races with a smaller budget, as in a batch, are not repeated: the pauses would take longer than the race.
constexpr double kWorthRepeatingS = 0.2;
// A quick check ends early for a candidate that is this many times slower than its rival.
constexpr double kFarBehind = 3;
// Comparing randomly chosen calls with the reference may take this share of the budget on top of it, or this time,
// whichever is longer.
constexpr double kVerifyShare = 0.25;
constexpr double kLeastVerify_s = 0.02;
// A kernel leaks when the memory that it holds grows by more than this in all, and by more than this for each call.
constexpr std::uint64_t kMostGrowth = 128 * 1024;
constexpr double kMostGrowthOfACall = 16;
// Of the rounds after the first ones, the share in which a framework's answer is held against the reference.
constexpr double kFrameworkChecks = 0.02;
// For shapes that only the device can hold: the share of rounds that is verified, the least time allowed for that in
// all, and the most for one comparison.
constexpr double kChecksThere = 0.1;
constexpr double kLeastVerifyThere_s = 1;
constexpr auto kMostCheckThereTime = 120s;

// A kernel that takes part.
struct KernelLane {
  std::unique_ptr<targets::LoadedKernel> kernel;
  Turns turns;                  // what it did outside of its laps
  double empty_ns = 0;          // what a lap of no calls takes
  std::vector<double> warm_ns;  // one a round: the call that warms up
  std::string failed;
};

std::vector<std::size_t> turn_order(std::size_t count, Random& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(std::span(order));
  return order;
}

class Race {
 public:
  Race(const Task& task, targets::Device& device, const std::vector<ElementBound>& allowed, const RaceRules& rules)
      : task_(task),
        device_(device),
        rules_(rules),
        random_(rules.seed),
        answers_(allowed, std::max(kVerifyShare * rules.budget_s, kLeastVerify_s)),
        warmth_(rules.cold ? Warmth::cold : Warmth::warm) {}

  Result<RaceResult> run(const NamedBuild& candidate, const std::vector<NamedBuild>& rivals,
                         const std::vector<FrameworkRival*>& frameworks) {
    KW_TRY(instance_, instance_for(device_, task_, task_.lengths, rules_.threads));
    KW_TRY(calls_, device_.make_calls());
    KW_CHECK(add(candidate));
    for (const NamedBuild& rival : rivals) KW_CHECK(add(rival));
    KW_CHECK(add(rivals.empty() ? candidate : rivals[0]));
    twin_ = lanes_.size() - 1;
    laps_.emplace(lanes_.size(), rules_.seed);
    result_.dropped.resize(rivals.size());
    result_.ratios.resize(rivals.size());
    result_.warm.resize(rivals.size());
    warm_laps_.emplace(lanes_.size(), rules_.seed);
    result_.pairs.resize(rivals.size());
    result_.rival_time_ns.resize(rivals.size());

    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      failed(i, lanes_[i].kernel->finish_loading(Clock::now() + kMostLoadTime));
    }
    if (stopped()) return result_;
    for (FrameworkRival* framework : frameworks) {
      framework->runs_beside(device_);
      FrameworkLane lane = FrameworkLane::open(*framework, instance_, rules_.threads);
      if (lane.in()) lane.set_cold(rules_.cold);
      frameworks_.push_back(std::move(lane));
    }
    if (rules_.large != nullptr) {
      parts_ = ops::draw_parts(instance_.graph, secret(), kLeastDrawnThere);
    } else {
      weights_ = rules_.quick_check != nullptr ? rules_.quick_check->inputs
                                               : ops::draw_inputs(instance_.graph, ops::InputClass::typical, secret());
    }
    turn_ = device_.take_turn(rules_.threads);
    for (const KernelLane& lane : lanes_) turn_->admit(*lane.kernel);
    KW_CHECK(choose_group());
    if (stopped() || far_behind()) return result_;
    KW_CHECK(measure_empty_turns(candidate));
    const StoppingRule rule{.budget_s = rules_.budget_s,
                            .fewest_rounds = rules_.fewest_rounds,
                            .most_rounds = rules_.most_rounds,
                            .early = rules_.stops_early};
    const auto begin = Clock::now();
    // Pauses in which a device cools down do not count towards the candidate's time.
    const auto spent_s = [&] {
      const std::optional<Conditions> conditions = turn_->conditions();
      return std::chrono::duration<double>(Clock::now() - begin).count() - (conditions ? conditions->paused_s : 0);
    };
    while (!stopped()) {
      KW_CHECK(run_round());
      if (result_.rounds == 0 && !stopped()) held_ = lanes_[0].kernel->memory_held();
      if (rule.ends(++result_.rounds, spent_s(), [&] { return clear(); })) break;
    }
    if (!stopped()) KW_CHECK(conclude());
    return result_;
  }

 private:
  bool stopped() const { return result_.finding.has_value(); }

  void reject(Reason reason, VerdictStage stage = VerdictStage::time) {
    if (!stopped()) result_.finding = Finding{stage, std::move(reason)};
  }

  Result<std::unique_ptr<targets::LoadedKernel>> load(const NamedBuild& named) {
    return device_.load(*named.built, *calls_,
                        {.threads = rules_.threads,
                         .memory_bytes = instance_.all_bytes(),
                         .constant_bytes = instance_.constant_bytes()});
  }

  Status add(const NamedBuild& named) {
    KW_TRY(std::unique_ptr<targets::LoadedKernel> kernel, load(named));
    lanes_.push_back({.kernel = std::move(kernel)});
    return {};
  }

  // Another process for the candidate.
  Status restart(const NamedBuild& candidate) {
    KernelLane& lane = lanes_[0];
    KW_TRY(lane.kernel, load(candidate));
    if (failed(0, lane.kernel->finish_loading(Clock::now() + kMostLoadTime))) return {};
    turn_->admit(*lane.kernel);
    KW_TRY(Reason arranged, turn_->arrange(*lane.kernel, *calls_, instance_, Clock::now() + kMostCallTime));
    if (failed(0, std::move(arranged))) return {};
    // A timed turn first: a kernel that takes over the host does so there.
    if (timed_run(0, group_)) measure_empty(0);
    return {};
  }

  // The candidate's failure ends the race; a rival's takes it out. False: nothing failed.
  bool failed(std::size_t index, Reason reason) {
    if (reason.empty()) return false;
    if (index == 0) {
      const VerdictStage stage = stage_of(reason, VerdictStage::time);
      reason.params["timed"] = true;
      reject(std::move(reason), stage);
    } else {
      drop(index, text_of(reason));
    }
    return true;
  }

  void drop(std::size_t index, const std::string& why) {
    lanes_[index].failed = why;
    if (index - 1 < result_.dropped.size()) result_.dropped[index - 1] = why;
  }

  bool takes_part(std::size_t index) const { return lanes_[index].failed.empty(); }

  // Buffers for this many calls, and one more that warms up.
  Status arrange(std::size_t calls) {
    group_ = calls;
    if (rules_.large != nullptr) {
      constexpr targets::Placement kOne[] = {targets::Placement::aligned};
      KW_CHECK(rules_.large->device->lay_out(*calls_, instance_, kOne, parts_));
      rules_.large->device->write(*calls_, 0, parts_);
      // What the host drew stays there for all rounds.
      parts_.tensors.assign(parts_.tensors.size(), Tensor());
    } else {
      const std::vector<targets::Placement> places(calls + 1, targets::Placement::aligned);
      KW_CHECK(calls_->lay_out(instance_, places, random_));
      for (std::size_t call = 0; call < calls_->count(); ++call) {
        for (std::size_t i = 0; i < weights_.size(); ++i) calls_->write(call, i, weights_[i]);
      }
    }
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (!takes_part(i)) continue;
      KW_TRY(Reason arranged, turn_->arrange(*lanes_[i].kernel, *calls_, instance_, Clock::now() + kMostCallTime));
      failed(i, std::move(arranged));
    }
    for (FrameworkLane& framework : frameworks_)
      KW_CHECK(framework.arrange(device_, *calls_, instance_, turn_->core()));
    return {};
  }

  // Chooses how many calls a lap has, from a few single calls of every participant.
  Status choose_group() {
    KW_CHECK(arrange(1));
    double shortest = 1e18;
    first_ns_.assign(lanes_.size(), 0);
    for (std::size_t i = 0; i < lanes_.size() && !stopped(); ++i) {
      double best = 1e18;
      for (int k = 0; k < 3 && !stopped() && takes_part(i); ++k) {
        if (const auto lap = timed_run(i, group_)) best = std::min(best, lap->ns);
      }
      if (!takes_part(i)) continue;
      shortest = std::min(shortest, best);
      first_ns_[i] = best;
    }
    if (stopped()) return {};
    shortest_ns_ = shortest;
    const std::uint64_t room = std::max<std::uint64_t>(device_.group_bytes() / (instance_.call_bytes() + 1), 1);
    const double wanted = std::ceil(kGroupNs / std::max(shortest, 100.0));
    auto calls = static_cast<std::size_t>(
        std::min({wanted, static_cast<double>(room), static_cast<double>(device_.most_calls() - 1)}));
    if ((rules_.cold && !device_.times_cold_and_warm()) || rules_.large != nullptr) calls = 1;
    if (calls > 1) KW_CHECK(arrange(calls));
    result_.calls_in_group = static_cast<int>(calls);
    return {};
  }

  // A quick check of a candidate that is many times slower than its rival ends here.
  bool far_behind() {
    if (rules_.quick_check == nullptr || twin_ < 2 || !takes_part(1)) return false;
    const double ratio = first_ns_[1] / first_ns_[0];
    if (ratio * kFarBehind > 1) return false;
    result_.time_ns = first_ns_[0];
    result_.ratios[0] = {.median = ratio, .low = ratio, .high = ratio};
    result_.pairs[0] = {{first_ns_[0], first_ns_[1]}};
    result_.rival_time_ns[0] = first_ns_[1];
    result_.noise = 1;
    return true;
  }

  // Starting and stopping a lap costs every participant the same; it is measured here, so that a candidate cannot
  // inflate what is subtracted from its time.
  Status measure_empty_turns(const NamedBuild& candidate) {
    double empty_ns = 0;
    for (int attempt = 0; attempt < 5 && !stopped(); ++attempt) {
      for (std::size_t i = 0; i < lanes_.size(); ++i) measure_empty(i);
      empty_ns = lanes_[twin_].empty_ns;
      for (std::size_t i = 1; i < lanes_.size(); ++i) {
        if (takes_part(i)) empty_ns = std::min(empty_ns, lanes_[i].empty_ns);
      }
      if (empty_ns <= kMostEmptyNs || !turn_->watches_clock()) break;
      std::this_thread::sleep_for(20ms);
    }
    const auto slow_when_empty = [&] { return lanes_[0].empty_ns > kSlowEmpty * empty_ns + kSlowEmptyNs; };
    // Another program may have used the core, and now and then a process is slow for reasons of the system.
    for (int i = 0; i < 3 && slow_when_empty() && !stopped(); ++i) KW_CHECK(restart(candidate));
    if (slow_when_empty() && rules_.threads == 1 && !stopped()) {
      reject({ReasonCode::slow_empty_turn, {{"us", lanes_[0].empty_ns / 1000}, {"rival_us", empty_ns / 1000}}});
    }
    // On a machine that is too busy the cost of an empty turn is not known, and nothing is subtracted.
    result_.disturbed = empty_ns > kMostEmptyNs && turn_->watches_clock();
    for (KernelLane& lane : lanes_) lane.empty_ns = result_.disturbed ? 0 : empty_ns;
    return {};
  }

  void measure_empty(std::size_t index) {
    if (!takes_part(index)) return;
    std::vector<double> laps;
    for (int k = 0; k < 7 && !stopped(); ++k) {
      if (const auto lap = timed_run(index, 0)) laps.push_back(lap->ns);
    }
    // Whatever disturbs it makes it longer.
    lanes_[index].empty_ns = laps.empty() ? 0 : *std::ranges::min_element(laps);
  }

  // None: it failed. It is at rest before and after.
  std::optional<targets::Lap> timed_run(std::size_t index, std::size_t calls) {
    targets::Lap lap = turn_->time(*lanes_[index].kernel, calls, Clock::now() + kMostCallTime);
    if (failed(index, lap.reason)) return std::nullopt;
    return lap;
  }

  void feed(const std::vector<std::vector<Tensor>>& fresh) {
    if (rules_.large != nullptr) return rules_.large->device->write(*calls_, 0, parts_);
    for (std::size_t call = 0; call < fresh.size(); ++call) {
      for (std::size_t i = 0; i < fresh[call].size(); ++i) {
        if (!instance_.constant[i]) calls_->write(call, i, fresh[call][i]);
      }
    }
  }

  void scrub_inputs() {
    if (rules_.large != nullptr) return;  // no call warms up on them
    for (std::size_t call = 0; call < group_; ++call) {
      for (std::size_t i = 0; i < instance_.inputs.size(); ++i) {
        if (!instance_.constant[i]) calls_->erase(call, i);
      }
    }
  }

  Status run_round() {
    if (rules_.large != nullptr) {
      draw_there();
    } else if (rules_.quick_check == nullptr || drawn_.empty()) {
      drawn_ = draw_group();
    }
    const auto poison_value = static_cast<std::uint8_t>(0x81 + random_.bits() % 0x7d);
    bool clean = true;
    for (std::size_t index : turn_order(lanes_.size() + frameworks_.size(), random_)) {
      if (index >= lanes_.size()) {
        run_framework(frameworks_[index - lanes_.size()], poison_value);
      } else if (takes_part(index)) {
        clean = run_kernel(index, poison_value) && clean;
      }
      if (stopped()) return {};
    }
    laps_->end_round(clean);
    warm_laps_->end_round(clean);
    if (rules_.quick_check != nullptr) return {};
    if (rules_.large != nullptr) return verify_there();
    KW_CHECK(verify());
    return check_frameworks();
  }

  Status check_there(FrameworkLane& framework) {
    return framework.check_by(0, [&](const targets::Outputs& theirs) -> Result<std::string> {
      KW_TRY(const targets::Checked checked,
             rules_.large->device->check_framework(theirs, *lanes_[twin_].kernel, *rules_.large->reference, 0,
                                                   rules_.large->bounds, Clock::now() + kMostCheckThereTime));
      if (!checked.reason.empty()) return fail("a framework's answer cannot be checked: {}", text_of(checked.reason));
      double worst = 0;
      const auto wrong = wrong_answer(instance_, checked.calls.at(0), &worst);
      return wrong ? text_of(*wrong) : std::string();
    });
  }

  // False: something disturbed its lap.
  bool run_kernel(std::size_t index, std::uint8_t poison_value) {
    KernelLane& lane = lanes_[index];
    const bool warms = !rules_.cold && rules_.large == nullptr && shortest_ns_ < kWarmUpBelowNs;
    double warm_ns = 0;
    if (failed(index, turn_->make_ready(*lane.kernel, group_, warms ? std::optional(group_) : std::nullopt, warmth_,
                                        &warm_ns, Clock::now() + kMostCallTime))) {
      return true;
    }
    lane.warm_ns.push_back(warm_ns);
    // Written where they will be read: they come as from the operator before.
    turn_->before_writing();
    feed(drawn_);
    for (std::size_t call = 0; call < group_; ++call) lane.kernel->outputs().poison(call, poison_value, false);
    turn_->settle(*calls_, *lane.kernel, group_, warmth_);
    const auto lap = timed_run(index, group_);
    if (stopped()) return true;
    // The next one's warm-up must not find what it will be timed on.
    scrub_inputs();
    if (!lap) return true;
    laps_->add(index, std::max(lap->ns - lane.empty_ns, 1.0) / static_cast<double>(group_));
    if (lap->warm_ns)
      warm_laps_->add(index, std::max(*lap->warm_ns - lane.empty_ns, 1.0) / static_cast<double>(group_));
    lane.turns.add(lap->outside_ns, lap->clean);
    return lap->clean;
  }

  void run_framework(FrameworkLane& framework, std::uint8_t poison_value) {
    if (!framework.in()) return;
    turn_->before_writing();
    feed(drawn_);
    framework.poison(static_cast<int>(group_), poison_value);
    framework.lap(static_cast<int>(group_));
    scrub_inputs();
  }

  // Compares the frameworks' first answers, some in between and the last with the reference.
  Status check_frameworks() {
    for (FrameworkLane& framework : frameworks_) {
      if (!framework.in() || !(framework.needs_check() || random_.chance(kFrameworkChecks))) continue;
      KW_CHECK(framework.check(instance_, drawn_.size() - 1, drawn_.back()));
    }
    last_ = drawn_.back();
    return {};
  }

  std::vector<std::vector<Tensor>> draw_group() {
    std::vector<std::vector<Tensor>> fresh;
    for (std::size_t call = 0; call < group_; ++call) {
      if (rules_.quick_check != nullptr) {
        fresh.push_back(rules_.quick_check->inputs);
        continue;
      }
      fresh.push_back(ops::draw_inputs(instance_.graph, ops::InputClass::typical, secret()));
      for (std::size_t i = 0; i < weights_.size(); ++i) {
        if (instance_.constant[i]) fresh.back()[i] = weights_[i];
      }
    }
    return fresh;
  }

  // New inputs, but for the constants and for what takes the host long to draw.
  void draw_there() {
    for (std::size_t i = 0; i < parts_.recipes.size(); ++i) {
      if (parts_.recipes[i] && !instance_.constant[i]) parts_.recipes[i]->key = secret();
    }
  }

  // Of a shape that is the device's alone: the first timed call and some others, by chance and while there is time. All
  // elements, by the device. A kernel cannot tell which they are.
  Status verify_there() {
    // Frameworks in the first round, as their answers take a way over the host; the twin's outputs are lent for it.
    for (FrameworkLane& framework : frameworks_) {
      if (result_.rounds == 0 && framework.in()) KW_CHECK(check_there(framework));
    }
    const double most_s = std::max(kVerifyShare * rules_.budget_s, kLeastVerifyThere_s);
    if (result_.verified > 0 && (checked_s_ > most_s || !random_.chance(kChecksThere))) return {};
    const auto begin = Clock::now();
    for (std::size_t index = 0; index < twin_ && !stopped(); ++index) {
      // A rival is verified in one round only.
      if (!takes_part(index) || (index > 0 && result_.verified > 1)) continue;
      KW_TRY(targets::Checked checked,
             rules_.large->device->check(*lanes_[index].kernel, *rules_.large->reference, 0, 1, rules_.large->bounds,
                                         Clock::now() + kMostCheckThereTime));
      if (failed(index, std::move(checked.reason))) continue;
      double worst = 0;
      if (auto wrong = wrong_answer(instance_, checked.calls.at(0), &worst)) failed(index, std::move(*wrong));
      if (index == 0 && !stopped()) ++result_.verified;
    }
    checked_s_ += std::chrono::duration<double>(Clock::now() - begin).count();
    return {};
  }

  // All timed outputs: each against the first rival's, and some, or all that look odd, against the reference.
  Status verify() {
    const bool has_rival = lanes_.size() > 2 && takes_part(1);
    for (std::size_t call = 0; call < drawn_.size() && !stopped(); ++call) {
      Reason problem;
      const std::vector<Tensor> got = outputs_of(*lanes_[0].kernel, instance_, call, &problem);
      if (failed(0, std::move(problem))) return {};
      std::vector<Tensor> other;
      if (has_rival) {
        Reason ignored;
        other = outputs_of(*lanes_[1].kernel, instance_, call, &ignored);
      }
      // The first call of all, and whatever looks odd, at once; some others later.
      const bool odd = answers_.is_odd(got, has_rival ? &other : nullptr);
      if (odd || answers_.count() == 0) {
        KW_CHECK(hold_against_reference(drawn_[call], got, [&](const std::vector<ops::WideTensor>& expected) {
          for (std::size_t rival = 1; rival < twin_; ++rival) {
            if (takes_part(rival)) check_rival(rival, call, expected);
          }
        }));
        if (odd && !stopped()) answers_.was_right_though_odd();
      } else if (TimedAnswers::Kept* kept = answers_.choose(random_); kept != nullptr) {
        *kept = {drawn_[call], got};
      }
    }
    return {};
  }

  // Of the candidate.
  Status hold_against_reference(
      const std::vector<Tensor>& inputs, const std::vector<Tensor>& got,
      const std::function<void(const std::vector<ops::WideTensor>&)>& then = [](const auto&) {}) {
    const auto begin = Clock::now();
    const auto expected = ops::evaluate(instance_.graph, inputs);
    if (!expected.ok()) return {};
    for (std::size_t i = 0; i < got.size(); ++i) {
      const ops::Comparison comparison = ops::compare((*expected)[i], got[i]);
      if (comparison.right()) continue;
      Reason wrong{ReasonCode::wrong_output, comparison.data((*expected)[i])};
      wrong.params["output"] = i;
      failed(0, std::move(wrong));
      return {};
    }
    then(*expected);
    answers_.verified(std::chrono::duration<double>(Clock::now() - begin).count());
    result_.verified = answers_.count();
    return {};
  }

  void check_rival(std::size_t rival, std::size_t call, const std::vector<ops::WideTensor>& expected) {
    Reason problem;
    const std::vector<Tensor> theirs = outputs_of(*lanes_[rival].kernel, instance_, call, &problem);
    if (!problem.empty()) return drop(rival, text_of(problem));
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      const ops::Comparison comparison = ops::compare(expected[i], theirs[i]);
      if (!comparison.right()) {
        return drop(rival, fmt::format("its output {} is wrong: {}", i, comparison.text(expected[i])));
      }
    }
  }

  double lap_ns() const { return static_cast<double>(group_) * median_of(laps_->times_of(0)); }

  Excess excess() const {
    std::vector<const Turns*> others = {&lanes_[twin_].turns};
    if (twin_ > 1 && takes_part(1)) others.push_back(&lanes_[1].turns);
    return excess_of(lanes_[0].turns, others, lap_ns());
  }

  // Of one call: work that was done outside of the laps is charged to them.
  Charges charge_ns() const {
    Charges charges = excess().ns;
    for (double& ns : charges) ns /= static_cast<double>(group_);
    return charges;
  }

  // Every rival's answer is known, and with it how sure it is.
  bool clear() const {
    const double least = laps_->noise();
    const Charges charged_ns = charge_ns();
    for (std::size_t i = 1; i < twin_; ++i) {
      if (!takes_part(i)) continue;
      const std::optional<Ratio> one = laps_->ratio(0, i, charged_ns);
      if (!one || !is_clear_or_equal(*one, least)) return false;
    }
    return std::ranges::all_of(frameworks_, [&](const FrameworkLane& framework) {
      const std::optional<Ratio> one =
          framework.ratio(laps_->pairs_with(framework.laps_ns(), charged_ns), false, rules_.seed);
      return !one || is_clear(*one, least);
    });
  }

  Status conclude() {
    for (const TimedAnswers::Kept& kept : answers_.kept()) {
      KW_CHECK(hold_against_reference(kept.inputs, kept.outputs));
      if (stopped()) return {};
    }
    const Charges charged_ns = charge_ns();
    for (FrameworkLane& framework : frameworks_) {
      if (framework.in() && rules_.large == nullptr) KW_CHECK(framework.check(instance_, group_ - 1, last_));
      result_.frameworks.push_back(framework.result({.headline = laps_->pairs_with(framework.laps_ns(), charged_ns),
                                                     .called = laps_->pairs_with(framework.called_ns(), charged_ns),
                                                     .warm = warm_laps_->pairs_with(framework.warm_ns())},
                                                    rules_.seed));
    }
    // Nothing but the largest differences is believed where the clock's reader was interrupted all the time.
    const double seen = laps_->noise();
    result_.conditions = turn_->conditions();
    result_.noise = laps_->busy() ? std::max(seen, 1.0) : seen;
    // Long calls are interrupted in every round and average over it: that alone is no reason to run them again.
    result_.disturbed = result_.disturbed || seen > kMostNoise;
    result_.time_ns = median_of(laps_->times_of(0, charged_ns));
    if (const auto warm_ns = warm_laps_->times_of(0); !warm_ns.empty()) result_.warm_time_ns = median_of(warm_ns);
    for (std::size_t i = 1; i < twin_; ++i) {
      if (!takes_part(i)) continue;
      if (const std::optional<Ratio> one = laps_->ratio(0, i, charged_ns)) result_.ratios[i - 1] = *one;
      result_.pairs[i - 1] = laps_->pairs(0, i, charged_ns);
      result_.rival_time_ns[i - 1] = median_of(laps_->times_of(i));
      result_.warm[i - 1] = warm_laps_->ratio(0, i);
    }
    check_hidden_work();
    check_warm_up();
    check_memory();
    return {};
  }

  // A candidate whose warm-up calls are slow on purpose would leave fewer rounds to be judged by.
  void check_warm_up() {
    const double warm_ns = median_of(laps_->counted(lanes_[0].warm_ns));
    if (warm_ns <= kSlowWarmUp * result_.time_ns + kSlowWarmUpNs) return;
    reject({ReasonCode::slow_warm_up, {{"ms", warm_ns / 1e6}, {"timed_ms", result_.time_ns / 1e6}}});
  }

  // Work that was done outside of the laps shows: more of it than a rival needs to be called.
  void check_hidden_work() {
    const Excess seen = excess();
    if (!seen.is_no_chance()) return;
    reject({ReasonCode::hidden_work, {{"us", seen.mean_ns / 1000}, {"lap_us", lap_ns() / 1000}}});
  }

  void check_memory() {
    const std::optional<std::uint64_t> now = lanes_[0].kernel->memory_held();
    const double calls = static_cast<double>(group_) * (result_.rounds - 1);
    if (!held_ || !now || *now <= *held_ + kMostGrowth) return;
    if (static_cast<double>(*now - *held_) <= kMostGrowthOfACall * calls) return;
    reject({ReasonCode::leaks_memory, {{"bytes", *now - *held_}, {"calls", calls}}}, VerdictStage::behaviour);
  }

  const Task& task_;
  targets::Device& device_;
  const RaceRules& rules_;
  Random random_;
  TimedAnswers answers_;
  Warmth warmth_;
  targets::Instance instance_;
  std::unique_ptr<targets::Calls> calls_;
  std::vector<FrameworkLane> frameworks_;
  std::vector<Tensor> last_;       // the inputs of the last call of the last round
  std::vector<KernelLane> lanes_;  // the candidate, the rivals, and the first rival's copy
  std::size_t twin_ = 0;
  std::optional<LapBook> laps_;       // of the kernels
  std::optional<LapBook> warm_laps_;  // of those of the same rounds with warm caches; empty where laps have one figure
  std::vector<Tensor> weights_;
  ops::Parts parts_;                        // instead, where the shape is the device's alone
  double checked_s_ = 0;                    // spent on verifying there
  std::vector<std::vector<Tensor>> drawn_;  // the inputs of the round's calls
  std::vector<double> first_ns_;            // of each lane: the best of its first calls
  std::size_t group_ = 1;
  double shortest_ns_ = 0;
  std::unique_ptr<targets::Turn> turn_;
  std::optional<std::uint64_t> held_;  // by the candidate after the first round
  RaceResult result_;
};

}  // namespace

Result<RaceResult> race(const Task& task, targets::Device& device, const NamedBuild& candidate,
                        const std::vector<NamedBuild>& rivals, const std::vector<FrameworkRival*>& frameworks,
                        const std::vector<ElementBound>& allowed, const RaceRules& rules) {
  const auto run = [&] { return Race(task, device, allowed, rules).run(candidate, rivals, frameworks); };
  KW_TRY(RaceResult best, run());
  // In a quick check, in little time and with a given number of rounds, there is one.
  const bool may_repeat = rules.quick_check == nullptr && rules.stops_early && rules.budget_s >= kWorthRepeatingS;
  for (int i = 0; i < kMoreRaces && may_repeat && best.disturbed && !best.finding; ++i) {
    std::this_thread::sleep_for(kBetweenRaces);
    KW_TRY(RaceResult another, run());
    if (another.finding || !another.disturbed || another.noise < best.noise) best = std::move(another);
  }
  return best;
}

}  // namespace kw::judge
