#include "targets/cuda/plan_runner.h"

namespace kw::cuda {
namespace {

constexpr std::uint64_t kPlanMemory = std::uint64_t{64} << 20;

// One input and one output of bytes.
targets::Instance bytes_instance(std::size_t description_bytes) {
  targets::Instance instance;
  instance.inputs = {{DType::uint8, Shape{static_cast<std::int64_t>(description_bytes)}}};
  instance.constant = {false};
  instance.outputs = {{DType::uint8, Shape{kMostPlanBytes}}};
  instance.opset = 1;
  return instance;
}

}  // namespace

Result<std::unique_ptr<PlanRunner>> PlanRunner::open(const sandbox::Sandbox& sandbox, const cpu::Library& library) {
  std::unique_ptr<PlanRunner> runner(new PlanRunner());
  KW_TRY(runner->calls_, cpu::CallMemory::make());
  KW_TRY(cpu::Cell cell, cpu::Cell::open(sandbox, library.file, runner->calls_->inputs(), 1, kPlanMemory));
  runner->kernel_ = std::make_unique<cpu::LockedKernel>(std::move(cell), 1, sandbox.isolation().seccomp);
  return runner;
}

Result<std::variant<Plan, Reason>> PlanRunner::plan(const targets::Instance& instance,
                                                    const std::vector<std::string>& constants, const PlanLimits& limits,
                                                    targets::Clock::time_point deadline) {
  const std::vector<std::byte> description = description_of(instance, constants);
  const targets::Instance bytes = bytes_instance(description.size());
  constexpr targets::Placement kPlaces[] = {targets::Placement::aligned};
  Random random(1);
  KW_CHECK(calls_->lay_out(bytes, kPlaces, random));
  Tensor input(DType::uint8, bytes.inputs[0].shape);
  std::ranges::copy(description, input.bytes().begin());
  calls_->write(0, 0, input);
  const auto in_plan = [](Reason reason) {
    reason.params["where"] = "in its plan";
    return std::variant<Plan, Reason>(std::move(reason));
  };
  KW_TRY(Reason arranged, kernel_->arrange(*calls_, bytes, deadline));
  if (!arranged.empty()) return in_plan(std::move(arranged));
  if (Reason ran = kernel_->run(0, 1, deadline); !ran.empty()) return in_plan(std::move(ran));
  std::vector<std::byte> left(static_cast<std::size_t>(kMostPlanBytes));
  kernel_->outputs().read(0, 0, left);
  Result<Plan> plan = read_plan(left, instance, limits);
  if (!plan.ok()) return std::variant<Plan, Reason>(Reason{ReasonCode::bad_plan, {{"text", plan.error().message}}});
  return std::variant<Plan, Reason>(std::move(*plan));
}

}  // namespace kw::cuda
