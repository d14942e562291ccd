#include "targets/cuda/referee.h"

#include <bit>
#include <sstream>

#include "base/files.h"
#include "targets/cuda/plan_runner.h"
#include "targets/cuda/wide.h"

namespace kw::cuda {
namespace {

using namespace std::chrono_literals;

constexpr auto kMostPlanTime = 20s;
constexpr std::size_t kMostReferences = 32;

// The files of the judge's device code as one source.
Result<std::string> judge_source() {
  KW_TRY(const std::filesystem::path data, data_folder());
  std::string text = "#include <kernelwright_cuda.h>\n";
  for (const char* name : {"plain/common.cuh", "judge/drawn.cuh", "judge/checks.cuh"}) {
    KW_TRY(const std::string part, read_file(data / "kernels" / "cuda" / name));
    std::istringstream lines(part);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("#pragma once") && !line.starts_with("#include ")) text += line + "\n";
    }
  }
  return text;
}

std::string key_of(const Task& task) {
  std::string key = task.suite + '\0' + task.name + '\0' + task.place + '\0' + task.operators();
  for (const auto& [name, value] : task.lengths) key += fmt::format("\n{}={}", name, value);
  return key;
}

std::uint64_t bytes_of(const TensorType& type) { return static_cast<std::uint64_t>(type.bytes()); }

}  // namespace

Json json_of(const ops::Recipe& recipe) {
  const auto word = [](double value) { return std::bit_cast<std::int64_t>(value); };
  return Json::array({static_cast<std::int64_t>(recipe.key), std::int64_t{recipe.uniform}, word(recipe.first),
                      word(recipe.last), word(recipe.low), word(recipe.high)});
}

Result<std::string> Referee::code() {
  const std::lock_guard guard(lock_);
  if (!code_.empty()) return code_;
  KW_TRY(std::string text, judge_source());
  KW_TRY(const auto built, builder_.build({"checks.cu", std::move(text)},
                                          {.values = {}, .compiler = "nvrtc", .flags = {"--fmad=false"}}));
  if (!built->ok()) return fail("the judge's device code does not build: {}", text_of(built->reason));
  code_ = built->cubin;
  return code_;
}

Result<std::shared_ptr<const CudaReference>> Referee::reference_for(const Task& task, const PlanLimits& limits) {
  const std::string key = key_of(task);
  const std::lock_guard guard(lock_);
  if (const auto found = references_.find(key); found != references_.end()) return found->second;
  KW_TRY(std::shared_ptr<const CudaReference> made, make(task, limits));
  if (references_.size() >= kMostReferences) references_.clear();
  return references_.emplace(key, std::move(made)).first->second;
}

Result<std::shared_ptr<const CudaReference>> Referee::make(const Task& task, const PlanLimits& limits) const {
  auto reference = std::make_shared<CudaReference>();
  KW_TRY(reference->task, wide_task(task));
  KW_TRY(reference->instance, targets::make_instance(reference->task, reference->task.lengths, 1));
  const targets::Instance& instance = reference->instance;
  KW_TRY(std::string text, wide_kernel(instance.graph));
  KW_TRY(const Tunables tunables, read_tunables(text));
  KW_TRY(const Choice choice, choose(tunables, {}, build_options()));
  KW_TRY(const auto built, builder_.build({"reference.cu", std::move(text)}, choice));
  if (!built->ok()) return fail("{}: its reference does not build: {}", task.name, text_of(built->reason));
  reference->cubin = built->cubin;
  KW_TRY(const auto runner, PlanRunner::open(builder_.sandbox(), *built->plan));
  if (const Reason reason = runner->finish_loading(targets::Clock::now() + kMostPlanTime); !reason.empty()) {
    return fail("{}: the plan of its reference: {}", task.name, text_of(reason));
  }
  // Of small constants the plan sees the values; of weights, which are drawn, it needs none.
  std::vector<std::string> constants(instance.inputs.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    if (instance.graph.inputs[i].role != Role::constant) continue;
    const auto bytes = instance.graph.constants[next++].bytes();
    if (bytes.size() > kMostSeenConstantBytes) continue;
    constants[i].assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  KW_TRY(auto planned, runner->plan(instance, constants, limits, targets::Clock::now() + kMostPlanTime));
  if (const auto* reason = std::get_if<Reason>(&planned)) {
    return fail("{}: the plan of its reference: {}", task.name, text_of(*reason));
  }
  reference->plan = std::get<Plan>(std::move(planned));
  reference->memory = static_cast<std::uint64_t>(reference->plan.scratch_bytes + reference->plan.kept_bytes);
  for (const TensorType& type : instance.inputs) reference->memory += bytes_of(type);
  for (const TensorType& type : instance.outputs) reference->memory += bytes_of(type);
  return std::shared_ptr<const CudaReference>(std::move(reference));
}

}  // namespace kw::cuda
