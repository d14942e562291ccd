#include "judge/long_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "judge/examine.h"
#include "ops/compare.h"

namespace kw::judge {
namespace {

using namespace std::chrono_literals;
using targets::Clock;
using targets::Placement;

constexpr std::size_t kCallsAtOnce = 64;
constexpr int kTurns = 100;
// Calls before memory is first measured: libraries allocate things of their own in the first ones.
constexpr int kTurnsBefore = 5;
// It ends after this time, but not before this number of turns.
constexpr auto kMostTime = 60ms;
constexpr int kFewestTurns = 45;
// A shape that is not small has fewer calls side by side, and may have fewer turns.
constexpr std::uint64_t kMostBytesAtOnce = 8 << 20;
constexpr int kFewestLargeTurns = kTurnsBefore + 3;
// After these, calls lie as timed ones do, one after the other: more than a thousand in a row at least.
constexpr int kMixedTurns = 10;
constexpr auto kMostCallTime = 10s;
// Freed memory is kept by the library in pieces of this size.
constexpr std::uint64_t kMostGrowth = 64 * 1024;

constexpr int kPreparations = 20;
constexpr int kPreparationsBefore = 4;

constexpr int kCallsInPlace = 16;

// Two shapes in turn; memory is looked at after some changes, and at the end.
constexpr int kChanges = 24;
constexpr int kChangesBefore = 6;

// A sequence of calls ends after this time, once it has the fewest calls.
constexpr auto kMostHistoryTime = 100ms;
constexpr std::size_t kCallsInALayout = 96;
constexpr std::size_t kTensorsInALayout = 512;
constexpr int kUsesOfALayout = 2;
constexpr int kRepeats = 3;

// Says which output is wrong, if one is.
std::optional<std::size_t> wrong_output(const LongRun& run, std::size_t call, std::size_t set) {
  const std::vector<Tensor>& answers = run.answers[set];
  std::vector<std::byte> got;
  const auto same_bytes = [&](std::size_t output) {
    const auto wanted = answers[output].bytes();
    got.resize(wanted.size());
    run.kernel->outputs().read(call, output, got);
    return std::memcmp(got.data(), wanted.data(), got.size()) == 0;
  };
  std::size_t output = 0;
  while (output < answers.size() && same_bytes(output)) ++output;
  if (output == answers.size()) return std::nullopt;
  Reason problem;
  const std::vector<Tensor> outputs = outputs_of(*run.kernel, *run.instance, call, &problem);
  if (!problem.empty()) return output;
  for (; output < answers.size(); ++output) {
    if (same_bits(answers[output], outputs[output])) continue;
    if (!run.varies || !ops::compare(run.expected[set][output], outputs[output]).right()) return output;
  }
  return std::nullopt;
}

// The inputs of set `set` into a call; constants once, with the first.
void fill(const LongRun& run, std::size_t call, std::size_t set) {
  for (std::size_t i = 0; i < run.inputs[set].size(); ++i) {
    if (call > 0 && run.instance->constant[i]) continue;
    run.calls->write(call, i, run.inputs[set][i]);
  }
}

// Calls of one shape in a row.
class Stretch {
 public:
  // `last_set`: of inputs, of the call before.
  Stretch(const LongRun& run, std::size_t last_set, Random& random)
      : run_(run), random_(random), last_set_(std::min(last_set, run.inputs.size() - 1)) {}

  std::size_t last_set() const { return last_set_; }

  // Some of the next `most` calls, at least one.
  Result<Reason> run(int most, int* made) {
    const int end = *made + most;
    if (uses_ == 0) {
      KW_TRY(Reason arranged, lay_out(static_cast<std::size_t>(most)));
      if (!arranged.empty()) return arranged;
      uses_ = kUsesOfALayout;
    }
    --uses_;
    const std::size_t count = std::min(sets_.size(), static_cast<std::size_t>(most));
    Reason found = run_calls(0, count, made);
    // The first one again, at the place where the next shape may begin: as it is, and with other inputs.
    for (int i = 0; i < kRepeats && *made < end && found.empty(); ++i) {
      if (random_.chance(0.5)) {
        sets_[0] = any_set();
        write(0);
      }
      found = run_calls(0, 1, made);
    }
    return found;
  }

 private:
  // Often the one before: the same inputs, or in another shape some that begin alike.
  std::size_t any_set() {
    if (random_.chance(0.3)) return last_set_;
    return static_cast<std::size_t>(random_.integer(0, std::ssize(run_.inputs) - 1));
  }

  void write(std::size_t call) {
    for (std::size_t i = 0; i < run_.instance->constant.size(); ++i) {
      if (!run_.instance->constant[i]) run_.calls->write(call, i, run_.inputs[sets_[call]][i]);
    }
  }

  Result<Reason> lay_out(std::size_t most) {
    const std::size_t tensors = run_.instance->inputs.size() + run_.instance->outputs.size();
    const std::size_t count = std::min({most, kCallsInALayout, run_.most_calls, kTensorsInALayout / tensors + 1});
    std::vector<Placement> places = {random_.pick({Placement::aligned, Placement::shifted})};
    for (std::size_t i = 1; i < count; ++i) {
      places.push_back(random_.pick({Placement::shifted, Placement::shifted, Placement::shifted, Placement::at_end}));
    }
    KW_CHECK(run_.calls->lay_out(*run_.instance, places, random_));
    sets_.clear();
    for (std::size_t call = 0; call < count; ++call) {
      sets_.push_back(last_set_ = any_set());
      if (call == 0) fill(run_, 0, sets_[0]);
      write(call);
    }
    return run_.kernel->arrange(*run_.calls, *run_.instance, Clock::now() + kMostCallTime);
  }

  Reason run_calls(std::size_t first, std::size_t count, int* made) {
    const auto poison = static_cast<std::uint8_t>(0x81 + random_.bits() % 0x7d);
    for (std::size_t call = first; call < first + count; ++call) run_.kernel->outputs().poison(call, poison, false);
    if (Reason reason = run_.kernel->run(first, count, Clock::now() + kMostCallTime); !reason.empty()) return reason;
    *made += static_cast<int>(count);
    last_set_ = sets_[first + count - 1];
    for (std::size_t call = first; call < first + count; ++call) {
      if (const auto wrong = wrong_output(run_, call, sets_[call])) {
        return {ReasonCode::wrong_later, {{"output", *wrong}, {"calls", *made}}};
      }
    }
    return {};
  }

  const LongRun& run_;
  Random& random_;
  std::size_t last_set_;
  std::vector<std::size_t> sets_;  // of inputs, by call
  int uses_ = 0;                   // that are left of the layout
};

}  // namespace

Result<Reason> run_long(const LongRun& run, Random& random, int* calls_made) {
  const std::size_t at_once = std::clamp<std::size_t>(kMostBytesAtOnce / (run.instance->call_bytes() + 1), 1,
                                                      std::min(kCallsAtOnce, run.most_calls));
  std::vector<Placement> places(at_once, Placement::aligned);
  for (std::size_t i = at_once / 2; i < at_once; ++i) {
    places[i] = random.pick({Placement::aligned, Placement::at_end, Placement::shifted});
  }
  KW_CHECK(run.calls->lay_out(*run.instance, places, random));
  const auto set_of = [&](std::size_t call) { return call / 2 % run.inputs.size(); };
  for (std::size_t call = 0; call < at_once; ++call) fill(run, call, set_of(call));
  KW_TRY(Reason arranged, run.kernel->arrange(*run.calls, *run.instance, Clock::now() + kMostCallTime));
  if (!arranged.empty()) return arranged;
  const auto begin = Clock::now();
  std::optional<std::uint64_t> held;
  int made_before = 0;
  int turns = 0;
  const bool is_small = at_once == kCallsAtOnce;
  const int fewest = is_small ? kFewestTurns : kFewestLargeTurns;
  const int mixed_turns = is_small ? kMixedTurns : kFewestLargeTurns / 2;
  for (; turns < kTurns && (turns < fewest || Clock::now() - begin < kMostTime); ++turns) {
    const std::size_t count = turns < mixed_turns ? at_once : std::max<std::size_t>(at_once / 2, 1);
    if (turns == kTurnsBefore) {
      held = run.kernel->memory_held();
      made_before = *calls_made;
    }
    const auto poison = static_cast<std::uint8_t>(0x81 + random.bits() % 0x7d);
    for (std::size_t call = 0; call < count; ++call) run.kernel->outputs().poison(call, poison, false);
    if (Reason reason = run.kernel->run(0, count, Clock::now() + kMostCallTime); !reason.empty()) return reason;
    *calls_made += static_cast<int>(count);
    for (std::size_t call = 0; call < count; ++call) {
      if (const auto wrong = wrong_output(run, call, set_of(call))) {
        return Reason{ReasonCode::wrong_later, {{"output", *wrong}, {"calls", *calls_made}}};
      }
    }
  }
  const std::optional<std::uint64_t> now = run.kernel->memory_held();
  if (held && now && *now > *held + kMostGrowth) {
    return Reason{ReasonCode::leaks_memory, {{"bytes", *now - *held}, {"calls", *calls_made - made_before}}};
  }
  return Reason{};
}

Result<Reason> prepare_often(const LongRun& run, Random& random) {
  const Placement place[] = {Placement::aligned};
  KW_CHECK(run.calls->lay_out(*run.instance, place, random));
  fill(run, 0, 0);
  std::optional<std::uint64_t> held;
  for (int i = 0; i < kPreparations; ++i) {
    if (i == kPreparationsBefore) held = run.kernel->memory_held();
    KW_TRY(Reason found, run.kernel->arrange(*run.calls, *run.instance, Clock::now() + kMostCallTime));
    if (!found.empty()) return found;
  }
  const std::optional<std::uint64_t> now = run.kernel->memory_held();
  if (!held || !now || *now <= *held + kMostGrowth) return Reason{};
  return Reason{ReasonCode::leaks_memory,
                {{"bytes", *now - *held}, {"calls", kPreparations - kPreparationsBefore}, {"prepared", true}}};
}

Result<Reason> run_in_turn(const LongRun& one, const LongRun& other, Random& random) {
  const Placement place[] = {Placement::aligned};
  std::optional<std::uint64_t> held, now;
  for (int i = 0; i < kChanges; ++i) {
    for (const LongRun* run : {&other, &one}) {
      KW_CHECK(run->calls->lay_out(*run->instance, place, random));
      fill(*run, 0, 0);
      KW_TRY(Reason found, run->kernel->arrange(*run->calls, *run->instance, Clock::now() + kMostCallTime));
      if (found.empty()) found = run->kernel->run(0, 1, Clock::now() + kMostCallTime);
      if (!found.empty()) return found;
    }
    now = one.kernel->memory_held();
    if (i == kChangesBefore) held = now;
  }
  if (!held || !now || *now <= *held + kMostGrowth) return Reason{};
  return Reason{ReasonCode::leaks_memory, {{"bytes", *now - *held}, {"calls", 2 * (kChanges - kChangesBefore)}}};
}

Result<Reason> run_in_place(const LongRun& run, Random& random) {
  const Placement place[] = {Placement::shifted};
  KW_CHECK(run.calls->lay_out(*run.instance, place, random));
  fill(run, 0, 0);
  KW_TRY(Reason found, run.kernel->arrange(*run.calls, *run.instance, Clock::now() + kMostCallTime));
  for (int i = 0; i < kCallsInPlace && found.empty(); ++i) {
    const std::size_t set = static_cast<std::size_t>(i) / 2 % run.inputs.size();
    for (std::size_t k = 0; k < run.instance->constant.size(); ++k) {
      if (!run.instance->constant[k]) run.calls->write(0, k, run.inputs[set][k]);
    }
    run.kernel->outputs().poison(0, static_cast<std::uint8_t>(0x81 + random.bits() % 0x7d), false);
    found = run.kernel->run(0, 1, Clock::now() + kMostCallTime);
    if (!found.empty()) return found;
    if (const auto wrong = wrong_output(run, 0, set)) {
      found = {ReasonCode::wrong_later, {{"output", *wrong}, {"calls", i + 1}}};
    }
  }
  return found;
}

Result<Reason> run_history(std::span<const LongRun> runs, const History& history, Random& random, int* calls_made,
                           std::size_t* shape) {
  const auto begin = Clock::now();
  int made = 0;
  std::size_t last = runs.size(), last_set = 0;
  const auto goes_on = [&] {
    return made < history.calls && (made < history.fewest_calls || Clock::now() - begin < kMostHistoryTime);
  };
  while (goes_on()) {
    auto next = static_cast<std::size_t>(random.integer(0, std::ssize(runs) - 1));
    if (next == last && runs.size() > 1) next = (next + 1) % runs.size();
    *shape = last = next;
    Stretch stretch(runs[next], last_set, random);
    const auto calls = static_cast<int>(std::exp(random.uniform(0, std::log(history.longest_stretch))));
    for (const int end = made + calls; made < end && goes_on();) {
      KW_TRY(Reason found, stretch.run(end - made, &made));
      if (!found.empty()) return found;
    }
    last_set = stretch.last_set();
  }
  *calls_made = std::max(*calls_made, made);
  return Reason{};
}

Result<Reason> run_watched(const LongRun& run, Placement place, Random& random, bool* watched) {
  KW_CHECK(run.calls->lay_out(*run.instance, {&place, 1}, random));
  fill(run, 0, 0);
  KW_TRY(Reason found, run.kernel->arrange(*run.calls, *run.instance, Clock::now() + kMostCallTime));
  if (!found.empty()) return found;
  const std::optional<Reason> seen = run.kernel->run_watched(0, Clock::now() + kMostCallTime);
  *watched = *watched || seen.has_value();
  return seen.value_or(Reason());
}

}  // namespace kw::judge
