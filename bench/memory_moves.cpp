#include "memory_moves.h"

#include <kernelwright.h>

#include <cstdint>

#include "parts/map.h"

namespace kw {
namespace {

using simd::Floats;
constexpr std::size_t kLine = 64;

// One number of a line brings all of it.
void read_line(const std::byte* from) {
  const int value = *reinterpret_cast<const int*>(from);
  asm volatile("" : : "r"(value));
}
template <bool kPastCaches>
void write_line(std::byte* to) {
  for (std::size_t at = 0; at < kLine; at += sizeof(Floats)) {
    float* place = reinterpret_cast<float*>(to + at);
    if constexpr (kPastCaches) {
      simd::stream(place, Floats{});
    } else {
      simd::store(place, Floats{});
    }
  }
}

// The lines of a tensor, and how many of them go with one of the largest tensor: in 2^-32.
struct Lane {
  std::byte* data;
  std::uint64_t pace;

  template <std::uint64_t kStep, class Each>
  void step(std::uint64_t from, const Each& each) const {
    if (pace == std::uint64_t{1} << 32) {
      constexpr std::uint64_t kUnrolled = std::min<std::uint64_t>(8, kStep);
      std::byte* line = data + from * kLine;
      KW_UNROLL for (std::uint64_t i = 0; i < kUnrolled; ++i) each(line + i * kLine);
      for (std::uint64_t i = kUnrolled; i < kStep; ++i) each(line + i * kLine);
      return;
    }
    const std::uint64_t end = (from + kStep) * pace >> 32;
    for (std::uint64_t line = from * pace >> 32; line < end; ++line) each(data + line * kLine);
  }
};

// All tensors from their beginnings to their ends, at the same pace, in kPlaces parts at once: kStep lines of the
// largest tensor in one place, kMix of each tensor in turn, then in the next place.
template <int kPlaces, std::uint64_t kStep, std::uint64_t kMix, bool kPastCaches>
void move_all(const Tensors& in, const Tensors& out) {
  std::uint64_t most = 0;
  for (const Tensors* side : {&in, &out}) {
    for (const std::size_t bytes : side->bytes) most = std::max<std::uint64_t>(most, bytes / kLine);
  }
  const auto lanes_of = [most](const Tensors& side) {
    std::vector<Lane> lanes;
    for (std::size_t i = 0; i < side.data.size(); ++i) {
      if (side.bytes[i] > 0) lanes.push_back({side.data[i], (side.bytes[i] / kLine << 32) / most});
    }
    return lanes;
  };
  const std::vector<Lane> reads = lanes_of(in), writes = lanes_of(out);
  const std::uint64_t part = most / kPlaces / kStep * kStep;
  for (std::uint64_t at = 0; at < part; at += kStep) {
    for (std::uint64_t place = at; place < at + kPlaces * part; place += part) {
      for (std::uint64_t from = place; from < place + kStep; from += kMix) {
        for (const Lane& lane : reads) lane.step<kMix>(from, [](std::byte* line) { read_line(line); });
        for (const Lane& lane : writes) lane.step<kMix>(from, [](std::byte* line) { write_line<kPastCaches>(line); });
      }
    }
  }
  if (kPastCaches) simd::end_of_streams();
}

constexpr Mover kMovers[] = {{"1 place", move_all<1, 8, 8, true>},
                             {"2 places", move_all<2, 8, 8, true>},
                             {"4 places", move_all<4, 8, 8, true>},
                             {"8 places", move_all<8, 8, 8, true>},
                             {"8 places by 2 lines", move_all<8, 2, 2, true>},
                             {"2 places by pages", move_all<2, 64, 8, true>},
                             {"1 place, mixed", move_all<1, 8, 1, true>},
                             {"4 places, mixed", move_all<4, 8, 1, true>},
                             {"1, through caches", move_all<1, 8, 8, false>},
                             {"4, through caches", move_all<4, 8, 8, false>}};

}  // namespace

std::span<const Mover> movers() { return kMovers; }

}  // namespace kw
