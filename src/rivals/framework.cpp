#include "rivals/framework.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/paired_ratio.h"
#include "judge/judge.h"
#include "ops/compare.h"
#include "ops/draw.h"
#include "rivals/answers.h"
#include "suites/catalog.h"
#include "suites/onnx_file.h"
#include "targets/target.h"

namespace kw::rivals {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using judge::FrameworkFailure;
using judge::FrameworkStatus;

// A model has the same weights every time: so it is converted once. Only the frameworks see them.
constexpr std::uint64_t kWeightsSeed = 20260;
// The number of calls that settings are compared by; fewer where calls are long.
constexpr int kTrialCalls = 15;
constexpr double kTrialNs = 300e6;
constexpr int kOverheadCalls = 512;
constexpr char kTrialFile[] = "trial.json";

FrameworkFailure refused(std::string why) { return {.kind = FrameworkFailure::Kind::refused, .text = std::move(why)}; }

// As rivals/shared/worker.py calls them.
const char* word_of(Framework::Side side) { return side == Framework::Side::task ? "task" : "nothing"; }

FrameworkStatus ask(targets::Worker& worker, const Json& command, const targets::SharedCalls* shared,
                    Clock::time_point deadline, Json* answer) {
  using targets::WorkerAnswer;
  const WorkerAnswer said = worker.ask(command.dump(), shared, deadline);
  switch (said.kind) {
    case WorkerAnswer::Kind::slow:
      return FrameworkFailure{.kind = FrameworkFailure::Kind::slow, .text = said.text};
    case WorkerAnswer::Kind::gone:
      return FrameworkFailure{.kind = FrameworkFailure::Kind::crashed, .text = said.text};
    case WorkerAnswer::Kind::answered:
      break;
  }
  auto parsed = answer_in(said.text);
  if (!parsed.ok()) return refused(parsed.error().message);
  *answer = *std::move(parsed);
  return std::nullopt;
}

void fill(const Stage& stage, const targets::Instance& instance, std::size_t call, const std::vector<Tensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!instance.constant[i]) stage.calls->write(call, i, tensors[i]);
  }
}

}  // namespace

std::string_view name_of(SettingTrial::State state) {
  constexpr std::string_view kNames[] = {"right", "wrong", "not supported", "failed"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string trial_as_json(const SettingTrial& trial) {
  const Json json = {{"state", name_of(trial.state)},
                     {"setting", trial.setting},
                     {"why", trial.why},
                     {"time_ns", trial.time_ns},
                     {"overhead_ns", trial.overhead_ns}};
  return json.dump();
}

SettingTrial trial_from_json(const std::string& text) {
  SettingTrial trial;
  const Json json = Json::parse_quietly(text);
  if (!json.is_object()) return trial;
  for (int i = 0; i <= static_cast<int>(SettingTrial::State::failed); ++i) {
    if (json.contains("state") && json["state"] == name_of(static_cast<SettingTrial::State>(i)))
      trial.state = static_cast<SettingTrial::State>(i);
  }
  try {
    trial.setting = json.value("setting", "");
    trial.why = json.value("why", "");
    trial.time_ns = json.value("time_ns", 0.0);
    trial.overhead_ns = json.value("overhead_ns", 0.0);
  } catch (const JsonError&) {
    return {};
  }
  return trial;
}

Result<Framework> Framework::open(RivalFile rival, Patience patience) {
  auto site = here(rival);
  return Framework(std::move(site), std::move(rival), patience);
}

Framework Framework::open_at(std::unique_ptr<Site> site, RivalFile rival, Patience patience) {
  return {std::move(site), std::move(rival), patience};
}

void Framework::start() {
  if (alive()) return;
  // What goes wrong here is said when the worker is needed.
  if (auto worker = site_->start(); worker.ok()) worker_ = std::move(*worker);
  awake_ = false;
  entered_.clear();
}

std::string Framework::version() const {
  const std::string wanted = site_->wanted_version();
  if (!wanted.empty()) return wanted;
  return found_version_.empty() ? rival_.version() : found_version_;
}

void Framework::runs_beside(targets::Device& device) {
  if (!site_->enter(device)) return;
  worker_.reset();
  awake_ = false;
  entered_.clear();
}

Status Framework::wake() {
  if (alive() && awake_) return {};
  entered_.clear();
  overhead_of_.clear();
  if (!alive()) {
    KW_TRY(worker_, site_->start());
  }
  awake_ = true;
  Json answer;
  if (const FrameworkStatus outcome =
          ask(*worker_, {{"do", "about"}}, nullptr, Clock::now() + patience_.start, &answer)) {
    const std::string remedy = site_->remedy();
    return fail("the worker of {} does not start: {}{}{}", rival_.name, outcome->text, remedy.empty() ? "" : "; ",
                remedy);
  }
  const About about = about_in(answer);
  settings_ = about.settings;
  found_version_ = about.version;
  const std::string wanted = site_->wanted_version();
  if (!wanted.empty() && about.version != wanted) {
    worker_.reset();
    return fail("its environment holds version {}, and {} is the one that was tried: kw rivals install {} --fresh",
                about.version, wanted, rival_.name);
  }
  return {};
}

Result<Framework::Model> Framework::model_of(const targets::Instance& instance) {
  weights_ = ops::draw_inputs(instance.graph, ops::InputClass::typical, kWeightsSeed);
  Model model;
  KW_TRY(model.text, suites::write_onnx(instance.graph, weights_));
  model.folder = site_->kept() / "models" / fmt::format("{:016x}", hash_of(model.text));
  std::error_code error;
  fs::create_directories(model.folder, error);
  if (error) return fail("{}: {}", model.folder.string(), error.message());
  if (!fs::exists(model.folder / "task.onnx", error)) KW_CHECK(write_file(model.folder / "task.onnx", model.text));
  return model;
}

Result<FrameworkStatus> Framework::load(const Model& model, const targets::Instance& instance,
                                        const std::string& setting, int threads, Side side) {
  KW_CHECK(wake());
  ModelFiles files;
  if (FrameworkStatus missing = site_->bring(model.folder, &files)) return missing;
  Json inputs = Json::array(), outputs = Json::array();
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    if (!instance.constant[i]) inputs.push_back(instance.graph.inputs[i].name);
  }
  for (int slot : instance.graph.outputs) outputs.push_back(instance.graph.names[static_cast<std::size_t>(slot)]);
  Json answer;
  FrameworkStatus outcome = ask(*worker_,
                                {{"do", "load"},
                                 {"of", word_of(side)},
                                 {"model", files.model},
                                 {"folder", files.folder},
                                 {"setting", setting},
                                 {"threads", threads},
                                 {"inputs", inputs},
                                 {"outputs", outputs}},
                                nullptr, Clock::now() + patience_.load, &answer);
  if (const std::string folded = outcome ? "" : folded_in(answer); !folded.empty()) outcome = refused(folded);
  return outcome;
}

FrameworkStatus Framework::arrange(const targets::SharedCalls& shared, const targets::Instance& instance,
                                   Clock::time_point deadline) {
  return arrange(shared, instance, deadline, Side::task);
}

FrameworkStatus Framework::arrange(const targets::SharedCalls& shared, const targets::Instance& instance,
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
  Json answer;
  if (!alive()) return FrameworkFailure{.kind = FrameworkFailure::Kind::crashed, .text = "its worker is gone"};
  const Json command = {{"do", "arrange"}, {"of", word_of(side)}, {"types", types}, {"calls", calls}};
  return ask(*worker_, command, &shared, deadline, &answer);
}

FrameworkStatus Framework::run(std::uint32_t first, std::uint32_t count, std::uint32_t warm, double* time_ns,
                               Clock::time_point deadline) {
  return run(first, count, warm, time_ns, deadline, Side::task);
}

FrameworkStatus Framework::run(std::uint32_t first, std::uint32_t count, std::uint32_t warm, double* time_ns,
                               Clock::time_point deadline, Side side) {
  Json answer;
  if (!alive()) return FrameworkFailure{.kind = FrameworkFailure::Kind::crashed, .text = "its worker is gone"};
  const Json command = {{"do", "run"}, {"of", word_of(side)}, {"first", first}, {"count", count}, {"warm", warm}};
  if (FrameworkStatus outcome =
          ask(*worker_, command, nullptr, std::min(deadline, Clock::now() + patience_.run), &answer)) {
    return outcome;
  }
  auto times = times_in(answer, count);
  if (!times.ok()) return refused(times.error().message);
  // Of the group's calls the middle one stands for all: what interrupted one of them is not the framework's doing.
  *time_ns += count == 0 ? 0 : count * median_of(times->each_ns);
  overhead_ns_ = times->overhead_ns.value_or(overhead_ns_);
  shapes_.assign(first, {});
  std::ranges::move(times->shapes, std::back_inserter(shapes_));
  return std::nullopt;
}

std::vector<Shape> Framework::shapes(std::size_t call) const {
  return call < shapes_.size() ? shapes_[call] : std::vector<Shape>();
}

SettingTrial Framework::try_setting(const Model& model, const targets::Instance& instance, const std::string& setting,
                                    int threads) {
  SettingTrial trial{.setting = setting};
  const auto missed = [&](SettingTrial::State state, std::string why) {
    trial.state = state;
    trial.why = std::move(why);
    return trial;
  };
  const auto stopped_by = [&](const FrameworkFailure& trouble) {
    trial.lasts = trouble.kind != FrameworkFailure::Kind::slow;
    return missed(trouble.kind == FrameworkFailure::Kind::refused ? SettingTrial::State::unsupported
                                                                  : SettingTrial::State::failed,
                  trouble.text);
  };
  const auto loaded = load(model, instance, setting, threads);
  if (!loaded.ok()) {
    trial.lasts = false;
    return missed(SettingTrial::State::failed, loaded.error().message);
  }
  if (*loaded) return stopped_by(**loaded);
  constexpr std::size_t kCalls = 2;
  const auto stage = site_->make_stage(instance, kCalls);
  if (!stage.ok()) return missed(SettingTrial::State::failed, stage.error().message);
  if (const FrameworkStatus outcome =
          arrange(*stage->calls->shared_with(*stage->outputs), instance, Clock::now() + patience_.run)) {
    return stopped_by(*outcome);
  }
  // Twice on other inputs: what runs nothing shows the first answer again.
  for (std::size_t call = 0; call < kCalls; ++call) {
    std::vector<Tensor> inputs = ops::draw_inputs(instance.graph, ops::InputClass::typical, 77 + call);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (instance.constant[i]) inputs[i] = weights_[i];
    }
    fill(*stage, instance, call, inputs);
    double time_ns = 0;
    if (const FrameworkStatus outcome = run(static_cast<std::uint32_t>(call), 1, static_cast<std::uint32_t>(call),
                                            &time_ns, Clock::now() + patience_.run)) {
      return stopped_by(*outcome);
    }
    const auto expected = ops::evaluate(instance.graph, inputs);
    if (!expected.ok()) return missed(SettingTrial::State::failed, expected.error().message);
    const auto got = judge::outputs_of(*this, *stage->outputs, instance, call);
    if (!got.ok()) return missed(SettingTrial::State::wrong, got.error().message);
    for (std::size_t i = 0; i < got->size(); ++i) {
      const ops::Comparison comparison = ops::compare((*expected)[i], (*got)[i]);
      if (!comparison.right()) {
        return missed(SettingTrial::State::wrong, fmt::format("output {}: {}", i, comparison.text((*expected)[i])));
      }
    }
  }
  std::vector<double> times_ns;
  double spent_ns = 0;
  for (int i = 0; i < kTrialCalls && spent_ns < kTrialNs; ++i) {
    double time_ns = 0;
    if (const FrameworkStatus outcome = run(0, 1, 1, &time_ns, Clock::now() + patience_.run)) {
      return stopped_by(*outcome);
    }
    times_ns.push_back(time_ns);
    spent_ns += time_ns;
  }
  trial.state = SettingTrial::State::right;
  trial.time_ns = median_of(times_ns);
  return trial;
}

fs::path Framework::trial_file(const Model& model, int threads) {
  return model.folder / fmt::format("{}-{}", threads, kTrialFile);
}

SettingTrial Framework::kept_trial(const targets::Instance& instance, int threads) {
  const auto model = model_of(instance);
  const auto kept = model.ok() ? read_file(trial_file(*model, threads)) : Result<std::string>(model.error());
  return kept.ok() ? trial_from_json(*kept) : SettingTrial{.why = "not tried yet"};
}

SettingTrial Framework::tried(const targets::Instance& instance, int threads) {
  const auto model = model_of(instance);
  if (!model.ok()) return {.why = model.error().message};
  if (const auto kept = read_file(trial_file(*model, threads)); kept.ok()) return trial_from_json(*kept);
  // It leaves the task that it was in, which has to be entered again.
  entered_.clear();
  return try_all(*model, instance, threads);
}

SettingTrial Framework::try_all(const Model& model, const targets::Instance& instance, int threads) {
  const fs::path file = trial_file(model, threads);
  if (const auto kept = read_file(file); kept.ok()) return trial_from_json(*kept);
  if (const auto kept = passing_.find(file.string()); kept != passing_.end()) return kept->second;
  SettingTrial best;
  bool lasts = true;
  if (const Status woken = wake(); !woken.ok()) {
    best.why = woken.error().message;
    best.lasts = false;
    return best;
  }
  // A copy: a worker that crashes is started anew, and says its settings again.
  const std::vector<std::string> settings = settings_;
  for (const std::string& setting : settings) {
    const SettingTrial one = try_setting(model, instance, setting, threads);
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

FrameworkStatus Framework::enter(const targets::Instance& instance, int threads) {
  const auto model = model_of(instance);
  if (!model.ok()) return refused(model.error().message);
  model_file_ = model->folder / "task.onnx";
  if (alive() && entered_ == model->text && threads_ == threads) return std::nullopt;
  trial_ = try_all(*model, instance, threads);
  if (!trial_.right()) {
    return FrameworkFailure{
        .kind = trial_.lasts ? FrameworkFailure::Kind::refused : FrameworkFailure::Kind::slow,
        .text = fmt::format("{}{}{}", name_of(trial_.state), trial_.why.empty() ? "" : ": ", trial_.why)};
  }
  // It ran right before: what goes wrong from here on is an accident.
  const auto accident = [](std::string why) {
    return FrameworkFailure{.kind = FrameworkFailure::Kind::crashed, .text = std::move(why)};
  };
  if (const Status woken = wake(); !woken.ok()) return accident(woken.error().message);
  if (const Status measured = measure_overhead_in(trial_.setting, threads); !measured.ok()) {
    return accident(measured.error().message);
  }
  const auto loaded = load(*model, instance, trial_.setting, threads);
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
  KW_TRY(const FrameworkStatus loaded, load(model, instance, setting, threads, Side::nothing));
  if (loaded) return fail("{} cannot run a model of one number: {}", rival_.name, loaded->text);
  KW_TRY(const Stage stage, site_->make_stage(instance, kOverheadCalls));
  const auto deadline = [&] { return Clock::now() + patience_.run; };
  FrameworkStatus outcome = arrange(*stage.calls->shared_with(*stage.outputs), instance, deadline(), Side::nothing);
  double time_ns = 0;
  if (!outcome) outcome = run(0, kOverheadCalls, 0, &time_ns, deadline(), Side::nothing);
  if (outcome) return fail("{}: {}", rival_.name, outcome->text);
  overhead_ns_ = time_ns / kOverheadCalls;
  overhead_of_ = setting;
  return {};
}

}  // namespace kw::rivals
