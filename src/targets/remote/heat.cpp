#include "targets/remote/heat.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

namespace kw::remote {
namespace {

using namespace std::chrono_literals;
using targets::Clock;

constexpr auto kBetweenLooks = 1s;
constexpr Clock::duration kFirstPause = 500ms, kLongestPause = 4s;
// The longest time of all pauses while one candidate is timed. It is shorter where neither frequency nor heat explains
// the slowness: another program may use the core, and go on doing so.
constexpr Clock::duration kMostPause = 20s, kMostUnexplained = 2s;
// Slower by this, with a lower frequency or more heat to explain it, or by that much without.
constexpr double kSlower = 1.05, kMuchSlower = 1.25;
constexpr double kLowerFrequency = 0.95;
constexpr double kHotter = 3;  // degrees

std::optional<double> number_in(const std::string& text, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value >= least && value <= most ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<Weather> weather_said(const Said& said) {
  const std::optional<double> pace = number_in(said.text("pace_ns"), 1, 1e10);
  if (!pace) return std::nullopt;
  Weather weather{.pace_ns = *pace, .mhz = std::nullopt, .celsius = std::nullopt};
  if (const auto khz = number_in(said.text("frequency"), 1e3, 2e7)) weather.mhz = *khz / 1000;
  for (const std::string& line : said.all("temperature")) {
    // Devices report thousandths of degrees, or degrees.
    const std::optional<double> value = number_in(line.substr(line.rfind(' ') + 1), 1, 150'000);
    if (!value) continue;
    const double celsius = *value > 150 ? *value / 1000 : *value;
    weather.celsius = std::max(weather.celsius.value_or(0), celsius);
  }
  return weather;
}

Clock::duration Heat::worth_waiting(const Weather& weather) const {
  const double slower = weather.pace_ns / best_pace_ns_;
  const bool lower = weather.mhz && seen_.mhz_most && *weather.mhz < kLowerFrequency * *seen_.mhz_most;
  const bool hotter = weather.celsius && first_->celsius && *weather.celsius > *first_->celsius + kHotter;
  const Clock::duration most = slower > kSlower && (lower || hotter) ? kMostPause
                               : slower > kMuchSlower                ? kMostUnexplained
                                                                     : 0s;
  return most - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seen_.paused_s));
}

void Heat::note(const Weather& weather) {
  if (!first_) {
    first_ = weather;
    best_pace_ns_ = weather.pace_ns;
    seen_.celsius_first = weather.celsius;
  }
  best_pace_ns_ = std::min(best_pace_ns_, weather.pace_ns);
  if (weather.celsius) seen_.celsius_most = std::max(seen_.celsius_most.value_or(*weather.celsius), *weather.celsius);
  if (!weather.mhz) return;
  seen_.mhz_least = std::min(seen_.mhz_least.value_or(*weather.mhz), *weather.mhz);
  seen_.mhz_most = std::max(seen_.mhz_most.value_or(*weather.mhz), *weather.mhz);
}

Clock::duration Heat::wait_until_cool() {
  const Clock::time_point begin = world_.now();
  if (looked_ && begin - *looked_ < kBetweenLooks) return 0s;
  bool pauses = false;
  Clock::duration next = kFirstPause;
  for (;;) {
    const std::optional<Weather> weather = world_.look();
    looked_ = world_.now();
    if (!weather) break;
    note(*weather);
    const double slower = weather->pace_ns / best_pace_ns_;
    const Clock::duration left = worth_waiting(*weather);
    if (left <= 0s) {
      // What laps are timed at from here on.
      seen_.slowest = std::max(seen_.slowest, slower);
      break;
    }
    const Clock::duration pause = std::min(next, left);
    world_.sleep(pause);
    seen_.pauses += !pauses;
    pauses = true;
    seen_.paused_s += std::chrono::duration<double>(pause).count();
    next = std::min(2 * next, kLongestPause);
  }
  return world_.now() - begin;
}

std::optional<Conditions> Heat::conditions() const { return first_ ? std::optional(seen_) : std::nullopt; }

}  // namespace kw::remote
