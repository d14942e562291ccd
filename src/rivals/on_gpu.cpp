#include "rivals/on_gpu.h"

#include <unistd.h>

#include "base/files.h"
#include "base/hash.h"
#include "ops/draw.h"
#include "rivals/answers.h"
#include "suites/onnx_file.h"

namespace kw::rivals {
namespace {

namespace fs = std::filesystem;
using judge::FrameworkFailure;
using judge::FrameworkStatus;

std::string hex_of(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

FrameworkFailure failed(FrameworkFailure::Kind kind, std::string why) { return {.kind = kind, .text = std::move(why)}; }

}  // namespace

void OnGpu::start() {
  if (alive()) return;
  std::error_code error;
  fs::create_directories(kept(), error);
  awake_ = false;
  // What goes wrong here is said when the worker is needed.
  if (auto worker = LocalWorker::start_on_gpu(rival_, gpu_, kept()); worker.ok()) worker_ = std::move(*worker);
}

fs::path OnGpu::kept() const { return rival_.environment().string() + "-gpu"; }

FrameworkStatus OnGpu::ask(const Json& command, const targets::SharedCalls* shared, std::chrono::seconds most,
                           Json* answer) {
  using targets::WorkerAnswer;
  if (!alive()) return failed(FrameworkFailure::Kind::crashed, "its worker is gone");
  const WorkerAnswer said = worker_->ask(command.dump(), shared, Clock::now() + most);
  if (said.kind == WorkerAnswer::Kind::slow) {
    return failed(FrameworkFailure::Kind::slow, fmt::format("{} in {} s", said.text, most.count()));
  }
  if (said.kind == WorkerAnswer::Kind::gone) return failed(FrameworkFailure::Kind::crashed, said.text);
  // A context that is lost goes with its process.
  if (const Json json = Json::parse_quietly(said.text); json.is_object() && json.contains("lost")) worker_.reset();
  auto parsed = answer_in(said.text);
  if (!parsed.ok()) return failed(FrameworkFailure::Kind::refused, parsed.error().message);
  *answer = *std::move(parsed);
  return std::nullopt;
}

FrameworkStatus OnGpu::enter(const targets::Instance& instance, int) {
  if (!rival_.own) {
    return failed(FrameworkFailure::Kind::refused,
                  fmt::format("the user's Python has no {} (the setting python names another)", rival_.module));
  }
  start();
  Json answer;
  if (!awake_) {
    if (FrameworkStatus outcome = ask({{"do", "about"}}, nullptr, patience_.start, &answer)) return outcome;
    version_ = about_in(answer).version;
    awake_ = true;
  }
  // Weights come with the calls: what the model holds are the constants alone, which have their values from the task.
  Json inputs = Json::array(), outputs = Json::array();
  std::vector<Tensor> constants;
  for (const ops::GraphInput& input : instance.graph.inputs) {
    const std::size_t slot = constants.size();
    const Tensor* known = instance.graph.known[slot];
    constants.push_back(known != nullptr ? *known : Tensor());
    if (input.role != Role::constant) inputs.push_back(input.name);
  }
  for (int slot : instance.graph.outputs) outputs.push_back(instance.graph.names[static_cast<std::size_t>(slot)]);
  const auto model = suites::write_onnx(instance.graph, constants);
  if (!model.ok()) return failed(FrameworkFailure::Kind::refused, model.error().message);
  // Another kw may have the same task at the same time.
  const fs::path file = kept() / fmt::format("{:016x}-{}.onnx", hash_of(*model), ::getpid());
  if (const Status written = write_file(file, *model); !written.ok()) {
    return failed(FrameworkFailure::Kind::crashed, written.error().message);
  }
  const bool tf32 = instance.graph.task->precision == Precision::tf32;
  FrameworkStatus outcome =
      ask({{"do", "load"}, {"model", file.string()}, {"inputs", inputs}, {"outputs", outputs}, {"tf32", tf32}}, nullptr,
          patience_.start, &answer);
  std::error_code error;
  fs::remove(file, error);
  return outcome;
}

FrameworkStatus OnGpu::arrange(const targets::SharedCalls& shared, const targets::Instance& instance,
                               Clock::time_point) {
  Json types = {{"inputs", Json::array()}, {"outputs", Json::array()}}, calls = Json::array(), constant = Json::array();
  passed_.clear();
  for (const ops::GraphInput& input : instance.graph.inputs) passed_.push_back(input.role != Role::constant);
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    if (!passed_[i]) continue;
    types["inputs"].push_back(type_of(instance.inputs[i]));
    constant.push_back(static_cast<bool>(instance.constant[i]));
  }
  for (const TensorType& type : instance.outputs) types["outputs"].push_back(type_of(type));
  for (const targets::SharedCalls::Call& call : shared.calls) {
    Json offsets = {Json::array(), Json::array()};
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (passed_[i]) offsets[0].push_back(call.inputs[i]);
    }
    for (const std::uint64_t offset : call.outputs) offsets[1].push_back(offset);
    calls.push_back(std::move(offsets));
  }
  ran_ = false;
  drawn_ = drawn_in(shared);
  Json answer, command = {{"do", "arrange"}, {"types", types}, {"calls", calls}, {"constant", constant}};
  if (!drawn_.is_null()) {
    const fs::path file = kept() / fmt::format("draw-{:016x}.cubin", hash_of(shared.drawing->code));
    if (const Status written = write_file(file, shared.drawing->code); !written.ok()) {
      return failed(FrameworkFailure::Kind::crashed, written.error().message);
    }
    command["drawn"] = drawn_;
    command["drawing"] = file.string();
    command["layers"] = hex_of(shared.drawing->layers);
  }
  return ask(command, &shared, patience_.prepare, &answer);
}

Json OnGpu::drawn_in(const targets::SharedCalls& shared) const {
  if (shared.drawing == nullptr) return nullptr;
  Json all = Json::array();
  for (const targets::SharedCalls::Call& call : shared.calls) {
    Json words = Json::array();
    for (std::size_t i = 0; i < call.drawn.size(); ++i) {
      if (passed_[i]) words.push_back(hex_of(call.drawn[i]));
    }
    all.push_back(std::move(words));
  }
  return all;
}

void OnGpu::refresh(const targets::SharedCalls& shared) { drawn_ = drawn_in(shared); }

FrameworkStatus OnGpu::run(std::uint32_t first, std::uint32_t count, std::uint32_t warm, double* time_ns,
                           Clock::time_point) {
  Json answer;
  Json command = {{"do", "run"}, {"first", first}, {"count", count}, {"warm", warm}, {"cold", cold_}};
  if (!drawn_.is_null()) command["drawn"] = drawn_;
  if (FrameworkStatus outcome = ask(command, nullptr, ran_ ? patience_.run : patience_.prepare, &answer)) {
    return outcome;
  }
  ran_ = true;
  const auto times = times_in(answer, count);
  if (!times.ok()) return failed(FrameworkFailure::Kind::refused, times.error().message);
  for (const double one : times->each_ns) *time_ns += one;
  own_ns_ = times->own_ns;
  own_warm_ns_ = times->own_warm_ns;
  return std::nullopt;
}

FrameworkStatus OnGpu::fetch(std::size_t call) {
  Json answer;
  if (FrameworkStatus outcome = ask({{"do", "fetch"}, {"call", call}}, nullptr, patience_.run, &answer)) return outcome;
  const auto shapes = shapes_in(answer);
  if (!shapes.ok()) return failed(FrameworkFailure::Kind::refused, shapes.error().message);
  fetched_ = {call, *shapes};
  return std::nullopt;
}

std::vector<Shape> OnGpu::shapes(std::size_t call) const {
  return fetched_.first == call ? fetched_.second : std::vector<Shape>();
}

}  // namespace kw::rivals
