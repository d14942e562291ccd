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

constexpr auto kMostLoadTime = 5s;
// A call may take this long, and longer where the reference itself does.
constexpr auto kMostCallTime = 5s;
constexpr int kReferenceTimes = 20;
constexpr std::size_t kHiddenShapes = 12;
// Hard values are tried on the task's own shape too, as long as its references take no longer than this.
constexpr auto kMostReferenceTime = 250ms;

// Where each of a case's three calls lies. The first is judged by its values; the others must give its bits.
constexpr Place kPlaces[] = {Place::aligned, Place::at_end, Place::shifted};

std::string shape_text(const Lengths& lengths) {
  std::string text;
  for (const auto& [name, value] : lengths) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

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
  Examiner(const Exam& exam, Cell cell) : exam_(exam), random_(exam.seed), cell_(std::move(cell)) {}

  Result<Examined> run() {
    if (const Outcome outcome = cell_.loaded(Clock::now() + kMostLoadTime)) {
      found(finding_of(*outcome, VerdictStage::load, nullptr, nullptr));
      return examined_;
    }
    // One for loading, one more for running: a constructor that never returns has only the first.
    if (const int filters = cell_.filter_count(); exam_.sandbox->tier().seccomp && filters >= 0 && filters < 2) {
      found(VerdictStage::load, "kept the filter of system calls for kernels from being put in place");
      return examined_;
    }
    examined_.varies = cell_.control().varies != 0;
    descriptors_ = cell_.descriptor_count();
    const Task& task = *exam_.task;
    if (exam_.glance != nullptr) {
      KW_CHECK(examine_case(task.lengths, ops::Manner::typical, VerdictStage::verify));
      if (!rejected()) check_behaviour();
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
    if (!rejected()) check_behaviour();
    return examined_;
  }

 private:
  bool is_much_longer(const Lengths& lengths) const {
    return std::ranges::any_of(lengths,
                               [&](const auto& one) { return one.second > 2 * exam_.task->lengths.at(one.first); });
  }

  bool rejected() const { return examined_.finding.has_value(); }
  void found(Finding finding) {
    if (!rejected()) examined_.finding = std::move(finding);
  }
  void found(VerdictStage stage, std::string reason) { found(Finding{stage, std::move(reason)}); }

  // `thin`: most elements are zero, as precision.h says; nothing is done where that makes no sense.
  Status examine_case(const Lengths& lengths, ops::Manner manner, VerdictStage stage, bool thin = false) {
    KW_TRY(const Instance instance, make_instance(*exam_.task, lengths, exam_.threads));
    const std::string about = fmt::format("{} values{}{}", thin ? "few" : ops::name_of(manner),
                                          lengths.empty() ? "" : ", ", shape_text(lengths));
    const Asked asked{.stage = stage, .about = about, .typical = !thin && manner == ops::Manner::typical};
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
    std::string about;
    bool typical;
  };

  Status examine_answers(const Instance& instance, const std::vector<Tensor>& inputs,
                         const std::vector<ops::WideTensor>& expected, Clock::duration most_time, const Asked& asked) {
    const auto& [stage, about, typical] = asked;
    ++examined_.cases;
    const Layout layout = lay_out(instance.inputs, instance.constant, instance.outputs, kPlaces, random_);
    exam_.inputs->cut_to(layout.input_bytes);
    cell_.outputs().cut_to(layout.output_bytes);
    fill_inputs(layout, instance, inputs);
    for (std::size_t call = 0; call < layout.calls.size(); ++call) poison_outputs(layout, call);
    const auto deadline = [&] { return Clock::now() + most_time; };
    if (const Outcome outcome = cell_.arrange(layout, instance, deadline())) {
      found(finding_of(*outcome, stage, &layout, &instance));
      return {};
    }
    std::vector<Tensor> first;
    for (std::size_t round = 0; round <= std::size(kPlaces) && !rejected(); ++round) {
      // The last round repeats the first call over other rubbish.
      const bool again = round == std::size(kPlaces);
      const std::size_t call = again ? 0 : round;
      if (again) {
        poison_outputs(layout, call);
        if (const Outcome outcome = cell_.poison_scratch(static_cast<std::uint8_t>(random_.bits()), deadline())) {
          found(finding_of(*outcome, stage, &layout, &instance));
          return {};
        }
      }
      if (const Outcome outcome = cell_.run(static_cast<std::uint32_t>(call), 1, deadline())) {
        Finding finding = finding_of(*outcome, stage, &layout, &instance);
        finding.reason += fmt::format(" ({})", about);
        found(std::move(finding));
        return {};
      }
      // Asked at once: a later call could wipe the note.
      if (cell_.control().registers_changed != 0) {
        found(VerdictStage::behaviour,
              "left the control registers changed (rounding, flushing of subnormal numbers, or the direction flag)");
        return {};
      }
      if (const std::string problem = overrun(layout, call); !problem.empty()) {
        found(VerdictStage::guard, fmt::format("{} ({})", problem, about));
        return {};
      }
      std::string problem;
      KW_TRY(std::vector<Tensor> outputs, read_outputs(cell_, layout, instance, call, &problem));
      if (!problem.empty()) {
        found(stage, fmt::format("{} ({})", problem, about));
        return {};
      }
      if (round == 0) {
        compare_all(expected, outputs, instance, stage, about, typical);
        first = std::move(outputs);
      } else {
        compare_again(expected, first, outputs, instance, call, about);
      }
    }
    return {};
  }

  void fill_inputs(const Layout& layout, const Instance& instance, const std::vector<Tensor>& inputs) {
    for (std::size_t call = 0; call < layout.calls.size(); ++call) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (call > 0 && instance.constant[i]) continue;
        const Buffer& buffer = layout.calls[call].inputs[i];
        // Rubbish around it: who reads there must not find zeros.
        std::memset(exam_.inputs->at(buffer.region_offset), static_cast<int>(0x80 | (random_.bits() & 0x7f)),
                    std::min<std::uint64_t>(buffer.offset - buffer.region_offset, 4096));
        std::memcpy(exam_.inputs->at(buffer.offset), inputs[i].bytes().data(), buffer.size_bytes);
        const std::uint64_t end = buffer.offset + buffer.size_bytes;
        std::memset(exam_.inputs->at(end), static_cast<int>(0x80 | (random_.bits() & 0x7f)),
                    buffer.region_offset + buffer.region_bytes - end);
      }
    }
  }

  // Outputs and all that is mapped around them get one byte, another one each time.
  void poison_outputs(const Layout& layout, std::size_t call) {
    poisons_[call] = static_cast<std::uint8_t>(0x81 + random_.bits() % 0x7d);
    for (const Buffer& buffer : layout.calls[call].outputs) {
      std::memset(cell_.outputs().at(buffer.region_offset), poisons_[call], buffer.region_bytes);
    }
  }

  std::string overrun(const Layout& layout, std::size_t call) const {
    const auto& outputs = layout.calls[call].outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Buffer& buffer = outputs[i];
      const auto untouched = [&](std::uint64_t begin, std::uint64_t end) {
        const std::byte* bytes = cell_.outputs().at(begin);
        return std::all_of(bytes, bytes + (end - begin),
                           [&](std::byte value) { return value == static_cast<std::byte>(poisons_[call]); });
      };
      if (!untouched(buffer.region_offset, buffer.offset))
        return fmt::format("wrote before the beginning of output {}", i);
      const std::uint64_t end = buffer.offset + buffer.size_bytes;
      if (!untouched(end, buffer.region_offset + buffer.region_bytes)) {
        return fmt::format("wrote behind the end of output {}", i);
      }
    }
    return {};
  }

  void compare_all(const std::vector<ops::WideTensor>& expected, const std::vector<Tensor>& outputs,
                   const Instance& instance, VerdictStage stage, const std::string& about, bool typical) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const ops::Comparison comparison = ops::compare(expected[i], outputs[i]);
      examined_.max_error = std::max(examined_.max_error, std::isfinite(comparison.worst) ? comparison.worst : 0.0);
      if (!comparison.right()) {
        const auto slot = static_cast<std::size_t>(instance.graph.outputs[i]);
        const std::string imprecise = lost_precision(expected[i], outputs[i]);
        const std::string pattern = ops::pattern_of_wrong(expected[i], outputs[i]);
        found(imprecise.empty() ? stage : VerdictStage::precision,
              fmt::format("{}{}output {} ({}): {}{}{} ({})", imprecise, imprecise.empty() ? "" : "; ", i,
                          instance.graph.names[slot], comparison.text(expected[i]), pattern.empty() ? "" : "; ",
                          pattern, about));
        return;
      }
      if (stage == VerdictStage::verify && typical) {
        double most = 0;
        for (std::int64_t k = 0; k < outputs[i].count(); ++k) most = std::max(most, expected[i].slack_at(k));
        examined_.allowed.push_back(most);
      }
    }
  }

  void compare_again(const std::vector<ops::WideTensor>& expected, const std::vector<Tensor>& first,
                     const std::vector<Tensor>& outputs, const Instance& instance, std::size_t call,
                     const std::string& about) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (same_bits(first[i], outputs[i])) continue;
      const ops::Comparison comparison = ops::compare(expected[i], outputs[i]);
      const auto slot = static_cast<std::size_t>(instance.graph.outputs[i]);
      if (!comparison.right()) {
        const std::string what = call == 0 ? "when called again with the same inputs"
                                           : "in buffers that are not aligned, at the end of mapped memory";
        found(call == 0 ? VerdictStage::behaviour : VerdictStage::guard,
              fmt::format("wrong {}: output {} ({}): {} ({})", what, i, instance.graph.names[slot],
                          comparison.text(expected[i]), about));
      } else if (!examined_.varies) {
        const std::int64_t at = first_difference(first[i], outputs[i]);
        found(
            VerdictStage::behaviour,
            fmt::format("the same inputs give other bits {}: output {} element {}: {:.9g}, then {:.9g}; a kernel that "
                        "does not promise the same bits says KW_VARIES() ({})",
                        call == 0 ? "in a second call" : "at another address", i, at, first[i].real(at),
                        outputs[i].real(at), about));
      }
    }
  }

  void check_behaviour() {
    const int threads = cell_.thread_count();
    if (threads > (exam_.threads > 1 ? exam_.threads + 1 : 1)) {
      found(VerdictStage::behaviour, fmt::format("keeps {} threads alive; {} are allowed", threads, exam_.threads));
      return;
    }
    if (descriptors_ >= 0 && cell_.descriptor_count() != descriptors_) {
      found(VerdictStage::behaviour, "left file descriptors open");
      return;
    }
    if (const Outcome outcome = cell_.come_to_rest())
      found(finding_of(*outcome, VerdictStage::behaviour, nullptr, nullptr));
  }

  const Exam& exam_;
  Random random_;
  Cell cell_;
  Examined examined_;
  int descriptors_ = -1;
  std::uint8_t poisons_[std::size(kPlaces)] = {};
};

}  // namespace

std::string describe_address(std::uint64_t address, const Layout& layout, const Instance& instance) {
  constexpr std::uint64_t kNear = std::uint64_t{8} << 20;
  for (const Layout::Call& call : layout.calls) {
    for (const bool output : {false, true}) {
      const std::vector<Buffer>& buffers = output ? call.outputs : call.inputs;
      for (std::size_t i = 0; i < buffers.size(); ++i) {
        const Buffer& buffer = buffers[i];
        const std::uint64_t end = buffer.address + buffer.size_bytes;
        if (address + kNear < buffer.address || address >= end + kNear) continue;
        const auto slot = output ? static_cast<std::size_t>(instance.graph.outputs[i]) : i;
        const std::string name = fmt::format("{} {} ({})", output ? "output" : "input", i, instance.graph.names[slot]);
        if (address < buffer.address) {
          return fmt::format("{} bytes before the beginning of {}", buffer.address - address, name);
        }
        if (address >= end) return fmt::format("{} bytes behind the end of {}", address - end, name);
        return fmt::format("byte {} of {}{}", address - buffer.address, name, output ? "" : ", which is read-only");
      }
    }
  }
  return {};
}

Result<std::vector<Tensor>> read_outputs(const Cell& cell, const Layout& layout, const Instance& instance,
                                         std::size_t call, std::string* problem) {
  std::vector<Tensor> outputs;
  const host::FoundShapes& answer = cell.control().found[call];
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
    const Buffer& buffer = layout.calls[call].outputs[i];
    const TensorType& type = instance.outputs[i];
    Shape shape = type.shape;
    // The kernel's word on the shape counts only where the shape is its to find.
    if (type.from_values) {
      const std::int32_t rank = answer.ranks[i];
      if (rank < 0 || rank > KW_MAX_RANK) {
        *problem = fmt::format("output {} was given {} axes", i, rank);
        return outputs;
      }
      shape = Shape(std::vector<std::int64_t>(answer.shapes[i], answer.shapes[i] + rank));
      if (!check_shape(shape).ok() || shape.count() > type.shape.count()) {
        *problem = fmt::format("output {} was given the shape {}, which is more than the largest possible, {}", i,
                               shape.text(), type.shape.text());
        return outputs;
      }
    }
    Tensor tensor(type.dtype, shape);
    std::memcpy(tensor.bytes().data(), cell.outputs().at(buffer.offset), tensor.bytes().size());
    if (type.dtype == DType::boolean) {
      // Anything but 0 and 1 is no bool, and reading it as one would be undefined here.
      const auto odd = std::ranges::find_if(tensor.bytes(), [](std::byte value) { return value > std::byte{1}; });
      if (odd != tensor.bytes().end()) {
        *problem = fmt::format("output {} element {} is {}: a bool is 0 or 1", i, odd - tensor.bytes().begin(),
                               static_cast<int>(*odd));
        return outputs;
      }
    }
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

Finding finding_of(const Trouble& trouble, VerdictStage stage, const Layout* layout, const Instance* instance) {
  if (trouble.kind == Trouble::Kind::forbidden) return {VerdictStage::behaviour, trouble.text};
  if (trouble.alignment) return {VerdictStage::guard, trouble.text};
  if (trouble.address != 0 && layout != nullptr) {
    const std::string where = describe_address(trouble.address, *layout, *instance);
    if (!where.empty()) return {VerdictStage::guard, trouble.text + ": " + where};
    return {stage, fmt::format("{}: address {:#x}", trouble.text, trouble.address)};
  }
  return {stage, trouble.text};
}

Result<Examined> examine(const Exam& exam) {
  // Hidden shapes are no larger than a few times the task's own.
  KW_TRY(const Instance own, make_instance(*exam.task, exam.task->lengths, exam.threads));
  KW_TRY(Cell cell, Cell::open(*exam.sandbox, *exam.library, *exam.inputs, exam.threads, 4 * own.memory_bytes()));
  return Examiner(exam, std::move(cell)).run();
}

}  // namespace kw::judge
