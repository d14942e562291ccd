// Memory that the judge shares with the processes of candidates, and how buffers lie in it.
//
// There are two kinds: inputs, which no candidate can map writable, and outputs, one for each process. Every buffer has
// a wide gap on both sides in which nothing is mapped, and lies in one of several ways between them, so that each way
// of running over an end, and each use of an aligned load, shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/tensor.h"
#include "sandbox/protocol.h"
#include "targets/cpu/host/control.h"
#include "targets/target.h"

namespace kw::cpu {

class Arena {
 public:
  // `sealed`: others can map it for reading only.
  static Result<Arena> make(bool sealed);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena();

  int descriptor() const { return file_.get(); }
  // Makes the file this long, or little longer: no process can use more of it as memory. Fails where there is not so
  // much.
  Status make_room(std::uint64_t size_bytes);
  std::byte* at(std::uint64_t offset) const { return memory_ + offset; }
  static constexpr std::uint64_t kCapacity = std::uint64_t{1} << 36;

 private:
  Arena() = default;
  sandbox::Descriptor file_;
  std::byte* memory_ = nullptr;
  std::uint64_t size_bytes_ = 0;
};

using targets::Placement;

// One buffer: where it is in the arena, and where the candidate finds it.
struct Buffer {
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  // What is mapped around it: from `region_offset` on, `region_bytes` long.
  std::uint64_t region_offset = 0;
  std::uint64_t region_bytes = 0;
};

// The buffers of some calls of one shape.
struct Layout {
  struct Call {
    std::vector<Buffer> inputs;
    std::vector<Buffer> outputs;
  };
  std::vector<Call> calls;
  std::size_t instances = 1;  // prepared; each has an equal share of the calls
  std::vector<host::Region> regions;
  std::uint64_t input_bytes = 0;  // of the arenas
  std::uint64_t output_bytes = 0;
  bool as_timed = false;  // all calls lie aligned, as timed ones do
};

// The most that lies unmapped between two buffers, and as much again by chance.
inline constexpr std::uint64_t kUsualGap = std::uint64_t{16} << 20;

// Calls with these places, in the shape's types. Constant inputs lie once, for all calls of an instance, in the way of
// its first. `base`: where addresses begin. `gap_bytes`: whole pages.
Layout lay_out(const std::vector<TensorType>& inputs, const std::vector<bool>& constant,
               const std::vector<TensorType>& outputs, std::span<const Placement> places, Random& random,
               std::uint64_t base, std::size_t instances = 1, std::uint64_t gap_bytes = kUsualGap);
// The widest gap with which so many such calls take `room_bytes` at most; none: they take more with the least.
std::optional<std::uint64_t> gap_within(std::uint64_t room_bytes, const std::vector<TensorType>& inputs,
                                        const std::vector<TensorType>& outputs, std::size_t calls);
// Where addresses may begin.
std::uint64_t draw_base(Random& random);

}  // namespace kw::cpu
