// A second opinion: ONNX Runtime answers thousands of random cases of every operator, and every task of the suites.
//
//   kw_differential PYTHON SCRIPT FOLDER [CASES_PER_OPERATOR] [OPERATOR]
//   kw_differential PYTHON SCRIPT FOLDER suites [SUITE]
//
// The cases go to the script in one file and its answers come back in another. A disagreement fails the run, and so
// does an operator with fewer than 20 comparisons; what is known to differ is never drawn and is listed at the end.
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "differential/known_differences.h"
#include "ops/compare.h"
#include "ops/draw.h"
#include "ops/graph.h"
#include "ops/lengths.h"
#include "suites/catalog.h"
#include "suites/onnx_file.h"

namespace kw {
namespace {

constexpr int kLeastComparisons = 20;

struct Case {
  std::string name;  // of the operator or the task
  Task task;
  ops::InputClass input_class;
  std::vector<Tensor> inputs;
  std::vector<ops::WideTensor> expected;
};

class Writer {
 public:
  void number(std::int64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void block(std::string_view data) {
    number(static_cast<std::int64_t>(data.size()));
    bytes_.append(data);
  }
  void tensor(const Tensor& tensor) {
    number(static_cast<std::int64_t>(tensor.dtype()));
    number(tensor.shape().rank());
    for (std::int64_t length : tensor.shape()) number(length);
    block({reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size()});
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}
  std::int64_t number() {
    std::int64_t value = 0;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string_view block() {
    const auto size = static_cast<std::size_t>(number());
    at_ += size;
    return std::string_view(bytes_).substr(at_ - size, size);
  }
  Tensor tensor() {
    const auto dtype = static_cast<DType>(number());
    Shape shape;
    for (std::int64_t rank = number(); rank > 0; --rank) shape.append(number());
    Tensor result(dtype, shape);
    const std::string_view data = block();
    std::memcpy(result.bytes().data(), data.data(), std::min(data.size(), result.bytes().size()));
    return result;
  }
  bool at_end() const { return at_ >= bytes_.size(); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

// Appends one case to the file of cases, if it can be made.
Result<Case> make_case(Task task, ops::InputClass input_class, std::uint64_t seed, Writer& writer) {
  Case made{task.name, std::move(task), input_class, {}, {}};
  KW_TRY(const ops::Graph graph, ops::resolve(made.task));
  made.inputs = ops::draw_inputs(graph, input_class, seed);
  KW_TRY(made.expected, ops::evaluate(graph, made.inputs));
  KW_TRY(const std::string model, suites::write_onnx(graph, made.inputs));
  writer.block(model);
  std::int64_t runtime_inputs = 0;
  for (const ops::GraphInput& input : graph.inputs) runtime_inputs += input.role == Role::input;
  writer.number(runtime_inputs);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].role != Role::input) continue;
    writer.block(graph.inputs[i].name);
    writer.tensor(made.inputs[i]);
  }
  return made;
}

struct Tally {
  int compared = 0;
  int refused = 0;
  int wrong = 0;
  double worst = 0;  // the largest error in units of the slack, over right answers
  std::map<std::string, int> refusals;
  std::vector<std::string> failures;
};

std::string disagreement(const Case& given, const std::vector<Tensor>& answers, Tally& tally) {
  if (answers.size() != given.expected.size()) return fmt::format("{} outputs", answers.size());
  std::string problem;
  double worst = 0;
  for (std::size_t k = 0; k < answers.size(); ++k) {
    const ops::Comparison comparison = ops::compare(given.expected[k], answers[k]);
    if (!comparison.right() && problem.empty()) {
      problem = fmt::format("output {}: {}", k, comparison.text(given.expected[k]));
    }
    worst = std::max(worst, comparison.worst);
  }
  if (problem.empty()) tally.worst = std::max(tally.worst, worst);
  return problem;
}

void read_answer(const Case& given, Reader& reader, Tally& tally) {
  if (reader.number() == 0) {
    const std::string message(reader.block());
    ++tally.refused;
    ++tally.refusals[message.substr(0, 160)];
    return;
  }
  std::vector<Tensor> answers;
  for (std::int64_t count = reader.number(); count > 0; --count) answers.push_back(reader.tensor());
  ++tally.compared;
  const std::string problem = disagreement(given, answers, tally);
  if (problem.empty() || may_differ(given.task, given.inputs)) return;
  ++tally.wrong;
  if (tally.failures.size() < 4) {
    std::string attributes;
    for (const auto& [name, value] : given.task.nodes[0].attributes)
      attributes += " " + name + "=" + text_of(value.value);
    std::string shapes;
    for (const Tensor& input : given.inputs) shapes += " " + input.type().text();
    tally.failures.push_back(fmt::format("{}{}:{}\n      {}", name_of(given.input_class), attributes, shapes, problem));
  }
}

// A shape may be refused (ONNX Runtime reflects no further than a tensor is long), but not every shape of a task.
int report_tasks(const std::map<std::string, Tally>& tallies) {
  int compared = 0, refused = 0, wrong = 0, never = 0;
  for (const auto& [name, tally] : tallies) {
    compared += tally.compared;
    refused += tally.refused;
    wrong += tally.wrong;
    never += tally.compared == 0;
    for (const auto& [message, count] : tally.refusals) fmt::print("{} refused: {}\n", name, message);
    for (const std::string& failure : tally.failures) fmt::print("{} WRONG {}\n", name, failure);
  }
  fmt::print("{} tasks, {} cases compared, {} disagreements, {} refused, {} tasks never compared\n", tallies.size(),
             compared, wrong, refused, never);
  return wrong == 0 && never == 0 ? 0 : 1;
}

int report(const std::map<std::string, Tally>& tallies) {
  int compared = 0, wrong = 0, short_of = 0;
  for (const auto& [name, tally] : tallies) {
    compared += tally.compared;
    wrong += tally.wrong;
    const std::string excuse = not_in_onnxruntime(name);
    const bool too_few = tally.compared < kLeastComparisons && excuse.empty();
    short_of += too_few;
    fmt::print("{:<28} {:>4} compared, {:>3} refused, largest error {:.2f} of the allowed{}\n", name, tally.compared,
               tally.refused, tally.worst, too_few ? "  TOO FEW" : "");
    if (!excuse.empty()) fmt::print("    {}\n", excuse);
    if (too_few) {
      for (const auto& [message, count] : tally.refusals) fmt::print("    {} refused: {}\n", count, message);
    }
    for (const std::string& failure : tally.failures) fmt::print("    WRONG {}\n", failure);
  }
  fmt::print("\nnever drawn, since they are known to differ:\n");
  for (const KnownDifference& known : known_differences())
    fmt::print("  {}: {}: {}\n", known.op, known.form, known.why);
  fmt::print("\n{} operators, {} cases compared, {} unexplained disagreements, {} operators with too few cases\n",
             tallies.size(), compared, wrong, short_of);
  return wrong == 0 && short_of == 0 ? 0 : 1;
}

// The cases of one run, and what became of them by name.
class Run {
 public:
  void add(Task task, ops::InputClass input_class, std::uint64_t seed) {
    const std::string name = task.name;
    auto made = make_case(std::move(task), input_class, seed, writer_);
    Tally& tally = tallies_[name];
    if (made.ok()) {
      cases_.push_back(*std::move(made));
    } else {
      ++tally.wrong;
      tally.failures.push_back("the case cannot be made: " + made.error().message);
    }
  }

  Status ask(const std::string& python, const std::string& script, const std::string& folder) {
    Writer head;
    head.number(static_cast<std::int64_t>(cases_.size()));
    const std::string question = folder + "/cases.bin", answer = folder + "/answers.bin";
    KW_CHECK(write_file(question, head.bytes() + writer_.bytes()));
    const std::string command = fmt::format("'{}' '{}' '{}' '{}'", python, script, question, answer);
    if (std::system(command.c_str()) != 0) return fail("{} failed", script);
    KW_TRY(std::string bytes, read_file(answer));
    Reader reader(std::move(bytes));
    for (const Case& given : cases_) read_answer(given, reader, tallies_[given.name]);
    return {};
  }

  const std::map<std::string, Tally>& tallies() const { return tallies_; }

 private:
  Writer writer_;
  std::vector<Case> cases_;
  std::map<std::string, Tally> tallies_;
};

void add_operators(Run& run, int cases_per_op, const std::string& only) {
  for (const ops::Op& op : ops::all_ops()) {
    if (!only.empty() && op.name != only) continue;
    Random random(20261115);
    for (int i = 0; i < cases_per_op; ++i) {
      const ops::InputClass input_class =
          ops::kInputClasses[static_cast<std::size_t>(i) % std::size(ops::kInputClasses)];
      run.add(ops::task_of(op, op.sample(random)), input_class, random.bits());
    }
  }
}

// Every task in up to three shapes that are small enough to go through a file, its own among them where it is.
Status add_tasks(Run& run, const std::string& only) {
  constexpr std::int64_t kMostElements = 300'000;
  constexpr std::int64_t kMostTransformed = 16'384;  // known_differences.h
  KW_TRY(const std::vector<suites::Suite> suites, suites::installed_suites());
  for (const suites::Suite& suite : suites) {
    if (!only.empty() && suite.name != only) continue;
    for (const Task& task : suite.tasks) {
      std::vector<Lengths> shapes;
      if (task.level > 0) {  // of a GPU's size
        shapes = {ops::lengths_within(task, {.elements = 2e4, .flops = 4e6})};
      } else {
        shapes = ops::hidden_lengths(task, 5, 8);
        shapes.insert(shapes.begin(), {task.lengths, ops::tiny_lengths(task)});
      }
      int added = 0;
      for (const Lengths& lengths : shapes) {
        Task other = task;
        other.lengths = lengths;
        KW_TRY(const ops::Graph graph, ops::resolve(other));
        std::int64_t elements = 0;
        bool empty = false;  // ONNX Runtime never returns from a convolution of no channels
        for (const ops::GraphInput& input : graph.inputs) {
          elements += input.type.shape.count();
          empty = empty || input.type.shape.count() == 0;
        }
        const bool long_transform = elements > kMostTransformed &&
                                    std::ranges::any_of(task.nodes, [](const Node& node) { return node.op == "DFT"; });
        if (empty || long_transform || elements > kMostElements || ops::cost_of(graph).flops > 1e8) continue;
        run.add(std::move(other), ops::InputClass::typical, 7);
        if (++added == 3) break;
      }
      if (added > 0) continue;
      Task smallest = task;
      smallest.lengths = ops::tiny_lengths(task);
      run.add(std::move(smallest), ops::InputClass::typical, 7);
    }
  }
  return {};
}

int run(const std::string& python, const std::string& script, const std::string& folder, const std::string& what,
        const std::string& only) {
  Run cases;
  const bool of_suites = what == "suites";
  Status done;
  if (of_suites) {
    done = add_tasks(cases, only);
  } else {
    add_operators(cases, std::atoi(what.c_str()), only);
  }
  if (done.ok()) done = cases.ask(python, script, folder);
  if (!done.ok()) {
    fmt::print(stderr, "{}\n", done.error().message);
    return 2;
  }
  return of_suites ? report_tasks(cases.tallies()) : report(cases.tallies());
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr,
               "usage: kw_differential PYTHON SCRIPT FOLDER [CASES_PER_OPERATOR | suites] [OPERATOR | SUITE]\n");
    return 2;
  }
  return kw::run(argv[1], argv[2], argv[3], argc > 4 ? argv[4] : "100", argc > 5 ? argv[5] : "");
}
