#include "corpus/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/hash.h"
#include "compose/techniques.h"
#include "core/tunable_defaults.h"
#include "corpus/code_text.h"
#include "corpus/collect.h"
#include "corpus/line.h"
#include "corpus/prompt.h"
#include "corpus/structure.h"
#include "corpus/task_text.h"
#include "ops/graph.h"
#include "ops/lengths.h"
#include "runs/case_record.h"
#include "search/space.h"
#include "suites/catalog.h"
#include "targets/target.h"

namespace kw::corpus {
namespace {

constexpr int kMostTries = 400;           // of one task
constexpr double kLeastBytes = 16 << 10;  // that a task moves
constexpr double kMostBytes = 8 << 20;
constexpr double kMostFlops = 2e8;
constexpr std::size_t kHidden = 6;  // hidden shapes that are tried on a drawn task
constexpr double kChainShare = 0.65;
constexpr int kMostOfSource = 4;  // tasks that have the same kernel: more of them teach nothing
constexpr double kAttributeShare = 0.5;

bool fits(const ops::Graph& graph) {
  const Cost cost = ops::cost_of(graph);
  return cost.bytes() >= kLeastBytes && cost.bytes() <= kMostBytes && cost.flops <= kMostFlops;
}

// A length near another one: powers of two and odd ones alike.
std::int64_t length_near(std::int64_t own, Random& random) {
  const double drawn = static_cast<double>(own) * std::exp2(random.uniform(-2.5, 1.5));
  const auto length = std::max<std::int64_t>(1, static_cast<std::int64_t>(drawn));
  if (random.chance(0.5)) return length;
  return std::int64_t{1} << static_cast<int>(std::lround(std::log2(static_cast<double>(length))));
}

void draw_lengths(Task& task, Random& random) {
  for (auto& [name, length] : task.lengths) {
    if (length > 1 && random.chance(0.8)) length = length_near(length, random);
  }
  settle_lengths(task);
}

// Another value of one attribute; the shape rule then says whether it is one.
void draw_attribute(Node& node, const ops::Op& op, Random& random) {
  std::vector<const ops::AttributeSpec*> open;
  for (const ops::AttributeSpec& spec : op.attributes) {
    const auto given = node.attributes.find(spec.name);
    const bool has_value = given != node.attributes.end() ? given->second.lengths.empty() : spec.fallback.has_value();
    if (has_value) open.push_back(&spec);
  }
  if (open.empty()) return;
  const ops::AttributeSpec& spec = *random.pick(open);
  const auto given = node.attributes.find(spec.name);
  Attribute value = given != node.attributes.end() ? given->second.value : *spec.fallback;
  if (auto* real = std::get_if<double>(&value)) {
    // Rounded to float32 once, as attributes are.
    *real = *real != 0 && std::abs(*real) < 1e-3 ? random.pick({1e-6, 1e-5, 1e-4})
                                                 : random.pick({0.05, 0.1, 0.2, 0.25, 0.5, 0.75, 1.5, 2.0, 3.0});
    *real = static_cast<double>(static_cast<float>(*real));
  } else if (auto* integer = std::get_if<std::int64_t>(&value)) {
    *integer = spec.name == "axis"              ? random.integer(-3, 3)
               : *integer == 0 || *integer == 1 ? 1 - *integer
                                                : *integer + random.pick({-1, 1, 2});
  } else if (auto* text = std::get_if<std::string>(&value)) {
    if (spec.choices.empty()) return;
    *text = random.pick(spec.choices);
  } else if (auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    if (integers->empty()) return;
    const auto at = static_cast<std::size_t>(random.integer(0, std::ssize(*integers) - 1));
    (*integers)[at] = std::max<std::int64_t>(0, (*integers)[at] + random.pick({-1, 1}));
  } else {
    return;
  }
  node.attributes[spec.name] = {std::move(value), {}};
}

// A task with one node, to try whether an operator can be appended to any tensor.
Task probe_task(const ops::Op& op, std::size_t operands) {
  Task task;
  task.name = op.name;
  task.opset = std::max(task.opset, op.since);
  Node node;
  node.op = op.name;
  for (std::size_t i = 0; i < operands; ++i) {
    Value value;
    value.name = fmt::format("x{}", i);
    value.lengths = i == 0 ? std::vector<Length>{{8, ""}, {16, ""}} : std::vector<Length>{{16, ""}};
    node.inputs.push_back(value.name);
    task.values.push_back(std::move(value));
  }
  node.outputs = {"y"};
  task.outputs.push_back({"y", std::nullopt, {}});
  task.nodes.push_back(std::move(node));
  return task;
}

// Takes any floats and gives as many: what Identity and Dropout do is nothing to learn from.
bool keeps_shape(const ops::Op& op, std::size_t operands) {
  if (op.name == "Identity" || op.name == "Dropout" || op.inputs.size() < operands) return false;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (i < operands && (std::isfinite(op.inputs[i].domain.low) || std::isfinite(op.inputs[i].domain.high)))
      return false;
    if (i >= operands && !op.inputs[i].optional) return false;
  }
  if (op.inputs.front().variadic && operands == 1) return false;
  const Task task = probe_task(op, operands);
  const auto graph = ops::resolve(task);
  return graph.ok() && graph->output_type(0).dtype == DType::float32 &&
         graph->output_type(0).shape.lengths() == std::vector<std::int64_t>{8, 16};
}

// A name that the task does not have yet.
std::string new_name(const Task& task, const std::string& stem) {
  std::set<std::string> names;
  for (const Value& value : task.values) names.insert(value.name);
  for (const Node& node : task.nodes) names.insert(node.outputs.begin(), node.outputs.end());
  for (const auto& [name, length] : task.lengths) names.insert(name);
  for (int i = 1;; ++i) {
    std::string name = fmt::format("{}{}", stem, i);
    if (!names.contains(name)) return name;
  }
}

// Values of tunables: as defaults of those that stand in the source, as macros before it for those of parts that it
// includes. `own` are those of the source before it was shortened: what it lost needs no value.
Result<std::string> with_values(const std::string& source, const Tunables& own, const Settings& values,
                                const BuildOptions& options) {
  KW_TRY(const Tunables left, read_tunables(source));
  Settings in_source;
  std::string macros;
  for (const auto& [name, value] : values) {
    if (std::ranges::find(left.list, name, &Tunable::name) != left.list.end()) {
      in_source[name] = value;
    } else if (name != "compiler" && name != "flags" &&
               std::ranges::find(own.list, name, &Tunable::name) == own.list.end()) {
      macros += fmt::format("#define KW_SET_{} ~, {}\n", name, value);
    }
  }
  KW_TRY(const std::string text, with_defaults(source, in_source, options));
  return macros + text;
}

std::string joined_operators(const Task& task) {
  std::string text;
  for (const Node& node : task.nodes) text += (text.empty() ? "" : "+") + node.op;
  return text;
}

}  // namespace

Result<TaskDraw> TaskDraw::open(const std::vector<suites::Suite>& suites, const std::vector<std::string>& only) {
  TaskDraw draw;
  std::map<std::string, std::vector<Task>> starts;
  std::set<std::string> operators;
  for (const suites::Suite& suite : suites) {
    for (const Task& task : suite.tasks) {
      for (const Node& node : task.nodes) operators.insert(node.op);
      const bool is_wanted = only.empty() || std::ranges::any_of(task.nodes, [&](const Node& node) {
                               return std::ranges::find(only, node.op) != only.end();
                             });
      if (!is_wanted || !task.degenerate.empty() || !text_of(task).ok()) continue;
      starts[joined_operators(task)].push_back(task);
    }
  }
  for (const std::string& op : only) {
    if (!operators.contains(op)) return fail("no task of the suites has the operator {}", op);
  }
  if (starts.empty()) return fail("there is no task to draw from");
  for (auto& [name, tasks] : starts) draw.starts_.push_back(std::move(tasks));
  for (const std::string& name : operators) {
    const ops::Op* op = ops::find_op(name);
    if (op == nullptr) continue;
    if (keeps_shape(*op, 1)) draw.unary_.push_back(name);
    if (op->inputs.size() >= 2 && !op->inputs[1].optional && keeps_shape(*op, 2)) draw.binary_.push_back(name);
  }
  return draw;
}

Result<Task> TaskDraw::next(Random& random) const {
  for (int tries = 0; tries < kMostTries; ++tries) {
    Task task = random.pick(random.pick(starts_));
    std::string how = "lengths of " + task.name;
    draw_lengths(task, random);
    if (random.chance(kAttributeShare)) {
      Node& node = task.nodes[static_cast<std::size_t>(random.integer(0, std::ssize(task.nodes) - 1))];
      if (const ops::Op* op = ops::find_op(node.op)) draw_attribute(node, *op, random);
      how += ", an attribute";
    }
    const bool is_chain = random.chance(kChainShare);
    for (std::int64_t left = is_chain ? random.integer(1, 3) : 0; left > 0; --left) {
      const auto graph = ops::resolve(task);
      if (!graph.ok() || task.outputs.size() != 1 || task.outputs[0].dtype ||
          graph->output_type(0).dtype != DType::float32 || graph->output_type(0).shape.rank() == 0)
        break;
      Node node;
      node.inputs = {task.outputs[0].name};
      if (!binary_.empty() && random.chance(0.4)) {
        node.op = random.pick(binary_);
        Value operand;
        operand.role = random.chance(0.7) ? Role::weight : Role::input;
        operand.name = new_name(task, operand.role == Role::weight ? "w" : "x");
        operand.spread = Spread{};
        // As long as the result's last axis, where that is an input's: else one number for all.
        const Value& first = task.values.front();
        const bool follows =
            !first.lengths.empty() && first.lengths.back().value == graph->output_type(0).shape.lengths().back();
        operand.lengths =
            follows && random.chance(0.8) ? std::vector<Length>{first.lengths.back()} : std::vector<Length>{{1, ""}};
        node.inputs.push_back(operand.name);
        task.values.push_back(std::move(operand));
      } else {
        node.op = random.pick(unary_);
        if (const ops::Op* op = ops::find_op(node.op); op != nullptr && random.chance(0.3))
          draw_attribute(node, *op, random);
      }
      task.opset = std::max(task.opset, ops::find_op(node.op)->since);
      node.outputs = {new_name(task, "y")};
      task.outputs[0].name = node.outputs[0];
      task.nodes.push_back(std::move(node));
      how += ", " + task.nodes.back().op;
    }
    const auto graph = ops::resolve(task);
    if (!graph.ok() || !fits(*graph)) continue;
    if (!task.lengths.empty() && ops::hidden_lengths(task, hash_of(how), kHidden).size() < kHidden / 2) continue;
    task.degenerate.clear();
    task.place.clear();
    const auto text = text_of(task);
    if (!text.ok()) continue;
    task.suite = "drawn";
    task.name = name_of_text(task, *text);
    task.note = how;
    return task;
  }
  return fail("no task was found in {} draws", kMostTries);
}

Result<DrawnKernels> draw_kernels(const DrawRules& rules) {
  KW_TRY(const auto suites, suites::installed_suites());
  KW_TRY(const TaskDraw draw, TaskDraw::open(suites, rules.only));
  KW_TRY(const targets::Target target, targets::target_of(rules.device));
  KW_TRY(const auto techniques, compose::read_techniques(target.techniques));
  if (techniques.empty()) return fail("{} has no techniques to make kernels with", target.name);
  // Only numbers are drawn, not compilers: these depend on the machine, and the list must be the same everywhere.
  BuildOptions one_way = targets::build_options(rules.device);
  one_way.compilers.resize(std::min<std::size_t>(1, one_way.compilers.size()));
  one_way.flags.resize(std::min<std::size_t>(1, one_way.flags.size()));
  one_way.here = one_way.compilers;
  Random random(rules.seed);
  DrawnKernels drawn;
  std::set<std::string> names;
  std::map<std::string, int> tasks_of;  // by source
  std::size_t fruitless = 0;
  while (drawn.kernels.size() < rules.count) {
    // Where few operators are asked for there may be too few different tasks: the list then ends early.
    if (++fruitless > 40 + rules.count) break;
    KW_TRY(Task task, draw.next(random));
    if (!names.insert(task.name).second) continue;
    KW_TRY(const ops::Graph graph, ops::resolve(task));
    const auto drafts = compose::drafts_of(graph, techniques, compose::Parts::by_name, target.compose);
    if (!drafts.ok()) continue;  // an operator without a plain kernel
    std::vector<compose::Draft> whole;
    if (rules.points > 1) {
      KW_TRY(whole, compose::drafts_of(graph, techniques, compose::Parts::inlined, target.compose));
    }
    const std::size_t place = drawn.tasks.size();
    for (std::size_t i = 0; i < drafts->size(); ++i) {
      const compose::Draft& draft = (*drafts)[i];
      if (draft.technique == compose::kPlain) continue;
      const std::string source = shortened(draft.source);
      if (source.size() > rules.longest) {
        ++drawn.too_long;
        continue;
      }
      std::vector<Settings> values = {{}};
      if (rules.points > 1) {
        // With its parts written out it shows all tunables that there are, those of the parts too.
        KW_TRY(const search::Space space,
               search::Space::of({{draft.technique, "kernel", whole[i].source, whole[i].tunables}}, one_way));
        std::set<search::Point> points = {space.first(0)};
        for (std::size_t tries = 0; tries < 4 * rules.points && points.size() < rules.points; ++tries)
          points.insert(space.any(0, random));
        values.clear();
        for (const search::Point& point : points) values.push_back(space.settings(point));
      }
      std::set<std::string> sources;
      for (const Settings& some : values) {
        KW_TRY(std::string chosen, with_values(source, draft.tunables, some, one_way));
        if (chosen.size() > rules.longest || drawn.kernels.size() == rules.count) continue;
        if (!sources.insert(chosen).second || ++tasks_of[chosen] > kMostOfSource) continue;
        drawn.kernels.push_back({place, draft.technique, std::move(chosen)});
      }
    }
    if (drawn.kernels.empty() || drawn.kernels.back().task != place) continue;
    drawn.tasks.push_back(std::move(task));
    fruitless = 0;
  }
  if (drawn.kernels.empty()) return fail("no technique serves what was asked for");
  return drawn;
}

std::vector<store::NewItem> items_of(const DrawnKernels& drawn, const judge::Case& rules) {
  std::vector<store::NewItem> items;
  for (const DrawnKernel& kernel : drawn.kernels) {
    const Task& task = drawn.tasks[kernel.task];
    judge::Case one = rules;
    one.task = &task;
    one.source = {targets::source_name(rules.device, "kernel"), kernel.source};
    items.push_back(runs::planned(std::ssize(items) + 1, one, label_of(kernel.technique, "drawn, " + task.note)));
    items.back().candidate->author = kCorpusAuthor;
  }
  return items;
}

std::string text_of(const DrawnKernels& drawn) {
  std::string text;
  for (const DrawnKernel& kernel : drawn.kernels) {
    text += fmt::format("{:<44} {:<32} {:>5} bytes\n", drawn.tasks[kernel.task].name, kernel.technique,
                        kernel.source.size());
  }
  return text;
}

Result<std::string> json_lines_of(const DrawnKernels& drawn, const DrawRules& rules) {
  KW_TRY(const targets::Target target, targets::target_of(rules.device));
  std::string text;
  Json of_task;
  for (std::size_t i = 0; i < drawn.kernels.size(); ++i) {
    const DrawnKernel& kernel = drawn.kernels[i];
    if (i == 0 || kernel.task != drawn.kernels[i - 1].task) {
      const Task& task = drawn.tasks[kernel.task];
      KW_TRY(const std::string prompt, prompt_of(task, rules.device));
      KW_TRY(const std::string task_text, text_of(task));
      const std::string unseen = unseen_in(task, {.seed = rules.seed});
      of_task = {{"prompt", prompt},
                 {"task", task.name},
                 {"how", task.note},
                 {"task_text", task_text},
                 {"target", target.name},
                 {"operators", operators_of(task)},
                 {"structure", structure_of(task)},
                 {"split", unseen.empty() ? "train" : "held_out"},
                 {"unseen", unseen.empty() ? Json() : Json(unseen)},
                 {"form", kPromptForm}};
    }
    of_task["technique"] = kernel.technique;
    of_task["answer"] = kernel.source;
    text += of_task.dump() + "\n";
    for (const Hole& hole : holes_for({.answer = kernel.source}, {.seed = rules.seed, .most = rules.holes})) {
      Json of_hole = of_task;
      of_hole["prefix"] = hole.prefix(kernel.source);
      of_hole["answer"] = hole.middle(kernel.source);
      of_hole["suffix"] = hole.suffix(kernel.source);
      text += of_hole.dump() + "\n";
    }
  }
  return text;
}

}  // namespace kw::corpus
