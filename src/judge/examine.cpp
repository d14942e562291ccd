#include "judge/examine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "judge/precision.h"
#include "judge/secret.h"
#include "ops/draw.h"
#include "ops/lengths.h"
#include "ops/pattern.h"

namespace kw::judge {
namespace {

using namespace std::chrono_literals;
using targets::Clock;
using targets::Instance;
using targets::Place;

constexpr auto kMostLoadTime = 5s;
// A call may take this long, and longer where the reference itself does.
constexpr auto kMostCallTime = 5s;
constexpr int kReferenceTimes = 20;
constexpr std::size_t kHiddenShapes = 12;
// Hard values are tried on the task's own shape too, as long as its references take no longer than this.
constexpr auto kMostReferenceTime = 250ms;

// Where each of a case's three calls lies. The first is judged by its values; the others must give its bits.
constexpr Place kPlaces[] = {Place::aligned, Place::at_end, Place::shifted};
// Hidden shapes are no larger than a few times the task's own.
constexpr std::uint64_t kLargestTimes = 4;

// The same bits, where a NaN is any NaN.
bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return false;
  if (std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0) return true;
  if (!is_float(a.dtype())) return false;
  const std::size_t size = size_bytes(a.dtype());
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * size;
    if (std::memcmp(a.bytes().data() + at, b.bytes().data() + at, size) == 0) continue;
    if (!std::isnan(a.real(i)) || !std::isnan(b.real(i))) return false;
  }
  return true;
}

std::int64_t first_difference(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return 0;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const double p = a.real(i), q = b.real(i);
    if (p != q && !(std::isnan(p) && std::isnan(q))) return i;
  }
  return 0;
}

class Examiner {
 public:
  Examiner(const Exam& exam, std::unique_ptr<targets::Calls> calls, std::unique_ptr<targets::LoadedKernel> kernel)
      : exam_(exam), random_(exam.seed), calls_(std::move(calls)), kernel_(std::move(kernel)) {}

  Result<Examined> run() {
    found(VerdictStage::load, kernel_->finish_loading(Clock::now() + kMostLoadTime));
    if (rejected()) return examined_;
    examined_.varies = kernel_->varies();
    const Task& task = *exam_.task;
    if (exam_.glance != nullptr) {
      KW_CHECK(examine_case(task.lengths, ops::Manner::typical, VerdictStage::verify));
      if (!rejected()) found(VerdictStage::behaviour, kernel_->behaviour());
      return examined_;
    }
    const std::vector<Lengths> hidden = ops::hidden_lengths(task, random_.bits(), kHiddenShapes);
    const auto begin = Clock::now();
    KW_CHECK(examine_case(task.lengths, ops::Manner::typical, VerdictStage::verify));
    if (!rejected()) KW_CHECK(examine_case(task.lengths, ops::Manner::typical, VerdictStage::verify, true));
    for (ops::Manner manner : ops::kManners) {
      if (rejected()) return examined_;
      if (!hidden.empty() && Clock::now() - begin > kMostReferenceTime) break;
      if (manner != ops::Manner::typical) KW_CHECK(examine_case(task.lengths, manner, VerdictStage::verify));
    }
    // Each manner on some hidden shape, and typical values on all others.
    const std::size_t turn = random_.bits() % std::size(ops::kManners);
    for (std::size_t i = 0; i < hidden.size() && !rejected(); ++i) {
      ops::Manner manner = ops::kManners[(i + turn) % std::size(ops::kManners)];
      // Bounds of sums hold for roundings as good as random. Long sums of equal terms are none: they drift.
      if (is_much_longer(hidden[i])) manner = ops::Manner::typical;
      KW_CHECK(examine_case(hidden[i], manner, VerdictStage::hidden));
    }
    if (!rejected()) found(VerdictStage::behaviour, kernel_->behaviour());
    return examined_;
  }

 private:
  bool is_much_longer(const Lengths& lengths) const {
    return std::ranges::any_of(lengths,
                               [&](const auto& one) { return one.second > 2 * exam_.task->lengths.at(one.first); });
  }

  bool rejected() const { return examined_.finding.has_value(); }
  // Nothing where the reason is none.
  void found(VerdictStage stage, Reason reason) {
    if (rejected() || reason.empty()) return;
    const VerdictStage where = stage_of(reason, stage);
    examined_.finding = Finding{where, std::move(reason)};
  }

  // `thin`: most elements are zero, as precision.h says; nothing is done where that makes no sense.
  Status examine_case(const Lengths& lengths, ops::Manner manner, VerdictStage stage, bool thin = false) {
    KW_TRY(const Instance instance, instance_for(*exam_.device, *exam_.task, lengths, exam_.threads));
    Json values = Json::object();
    for (const auto& [name, value] : lengths) values[name] = value;
    const Asked asked{.stage = stage,
                      .about = {{"values", thin ? "few" : std::string(ops::name_of(manner))}, {"lengths", values}},
                      .typical = !thin && manner == ops::Manner::typical};
    if (exam_.glance != nullptr) {
      return examine_answers(instance, exam_.glance->inputs, exam_.glance->expected, kMostCallTime, asked);
    }
    std::vector<Tensor> inputs = ops::draw_inputs(instance.graph, manner, secret());
    if (thin && !thin_out(instance.graph, inputs, random_)) return {};
    const auto begin = Clock::now();
    const auto expected = ops::evaluate(instance.graph, inputs);
    // Values that the operator forbids were drawn: nothing is known of this case.
    if (!expected.ok()) return {};
    return examine_answers(instance, inputs, *expected, kMostCallTime + kReferenceTimes * (Clock::now() - begin),
                           asked);
  }

  // What a case is called, and what a wrong answer in it means.
  struct Asked {
    VerdictStage stage;
    Json about;
    bool typical;
  };

  // In this case: its name goes with the reason, and whether its author may know it.
  void found_in(const Asked& asked, VerdictStage stage, Reason reason) {
    if (reason.empty()) return;
    reason.params["case"] = asked.about;
    reason.on_hidden_case = asked.stage == VerdictStage::hidden;
    found(stage, std::move(reason));
  }

  Status examine_answers(const Instance& instance, const std::vector<Tensor>& inputs,
                         const std::vector<ops::WideTensor>& expected, Clock::duration most_time, const Asked& asked) {
    ++examined_.cases;
    KW_CHECK(calls_->lay_out(instance, kPlaces, random_));
    fill_inputs(instance, inputs);
    const auto deadline = [&] { return Clock::now() + most_time; };
    KW_TRY(Reason arranged, kernel_->arrange(*calls_, instance, deadline()));
    found_in(asked, asked.stage, std::move(arranged));
    if (rejected()) return {};
    for (std::size_t call = 0; call < calls_->count(); ++call) poison_outputs(call);
    std::vector<Tensor> first;
    for (std::size_t round = 0; round <= std::size(kPlaces) && !rejected(); ++round) {
      // The last round repeats the first call over other rubbish.
      const bool again = round == std::size(kPlaces);
      const std::size_t call = again ? 0 : round;
      if (again) {
        poison_outputs(call);
        found_in(asked, asked.stage, kernel_->poison_scratch(static_cast<std::uint8_t>(random_.bits()), deadline()));
        if (rejected()) return {};
      }
      found_in(asked, asked.stage, kernel_->run(call, 1, deadline()));
      if (rejected()) return {};
      found_in(asked, VerdictStage::guard, named(kernel_->outputs().overrun(call, poisons_[call]), instance));
      if (rejected()) return {};
      Reason problem;
      std::vector<Tensor> outputs = outputs_of(*kernel_, instance, call, &problem);
      found_in(asked, asked.stage, named(std::move(problem), instance));
      if (rejected()) return {};
      if (round == 0) {
        compare_all(expected, outputs, instance, asked);
        first = std::move(outputs);
      } else {
        compare_again(expected, first, outputs, instance, call, asked);
      }
    }
    return {};
  }

  // With the name of the output that it is about.
  static Reason named(Reason reason, const Instance& instance) {
    if (const Json* output = reason.params.find("output"); output != nullptr) {
      const auto slot = static_cast<std::size_t>(instance.graph.outputs[output->get<std::size_t>()]);
      reason.params["name"] = instance.graph.names[slot];
    }
    return reason;
  }

  void fill_inputs(const Instance& instance, const std::vector<Tensor>& inputs) {
    const auto rubbish = [&] { return static_cast<std::uint8_t>(0x80 | (random_.bits() & 0x7f)); };
    for (std::size_t call = 0; call < calls_->count(); ++call) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (call > 0 && instance.constant[i]) continue;
        const std::uint8_t before = rubbish();
        calls_->surround(call, i, before, rubbish());
        calls_->write(call, i, inputs[i]);
      }
    }
  }

  // Outputs and all that is mapped around them get one byte, another one each time.
  void poison_outputs(std::size_t call) {
    poisons_[call] = static_cast<std::uint8_t>(0x81 + random_.bits() % 0x7d);
    kernel_->outputs().poison(call, poisons_[call], true);
  }

  void compare_all(const std::vector<ops::WideTensor>& expected, const std::vector<Tensor>& outputs,
                   const Instance& instance, const Asked& asked) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const ops::Comparison comparison = ops::compare(expected[i], outputs[i]);
      examined_.max_error = std::max(examined_.max_error, std::isfinite(comparison.worst) ? comparison.worst : 0.0);
      if (!comparison.right()) {
        Reason reason{ReasonCode::wrong_output, comparison.data(expected[i])};
        reason.params["output"] = i;
        if (std::string pattern = ops::pattern_of_wrong(expected[i], outputs[i]); !pattern.empty()) {
          reason.params["pattern"] = std::move(pattern);
        }
        const std::optional<Imprecision> imprecision = lost_precision(expected[i], outputs[i]);
        if (imprecision) {
          reason.code = ReasonCode::imprecise_output;
          reason.params["dtype"] = std::string(name_of(outputs[i].dtype()));
          reason.params["off"] = imprecision->elements;
          reason.params["relative"] = imprecision->relative;
        }
        found_in(asked, imprecision ? VerdictStage::precision : asked.stage, named(std::move(reason), instance));
        return;
      }
      if (asked.stage == VerdictStage::verify && asked.typical) {
        double most = 0;
        for (std::int64_t k = 0; k < outputs[i].count(); ++k) most = std::max(most, expected[i].slack_at(k));
        examined_.allowed.push_back(most);
      }
    }
  }

  void compare_again(const std::vector<ops::WideTensor>& expected, const std::vector<Tensor>& first,
                     const std::vector<Tensor>& outputs, const Instance& instance, std::size_t call,
                     const Asked& asked) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (same_bits(first[i], outputs[i])) continue;
      const ops::Comparison comparison = ops::compare(expected[i], outputs[i]);
      if (!comparison.right()) {
        Reason reason{call == 0 ? ReasonCode::wrong_when_repeated : ReasonCode::wrong_when_moved,
                      comparison.data(expected[i])};
        reason.params["output"] = i;
        found_in(asked, call == 0 ? VerdictStage::behaviour : VerdictStage::guard, named(std::move(reason), instance));
      } else if (!examined_.varies) {
        const std::int64_t at = first_difference(first[i], outputs[i]);
        found_in(asked, VerdictStage::behaviour,
                 {ReasonCode::other_bits,
                  {{"output", i},
                   {"element", at},
                   {"first", fmt::format("{:.9g}", first[i].real(at))},
                   {"then", fmt::format("{:.9g}", outputs[i].real(at))},
                   {"repeated", call == 0}}});
      }
    }
  }

  const Exam& exam_;
  Random random_;
  std::unique_ptr<targets::Calls> calls_;
  std::unique_ptr<targets::LoadedKernel> kernel_;
  Examined examined_;
  std::uint8_t poisons_[std::size(kPlaces)] = {};
};

}  // namespace

VerdictStage stage_of(const Reason& reason, VerdictStage stage) {
  switch (reason.code) {
    case ReasonCode::system_call:
    case ReasonCode::keeps_working:
    case ReasonCode::registers_changed:
      return VerdictStage::behaviour;
    case ReasonCode::misaligned_access:
      return VerdictStage::guard;
    case ReasonCode::touched_memory:
      return reason.params.contains("place") ? VerdictStage::guard : stage;
    default:
      return stage;
  }
}

std::vector<Tensor> outputs_of(targets::LoadedKernel& kernel, const Instance& instance, std::size_t call,
                               Reason* problem) {
  return targets::read_outputs(
      kernel.outputs(), instance, call, [&](std::size_t output) { return kernel.found_shape(call, output); }, problem);
}

Result<Instance> instance_for(const targets::Device& device, const Task& task, const Lengths& lengths, int threads) {
  KW_TRY(Instance instance, targets::make_instance(task, lengths, threads));
  if (const Status accepted = device.accepts(instance); !accepted.ok()) return at(task.name, accepted.error());
  return instance;
}

Result<Examined> examine(const Exam& exam) {
  KW_TRY(const Instance own, instance_for(*exam.device, *exam.task, exam.task->lengths, exam.threads));
  KW_TRY(std::unique_ptr<targets::Calls> calls, exam.device->make_calls());
  KW_TRY(std::unique_ptr<targets::LoadedKernel> kernel,
         exam.device->load(*exam.built, *calls,
                           {.threads = exam.threads,
                            .memory_bytes = kLargestTimes * own.all_bytes(),
                            .constant_bytes = kLargestTimes * own.constant_bytes()}));
  return Examiner(exam, std::move(calls), std::move(kernel)).run();
}

}  // namespace kw::judge
