#include "judge/long_run.h"

#include <algorithm>
#include <cstring>

namespace kw::judge {
namespace {

using namespace std::chrono_literals;
using targets::Clock;
using targets::Placement;

constexpr std::size_t kCallsAtOnce = 64;
constexpr int kTurns = 100;
// Memory is looked at after these: libraries set things up in the first.
constexpr int kTurnsBefore = 5;
// It ends after this time, but not before so many turns.
constexpr auto kMostTime = 60ms;
constexpr int kFewestTurns = 25;
constexpr int kAlignedTurns = 15;
constexpr auto kMostCallTime = 10s;
// Freed memory is kept by the library in pieces of this size.
constexpr std::uint64_t kMostGrowth = 64 * 1024;

constexpr int kCallsInPlace = 16;

bool same_bytes(const targets::Outputs& outputs, std::size_t call, const std::vector<Tensor>& answers,
                std::size_t* wrong) {
  std::vector<std::byte> got;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto wanted = answers[i].bytes();
    got.resize(wanted.size());
    outputs.read(call, i, got);
    if (std::memcmp(got.data(), wanted.data(), got.size()) == 0) continue;
    *wrong = i;
    return false;
  }
  return true;
}

// The inputs of set `set` into a call; constants once, with the first.
void fill(const LongRun& run, std::size_t call, std::size_t set) {
  for (std::size_t i = 0; i < run.inputs[set].size(); ++i) {
    if (call > 0 && run.instance->constant[i]) continue;
    run.calls->write(call, i, run.inputs[set][i]);
  }
}

}  // namespace

Result<Reason> run_long(const LongRun& run, bool varies, Random& random, int* calls_made) {
  const std::size_t at_once = std::min(kCallsAtOnce, run.most_calls);
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
  int turns = 0;
  for (; turns < kTurns && (turns < kFewestTurns || Clock::now() - begin < kMostTime); ++turns) {
    // At first those that lie as timed calls do, one after the other.
    const std::size_t count = turns < kAlignedTurns ? std::max<std::size_t>(at_once / 2, 1) : at_once;
    if (turns == kTurnsBefore) held = run.kernel->memory_held();
    const auto poison = static_cast<std::uint8_t>(0x81 + random.bits() % 0x7d);
    for (std::size_t call = 0; call < count; ++call) run.kernel->outputs().poison(call, poison, false);
    if (Reason reason = run.kernel->run(0, count, Clock::now() + kMostCallTime); !reason.empty()) return reason;
    *calls_made += static_cast<int>(count);
    for (std::size_t call = 0; call < count && !varies; ++call) {
      std::size_t wrong = 0;
      if (same_bytes(run.kernel->outputs(), call, run.answers[set_of(call)], &wrong)) continue;
      return Reason{ReasonCode::wrong_later, {{"output", wrong}, {"calls", *calls_made}}};
    }
  }
  const std::optional<std::uint64_t> now = run.kernel->memory_held();
  if (held && now && *now > *held + kMostGrowth) {
    return Reason{ReasonCode::leaks_memory,
                  {{"bytes", *now - *held}, {"calls", static_cast<std::size_t>(turns - kTurnsBefore) * at_once}}};
  }
  return Reason{};
}

Result<Reason> run_in_place(const LongRun& run, bool varies, Random& random) {
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
    std::size_t wrong = 0;
    if (!found.empty() || varies || same_bytes(run.kernel->outputs(), 0, run.answers[set], &wrong)) continue;
    found = {ReasonCode::wrong_later, {{"output", wrong}, {"calls", i + 1}}};
  }
  return found;
}

Result<Reason> run_watched(const LongRun& run, Random& random, bool* watched) {
  const Placement place[] = {random.pick({Placement::shifted, Placement::at_end, Placement::shifted})};
  KW_CHECK(run.calls->lay_out(*run.instance, place, random));
  fill(run, 0, 0);
  KW_TRY(Reason found, run.kernel->arrange(*run.calls, *run.instance, Clock::now() + kMostCallTime));
  if (!found.empty()) return found;
  const std::optional<Reason> seen = run.kernel->run_watched(0, Clock::now() + kMostCallTime);
  *watched = *watched || seen.has_value();
  return seen.value_or(Reason());
}

}  // namespace kw::judge
