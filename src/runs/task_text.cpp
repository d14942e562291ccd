#include "runs/task_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "base/json.h"
#include "ops/draw.h"
#include "ops/lengths.h"
#include "report/task_words.h"
#include "runs/performance.h"
#include "suites/notation.h"
#include "targets/target.h"

namespace kw::runs {
namespace {

Json tensor(const std::string& name, const TensorType& type) {
  return {{"name", name}, {"dtype", kw::name_of(type.dtype)}, {"shape", type.shape.lengths()}};
}

// A worked example on the smallest shape that the task allows.
struct Example {
  std::vector<std::string> input_names;
  std::vector<Tensor> inputs;
  std::vector<std::string> output_names;
  std::vector<ops::WideTensor> outputs;
};

// Numbers that a person can follow: two digits behind the point, of small ones two that are not zero: a scale must not
// become 0.
void round_for_reading(Tensor& tensor) {
  if (!is_float(tensor.dtype())) return;
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const double value = tensor.real(i);
    if (value == 0 || !(std::fabs(value) < 100)) continue;
    const double unit = std::fabs(value) >= 0.1 ? 0.01 : std::pow(10, std::floor(std::log10(std::fabs(value))) - 1);
    tensor.set_real(i, std::round(value / unit) * unit);
  }
}

Result<Example> make_example(const Task& task) {
  const Lengths lengths = ops::tiny_lengths(task);
  KW_TRY(const ops::Graph graph, ops::resolve(task, lengths));
  Example example;
  example.inputs = ops::draw_inputs(graph, ops::InputClass::typical, 1);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    example.input_names.push_back(graph.inputs[i].name);
    if (graph.inputs[i].role != Role::constant) round_for_reading(example.inputs[i]);
  }
  KW_TRY(example.outputs, ops::evaluate(graph, example.inputs));
  for (int slot : graph.outputs) example.output_names.push_back(graph.names[static_cast<std::size_t>(slot)]);
  return example;
}

constexpr std::int64_t kShownElements = 16;

std::string number_text(double value, DType dtype) {
  if (dtype == DType::boolean) return value != 0 ? "true" : "false";
  return is_float(dtype) ? fmt::format("{:.6g}", value) : fmt::format("{}", static_cast<std::int64_t>(value));
}

// Nested brackets for the first elements of a tensor: [[1, 2], [3, 4], ...]
template <class At>
std::string elements_text(const Shape& shape, At&& at) {
  if (shape.rank() == 0) return at(0);
  const std::int64_t total = shape.count();
  if (total == 0) return "[]";
  std::string text;
  for (std::int64_t i = 0; i < std::min(total, kShownElements); ++i) {
    std::int64_t block = 1;
    int opened = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      block *= shape[axis];
      if (i % block == 0) ++opened;
    }
    if (i > 0) text += opened > 0 ? std::string(static_cast<std::size_t>(opened), ']') + ", " : ", ";
    text += std::string(static_cast<std::size_t>(opened), '[') + at(i);
  }
  return text + (total > kShownElements ? ", ..." : std::string(static_cast<std::size_t>(shape.rank()), ']'));
}

std::string text_of_tensor(const Tensor& tensor) {
  return elements_text(tensor.shape(), [&](std::int64_t i) {
    return number_text(is_float(tensor.dtype()) ? tensor.real(i) : static_cast<double>(tensor.integer(i)),
                       tensor.dtype());
  });
}

std::string text_of_wide(const ops::WideTensor& wide) {
  return elements_text(
      wide.shape, [&](std::int64_t i) { return number_text(wide.number(static_cast<std::size_t>(i)), wide.dtype); });
}

double largest_slack(const ops::WideTensor& wide) {
  double largest = 0;
  for (double slack : wide.slack) largest = std::isfinite(slack) ? std::max(largest, slack) : largest;
  return largest;
}

// An example is for reading and for tests; that of a large node would be hundreds of megabytes.
bool is_readable(const Example& example) {
  constexpr std::int64_t kMostElements = 65536;
  std::int64_t elements = 0;
  for (const Tensor& input : example.inputs) elements += input.count();
  for (const ops::WideTensor& output : example.outputs) elements += output.shape.count();
  return elements <= kMostElements;
}

std::string tolerance_text(const Example& example) {
  bool exact = true;
  double largest = 0;
  for (const ops::WideTensor& output : example.outputs) {
    exact = exact && output.exact();
    largest = std::max(largest, largest_slack(output));
  }
  if (exact) return "exact: every element must equal the reference";
  return fmt::format("every element has its own bound, derived from the operation (up to {:.2g} in the example)",
                     largest);
}

std::string spread_text(const ops::GraphInput& input) {
  if (input.role == Role::constant) return "given in the task";
  if (input.role == Role::weight && input.declared->constant.count() > 0) return "the model's own values";
  return input.declared->spread ? suites::text_of(*input.declared->spread) : "drawn by the operator";
}

Json example_json(const Example& example) {
  const auto entry = [](const std::string& name, const Shape& shape, auto&& at) {
    Json values = Json::array();
    for (std::int64_t i = 0; i < shape.count(); ++i) values.push_back(at(i));
    return Json{{"name", name}, {"shape", shape.lengths()}, {"values", std::move(values)}};
  };
  Json inputs = Json::array();
  for (std::size_t k = 0; k < example.inputs.size(); ++k) {
    inputs.push_back(entry(example.input_names[k], example.inputs[k].shape(),
                           [&](std::int64_t i) { return example.inputs[k].real(i); }));
  }
  Json outputs = Json::array();
  for (std::size_t k = 0; k < example.outputs.size(); ++k) {
    const ops::WideTensor& wide = example.outputs[k];
    outputs.push_back(entry(example.output_names[k], wide.shape,
                            [&](std::int64_t i) { return wide.number(static_cast<std::size_t>(i)); }));
    outputs.back()["allowed"] = wide.exact() ? 0.0 : largest_slack(wide);
  }
  return {{"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}};
}

std::vector<std::pair<std::string, std::string>> meanings(const Task& task) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const Node& node : task.nodes) {
    const std::pair<std::string, std::string> entry{node.op, ops::find_op(node.op)->meaning};
    if (std::ranges::find(result, entry) == result.end()) result.push_back(entry);
  }
  return result;
}

void print_tensors(const ops::Graph& graph, std::ostream& out) {
  const auto line = [&](std::string_view role, const std::string& name, const TensorType& type,
                        const std::string& more) {
    std::string text = fmt::format("  {:<9} {:<10} {:<28} {}", role, name, type.text(), more);
    out << text.substr(0, text.find_last_not_of(' ') + 1) << "\n";
  };
  out << "\ntensors\n";
  for (const ops::GraphInput& input : graph.inputs)
    line(report::name_of(input.role), input.name, input.type, spread_text(input));
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorType type = graph.output_type(i);
    line("output", graph.names[static_cast<std::size_t>(graph.outputs[i])], type,
         type.from_values ? "at most: the values decide" : "");
  }
}

void print_example(const Example& example, std::ostream& out) {
  out << "\nexample\n";
  for (std::size_t k = 0; k < example.inputs.size(); ++k) {
    out << fmt::format("  {} = {}\n", example.input_names[k], text_of_tensor(example.inputs[k]));
  }
  for (std::size_t k = 0; k < example.outputs.size(); ++k) {
    out << fmt::format("  {} = {}\n", example.output_names[k], text_of_wide(example.outputs[k]));
  }
}

void print(const Task& task, const ops::Graph& graph, const Example& example, const Result<targets::LeastTime>& least,
           const TaskTextParts& parts, std::ostream& out) {
  out << task.name;
  if (!task.category.empty()) out << fmt::format("  ({}, {})", task.category, task.suite);
  out << "\n\n";
  for (const Node& node : task.nodes) out << "  " << suites::text_of(node) << "\n";
  out << "\n";
  for (const auto& [name, meaning] : meanings(task)) out << fmt::format("{}: {}\n", name, meaning);
  print_tensors(graph, out);
  if (!task.lengths.empty()) {
    out << "  open lengths:";
    for (const auto& [name, value] : task.lengths) out << fmt::format(" {}={}", name, value);
    out << "  (a kernel must serve others too)\n";
  }
  const Cost cost = ops::cost_of(graph);
  out << fmt::format("\ntolerance  {}\n", tolerance_text(example));
  if (task.precision == Precision::tf32) out << "precision  products of float32 may be computed in TF32\n";
  out << fmt::format("work       {}, {} moved at least ({:.2g} flop/B)\n", with_unit(cost.flops, "flop"),
                     with_unit(cost.bytes(), "B"), cost.bytes() > 0 ? cost.flops / cost.bytes() : 0);
  if (least.ok()) {
    const std::string form = least->by_moving() ? "" : counted_form(graph);
    out << fmt::format("least time {} with one thread on this machine{}\n", time_text(least->ns()),
                       form.empty() ? "" : " for the " + form + "; another algorithm may take less");
  } else if (parts.advice) {
    out << "least time not known: " << least.error().message << "\n";
  }
  if (!task.note.empty()) out << "note       " << task.note << "\n";
  if (!task.degenerate.empty()) out << "degenerate " << task.degenerate << "\n";
  if (parts.example) print_example(example, out);
}

Json as_json(const Task& task, const ops::Graph& graph, const Example& example,
             const Result<targets::LeastTime>& least) {
  Json json = summary_of(task, graph);
  Json nodes = Json::array();
  for (const Node& node : task.nodes) nodes.push_back(suites::text_of(node));
  json["nodes"] = std::move(nodes);
  Json meaning;
  for (const auto& [name, words] : meanings(task)) meaning[name] = words;
  json["meaning"] = std::move(meaning);
  json["lengths"] = task.lengths;
  json["opset"] = task.opset;
  json["tolerance"] = tolerance_text(example);
  json["precision"] = task.precision == Precision::tf32 ? "tf32" : "of_types";
  json["least_time_ns"] = least.ok() ? Json(least->ns()) : Json(nullptr);
  json["note"] = task.note;
  json["degenerate"] = task.degenerate;
  json["example"] = is_readable(example) ? example_json(example) : Json(nullptr);
  return json;
}

}  // namespace

Json summary_of(const Task& task, const ops::Graph& graph) {
  Json inputs = Json::array();
  for (const ops::GraphInput& input : graph.inputs) {
    Json entry = tensor(input.name, input.type);
    entry["role"] = report::name_of(input.role);
    inputs.push_back(std::move(entry));
  }
  Json outputs = Json::array();
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    outputs.push_back(tensor(graph.names[static_cast<std::size_t>(graph.outputs[i])], graph.output_type(i)));
  }
  const Cost cost = ops::cost_of(graph);
  Json summary = {{"name", task.name},   {"category", task.category},   {"operator", task.operators()},
                  {"suite", task.suite}, {"inputs", std::move(inputs)}, {"outputs", std::move(outputs)},
                  {"flops", cost.flops}, {"bytes", cost.bytes()}};
  if (task.level > 0) summary["level"] = task.level;
  return summary;
}

std::string summaries_as_text(const std::vector<Json>& rows) {
  std::string text;
  std::size_t name_width = 4, operator_width = 8, category_width = 8;
  for (const auto& row : rows) {
    name_width = std::max(name_width, row["name"].text().size());
    category_width = std::max(category_width, row["category"].text().size());
    operator_width = std::max(operator_width, row["operator"].text().size());
  }
  operator_width = std::min<std::size_t>(operator_width, 32);
  const auto line = [&](const std::string& name, const std::string& category, std::string operators,
                        const std::string& flops, const std::string& bytes) {
    if (operators.size() > operator_width) operators = operators.substr(0, operator_width - 3) + "...";
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>11}  {:>8}\n", name, name_width, category, category_width,
                        operators, operator_width, flops, bytes);
  };
  line("NAME", "CATEGORY", "OPERATOR", "WORK", "MOVES");
  for (const auto& row : rows) {
    line(row["name"], row["category"], row["operator"], with_unit(row["flops"], "flop"), with_unit(row["bytes"], "B"));
  }
  return text;
}

Result<std::string> task_as_text(const Task& task, const std::string& device, const TaskTextParts& parts) {
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  KW_TRY(const Example example, make_example(task));
  std::ostringstream out;
  print(task, graph, example, targets::least_time(device, ops::cost_of(graph)), parts, out);
  return out.str();
}

Result<std::string> task_as_json(const Task& task, const std::string& device) {
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  KW_TRY(const Example example, make_example(task));
  return as_json(task, graph, example, targets::least_time(device, ops::cost_of(graph))).dump(1) + "\n";
}

}  // namespace kw::runs
