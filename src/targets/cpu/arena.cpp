#include "targets/cpu/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "sandbox/sandbox.h"

namespace kw::cpu {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLeastGap = std::uint64_t{16} << 10, kMostNarrowGap = kUsualGap / 2;
// A gap is up to so many times wider by chance; where there is little room, up to twice as wide.
constexpr std::uint64_t kUsualMore = 16;
constexpr double kAdjacentShare = 0.1;
// Memory that is given back and taken anew costs more than most calls do: so much stays.
constexpr std::uint64_t kKept = std::uint64_t{16} << 20;

std::uint64_t pages(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

Result<Arena> Arena::make(bool sealed) {
  Arena arena;
  KW_TRY(arena.file_, sandbox::memory_file(std::uint64_t{0}));
  void* memory = ::mmap(nullptr, kCapacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, arena.file_.get(), 0);
  if (memory == MAP_FAILED) return fail("no memory to share with candidates: {}", ::strerror(errno));
  arena.memory_ = static_cast<std::byte*>(memory);
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
  if (sealed && ::fcntl(arena.file_.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE) != 0) {
    return fail("the inputs cannot be made read-only for candidates: {}", ::strerror(errno));
  }
  return arena;
}

Arena::Arena(Arena&& other) noexcept
    : file_(std::move(other.file_)),
      memory_(std::exchange(other.memory_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

Status Arena::make_room(std::uint64_t size_bytes) {
  if (size_bytes <= size_bytes_ && size_bytes_ <= std::max(size_bytes, kKept)) return {};
  // Beyond its end the file is no memory: a write there would end the process by SIGBUS.
  if (size_bytes > kCapacity) return fail("the task's tensors take {} bytes; {} are possible", size_bytes, kCapacity);
  if (::ftruncate(file_.get(), static_cast<off_t>(size_bytes)) != 0) {
    return fail("no memory for the task's tensors ({} MB): {}", size_bytes >> 20, ::strerror(errno));
  }
  size_bytes_ = size_bytes;
  return {};
}

Arena::~Arena() {
  if (memory_ != nullptr) ::munmap(memory_, kCapacity);
}

std::uint64_t draw_base(Random& random) {
#if defined(__x86_64__)
  // Anywhere but where programs, their heaps, libraries and stacks lie: below them all in any order of magnitude, or
  // between them, so that a kernel cannot tell the judge by its addresses.
  constexpr std::uint64_t kBelow = 0x540000000000, kFrom = 0x580000000000, kTo = 0x7e0000000000;
  if (random.chance(0.5)) return (kFrom + random.bits() % (kTo - kFrom)) / kPage * kPage;
  const double exponent = random.uniform(33, std::log2(static_cast<double>(kBelow)));
  return static_cast<std::uint64_t>(std::exp2(exponent)) / kPage * kPage;
#else
  // Far from where programs and libraries lie.
  return 0x200000000000 + random.bits() % (1u << 24) * kPage;
#endif
}

Layout lay_out(const std::vector<TensorType>& inputs, const std::vector<bool>& constant,
               const std::vector<TensorType>& outputs, std::span<const Placement> places, Random& random,
               std::uint64_t base, std::size_t instances, std::uint64_t gap_bytes) {
  Layout layout;
  const std::uint64_t more_pages = gap_bytes / kPage * (gap_bytes >= kUsualGap ? kUsualMore : 1);
  layout.instances = instances;
  const std::size_t calls_each = std::max<std::size_t>(places.size() / instances, 1);
  std::uint64_t next_input = 0, next_output = 0;
  std::uint64_t address = base;
  // Where all lie alike, calls are timed: there the tables of addresses stay as small as they can.
  const bool timed = std::ranges::all_of(places, [](Placement place) { return place == Placement::aligned; });
  layout.as_timed = timed;
  const auto put = [&](const TensorType& type, Placement place, bool output) {
    std::uint64_t& next = output ? next_output : next_input;
    Buffer buffer;
    buffer.size_bytes = static_cast<std::uint64_t>(type.bytes());
    const std::uint64_t element = size_bytes(type.dtype);
    // Any place in a page, one at an odd number of elements more often: then no vector of them is aligned.
    const std::uint64_t shift = element * (random.bits() % (kPage / element) | (random.bits() % 4 == 0));
    // One page at least, so that an empty tensor has an address too.
    buffer.region_bytes = std::max(kPage, pages(buffer.size_bytes + (place == Placement::shifted ? shift : 0)));
    buffer.region_offset = next;
    std::uint64_t inside = 0;
    if (place == Placement::at_end) inside = buffer.region_bytes - buffer.size_bytes;
    if (place == Placement::shifted) inside = shift;
    buffer.offset = next + inside;
    buffer.address = address + inside;
    layout.regions.push_back({output ? 1u : 0u, 0, buffer.region_offset, buffer.region_bytes, address});
    next += buffer.region_bytes;
    // Now and then the next one follows at once, as in a heap: there running over an end does not show, elsewhere it
    // does.
    const bool adjacent = !timed && random.chance(kAdjacentShare);
    address += buffer.region_bytes + (adjacent ? 0 : gap_bytes + (timed ? 0 : random.bits() % more_pages * kPage));
    return buffer;
  };
  for (Placement place : places) {
    Layout::Call& call = layout.calls.emplace_back();
    const auto put_outputs = [&] {
      for (const TensorType& type : outputs) call.outputs.push_back(put(type, place, true));
    };
    const bool outputs_first = !timed && random.chance(0.5);
    if (outputs_first) put_outputs();
    // Inputs lie in their order, or the other way round.
    const bool backwards = !timed && random.chance(0.3);
    call.inputs.resize(inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const std::size_t i = backwards ? inputs.size() - 1 - k : k;
      const std::size_t in_instance = (layout.calls.size() - 1) % calls_each;
      const bool again = constant[i] && in_instance > 0;
      const Layout::Call& first = layout.calls[layout.calls.size() - 1 - in_instance];
      call.inputs[i] = again ? first.inputs[i] : put(inputs[i], place, false);
    }
    if (!outputs_first) put_outputs();
  }
  layout.input_bytes = next_input;
  layout.output_bytes = next_output;
  return layout;
}

std::optional<std::uint64_t> gap_within(std::uint64_t room_bytes, const std::vector<TensorType>& inputs,
                                        const std::vector<TensorType>& outputs, std::size_t calls) {
  std::uint64_t bytes = 0;
  for (const auto* types : {&inputs, &outputs}) {
    for (const TensorType& type : *types) bytes += pages(static_cast<std::uint64_t>(type.bytes()) + kPage);
  }
  const std::uint64_t gaps = 2 * calls * (inputs.size() + outputs.size());
  const std::uint64_t room = room_bytes / calls < bytes ? 0 : room_bytes - bytes * calls;
  const std::uint64_t gap = room / std::max<std::uint64_t>(gaps, 1) / kPage * kPage;
  if (gap < kLeastGap) return std::nullopt;
  return std::min(gap, kMostNarrowGap);
}

}  // namespace kw::cpu
