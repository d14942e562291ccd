// A rival that was named and is not there: every verdict says so, and it cannot be taken for one that was compared
// with.
#pragma once

#include <string>
#include <vector>

#include "judge/framework_rival.h"

namespace kw::rivals {

class Absent final : public judge::FrameworkRival {
 public:
  Absent(std::string name, std::string why) : name_(std::move(name)), why_(std::move(why)) {}

  std::string name() const override { return name_; }
  std::string version() const override { return "not installed"; }
  judge::FrameworkStatus enter(const targets::Instance&, int) override { return refusal(); }
  const std::vector<Tensor>& weights() const override { return no_weights_; }
  double overhead_ns() const override { return 0; }
  judge::FrameworkStatus arrange(const targets::SharedCalls&, const targets::Instance&,
                                 judge::Clock::time_point) override {
    return refusal();
  }
  judge::FrameworkStatus run(std::uint32_t, std::uint32_t, std::uint32_t, double*, judge::Clock::time_point) override {
    return refusal();
  }
  std::vector<Shape> shapes(std::size_t) const override { return {}; }
  void pin(int) const override {}

 private:
  judge::FrameworkStatus refusal() const {
    return judge::FrameworkFailure{.kind = judge::FrameworkFailure::Kind::refused, .text = why_};
  }

  std::string name_;
  std::string why_;
  std::vector<Tensor> no_weights_;
};

}  // namespace kw::rivals
