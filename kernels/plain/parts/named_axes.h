#pragma once

#include <kernelwright.h>

#include <bitset>

// Which of `rank` axes a list names; negative ones count from the end.
inline std::bitset<KW_MAX_RANK> named_axes(kw::List<int64_t> list, int rank) {
  std::bitset<KW_MAX_RANK> named;
  for (int64_t axis : list) named.set(static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
  return named;
}
