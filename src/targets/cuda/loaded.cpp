#include "targets/cuda/loaded.h"

#include <bit>
#include <cstring>

#include "targets/cuda/driver_api.h"

namespace kw::cuda {
namespace {

using namespace std::chrono_literals;

// What has no time limit of its own; the kernel runs in none of it.
constexpr auto kMostOwnTime = 30s;

// Doubles pass through JSON as their bits: there are infinities among them.
std::int64_t word_of(double value) { return std::bit_cast<std::int64_t>(value); }
double number_of(const Json& word) { return std::bit_cast<double>(word.get<std::int64_t>()); }

// As kernels/cuda/judge/checks.cuh numbers types.
int judged_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 0;
    case DType::float64:
      return 1;
    case DType::float16:
      return 2;
    case DType::bfloat16:
      return 3;
    default:
      return 4;
  }
}

Reason reason_of(int code, const std::string& where, const std::string& said) {
  const Json at{{"where", where}};
  switch (code) {
    case api::kIllegalAddress:
      return {ReasonCode::touched_memory, at};
    case api::kMisalignedAddress:
      return {ReasonCode::misaligned_access, at};
    case api::kIllegalInstruction:
      return {ReasonCode::illegal_instruction, at};
    case api::kAssert:
    case api::kLaunchFailed:
      return {ReasonCode::aborted, at};
    case api::kLaunchTimeout:
      return {ReasonCode::timed_out, at};
    default:
      return {ReasonCode::bad_plan, {{"text", fmt::format("{}: {}", where, said)}}};
  }
}

}  // namespace

Result<std::unique_ptr<LoadedCuda>> LoadedCuda::open(WorkerPool& pool, const sandbox::Sandbox& sandbox,
                                                     const CudaBuilt& built, Referee& referee) {
  std::unique_ptr<LoadedCuda> loaded(new LoadedCuda(pool, built, referee));
  KW_TRY(loaded->worker_, pool.take());
  KW_TRY(loaded->plans_, PlanRunner::open(sandbox, *built.plan));
  return loaded;
}

Result<std::unique_ptr<LoadedCuda>> LoadedCuda::open_under_tools(WorkerPool& pool, const sandbox::Sandbox& sandbox,
                                                                 const CudaBuilt& built, Referee& referee,
                                                                 std::unique_ptr<WorkerProcess> worker) {
  std::unique_ptr<LoadedCuda> loaded(new LoadedCuda(pool, built, referee));
  loaded->worker_ = std::move(worker);
  loaded->under_tools_ = true;
  KW_TRY(loaded->plans_, PlanRunner::open(sandbox, *built.plan));
  return loaded;
}

LoadedCuda::~LoadedCuda() { pool_.give_back(std::move(worker_)); }

Reason LoadedCuda::ask(const Json& request, std::span<const int> files, Clock::time_point deadline,
                       Json* answer) const {
  std::optional<Json> got;
  if (waiting_.empty()) {
    got = worker_->ask(request, files, deadline);
  } else {
    // What waits goes first, in the same packet.
    waiting_.push_back(request);
    got = worker_->ask({{"ask", "several"}, {"parts", std::exchange(waiting_, Json::array())}}, files, deadline);
  }
  if (!got) {
    if (worker_->timed_out()) return {ReasonCode::timed_out, {{"where", "in its launches"}}};
    return {ReasonCode::lost, {{"where", "on the GPU"}}};
  }
  const auto text = [&](const char* name) { return got->value(name, std::string()); };
  if (got->find("failed") != nullptr) return reason_of(got->value("code", 0), text("where"), text("failed"));
  if (got->find("refused") != nullptr) return {ReasonCode::bad_plan, {{"text", text("refused")}}};
  if (got->find("no_memory") != nullptr) return {ReasonCode::bad_plan, {{"text", text("no_memory")}}};
  if (got->find("error") != nullptr) return {ReasonCode::lost, {{"where", text("error")}}};
  if (const Json* input = got->find("wrote_input"); input != nullptr) {
    return {ReasonCode::touched_memory,
            {{"where", "in its launches"}, {"place", fmt::format("it changed input {}", input->get<int>())}}};
  }
  if (answer != nullptr) *answer = std::move(*got);
  return {};
}

Reason LoadedCuda::finish_loading(Clock::time_point deadline) {
  const Result<Json> facts = worker_->facts(deadline);
  if (!facts.ok()) return {ReasonCode::refused_to_load, {{"said", facts.error().message}}};
  facts_ = *facts;
  if (Reason reason = plans_->finish_loading(deadline); !reason.empty()) return reason;
  const auto code = sandbox::memory_file(cubin_);
  if (!code.ok()) return {ReasonCode::refused_to_load, {{"said", code.error().message}}};
  const int files[] = {code->get()};
  Reason loaded = ask({{"ask", "load"}}, files, deadline);
  if (loaded.code == ReasonCode::bad_plan) {
    return {ReasonCode::refused_to_load, {{"said", loaded.params.value("text", std::string())}}};
  }
  return loaded;
}

PlanLimits LoadedCuda::limits_for(const targets::Instance& instance) const {
  const auto memory = facts_.value("memory_bytes", std::int64_t{0});
  PlanLimits limits{.threads_in_block = facts_.value("threads_in_block", std::int64_t{1024}),
                    .shared_bytes = facts_.value("shared_bytes", std::int64_t{48 << 10})};
  // As kernelwright.h promises them, and no more than a quarter of the GPU.
  limits.scratch_bytes = std::min<std::int64_t>(static_cast<std::int64_t>(cpu::scratch_bytes(instance.all_bytes())),
                                                std::max<std::int64_t>(memory / 4, 0));
  limits.kept_bytes = std::min<std::int64_t>(static_cast<std::int64_t>(cpu::kept_bytes(instance.constant_bytes())),
                                             std::max<std::int64_t>(memory / 4, 0));
  return limits;
}

Result<Reason> LoadedCuda::arrange(const targets::Calls& calls, const targets::Instance& instance,
                                   Clock::time_point deadline) {
  calls_ = dynamic_cast<const CudaCalls*>(&calls);
  instance_ = &instance;
  shapes_.clear();
  std::vector<std::string> constants(instance.inputs.size());
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    const CudaCalls::Slot& slot = calls_->slot(0, i);
    if (!instance.constant[i] || slot.drawn || slot.size_bytes > kMostSeenConstantBytes) continue;
    constants[i].assign(reinterpret_cast<const char*>(calls_->memory().at(slot.offset)), slot.size_bytes);
  }
  KW_TRY(auto planned, plans_->plan(instance, constants, limits_for(instance), deadline));
  if (auto* reason = std::get_if<Reason>(&planned)) return std::move(*reason);
  const Plan& plan = std::get<Plan>(planned);

  Json places = Json::array(), inputs = Json::array(), outputs = Json::array();
  for (targets::Placement place : calls_->places()) places.push_back(static_cast<int>(place));
  const auto tensor = [](const TensorType& type) {
    return Json{{"bytes", static_cast<std::uint64_t>(type.shape.count()) * size_bytes(type.dtype)},
                {"element", size_bytes(type.dtype)}};
  };
  std::uint64_t largest = 1;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    Json one = tensor(instance.inputs[i]);
    one["constant"] = bool(instance.constant[i]);
    inputs.push_back(std::move(one));
  }
  for (const TensorType& type : instance.outputs) {
    outputs.push_back(tensor(type));
    largest = std::max(largest, outputs.back().at("bytes").get<std::uint64_t>());
  }
  KW_CHECK(output_memory_.resize(largest));
  const int files[] = {calls_->memory().file(), output_memory_.file()};
  Json answer;
  const Clock::time_point own = under_tools_ ? deadline : Clock::now() + kMostOwnTime;
  Reason arranged = ask({{"ask", "arrange"},
                         {"places", std::move(places)},
                         {"inputs", std::move(inputs)},
                         {"outputs", std::move(outputs)},
                         {"plan", json_of(plan)},
                         {"exact", under_tools_}},
                        files, own, &answer);
  if (!arranged.empty()) return arranged;
  written_.assign(calls_->slot_count(), 0);
  if (Reason wrote = write_inputs(calls_->count(), own); !wrote.empty()) return wrote;
  const bool prepares = std::ranges::any_of(plan.launches, [](const Launch& one) { return one.once; });
  if (prepares) return ask({{"ask", "prepare"}}, {}, deadline);
  return Reason{};
}

Reason LoadedCuda::write_inputs(std::size_t calls, Clock::time_point deadline) {
  Json items = Json::array();
  bool draws = false;
  for (std::size_t call = 0; call < calls; ++call) {
    for (std::size_t i = 0; i < instance_->inputs.size(); ++i) {
      const std::size_t index = calls_->slot_index(call, i);
      const CudaCalls::Slot& slot = calls_->slot(call, i);
      if (written_[index] == slot.version) continue;
      written_[index] = slot.version;
      Json item{{"call", call}, {"input", i}, {"offset", slot.offset}};
      if (slot.before >= 0) {
        item["before"] = slot.before;
        item["after"] = slot.after;
      }
      if (slot.drawn) {
        draws = true;
        item["drawn"] = json_of(slot.recipe);
      }
      items.push_back(std::move(item));
    }
  }
  if (items.empty()) return {};
  if (!draws) {
    waiting_.push_back({{"ask", "write"}, {"items", std::move(items)}});
    return {};
  }
  const Result<std::string> code = referee_.code();
  if (!code.ok()) return {ReasonCode::lost, {{"where", code.error().message}}};
  const auto file = sandbox::memory_file(*code);
  if (!file.ok()) return {ReasonCode::lost, {{"where", file.error().message}}};
  const int files[] = {file->get()};
  return ask({{"ask", "write"}, {"items", std::move(items)}}, files, deadline);
}

Result<targets::Checked> LoadedCuda::check(const CudaReference& reference, std::size_t first, std::size_t count,
                                           std::span<const targets::OutputBound> bounds, Clock::time_point deadline) {
  KW_TRY(const std::string code, referee_.code());
  KW_TRY(const Descriptor judge_file, sandbox::memory_file(code));
  KW_TRY(const Descriptor reference_file, sandbox::memory_file(reference.cubin));
  const int files[] = {judge_file.get(), reference_file.get()};
  Json inputs = Json::array(), outputs = Json::array();
  for (std::size_t i = 0; i < instance_->inputs.size(); ++i) {
    const CudaCalls::Slot& slot = calls_->slot(first, i);
    const TensorType& type = instance_->inputs[i];
    Json one{{"count", type.shape.count()}, {"element", size_bytes(type.dtype)}, {"type", judged_type(type.dtype)}};
    if (slot.drawn) {
      one["drawn"] = json_of(slot.recipe);
    } else {
      one["offset"] = slot.offset;
    }
    inputs.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < instance_->outputs.size(); ++i) {
    const TensorType& type = instance_->outputs[i];
    const double limit = is_float(type.dtype) ? largest_finite(type.dtype) * (1 + unit_roundoff(type.dtype) / 2) : 0;
    outputs.push_back({{"count", type.shape.count()},
                       {"element", size_bytes(type.dtype)},
                       {"type", judged_type(type.dtype)},
                       {"bounds", Json::array({word_of(bounds[i].floor), word_of(bounds[i].share), word_of(limit)})}});
  }
  Json answer;
  targets::Checked checked;
  checked.reason = ask({{"ask", "check"},
                        {"first", first},
                        {"count", count},
                        {"inputs", std::move(inputs)},
                        {"outputs", std::move(outputs)},
                        {"plan", json_of(reference.plan)}},
                       files, deadline, &answer);
  if (!checked.reason.empty()) return checked;
  for (const Json& call : answer.at("calls")) {
    std::vector<targets::CheckedOutput>& of = checked.calls.emplace_back();
    for (const Json& one : call) {
      targets::CheckedOutput output{.count = instance_->outputs[of.size()].shape.count(),
                                    .wrong = one.at("wrong").get<std::int64_t>(),
                                    .worst = number_of(one.at("worst")),
                                    .differs = one.at("differs").get<std::int64_t>(),
                                    .difference = {.index = one.at("difference").at(0).get<std::int64_t>(),
                                                   .got = number_of(one.at("difference").at(1)),
                                                   .expected = number_of(one.at("difference").at(2))}};
      for (const Json& example : one.at("examples")) {
        output.examples.push_back({example.at(0).get<std::int64_t>(), number_of(example.at(1)),
                                   number_of(example.at(2)), number_of(example.at(3))});
      }
      of.push_back(std::move(output));
    }
  }
  return checked;
}

Reason LoadedCuda::poison_scratch(std::uint8_t value, Clock::time_point deadline) {
  return ask({{"ask", "poison_scratch"}, {"value", value}}, {}, deadline);
}

Reason LoadedCuda::run(std::size_t first, std::size_t count, Clock::time_point deadline) {
  const Clock::time_point own = under_tools_ ? deadline : Clock::now() + kMostOwnTime;
  if (Reason reason = write_inputs(calls_->count(), own); !reason.empty()) return reason;
  Json inputs = Json::array();
  for (std::size_t call = first; call < first + count; ++call) {
    for (std::size_t i = 0; i < instance_->inputs.size(); ++i) {
      // What was drawn is compared when the outputs are.
      if (calls_->slot(call, i).drawn) continue;
      inputs.push_back({{"call", call}, {"input", i}, {"offset", calls_->slot(call, i).offset}});
    }
  }
  Json answer;
  Reason reason =
      ask({{"ask", "run"}, {"first", first}, {"count", count}, {"inputs", std::move(inputs)}}, {}, deadline, &answer);
  if (!reason.empty()) return reason;
  if (const Json* shapes = answer.find("shapes"); shapes != nullptr) {
    for (const Json& one : *shapes) {
      targets::FoundShape& shape = shapes_[{one.at("call").get<std::size_t>(), one.at("output").get<std::size_t>()}];
      shape.rank = one.at("rank").get<std::int64_t>();
      shape.lengths = one.at("lengths").get<std::vector<std::int64_t>>();
    }
  }
  return {};
}

targets::FoundShape LoadedCuda::found_shape(std::size_t call, std::size_t output) const {
  const auto found = shapes_.find({call, output});
  if (found != shapes_.end()) return found->second;
  const Shape& shape = instance_->outputs[output].shape;
  targets::FoundShape whole{.rank = shape.rank()};
  for (int axis = 0; axis < shape.rank(); ++axis) whole.lengths.push_back(shape[axis]);
  return whole;
}

Reason LoadedCuda::put(std::size_t call, const FrameworkOutputs& theirs, Clock::time_point deadline) {
  for (std::size_t i = 0; i < instance_->outputs.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(instance_->outputs[i].bytes());
    theirs.read(call, i, {output_memory_.at(0), bytes});
    if (Reason reason = ask({{"ask", "put"}, {"call", call}, {"output", i}, {"bytes", bytes}}, {}, deadline);
        !reason.empty()) {
      return reason;
    }
  }
  return {};
}

targets::Lap LoadedCuda::time(std::size_t first, std::size_t count, targets::Warmth warmth,
                              Clock::time_point deadline) {
  targets::Lap lap;
  Json answer;
  lap.reason = ask({{"ask", "time"}, {"first", first}, {"count", count}, {"cold", warmth == targets::Warmth::cold}}, {},
                   deadline, &answer);
  if (!lap.reason.empty()) return lap;
  lap.ns = answer.value("ns", 0.0);
  if (answer.contains("warm_ns")) lap.warm_ns = answer.value("warm_ns", 0.0);
  return lap;
}

void LoadedCuda::poison(std::size_t call, std::uint8_t value, bool around) {
  waiting_.push_back({{"ask", "poison"}, {"call", call}, {"value", value}, {"around", around}});
}

Reason LoadedCuda::overrun(std::size_t call, std::uint8_t value) const {
  Json answer;
  Reason reason = ask({{"ask", "around"}, {"call", call}, {"value", value}}, {}, Clock::now() + kMostOwnTime, &answer);
  if (!reason.empty() || answer.empty()) return reason;
  const bool before = answer.at("side").get<std::string>() == "before";
  return {before ? ReasonCode::wrote_before : ReasonCode::wrote_after, {{"output", answer.at("output")}}};
}

void LoadedCuda::read(std::size_t call, std::size_t output, std::span<std::byte> bytes) const {
  const Reason reason = ask({{"ask", "read"}, {"call", call}, {"output", output}, {"bytes", bytes.size()}}, {},
                            Clock::now() + kMostOwnTime);
  if (!reason.empty()) {
    std::ranges::fill(bytes, std::byte{0xff});
    return;
  }
  std::memcpy(bytes.data(), output_memory_.at(0), bytes.size());
}

}  // namespace kw::cuda
