// Moves that compute nothing: what no kernel can be faster than.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace kw {

// Places that are aligned to a cache line, and whole lines behind each.
struct Tensors {
  std::vector<std::byte*> data;
  std::vector<std::size_t> bytes;
};

struct Mover {
  const char* name;
  void (*move)(const Tensors& in, const Tensors& out);
};
std::span<const Mover> movers();

}  // namespace kw
