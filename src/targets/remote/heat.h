// A phone gets hot while kernels are timed on it, and then slower: before laps are timed its state is read, and kw
// waits until it is as fast as it was.
//
// How fast it is shows without any rights: the agent times the same few instructions on the core that kernels are timed
// on (agent/facts.h). Its frequency and temperature, where they may be read, tell a core that is slowed down from one
// that others use. Waiting is bounded: after that the laps are what they are, and the verdict says so.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "core/verdict.h"
#include "targets/remote/architecture.h"
#include "targets/target.h"

namespace kw::remote {

// One look at a device.
struct Weather {
  double pace_ns = 0;             // of the same instructions each time
  std::optional<double> mhz;      // of the core
  std::optional<double> celsius;  // of the hottest part that is said
};
// None where an agent's answer makes no sense: a device may say anything.
std::optional<Weather> weather_said(const Said& said);

class Heat {
 public:
  struct World {
    std::function<std::optional<Weather>()> look;  // none: the device does not answer
    std::function<targets::Clock::time_point()> now;
    std::function<void(targets::Clock::duration)> sleep;
  };
  explicit Heat(World world) : world_(std::move(world)) {}

  // Looks, where the last look is a second ago, and waits where the device has become slower. How long that took.
  targets::Clock::duration wait_until_cool();
  // None: nothing was seen.
  std::optional<Conditions> conditions() const;

 private:
  // How much longer, at most; none, or less, where it is as fast as before or has been waited for enough.
  targets::Clock::duration worth_waiting(const Weather& weather) const;
  void note(const Weather& weather);

  World world_;
  std::optional<targets::Clock::time_point> looked_;
  std::optional<Weather> first_;
  double best_pace_ns_ = 0;
  Conditions seen_;
};

}  // namespace kw::remote
