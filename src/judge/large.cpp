#include "judge/large.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "judge/secret.h"
#include "judge/timed_answers.h"
#include "ops/draw.h"

namespace kw::judge {
namespace {

using namespace std::chrono_literals;
using targets::CheckedOutput;
using targets::Clock;
using targets::Instance;
using targets::OutputBound;
using targets::Placement;

// Limits of the smaller shape from which bounds are taken: the time of its reference, and the memory for it.
constexpr Means kBoundMeans{.memory_bytes = 2e9, .reference_s = 0.5};
// Bounds are multiplied by this: more elements have larger extremes, and other inputs have other ones.
constexpr double kLargerBounds = 2;
constexpr auto kMostLargeCallTime = 20s;
constexpr auto kMostLargeCheckTime = 120s;
// Calls, references and what a kernel asks for besides take no more of the device's memory.
constexpr double kShareOfDevice = 0.75;
constexpr std::size_t kMostBoundsKept = 64;

double elements_of(const std::vector<TensorType>& types) {
  double elements = 0;
  for (const TensorType& type : types) elements += static_cast<double>(type.shape.count());
  return elements;
}

// Operations for an element of the outputs: how long sums are, roughly.
double terms_of(const ops::Graph& graph) {
  std::vector<TensorType> outputs;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) outputs.push_back(graph.output_type(i));
  return ops::cost_of(graph).flops / std::max(elements_of(outputs), 1.0);
}

bool within(const Burden& burden, const Means& means) {
  return burden.memory_bytes <= means.memory_bytes && burden.reference_s <= means.reference_s;
}

// The names of lengths as the inputs have them, from the first axis of the first one on.
std::vector<std::string> names_in_order(const Task& task) {
  std::vector<std::string> names;
  for (const Value& value : task.values) {
    for (const Length& length : value.lengths) {
      if (!length.name.empty() && std::ranges::find(names, length.name) == names.end()) names.push_back(length.name);
    }
  }
  for (const auto& [name, value] : task.lengths) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

Result<std::vector<OutputBound>> bounds_for(const Task& task, const Lengths& small) {
  KW_TRY(const ops::Graph own, ops::resolve(task));
  KW_TRY(const ops::Graph graph, ops::resolve(task, small));
  if (!within(burden_of(graph), {.memory_bytes = 4 * kBoundMeans.memory_bytes, .reference_s = 8})) {
    return fail("{}: it leaves no length open that would make its bounds affordable", task.name);
  }
  const std::vector<Tensor> inputs = ops::draw_inputs(graph, ops::InputClass::typical, secret());
  KW_TRY(const std::vector<ops::WideTensor> expected, ops::evaluate(graph, inputs));
  const double longer = std::max(terms_of(own) / std::max(terms_of(graph), 1e-9), 1.0);
  std::vector<OutputBound> bounds;
  for (const ops::WideTensor& one : expected) {
    const ElementBound bound = bound_of(one);
    const bool unbounded = std::ranges::any_of(one.slack, [](double slack) { return !std::isfinite(slack); });
    bounds.push_back({.floor = unbounded ? INFINITY : kLargerBounds * longer * bound.floor,
                      .share = kLargerBounds * longer * bound.share});
  }
  return bounds;
}

// Bounds take a second: all candidates of a task have the same ones.
Result<std::vector<OutputBound>> kept_bounds(const Task& task, const Lengths& small) {
  static std::mutex lock;
  static std::map<std::string, std::vector<OutputBound>> kept;
  std::string key = task.suite + '\n' + task.name + '\n' + task.place + '\n' + task.operators();
  for (const Lengths* lengths : {&task.lengths, &small}) {
    for (const auto& [name, value] : *lengths) key += fmt::format("\n{}={}", name, value);
  }
  const std::lock_guard guard(lock);
  if (const auto found = kept.find(key); found != kept.end()) return found->second;
  KW_TRY(std::vector<OutputBound> bounds, bounds_for(task, small));
  if (kept.size() >= kMostBoundsKept) kept.clear();
  return kept.emplace(std::move(key), std::move(bounds)).first->second;
}

std::string place_of(std::int64_t index, const Shape& shape) {
  std::vector<std::int64_t> at;
  for (const std::int64_t stride : shape.strides()) {
    at.push_back(index / stride);
    index %= stride;
  }
  return Shape(at).text();
}

}  // namespace

Lengths lengths_with_long_sums(const Task& task, const Means& means) {
  Lengths lengths = task.lengths;
  const std::vector<std::string> names = names_in_order(task);
  for (;;) {
    const auto graph = ops::resolve(task, lengths);
    if (!graph.ok() || within(burden_of(*graph), means)) return lengths;
    // Halves the length whose halving shortens the sums least; of equal ones the outermost.
    std::optional<Lengths> best;
    double best_terms = 0;
    for (const std::string& name : names) {
      if (lengths.at(name) < 2) continue;
      Lengths halved = lengths;
      halved[name] /= 2;
      const auto smaller = ops::resolve(task, halved);
      if (!smaller.ok()) continue;
      const double terms = terms_of(*smaller);
      if (best && terms <= best_terms * (1 + 1e-6)) continue;
      best = std::move(halved);
      best_terms = terms;
    }
    if (!best) return lengths;
    lengths = std::move(*best);
  }
}

Result<std::optional<LargeTask>> large_task(const Task& task, targets::Device& device, const Means& means) {
  const Status affordable = check_affordable(task, means);
  auto* large = dynamic_cast<targets::LargeShapes*>(&device);
  const bool there = large != nullptr && large->device_memory_bytes() > 0;
  if (affordable.ok() && (!there || check_affordable(task, kQuickOnHost).ok())) return std::optional<LargeTask>();
  if (!there) return affordable.error();
  LargeTask found{.device = large, .reference = nullptr, .bounds = {}, .bounded_at = {}};
  const auto reference = large->reference_for(task);
  if (!reference.ok() && affordable.ok()) return std::optional<LargeTask>();
  if (!reference.ok()) return fail("{}; and on the GPU: {}", affordable.error().message, reference.error().message);
  found.reference = *reference;
  KW_TRY(const Instance own, instance_for(device, task, task.lengths, 1));
  const double needed = static_cast<double>(own.all_bytes() + found.reference->memory_bytes());
  const double most = kShareOfDevice * static_cast<double>(large->device_memory_bytes());
  if (needed > most) {
    return fail(
        "{} is too large to be judged: a call and its reference take {:.1f} GB on the GPU, and {:.1f} GB are "
        "the most",
        task.name, needed / 1e9, most / 1e9);
  }
  found.bounded_at = lengths_with_long_sums(task, kBoundMeans);
  KW_TRY(found.bounds, kept_bounds(task, found.bounded_at));
  return std::optional(std::move(found));
}

Status check_affordable_on(const std::string& device, const Task& task, const Means& means) {
  const Status affordable = check_affordable(task, means);
  if (affordable.ok()) return affordable;
  // Opening one takes a moment: once for all tasks.
  static std::mutex lock;
  static std::map<std::string, std::uint64_t> memory;
  const std::lock_guard guard(lock);
  if (!memory.contains(device)) {
    const auto opened = targets::open_device(device);
    auto* large = opened.ok() ? dynamic_cast<targets::LargeShapes*>(opened->get()) : nullptr;
    memory[device] = large == nullptr ? 0 : large->device_memory_bytes();
  }
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  double bytes = 0;
  for (const TensorType& type : graph.types) {
    bytes += static_cast<double>(type.shape.count()) * (sizeof(double) + static_cast<double>(size_bytes(type.dtype)));
  }
  return bytes <= kShareOfDevice * static_cast<double>(memory[device]) ? Status() : affordable;
}

std::optional<Reason> wrong_answer(const Instance& instance, const std::vector<CheckedOutput>& outputs, double* worst) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const CheckedOutput& one = outputs[i];
    *worst = std::max(*worst, std::isfinite(one.worst) ? one.worst : 0.0);
    if (one.wrong == 0) continue;
    const Shape& shape = instance.outputs[i].shape;
    Json all = Json::array();
    for (const ops::Mismatch& example : one.examples) {
      all.push_back({{"at", place_of(example.index, shape)},
                     {"got", fmt::format("{:.9g}", example.got)},
                     {"expected", fmt::format("{:.9g}", example.expected)},
                     {"allowed", fmt::format("{:.2g}", example.allowed)}});
    }
    const auto slot = static_cast<std::size_t>(instance.graph.outputs[i]);
    return Reason{ReasonCode::wrong_output,
                  {{"wrong", one.wrong},
                   {"count", one.count},
                   {"examples", std::move(all)},
                   {"output", i},
                   {"name", instance.graph.names[slot]}}};
  }
  return std::nullopt;
}

Result<std::optional<Finding>> examine_large(const LargeTask& large, const Task& task, targets::Device& device,
                                             targets::Calls& calls, targets::LoadedKernel& kernel, int threads,
                                             bool once, Random& random, Examined& examined) {
  // One at a time: two would need twice the memory.
  static std::mutex lock;
  const std::lock_guard guard(lock);
  KW_TRY(const Instance instance, instance_for(device, task, task.lengths, threads));
  const double there = kShareOfDevice * static_cast<double>(large.device->device_memory_bytes());
  std::vector<Placement> places = {Placement::aligned, Placement::at_end, Placement::shifted};
  random.shuffle(std::span(places));
  const auto bytes = [&] {
    return static_cast<double>(instance.constant_bytes() + places.size() * instance.call_bytes() +
                               large.reference->memory_bytes());
  };
  while (places.size() > 1 && (once || bytes() > there)) places.pop_back();
  ops::Parts parts = ops::draw_parts(instance.graph, secret(), kLeastDrawnThere);
  KW_CHECK(large.device->lay_out(calls, instance, places, parts));
  for (std::size_t call = 0; call < places.size(); ++call) {
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      calls.surround(call, i, static_cast<std::uint8_t>(0x80 | (random.bits() & 0x7f)),
                     static_cast<std::uint8_t>(0x80 | (random.bits() & 0x7f)));
    }
    large.device->write(calls, call, parts);
  }
  Json lengths = Json::object();
  for (const auto& [name, value] : task.lengths) lengths[name] = value;
  const Json about{{"values", "typical"}, {"lengths", std::move(lengths)}};
  const auto finding = [&](VerdictStage stage, Reason reason) {
    reason.params["case"] = about;
    const VerdictStage where = stage_of(reason, stage);
    return std::optional<Finding>(Finding{where, std::move(reason)});
  };
  const auto deadline = [] { return Clock::now() + kMostLargeCallTime; };
  KW_TRY(Reason arranged, kernel.arrange(calls, instance, deadline()));
  if (!arranged.empty()) return finding(VerdictStage::verify, std::move(arranged));
  std::vector<std::uint8_t> poisons(places.size());
  const auto poison = [&](std::size_t call) {
    poisons[call] = static_cast<std::uint8_t>(random.chance(0.3) ? 0xff : 0x81 + random.bits() % 0x7d);
    kernel.outputs().poison(call, poisons[call], true);
  };
  for (std::size_t call = 0; call < places.size(); ++call) poison(call);
  const auto run = [&](std::size_t call) {
    Reason reason = kernel.run(call, 1, deadline());
    return reason.empty() ? kernel.outputs().overrun(call, poisons[call]) : reason;
  };
  for (std::size_t call = 0; call < places.size(); ++call) {
    if (Reason reason = run(call); !reason.empty()) return finding(VerdictStage::verify, std::move(reason));
  }
  const auto check = [&](std::size_t first, std::size_t count) {
    return large.device->check(kernel, *large.reference, first, count, large.bounds,
                               Clock::now() + kMostLargeCheckTime);
  };
  KW_TRY(const targets::Checked checked, check(0, places.size()));
  if (!checked.reason.empty()) return finding(VerdictStage::verify, checked.reason);
  for (std::size_t call = 0; call < checked.calls.size(); ++call) {
    auto wrong = wrong_answer(instance, checked.calls[call], &examined.max_error);
    if (!wrong) continue;
    if (call > 0) wrong->code = ReasonCode::wrong_when_moved;
    return finding(call == 0 ? VerdictStage::verify : VerdictStage::guard, std::move(*wrong));
  }
  const auto other_bits = [&](const CheckedOutput& output, std::size_t index, bool repeated) {
    return finding(VerdictStage::behaviour, {ReasonCode::other_bits,
                                             {{"output", index},
                                              {"element", output.difference.index},
                                              {"first", fmt::format("{:.9g}", output.difference.expected)},
                                              {"then", fmt::format("{:.9g}", output.difference.got)},
                                              {"repeated", repeated}}});
  };
  for (const auto& outputs : checked.calls) {
    for (std::size_t i = 0; i < outputs.size() && !examined.varies; ++i) {
      if (outputs[i].differs > 0) return other_bits(outputs[i], i, false);
    }
  }
  if (once) return std::optional<Finding>();
  // The last call again, over other rubbish: the first ones hold the same answers still.
  const std::size_t again = places.size() - 1;
  poison(again);
  if (Reason reason = kernel.poison_scratch(static_cast<std::uint8_t>(random.bits()), deadline()); !reason.empty()) {
    return finding(VerdictStage::verify, std::move(reason));
  }
  if (Reason reason = run(again); !reason.empty()) return finding(VerdictStage::verify, std::move(reason));
  KW_TRY(const targets::Checked repeated, check(0, places.size()));
  if (!repeated.reason.empty()) return finding(VerdictStage::verify, repeated.reason);
  if (auto wrong = wrong_answer(instance, repeated.calls.back(), &examined.max_error)) {
    wrong->code = ReasonCode::wrong_when_repeated;
    return finding(VerdictStage::behaviour, std::move(*wrong));
  }
  for (std::size_t i = 0; i < repeated.calls.back().size() && !examined.varies; ++i) {
    if (repeated.calls.back()[i].differs > 0) return other_bits(repeated.calls.back()[i], i, true);
  }
  Coverage& coverage = examined.coverage;
  ++coverage.cases;
  ++coverage.shapes;
  ++coverage.input_classes["typical"];
  coverage.own_classes.push_back("typical");
  coverage.threads.insert(threads);
  return std::optional<Finding>();
}

}  // namespace kw::judge
