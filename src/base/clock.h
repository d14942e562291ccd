// The clock by which time limits are held and work is timed.
#pragma once

#include <chrono>

namespace kw {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace kw
