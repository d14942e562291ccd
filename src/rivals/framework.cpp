#include "rivals/framework.h"

#include <algorithm>
#include <cstring>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/paired_ratio.h"
#include "ops/compare.h"
#include "ops/draw.h"
#include "suites/catalog.h"
#include "suites/onnx_file.h"
#include "targets/cpu/call_memory.h"

namespace kw::rivals {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using judge::Outcome;
using judge::Trouble;

// A model has the same weights every time: so it is converted once. Nobody but the frameworks sees them.
constexpr std::uint64_t kWeightsSeed = 20260;
// Settings are compared by so many calls, or fewer where they are long.
constexpr int kTrialCalls = 15;
constexpr double kTrialNs = 300e6;
constexpr int kOverheadCalls = 512;
constexpr char kTrialFile[] = "trial.json";

Trouble refused(std::string why) { return {.kind = Trouble::Kind::refused, .text = std::move(why)}; }

Json type_of(const TensorType& type) {
  return {{"dtype", std::string(name_of(type.dtype))}, {"shape", type.shape.lengths()}};
}

// Why an answer is none; empty: it is one.
std::string problem_of(const Json& answer) {
  if (!answer.is_object()) return "answered with something else than an answer";
  if (answer.contains("error")) return answer.value("error", std::string("failed"));
  return {};
}

// As rivals/shared/worker.py calls them.
const char* word_of(Framework::Side side) { return side == Framework::Side::task ? "task" : "nothing"; }

Outcome ask(Worker& worker, const Json& command, std::span<const int> descriptors, Clock::time_point deadline,
            Json* answer) {
  const auto text = worker.ask(command.dump(), descriptors, deadline);
  if (!text.ok()) {
    const bool slow = text.error().message == kNoAnswer;
    return Trouble{.kind = slow ? Trouble::Kind::slow : Trouble::Kind::crashed, .text = text.error().message};
  }
  *answer = Json::parse_quietly(*text);
  if (std::string problem = problem_of(*answer); !problem.empty()) return refused(std::move(problem));
  return std::nullopt;
}

// Memory of the framework's own, to try it out.
struct Stage {
  std::unique_ptr<cpu::CallMemory> calls;
  std::unique_ptr<cpu::OwnOutputs> outputs;
};

Result<Stage> make_stage(const targets::Instance& instance, int calls) {
  Stage stage;
  KW_TRY(stage.calls, cpu::CallMemory::make());
  Random random(1);
  const std::vector<targets::Place> places(static_cast<std::size_t>(calls), targets::Place::aligned);
  KW_CHECK(stage.calls->lay_out(instance, places, random));
  KW_TRY(stage.outputs, cpu::OwnOutputs::make(*stage.calls));
  return stage;
}

void fill(const Stage& stage, const targets::Instance& instance, std::size_t call, const std::vector<Tensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!instance.constant[i]) stage.calls->write(call, i, tensors[i]);
  }
}

}  // namespace

std::string_view name_of(Trial::State state) {
  constexpr std::string_view kNames[] = {"right", "wrong", "not supported", "failed"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string trial_as_json(const Trial& trial) {
  const Json json = {{"state", name_of(trial.state)},
                     {"setting", trial.setting},
                     {"why", trial.why},
                     {"time_ns", trial.time_ns},
                     {"overhead_ns", trial.overhead_ns}};
  return json.dump();
}

Trial trial_from_json(const std::string& text) {
  Trial trial;
  const Json json = Json::parse_quietly(text);
  if (!json.is_object()) return trial;
  for (int i = 0; i <= static_cast<int>(Trial::State::failed); ++i) {
    if (name_of(static_cast<Trial::State>(i)) == json.value("state", "")) trial.state = static_cast<Trial::State>(i);
  }
  trial.setting = json.value("setting", "");
  trial.why = json.value("why", "");
  trial.time_ns = json.value("time_ns", 0.0);
  trial.overhead_ns = json.value("overhead_ns", 0.0);
  return trial;
}

Result<Framework> Framework::open(RivalFile rival, Patience patience) { return Framework(std::move(rival), patience); }

void Framework::start() {
  if (worker_.alive()) return;
  // What goes wrong here is said when the worker is needed.
  if (auto worker = Worker::start(rival_); worker.ok()) worker_ = std::move(*worker);
  awake_ = false;
  entered_.clear();
}

Status Framework::wake() {
  if (worker_.alive() && awake_) return {};
  entered_.clear();
  overhead_of_.clear();
  if (!worker_.alive()) {
    KW_TRY(worker_, Worker::start(rival_));
  }
  awake_ = true;
  Json answer;
  if (const Outcome outcome = ask(worker_, {{"do", "about"}}, {}, Clock::now() + patience_.start, &answer)) {
    return fail("the worker of {} does not start: {}; kw rivals install {} --fresh makes its environment anew",
                rival_.name, outcome->text, rival_.name);
  }
  settings_ = answer.value("settings", std::vector<std::string>{"default"});
  const std::string version = answer.value("version", "");
  if (!rival_.own && version != rival_.version()) {
    worker_ = Worker();
    return fail("its environment holds version {}, and {} is the one that was tried: kw rivals install {} --fresh",
                version, rival_.version(), rival_.name);
  }
  return {};
}

Result<Framework::Model> Framework::model_of(const targets::Instance& instance) {
  weights_ = ops::draw_inputs(instance.graph, ops::Manner::typical, kWeightsSeed);
  Model model;
  KW_TRY(model.text, suites::write_onnx(instance.graph, weights_));
  model.folder = rival_.environment() / "models" / fmt::format("{:016x}", hash_of(model.text));
  std::error_code error;
  fs::create_directories(model.folder, error);
  if (error) return fail("{}: {}", model.folder.string(), error.message());
  if (!fs::exists(model.folder / "task.onnx", error)) KW_CHECK(write_file(model.folder / "task.onnx", model.text));
  return model;
}

Result<Outcome> Framework::load(const std::string& model_file, const fs::path& folder,
                                const targets::Instance& instance, const std::string& setting, int threads, Side side) {
  KW_CHECK(wake());
  Json inputs = Json::array(), outputs = Json::array();
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    if (!instance.constant[i]) inputs.push_back(instance.graph.inputs[i].name);
  }
  for (int slot : instance.graph.outputs) outputs.push_back(instance.graph.names[static_cast<std::size_t>(slot)]);
  Json answer;
  Outcome outcome = ask(worker_,
                        {{"do", "load"},
                         {"of", word_of(side)},
                         {"model", model_file},
                         {"folder", folder.string()},
                         {"setting", setting},
                         {"threads", threads},
                         {"inputs", inputs},
                         {"outputs", outputs}},
                        {}, Clock::now() + patience_.load, &answer);
  if (!outcome && !answer.value("folded", "").empty()) outcome = refused(answer.value("folded", ""));
  return outcome;
}

Outcome Framework::arrange(const targets::SharedCalls& shared, const targets::Instance& instance,
                           Clock::time_point deadline) {
  return arrange(shared, instance, deadline, Side::task);
}

Outcome Framework::arrange(const targets::SharedCalls& shared, const targets::Instance& instance,
                           Clock::time_point deadline, Side side) {
  Json types = {{"inputs", Json::array()}, {"outputs", Json::array()}}, calls = Json::array();
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    if (!instance.constant[i]) types["inputs"].push_back(type_of(instance.inputs[i]));
  }
  for (const TensorType& type : instance.outputs) types["outputs"].push_back(type_of(type));
  for (const targets::SharedCalls::Call& call : shared.calls) {
    Json offsets = {Json::array(), Json::array()};
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (!instance.constant[i]) offsets[0].push_back(call.inputs[i]);
    }
    for (const std::uint64_t offset : call.outputs) offsets[1].push_back(offset);
    calls.push_back(std::move(offsets));
  }
  const int files[] = {shared.inputs_file, shared.outputs_file};
  Json answer;
  const Json command = {{"do", "arrange"}, {"of", word_of(side)}, {"types", types}, {"calls", calls}};
  return ask(worker_, command, files, deadline, &answer);
}

Outcome Framework::run(std::uint32_t first, std::uint32_t count, std::uint32_t warm, double* time_ns,
                       Clock::time_point deadline) {
  return run(first, count, warm, time_ns, deadline, Side::task);
}

Outcome Framework::run(std::uint32_t first, std::uint32_t count, std::uint32_t warm, double* time_ns,
                       Clock::time_point deadline, Side side) {
  Json answer;
  const Json command = {{"do", "run"}, {"of", word_of(side)}, {"first", first}, {"count", count}, {"warm", warm}};
  if (Outcome outcome = ask(worker_, command, {}, std::min(deadline, Clock::now() + patience_.run), &answer)) {
    return outcome;
  }
  try {
    const auto& times = answer.at("times_ns");
    if (times.size() != count) return refused("did not run all calls");
    // Of the group's calls the middle one stands for all: what interrupted one of them is not the framework's doing.
    *time_ns += count == 0 ? 0 : count * median_of(times.get<std::vector<double>>());
    overhead_ns_ = answer.value("overhead_ns", overhead_ns_);
    shapes_.assign(first + count, {});
    for (std::size_t i = 0; i < answer.at("shapes").size(); ++i) {
      const Json& shapes = answer["shapes"][i];
      if (!shapes.is_array()) continue;
      for (const Json& shape : shapes) shapes_[first + i].emplace_back(shape.get<std::vector<std::int64_t>>());
    }
  } catch (const JsonError&) {
    return refused("answered with something else than times");
  }
  return std::nullopt;
}

std::vector<Shape> Framework::shapes(std::size_t call) const {
  return call < shapes_.size() ? shapes_[call] : std::vector<Shape>();
}

Trial Framework::try_setting(const Model& model, const targets::Instance& instance, const std::string& setting,
                             int threads) {
  Trial trial{.setting = setting};
  const auto missed = [&](Trial::State state, std::string why) {
    trial.state = state;
    trial.why = std::move(why);
    return trial;
  };
  const auto stopped_by = [&](const Trouble& trouble) {
    trial.lasts = trouble.kind != Trouble::Kind::slow;
    return missed(trouble.kind == Trouble::Kind::refused ? Trial::State::unsupported : Trial::State::failed,
                  trouble.text);
  };
  const auto loaded = load((model.folder / "task.onnx").string(), model.folder, instance, setting, threads);
  if (!loaded.ok()) {
    trial.lasts = false;
    return missed(Trial::State::failed, loaded.error().message);
  }
  if (*loaded) return stopped_by(**loaded);
  constexpr std::size_t kCalls = 2;
  const auto stage = make_stage(instance, kCalls);
  if (!stage.ok()) return missed(Trial::State::failed, stage.error().message);
  if (const Outcome outcome =
          arrange(*stage->calls->shared_with(*stage->outputs), instance, Clock::now() + patience_.run)) {
    return stopped_by(*outcome);
  }
  // Twice on other inputs: what runs nothing shows the first answer again.
  for (std::size_t call = 0; call < kCalls; ++call) {
    std::vector<Tensor> inputs = ops::draw_inputs(instance.graph, ops::Manner::typical, 77 + call);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (instance.constant[i]) inputs[i] = weights_[i];
    }
    fill(*stage, instance, call, inputs);
    double time_ns = 0;
    if (const Outcome outcome = run(static_cast<std::uint32_t>(call), 1, static_cast<std::uint32_t>(call), &time_ns,
                                    Clock::now() + patience_.run)) {
      return stopped_by(*outcome);
    }
    const auto expected = ops::evaluate(instance.graph, inputs);
    if (!expected.ok()) return missed(Trial::State::failed, expected.error().message);
    const auto got = judge::outputs_of(*this, *stage->outputs, instance, call);
    if (!got.ok()) return missed(Trial::State::wrong, got.error().message);
    for (std::size_t i = 0; i < got->size(); ++i) {
      const ops::Comparison comparison = ops::compare((*expected)[i], (*got)[i]);
      if (!comparison.right()) {
        return missed(Trial::State::wrong, fmt::format("output {}: {}", i, comparison.text((*expected)[i])));
      }
    }
  }
  std::vector<double> times_ns;
  double spent_ns = 0;
  for (int i = 0; i < kTrialCalls && spent_ns < kTrialNs; ++i) {
    double time_ns = 0;
    if (const Outcome outcome = run(0, 1, 1, &time_ns, Clock::now() + patience_.run)) {
      return stopped_by(*outcome);
    }
    times_ns.push_back(time_ns);
    spent_ns += time_ns;
  }
  trial.state = Trial::State::right;
  trial.time_ns = median_of(times_ns);
  return trial;
}

fs::path Framework::trial_file(const Model& model, int threads) {
  return model.folder / fmt::format("{}-{}", threads, kTrialFile);
}

Trial Framework::tried(const targets::Instance& instance, int threads) {
  const auto model = model_of(instance);
  if (!model.ok()) return {.why = model.error().message};
  if (const auto kept = read_file(trial_file(*model, threads)); kept.ok()) return trial_from_json(*kept);
  // The task that it was in is left: whoever wants it enters it again.
  entered_.clear();
  return try_all(*model, instance, threads);
}

Trial Framework::try_all(const Model& model, const targets::Instance& instance, int threads) {
  const fs::path file = trial_file(model, threads);
  if (const auto kept = read_file(file); kept.ok()) return trial_from_json(*kept);
  if (const auto kept = passing_.find(file.string()); kept != passing_.end()) return kept->second;
  Trial best;
  bool lasts = true;
  if (const Status woken = wake(); !woken.ok()) {
    best.why = woken.error().message;
    best.lasts = false;
    return best;
  }
  // A copy: a worker that crashes is started anew, and says its settings again.
  const std::vector<std::string> settings = settings_;
  for (const std::string& setting : settings) {
    const Trial one = try_setting(model, instance, setting, threads);
    lasts = lasts && one.lasts;
    const bool better = best.setting.empty() || (one.right() && (!best.right() || one.time_ns < best.time_ns));
    // Of several that are not right the first is the one to tell of.
    if (better) best = one;
  }
  best.lasts = lasts;
  if (best.right() && measure_overhead_in(best.setting, threads).ok()) best.overhead_ns = overhead_ns_;
  if (lasts) {
    [[maybe_unused]] const Status written = write_file(file, trial_as_json(best));
  } else {
    passing_[file.string()] = best;
  }
  return best;
}

Outcome Framework::enter(const targets::Instance& instance, int threads) {
  const auto model = model_of(instance);
  if (!model.ok()) return refused(model.error().message);
  model_file_ = model->folder / "task.onnx";
  if (worker_.alive() && entered_ == model->text && threads_ == threads) return std::nullopt;
  trial_ = try_all(*model, instance, threads);
  if (!trial_.right()) {
    return Trouble{.kind = trial_.lasts ? Trouble::Kind::refused : Trouble::Kind::slow,
                   .text = fmt::format("{}{}{}", name_of(trial_.state), trial_.why.empty() ? "" : ": ", trial_.why)};
  }
  // It ran right before: what goes wrong from here on is an accident.
  const auto accident = [](std::string why) { return Trouble{.kind = Trouble::Kind::crashed, .text = std::move(why)}; };
  if (const Status woken = wake(); !woken.ok()) return accident(woken.error().message);
  if (const Status measured = measure_overhead_in(trial_.setting, threads); !measured.ok()) {
    return accident(measured.error().message);
  }
  const auto loaded = load((model->folder / "task.onnx").string(), model->folder, instance, trial_.setting, threads);
  if (!loaded.ok()) return accident(loaded.error().message);
  if (*loaded) return accident((*loaded)->text);
  entered_ = model->text;
  threads_ = threads;
  return std::nullopt;
}

Status Framework::forget(const targets::Instance& instance) {
  KW_TRY(const Model model, model_of(instance));
  std::error_code error;
  fs::remove_all(model.folder, error);
  passing_.clear();
  entered_.clear();
  return {};
}

Result<double> Framework::measure_overhead() {
  KW_CHECK(wake());
  KW_CHECK(measure_overhead_in(settings_.front(), 1));
  return overhead_ns_;
}

// One number: next to nothing but the call. It stays loaded: what a call of it takes is seen again with every run.
Status Framework::measure_overhead_in(const std::string& setting, int threads) {
  if (overhead_of_ == setting) return {};
  KW_TRY(Task task, suites::find_task("Relu"));
  for (auto& [name, value] : task.lengths) value = 1;
  KW_TRY(const targets::Instance instance, targets::make_instance(task, task.lengths, threads));
  const std::vector<Tensor> kept = weights_;
  KW_TRY(const Model model, model_of(instance));
  weights_ = kept;
  KW_TRY(const Outcome loaded,
         load((model.folder / "task.onnx").string(), model.folder, instance, setting, threads, Side::nothing));
  if (loaded) return fail("{} cannot run a model of one number: {}", rival_.name, loaded->text);
  KW_TRY(const Stage stage, make_stage(instance, kOverheadCalls));
  const auto deadline = [&] { return Clock::now() + patience_.run; };
  Outcome outcome = arrange(*stage.calls->shared_with(*stage.outputs), instance, deadline(), Side::nothing);
  double time_ns = 0;
  if (!outcome) outcome = run(0, kOverheadCalls, 0, &time_ns, deadline(), Side::nothing);
  if (outcome) return fail("{}: {}", rival_.name, outcome->text);
  overhead_ns_ = time_ns / kOverheadCalls;
  overhead_of_ = setting;
  return {};
}

}  // namespace kw::rivals
