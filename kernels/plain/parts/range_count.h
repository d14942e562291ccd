#pragma once

#include <kernelwright.h>

// How many numbers a range has: (limit - start) / delta, rounded up.
template <class T>
int64_t range_count(T start, T limit, T delta) {
  if constexpr (std::is_integral_v<T>) {
    // Unsigned, as the distance between two int64 may not fit another.
    const uint64_t distance = delta > 0 ? uint64_t(limit) - uint64_t(start) : uint64_t(start) - uint64_t(limit);
    const uint64_t step = delta > 0 ? uint64_t(delta) : -uint64_t(delta);
    const bool empty = delta > 0 ? limit <= start : limit >= start;
    return empty ? 0 : static_cast<int64_t>((distance - 1) / step + 1);
  } else {
    // In double, as a quotient that is rounded up to a whole number by float counts one too few or too many.
    return static_cast<int64_t>(std::max(0.0, std::ceil((double(limit) - double(start)) / double(delta))));
  }
}
