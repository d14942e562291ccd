#include "targets/cpu/call_memory.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace kw::cpu {

Result<std::unique_ptr<CallMemory>> CallMemory::make() {
  KW_TRY(Arena inputs, Arena::make(true));
  return std::unique_ptr<CallMemory>(new CallMemory(std::move(inputs)));
}

// Every second time other tensors come to old addresses, as they do where memory is given back and taken anew.
void CallMemory::draw(const targets::Instance& instance, std::span<const Placement> places, Random& random,
                      std::size_t instances) {
  if (base_ == 0 || random.chance(0.5)) base_ = draw_base(random);
  layout_ = cpu::lay_out(instance.inputs, instance.constant, instance.outputs, places, random, base_, instances);
}

Status CallMemory::lay_out(const targets::Instance& instance, std::span<const Placement> places, Random& random) {
  draw(instance, places, random, 1);
  return inputs_.make_room(layout_.input_bytes);
}

Result<bool> CallMemory::lay_out_two(const targets::Instance& instance, std::span<const Placement> places,
                                     Random& random) {
  draw(instance, places, random, 2);
  KW_CHECK(inputs_.make_room(layout_.input_bytes));
  return true;
}

void CallMemory::write(std::size_t call, std::size_t input, const Tensor& value) {
  const Buffer& buffer = layout_.calls[call].inputs[input];
  assert(value.bytes().size() == buffer.size_bytes);
  std::memcpy(inputs_.at(buffer.offset), value.bytes().data(), buffer.size_bytes);
}

void CallMemory::surround(std::size_t call, std::size_t input, std::uint8_t before, std::uint8_t after) {
  const Buffer& buffer = layout_.calls[call].inputs[input];
  std::memset(inputs_.at(buffer.region_offset), before,
              std::min<std::uint64_t>(buffer.offset - buffer.region_offset, 4096));
  const std::uint64_t end = buffer.offset + buffer.size_bytes;
  std::memset(inputs_.at(end), after, buffer.region_offset + buffer.region_bytes - end);
}

void CallMemory::erase(std::size_t call, std::size_t input) {
  const Buffer& buffer = layout_.calls[call].inputs[input];
  std::memset(inputs_.at(buffer.offset), 0, buffer.size_bytes);
}

std::optional<targets::SharedCalls> CallMemory::shared_with(const targets::Outputs& outputs) const {
  const auto* own = dynamic_cast<const OwnOutputs*>(&outputs);
  if (own == nullptr) return std::nullopt;
  targets::SharedCalls shared{.inputs_file = inputs_.descriptor(), .outputs_file = own->arena().descriptor()};
  for (const Layout::Call& call : layout_.calls) {
    targets::SharedCalls::Call& offsets = shared.calls.emplace_back();
    for (const Buffer& buffer : call.inputs) offsets.inputs.push_back(buffer.offset);
    for (const Buffer& buffer : call.outputs) offsets.outputs.push_back(buffer.offset);
  }
  return shared;
}

void OutputMemory::poison(std::size_t call, std::uint8_t value, bool around) {
  for (const Buffer& buffer : layout_->calls[call].outputs) {
    if (around) {
      std::memset(arena_->at(buffer.region_offset), value, buffer.region_bytes);
    } else {
      std::memset(arena_->at(buffer.offset), value, buffer.size_bytes);
    }
  }
}

Reason OutputMemory::overrun(std::size_t call, std::uint8_t value) const {
  const std::vector<Buffer>& outputs = layout_->calls[call].outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Buffer& buffer = outputs[i];
    const auto untouched = [&](std::uint64_t begin, std::uint64_t end) {
      const std::byte* bytes = arena_->at(begin);
      return std::all_of(bytes, bytes + (end - begin),
                         [&](std::byte one) { return one == static_cast<std::byte>(value); });
    };
    if (!untouched(buffer.region_offset, buffer.offset)) return {ReasonCode::wrote_before, {{"output", i}}};
    const std::uint64_t end = buffer.offset + buffer.size_bytes;
    if (!untouched(end, buffer.region_offset + buffer.region_bytes)) return {ReasonCode::wrote_after, {{"output", i}}};
  }
  return {};
}

void OutputMemory::read(std::size_t call, std::size_t output, std::span<std::byte> bytes) const {
  const Buffer& buffer = layout_->calls[call].outputs[output];
  assert(bytes.size() <= buffer.size_bytes);
  std::memcpy(bytes.data(), arena_->at(buffer.offset), bytes.size());
}

Result<std::unique_ptr<OwnOutputs>> OwnOutputs::make(const CallMemory& calls) {
  KW_TRY(Arena arena, Arena::make(false));
  KW_CHECK(arena.make_room(calls.layout().output_bytes));
  return std::unique_ptr<OwnOutputs>(new OwnOutputs(std::move(arena), calls.layout()));
}

}  // namespace kw::cpu
