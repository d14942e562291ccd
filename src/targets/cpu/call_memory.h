// The tensors of some calls in memory that the judge shares with the processes of kernels and frameworks (arena.h).
#pragma once

#include "targets/cpu/arena.h"
#include "targets/target.h"

namespace kw::cpu {

class CallMemory final : public targets::Calls {
 public:
  static Result<std::unique_ptr<CallMemory>> make();

  Status lay_out(const targets::Instance& instance, std::span<const Placement> places, Random& random) override;
  Result<bool> lay_out_two(const targets::Instance& instance, std::span<const Placement> places,
                           Random& random) override;
  std::size_t count() const override { return layout_.calls.size(); }
  void write(std::size_t call, std::size_t input, const Tensor& value) override;
  void surround(std::size_t call, std::size_t input, std::uint8_t before, std::uint8_t after) override;
  void erase(std::size_t call, std::size_t input) override;
  std::optional<targets::SharedCalls> shared_with(const targets::Outputs& outputs) const override;

  const Layout& layout() const { return layout_; }
  const Arena& inputs() const { return inputs_; }

 private:
  explicit CallMemory(Arena inputs) : inputs_(std::move(inputs)) {}

  void draw(const targets::Instance& instance, std::span<const Placement> places, Random& random,
            std::size_t instances);

  Arena inputs_;
  Layout layout_;
  std::uint64_t base_ = 0;
};

class OutputMemory final : public targets::Outputs {
 public:
  // The calls must outlive it.
  OutputMemory(const Arena& arena, const Layout& layout) : arena_(&arena), layout_(&layout) {}

  void poison(std::size_t call, std::uint8_t value, bool around) override;
  Reason overrun(std::size_t call, std::uint8_t value) const override;
  void read(std::size_t call, std::size_t output, std::span<std::byte> bytes) const override;

  const Arena& arena() const { return *arena_; }

 private:
  const Arena* arena_;
  const Layout* layout_;
};

// Of a framework: with an arena of its own, as long as the calls need it.
class OwnOutputs final : public targets::Outputs {
 public:
  static Result<std::unique_ptr<OwnOutputs>> make(const CallMemory& calls);

  void poison(std::size_t call, std::uint8_t value, bool around) override { memory_.poison(call, value, around); }
  Reason overrun(std::size_t call, std::uint8_t value) const override { return memory_.overrun(call, value); }
  void read(std::size_t call, std::size_t output, std::span<std::byte> bytes) const override {
    memory_.read(call, output, bytes);
  }
  const Arena& arena() const { return arena_; }

 private:
  OwnOutputs(Arena arena, const Layout& layout) : arena_(std::move(arena)), memory_(arena_, layout) {}

  Arena arena_;
  OutputMemory memory_;
};

}  // namespace kw::cpu
