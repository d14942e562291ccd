#include "targets/remote/calls.h"

#include <cassert>

#include "targets/remote/room.h"
#include "targets/remote/workers.h"

namespace kw::remote {
namespace {

std::span<const char> bytes_of(const Place& place) { return {reinterpret_cast<const char*>(&place), sizeof place}; }

}  // namespace

Status DeviceCalls::draw(const targets::Instance& instance, std::span<const targets::Placement> places, Random& random,
                         std::size_t instances) {
  if (base_ == 0 || random.chance(0.5)) base_ = draw_first_address(random, address_bits_);
  KW_TRY(layout_, lay_out_in_process(instance, places, random, base_, instances, address_bits_));
  const Size size{layout_.input_bytes};
  connection_->post(Ask::size, id_, {reinterpret_cast<const char*>(&size), sizeof size});
  return {};
}

Status DeviceCalls::lay_out(const targets::Instance& instance, std::span<const targets::Placement> places,
                            Random& random) {
  return draw(instance, places, random, 1);
}

Result<bool> DeviceCalls::lay_out_two(const targets::Instance& instance, std::span<const targets::Placement> places,
                                      Random& random) {
  KW_CHECK(draw(instance, places, random, 2));
  return true;
}

void DeviceCalls::write(std::size_t call, std::size_t input, const Tensor& value) {
  const cpu::Buffer& buffer = layout_.calls[call].inputs[input];
  assert(value.bytes().size() == buffer.size_bytes);
  const Place place{.offset = buffer.offset, .bytes = buffer.size_bytes};
  connection_->post(Ask::write, id_, bytes_of(place),
                    {reinterpret_cast<const char*>(value.bytes().data()), value.bytes().size()});
}

void DeviceCalls::fill(std::uint64_t offset, std::uint64_t bytes, std::uint8_t value) {
  if (bytes > 0) connection_->post(Ask::fill, id_, bytes_of({.offset = offset, .bytes = bytes, .value = value}));
}

void DeviceCalls::surround(std::size_t call, std::size_t input, std::uint8_t before, std::uint8_t after) {
  const cpu::Buffer& buffer = layout_.calls[call].inputs[input];
  const std::uint64_t end = buffer.offset + buffer.size_bytes;
  fill(buffer.region_offset, buffer.offset - buffer.region_offset, before);
  fill(end, buffer.region_offset + buffer.region_bytes - end, after);
}

void DeviceCalls::erase(std::size_t call, std::size_t input) {
  const cpu::Buffer& buffer = layout_.calls[call].inputs[input];
  fill(buffer.offset, buffer.size_bytes, 0);
}

std::optional<targets::SharedCalls> DeviceCalls::shared_with(const targets::Outputs& outputs) const {
  targets::SharedCalls shared{.inputs_file = static_cast<int>(id_),
                              .outputs_file = static_cast<int>(dynamic_cast<const DeviceOutputs&>(outputs).id()),
                              .calls = {}};
  for (const cpu::Layout::Call& call : layout_.calls) {
    targets::SharedCalls::Call& one = shared.calls.emplace_back();
    for (const cpu::Buffer& buffer : call.inputs) one.inputs.push_back(buffer.offset);
    for (const cpu::Buffer& buffer : call.outputs) one.outputs.push_back(buffer.offset);
  }
  return shared;
}

}  // namespace kw::remote
