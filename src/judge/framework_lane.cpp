#include "judge/framework_lane.h"

#include <algorithm>
#include <cstring>

#include "ops/compare.h"
#include "ops/graph.h"

namespace kw::judge {
namespace {

using namespace std::chrono_literals;

// A worker that takes longer than this for an answer is given up.
constexpr auto kMostTime = 20s;
// Where less of a call's time is the operator's own, the measured overhead is too rough to be taken off.
constexpr double kLeastOwnShare = 0.05;

}  // namespace

Result<std::vector<Tensor>> outputs_of(const FrameworkRival& framework, const targets::Outputs& outputs,
                                       const Instance& instance, std::size_t call) {
  const std::vector<Shape> found = framework.shapes(call);
  Reason problem;
  std::vector<Tensor> tensors = targets::read_outputs(
      outputs, instance, call,
      [&](std::size_t output) -> targets::FoundShape {
        const Shape& shape = output < found.size() ? found[output] : instance.outputs[output].shape;
        return {.rank = static_cast<std::int64_t>(shape.rank()), .lengths = shape.lengths()};
      },
      &problem);
  if (!problem.empty()) return fail("{}", text_of(problem));
  return tensors;
}

FrameworkLane FrameworkLane::open(FrameworkRival& framework, const Instance& instance, int threads) {
  FrameworkLane lane(framework);
  if (const FrameworkStatus outcome = framework.enter(instance, threads)) {
    lane.drop(outcome->text, outcome->kind != FrameworkFailure::Kind::refused);
  }
  return lane;
}

void FrameworkLane::drop(std::string why, bool by_accident) {
  if (!in()) return;
  dropped_ = (by_accident ? "this time " : "") + (why.empty() ? "failed" : std::move(why));
  by_accident_ = by_accident;
}

Status FrameworkLane::arrange(targets::Device& device, const targets::Calls& calls, const Instance& instance,
                              int core) {
  if (!in()) return {};
  calls_ = &calls;
  KW_TRY(outputs_, device.make_outputs(calls));
  const std::optional<targets::SharedCalls> shared = calls.shared_with(*outputs_);
  if (!shared) {
    drop("its process cannot reach the memory of " + device.name());
    return {};
  }
  if (instance.threads == 1) framework_->pin(core);
  if (const FrameworkStatus outcome = framework_->arrange(*shared, instance, Clock::now() + kMostTime))
    drop(outcome->text, true);
  return {};
}

void FrameworkLane::poison(int calls, std::uint8_t value) const {
  for (int call = 0; call < calls; ++call) outputs_->poison(static_cast<std::size_t>(call), value, false);
}

void FrameworkLane::lap(int calls) {
  double time_ns = 0;
  const auto count = static_cast<std::uint32_t>(calls);
  if (const auto shared = calls_ != nullptr ? calls_->shared_with(*outputs_) : std::nullopt) {
    framework_->refresh(*shared);
  }
  const FrameworkStatus outcome = framework_->run(0, count, count, &time_ns, Clock::now() + kMostTime);
  if (outcome) return drop(outcome->text, true);
  laps_ns_.push_back(std::max(time_ns, 1.0) / calls);
  overheads_ns_.push_back(framework_->overhead_ns());
  if (const auto own_ns = framework_->own_ns()) own_ns_.push_back(std::max(*own_ns, 1.0));
  if (const auto warm_ns = framework_->own_warm_ns()) warm_ns_.push_back(std::max(*warm_ns, 1.0));
}

double FrameworkLane::overhead_ns() const { return median_of(overheads_ns_); }

Status FrameworkLane::check(const Instance& instance, std::size_t call, std::vector<Tensor> inputs) {
  const std::vector<Tensor>& weights = framework_->weights();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (instance.constant[i]) inputs[i] = weights[i];
  }
  const auto expected = ops::evaluate(instance.graph, inputs);
  if (!expected.ok()) return {};
  ++checked_;
  if (const FrameworkStatus outcome = framework_->fetch(call)) {
    drop(outcome->text, outcome->kind != FrameworkFailure::Kind::refused);
    return {};
  }
  const auto got = outputs_of(*framework_, *outputs_, instance, call);
  if (!got.ok()) return drop("wrong: " + got.error().message), Status();
  for (std::size_t i = 0; i < got->size(); ++i) {
    const ops::Comparison comparison = ops::compare((*expected)[i], (*got)[i]);
    if (comparison.right()) continue;
    drop(fmt::format("wrong: output {}: {}", i, comparison.text((*expected)[i])));
    break;
  }
  return {};
}

Status FrameworkLane::check_by(std::size_t call,
                               const std::function<Result<std::string>(const targets::Outputs& theirs)>& why) {
  ++checked_;
  if (const FrameworkStatus outcome = framework_->fetch(call)) {
    drop(outcome->text, outcome->kind != FrameworkFailure::Kind::refused);
    return {};
  }
  KW_TRY(const std::string wrong, why(*outputs_));
  if (!wrong.empty()) drop("wrong: " + wrong);
  return {};
}

std::optional<Ratio> FrameworkLane::ratio(const std::vector<Pair>& pairs, bool as_called, std::uint64_t seed) const {
  if (!in() || pairs.size() < kFewestPairs) return std::nullopt;
  std::vector<Pair> counted = pairs;
  const double overhead_ns = as_called || is_apart() ? 0 : this->overhead_ns();
  for (Pair& pair : counted) pair.b_ns = std::max(pair.b_ns - overhead_ns, 1.0);
  return ratio_of_pairs(counted, seed);
}

bool FrameworkLane::set_cold(bool cold) {
  if (!framework_->set_cold(cold)) drop("its caches cannot be emptied: it is not compared with --cold");
  return in();
}

FrameworkResult FrameworkLane::result(Pairs laps, std::uint64_t seed) const {
  std::vector<Pair>& pairs = laps.headline;
  const std::vector<Pair>& called = laps.called;
  FrameworkResult result{
      .name = framework_->name(), .version = framework_->version(), .dropped = dropped_, .by_accident = by_accident_};
  const auto leave_out = [&](std::string why, bool by_accident) {
    if (!result.dropped.empty()) return result;
    result.dropped = std::move(why);
    result.by_accident = by_accident;
    return result;
  };
  const auto ratio = this->ratio(pairs, false, seed), as_called = this->ratio(called, true, seed);
  if (!ratio) return leave_out("this time there was no time for enough pairs", true);
  std::vector<double> times_ns;
  for (const Pair& pair : called) times_ns.push_back(pair.b_ns);
  result.time_ns = median_of(times_ns);
  result.overhead_ns = overhead_ns();
  result.apart = is_apart();
  if (laps.warm.size() >= kFewestPairs) result.warm = ratio_of_pairs(laps.warm, seed);
  if (result.apart) {
    times_ns.clear();
    for (const Pair& pair : pairs) times_ns.push_back(pair.b_ns);
    result.overhead_ns = std::max(result.time_ns - median_of(times_ns), 0.0);
  } else if (result.time_ns - result.overhead_ns < kLeastOwnShare * result.time_ns) {
    return leave_out(
        fmt::format("dominated by call overhead: a call takes {:.0f} ns, and one of a one-element model {:.0f} ns",
                    result.time_ns, result.overhead_ns),
        false);
  }
  result.ratio = *ratio;
  result.as_called = *as_called;
  result.pairs = std::move(pairs);
  return result;
}

}  // namespace kw::judge
