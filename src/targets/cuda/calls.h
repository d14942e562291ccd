// The inputs of some calls: their values in memory that is shared with workers, each of which copies to its GPU what
// has changed since it last did.
#pragma once

#include <sys/mman.h>

#include <vector>

#include "base/descriptor.h"
#include "ops/recipe.h"
#include "targets/target.h"

namespace kw::cuda {

// Shared memory of any size.
class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(SharedMemory&&) = delete;
  ~SharedMemory();

  Status resize(std::uint64_t size_bytes);
  std::byte* at(std::uint64_t offset) const { return memory_ + offset; }
  int file() const { return file_.get(); }

 private:
  Descriptor file_;
  std::byte* memory_ = nullptr;
  std::uint64_t size_bytes_ = 0;
};

class CudaCalls final : public targets::Calls {
 public:
  struct Slot {
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t version = 0;    // grows with every change
    int before = -1, after = -1;  // what lies around it; -1: anything
    bool drawn = false;           // on the GPU: it has no place in the shared memory
    ops::Recipe recipe = {};
  };

  Status lay_out(const targets::Instance& instance, std::span<const targets::Placement> places,
                 Random& random) override;
  std::size_t count() const override { return places_.size(); }
  // The same; inputs that have recipes are drawn on the GPU.
  Status lay_out_parts(const targets::Instance& instance, std::span<const targets::Placement> places,
                       const ops::Parts& parts);
  void write(std::size_t call, std::size_t input, const Tensor& value) override;
  void draw(std::size_t call, std::size_t input, const ops::Recipe& recipe);
  void surround(std::size_t call, std::size_t input, std::uint8_t before, std::uint8_t after) override;
  void erase(std::size_t call, std::size_t input) override;
  std::optional<targets::SharedCalls> shared_with(const targets::Outputs& outputs) const override;
  const std::vector<std::vector<std::uint64_t>>& output_bytes() const { return output_bytes_; }

  const std::vector<targets::Placement>& places() const { return places_; }
  const Slot& slot(std::size_t call, std::size_t input) const { return slots_[index_[call][input]]; }
  std::size_t slot_index(std::size_t call, std::size_t input) const { return index_[call][input]; }
  std::size_t slot_count() const { return slots_.size(); }
  const SharedMemory& memory() const { return memory_; }

 private:
  Slot& slot_of(std::size_t call, std::size_t input) { return slots_[index_[call][input]]; }

  SharedMemory memory_;
  std::vector<targets::Placement> places_;
  std::vector<Slot> slots_;
  std::vector<std::vector<std::size_t>> index_;           // by call and input; of a constant one for all calls
  std::vector<std::vector<std::uint64_t>> output_bytes_;  // by call
};

// Where a framework leaves what it made of some calls: memory of the host, which it shares.
class FrameworkOutputs final : public targets::Outputs {
 public:
  static Result<std::unique_ptr<targets::Outputs>> make(const CudaCalls& calls);

  void poison(std::size_t call, std::uint8_t value, bool around) override;
  // Frameworks are trusted to keep to their outputs.
  Reason overrun(std::size_t, std::uint8_t) const override { return {}; }
  void read(std::size_t call, std::size_t output, std::span<std::byte> bytes) const override;

  const SharedMemory& memory() const { return memory_; }
  const std::vector<std::vector<std::uint64_t>>& offsets() const { return offsets_; }

 private:
  SharedMemory memory_;
  std::vector<std::vector<std::uint64_t>> offsets_, bytes_;  // by call and output
};

}  // namespace kw::cuda
