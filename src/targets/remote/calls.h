// The inputs of some calls in a device's memory, and where all their tensors lie there.
#pragma once

#include "targets/cpu/arena.h"
#include "targets/remote/connection.h"
#include "targets/target.h"

namespace kw::remote {

class DeviceCalls final : public targets::Calls {
 public:
  // `address_bits`: of the device's processes.
  explicit DeviceCalls(std::shared_ptr<Connection> connection, int address_bits = 64)
      : connection_(std::move(connection)), id_(connection_->new_id()), address_bits_(address_bits) {}
  ~DeviceCalls() override { connection_->post(Ask::forget, id_, {}); }

  Status lay_out(const targets::Instance& instance, std::span<const targets::Placement> places,
                 Random& random) override;
  Result<bool> lay_out_two(const targets::Instance& instance, std::span<const targets::Placement> places,
                           Random& random) override;
  std::size_t count() const override { return layout_.calls.size(); }
  void write(std::size_t call, std::size_t input, const Tensor& value) override;
  void surround(std::size_t call, std::size_t input, std::uint8_t before, std::uint8_t after) override;
  void erase(std::size_t call, std::size_t input) override;
  std::optional<targets::SharedCalls> shared_with(const targets::Outputs& outputs) const override;

  const cpu::Layout& layout() const { return layout_; }
  std::uint32_t id() const { return id_; }

 private:
  Status draw(const targets::Instance& instance, std::span<const targets::Placement> places, Random& random,
              std::size_t instances);
  void fill(std::uint64_t offset, std::uint64_t bytes, std::uint8_t value);

  std::shared_ptr<Connection> connection_;
  std::uint32_t id_;
  int address_bits_;
  cpu::Layout layout_;
  std::uint64_t base_ = 0;
};

}  // namespace kw::remote
