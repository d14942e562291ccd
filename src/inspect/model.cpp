#include "inspect/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/cpp_type.h"
#include "ops/special_values.h"

namespace kw::inspect {
namespace {

constexpr std::int64_t kShown = 16;  // elements of a constant

std::string elements_of(const Tensor& tensor) {
  std::vector<std::string> some;
  for (std::int64_t i = 0; i < std::min(tensor.count(), kShown); ++i) {
    some.push_back(is_float(tensor.dtype()) ? fmt::format("{:.6g}", tensor.real(i))
                                            : fmt::format("{}", tensor.integer(i)));
  }
  return fmt::format("[{}{}]", fmt::join(some, ", "), tensor.count() > kShown ? ", ..." : "");
}

std::string layout_of(const TensorType& type) {
  if (type.shape.rank() == 0) return "one element";
  return fmt::format("row-major, strides [{}] in elements", fmt::join(type.shape.strides(), ", "));
}

std::string access_to(std::size_t node, const std::string& name, AttributeKind kind) {
  const char* how = "";
  switch (kind) {
    case AttributeKind::integer:
      how = "integer";
      break;
    case AttributeKind::real:
      how = "real";
      break;
    case AttributeKind::text:
      how = "text";
      break;
    case AttributeKind::integers:
      how = "integers";
      break;
    case AttributeKind::reals:
      how = "reals";
      break;
    case AttributeKind::texts:
      how = "texts";
      break;
    case AttributeKind::tensor:
      return "";
  }
  return node == 0 ? fmt::format("call.{}(\"{}\")", how, name)
                   : fmt::format("call.node({}).{}(\"{}\")", node, how, name);
}

// "x float32[2, 3]", or "-" for what is left out.
std::string slot_text(const ops::Graph& graph, int slot) {
  if (slot < 0) return "-";
  const auto at = static_cast<std::size_t>(slot);
  return fmt::format("{} {}", graph.names[at], graph.types[at].text());
}

std::string slots_text(const ops::Graph& graph, const std::vector<int>& slots) {
  std::vector<std::string> all;
  for (const int slot : slots) all.push_back(slot_text(graph, slot));
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

std::vector<KernelTensor> inputs_of_kernel(const ops::Graph& graph) {
  std::vector<KernelTensor> all;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const ops::GraphInput& input = graph.inputs[i];
    KernelTensor one{.call = fmt::format("call.input<{}>({})", cpp_type(input.type.dtype), i),
                     .name = input.name,
                     .type = input.type,
                     .when = input.role == Role::input ? "new with every call" : "constant: KW_PREPARE may pack it"};
    if (const Tensor* known = graph.known[i]; known != nullptr) one.content = elements_of(*known);
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<KernelTensor> outputs_of_kernel(const ops::Graph& graph) {
  std::vector<KernelTensor> all;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorType type = graph.output_type(i);
    all.push_back({.call = fmt::format("call.output<{}>({})", cpp_type(type.dtype), i),
                   .name = graph.names[static_cast<std::size_t>(graph.outputs[i])],
                   .type = type,
                   .when = type.from_values ? "at most so large: the values decide" : "",
                   .content = ""});
  }
  return all;
}

std::vector<NodeFact> attributes_of(const ops::Graph& graph, std::size_t node) {
  std::vector<NodeFact> facts;
  const Node& declared = graph.task->nodes[node];
  for (const auto& [name, value] : graph.nodes[node].call.attributes) {
    facts.push_back({.name = name,
                     .value = text_of(value),
                     .call = access_to(node, name, kind_of(value)),
                     .said = declared.attributes.contains(name)});
  }
  return facts;
}

std::string kernel_side(const ops::Graph& graph, Reads reads) {
  std::string text;
  const auto asked = [&](const KernelTensor& one, const char* side, std::size_t place) {
    return reads == Reads::call ? one.call : fmt::format("plan.{}({}), {}*", side, place, cpp_type(one.type.dtype));
  };
  const std::vector<KernelTensor> inputs = inputs_of_kernel(graph), outputs = outputs_of_kernel(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool is_new = inputs[i].when.starts_with("new");
    text += fmt::format("  {}  {}  {}  {}\n", asked(inputs[i], "input", i), inputs[i].name, inputs[i].type.text(),
                        reads == Reads::call || is_new ? inputs[i].when : "constant: plan.prepare may pack it");
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    text += fmt::format("  {}  {}\n", asked(outputs[i], "output", i), outputs[i].type.text());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].role != Role::input || !is_float(graph.inputs[i].type.dtype)) continue;
    const ops::SpecialValues special = ops::special_values_of(graph, static_cast<int>(i));
    text += fmt::format("  {} {}\n", graph.inputs[i].name,
                        special.nans && special.infinities ? "may hold NaN and infinities"
                        : special.nans                     ? "may hold NaN, but no infinities"
                        : special.infinities               ? "may hold infinities, but no NaN"
                                                           : "holds neither NaN nor infinities");
  }
  std::set<int> wanted(graph.outputs.begin(), graph.outputs.end());
  for (const ops::GraphNode& node : graph.nodes) wanted.insert(node.inputs.begin(), node.inputs.end());
  for (const ops::GraphNode& node : graph.nodes) {
    for (const int slot : node.outputs) {
      if (slot >= 0 && !wanted.contains(slot))
        text += fmt::format("  {} is no output of the task: it need not be computed\n",
                            graph.names[static_cast<std::size_t>(slot)]);
    }
  }
  return text;
}

std::string model_as_text(const ops::Graph& graph) {
  std::string text = fmt::format("as ONNX says it (opset {})\n", graph.task->opset);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const ops::GraphNode& node = graph.nodes[i];
    text += fmt::format("  {}. {}: {} -> {}\n", i, node.call.op->name, slots_text(graph, node.inputs),
                        slots_text(graph, node.outputs));
    for (const NodeFact& fact : attributes_of(graph, i)) {
      text += fmt::format("       {} = {}{}\n", fact.name, fact.value, fact.said ? "" : "  (default)");
    }
  }
  if (!graph.task->lengths.empty()) {
    text += "  open lengths:";
    for (const auto& [name, value] : graph.task->lengths) text += fmt::format(" {}={}", name, value);
    text += "\n";
  }
  text += "\nas the kernel sees it\n";
  for (const KernelTensor& one : inputs_of_kernel(graph)) {
    text += fmt::format("  {}  {}  {}  {}  {}{}{}\n", one.call, one.name, one.type.text(), layout_of(one.type),
                        one.when, one.content.empty() ? "" : "; ", one.content);
  }
  for (const KernelTensor& one : outputs_of_kernel(graph)) {
    text += fmt::format("  {}  {}  {}  {}{}{}\n", one.call, one.name, one.type.text(), layout_of(one.type),
                        one.when.empty() ? "" : "  ", one.when);
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const NodeFact& fact : attributes_of(graph, i)) {
      if (!fact.call.empty()) text += fmt::format("  {}  {}\n", fact.call, fact.value);
    }
  }
  return text;
}

std::string findings_as_text(const Verdict& verdict) {
  if (verdict.accepted()) return "nothing was found wrong\n";
  if (verdict.stage == VerdictStage::quick_check)
    return "nothing was found wrong at a quick_check, and nobody looked further\n";
  std::string text = fmt::format("found wrong at the stage '{}'\n", name_of(verdict.stage));
  // What was wrong, what the wrong elements have in common, and in which case: a line each.
  const std::string reason = text_of(verdict.reason);
  std::string_view rest = reason;
  while (!rest.empty()) {
    const std::size_t end = rest.find("; ");
    text += fmt::format("  {}\n", rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 2);
  }
  for (const SourceError& error : verdict.errors) {
    text += fmt::format("  {}:{}: {}\n{}", error.file, error.line, error.message, error.around);
  }
  return text;
}

}  // namespace kw::inspect
