#include "targets/cuda/plain.h"

#include <algorithm>
#include <array>

#include "targets/cuda/writer.h"

namespace kw::cuda {
namespace {

namespace fs = std::filesystem;

// Every element is the input's at the same place; only the shape is another one.
constexpr std::array kCopies = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"};

}  // namespace

Status Writer::write_plain(std::size_t index) {
  const ops::GraphNode& node = graph_.nodes[index];
  const std::string& op = node.call.op->name;
  Parts parts{.index = index, .op = op, .results = node.outputs};
  const int first_result = node.outputs.at(0);
  const bool copies = std::ranges::find(kCopies, op) != kCopies.end() && outputs_.contains(first_result);
  const auto expression = copies ? expressions_.find("Identity") : expressions_.find(op);
  const bool has_file = expression == expressions_.end();
  std::error_code error;
  if (has_file && !fs::exists(folder_ / "plain" / (op + ".cuh"), error)) {
    return fail("{}: there is no plain CUDA kernel of {} yet (kernels/cuda/plain/{}.cuh)", graph_.task->name, op, op);
  }
  KW_CHECK(check_shapes(node));
  if (has_file) parts.results.resize(std::max(node.outputs.size(), node.call.op->outputs.size()), -1);
  KW_TRY(const std::string first_type, type_of_any(node.inputs.empty() ? -1 : node.inputs[0], "float"));
  for (const int slot : parts.results) {
    KW_TRY(std::string type, type_of_any(slot, first_type));
    parts.types.push_back(std::move(type));
  }
  // A file's function has a parameter for each operand, given or not.
  const std::size_t count = has_file ? std::max(node.inputs.size(), node.call.op->inputs.size()) : node.inputs.size();
  for (std::size_t k = 0; k < count; ++k) {
    const int slot = k >= node.inputs.size() || (copies && k > 0) ? -1 : node.inputs[k];
    KW_TRY(const std::string type, type_of_any(slot, first_type));
    parts.parameters += fmt::format("const {}* x{}, ", type, k);
    parts.arguments += (slot < 0 ? "int64_t{0}" : arguments_.at(slot)) + ", ";
    parts.operands += fmt::format(", x{}", k);
    parts.givens += slot < 0 ? ", Given{}" : fmt::format(", t{}", slot);
  }
  plan_ += fmt::format("  // {}\n", op);
  if (!has_file) {
    parts.structure = fmt::format("node{}_of", index);
    plan_ += fmt::format("  kw::Shape s{};\n", first_result);
    KW_TRY(const std::string body,
           write_expression(index, expression->second, node, copies ? 1 : node.inputs.size(), parts.types[0]));
    place(parts.results[0]);
    launch_elements(parts, 0, body);
    return {};
  }
  const fs::path reference = folder_ / "reference" / (op + ".cuh");
  const bool in_blocks = prefers_references_ && fs::exists(reference, error);
  KW_CHECK(include(in_blocks ? reference : folder_ / "plain" / (op + ".cuh")));
  parts.structure = op + "_node";
  plan_ += fmt::format("  kw::Shape shapes{0}[{1}];\n  const {2}_node n{0} = {2}_plan(plan.node({4}), shapes{0}{3});\n",
                       index, parts.results.size(), op, parts.givens, node.number);
  if (std::ranges::find(kCopies, op) != kCopies.end()) {
    // Another shape of the same memory.
    plan_ += fmt::format("  (void)n{0};\n  const Given t{1}{{shapes{0}[0], nullptr, 0, true}};\n", index, first_result);
    arguments_[first_result] = arguments_.at(node.inputs[0]);
    return {};
  }
  for (std::size_t k = 0; k < parts.results.size(); ++k) {
    if (parts.results[k] < 0) continue;
    plan_ += fmt::format("  kw::Shape s{} = shapes{}[{}];\n", parts.results[k], index, k);
    place(parts.results[k]);
  }
  if (in_blocks) {
    launch_blocks(parts);
    return {};
  }
  if (parts_.find(fmt::format(" {}_row(", op)) != std::string::npos) {
    launch_rows(parts);
    return {};
  }
  const bool has_more = parts_.find(fmt::format(" {}_more(", op)) != std::string::npos;
  for (std::size_t k = 0; k < parts.results.size(); ++k) {
    if (parts.results[k] < 0) continue;
    if (k > 0 && !has_more) return fail("{}: the plain CUDA kernel of {} has one output", graph_.task->name, op);
    launch_elements(parts, k,
                    fmt::format("y[i] = {}({}{}(of, i{}));", parts.types[k], op,
                                k == 0 ? "" : fmt::format("_more<{}>", k), parts.operands));
  }
  return {};
}

// A plan knows shapes before it knows values: a result whose shape they decide can only be the task's own, and a
// shape that a node computes cannot be asked for.
Status Writer::check_shapes(const ops::GraphNode& node) const {
  const auto& op = *node.call.op;
  for (const int slot : node.outputs) {
    if (slot < 0 || outputs_.contains(slot) || !graph_.types[static_cast<std::size_t>(slot)].from_values) continue;
    return fail("{}: the values decide the shape of {}'s result, which the plain CUDA kernel of another node needs",
                graph_.task->name, op.name);
  }
  for (std::size_t k = 0; k < node.inputs.size() && k < op.inputs.size(); ++k) {
    if (!op.inputs[k].constant || node.inputs[k] < static_cast<int>(graph_.inputs.size())) continue;
    if (node.outputs[0] >= 0 && outputs_.contains(node.outputs[0])) continue;
    return fail("{}: the plain CUDA kernel of {} needs '{}' as a constant of the task", graph_.task->name, op.name,
                op.inputs[k].name);
  }
  return {};
}

// One thread an element of one result.
void Writer::launch_elements(const Parts& parts, std::size_t k, const std::string& body) {
  const int slot = parts.results[k];
  const std::string kernel = fmt::format("node{}{}", parts.index, k == 0 ? "" : fmt::format("_{}", k));
  launch(kernel, fmt::format("s{}.count()", slot),
         fmt::format("{}{}, n{}", parts.arguments, arguments_.at(slot), parts.index));
  add_kernel(kernel, fmt::format("{}{}* y, {} of", parts.parameters, parts.types[k], parts.structure), body);
}

// One thread a row, which writes all results; a room holds what it needs meanwhile.
void Writer::launch_rows(const Parts& parts) {
  std::string parameters = parts.parameters, arguments = parts.arguments, names = parts.operands;
  bool finds = false;
  for (std::size_t k = 0; k < parts.results.size(); ++k) {
    const int slot = parts.results[k];
    parameters += fmt::format("{}* y{}, ", parts.types[k], k);
    arguments += (slot < 0 ? "int64_t{0}" : arguments_.at(slot)) + ", ";
    names += fmt::format(", y{}", k);
    finds = finds || (slot >= 0 && graph_.types[static_cast<std::size_t>(slot)].from_values);
  }
  for (std::size_t k = 0; k < parts.results.size() && finds; ++k) {
    const int slot = parts.results[k];
    const bool decided = slot >= 0 && graph_.types[static_cast<std::size_t>(slot)].from_values;
    parameters += fmt::format("int64_t* f{}, ", k);
    arguments += decided ? fmt::format("plan.found_shape({}), ", outputs_.at(slot)) : "int64_t{0}, ";
    names += fmt::format(", f{}", k);
  }
  const std::string kernel = fmt::format("node{}", parts.index);
  plan_ += fmt::format("  const kw::PlanMemory room{0} = plan.scratch(n{0}.room);\n", parts.index);
  launch(kernel, fmt::format("n{}.rows", parts.index), fmt::format("{0}room{1}, n{1}", arguments, parts.index));
  add_kernel(kernel, fmt::format("{}uint8_t* room, {} of", parameters, parts.structure),
             fmt::format("{}_row(of, i{}, room);", parts.op, names));
}

// One block a row, which writes all results.
void Writer::launch_blocks(const Parts& parts) {
  std::string parameters, arguments, names;
  for (std::size_t k = 0; k < parts.results.size(); ++k) {
    const int slot = parts.results[k];
    parameters += fmt::format("{}* y{}, ", parts.types[k], k);
    arguments += (slot < 0 ? "int64_t{0}" : arguments_.at(slot)) + ", ";
    names += fmt::format(", y{}", k);
  }
  const std::string kernel = fmt::format("node{}", parts.index);
  plan_ += fmt::format(
      "  if (const int64_t rows = {0}_rows(n{1}, shapes{1}); rows > 0) {{\n    plan.launch(\"{2}\", "
      "std::min<int64_t>(rows, 1 << 20), BLOCK, {3}{4}n{1}, rows);\n  }}\n",
      parts.op, parts.index, kernel, arguments, parts.arguments);
  kernels_ += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__(BLOCK) {}({}{}{} of, int64_t rows) {{\n"
      "  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {{\n    {}_block(of, row{}{});\n  }}\n}}\n",
      kernel, parameters, parts.parameters, parts.structure, parts.op, names, parts.operands);
}

// The kernel's body for one element; the structure with where its operands lie is written too.
Result<std::string> Writer::write_expression(std::size_t index, const Expression& expression,
                                             const ops::GraphNode& node, std::size_t operands,
                                             const std::string& type) {
  const std::size_t numbers = std::max<std::size_t>(expression.attributes.size(), 1);
  structures_ += fmt::format("struct node{}_of {{\n  Strided x[{}];\n  double p[{}];\n}};\n", index, operands, numbers);
  const int result = node.outputs[0];
  plan_ += fmt::format("  node{0}_of n{0}{{}};\n", index);
  for (std::size_t k = 0; k < operands; ++k) {
    plan_ += fmt::format("  s{0} = broadcast(s{0}, t{1}.shape);\n", result, node.inputs[k]);
  }
  for (std::size_t k = 0; k < operands; ++k) {
    plan_ += fmt::format("  n{}.x[{}] = broadcast_to(t{}.shape, s{});\n", index, k, node.inputs[k], result);
  }
  for (std::size_t k = 0; k < expression.attributes.size(); ++k) {
    plan_ +=
        fmt::format("  n{}.p[{}] = static_cast<double>({});\n", index, k, attribute_of(node, expression.attributes[k]));
  }
  std::string body;
  constexpr char kNames[] = "abc";
  if (!expression.joins && operands > 3) return fail("{}: more operands than an expression has", node.call.op->name);
  for (std::size_t k = 0; k < expression.attributes.size(); ++k) {
    body += fmt::format("const double p{0} = of.p[{0}];\n    ", k);
  }
  for (std::size_t k = 0; k < operands; ++k) {
    KW_TRY(const std::string from, type_of(node.inputs[k]));
    const std::string value = fmt::format("Wide<{}>(x{}[of.x[{}].at(i)])", from, k, k);
    if (!expression.joins) {
      body += fmt::format("const Wide<{}> {} = {};\n    ", from, kNames[k], value);
    } else if (k == 0) {
      body += fmt::format("Wide<{}> a = {};\n    ", from, value);
    } else {
      body +=
          fmt::format("{{\n      const Wide<{}> b = {};\n      a = {};\n    }}\n    ", from, value, expression.text);
    }
  }
  if (!expression.joins) return body + fmt::format("y[i] = {}({});", type, expression.text);
  if (!expression.finish.empty()) body += fmt::format("const int64_t n = {};\n    ", operands);
  return body + fmt::format("y[i] = {}({});", type, expression.finish.empty() ? "a" : expression.finish);
}

Result<std::string> plain_kernel(const ops::Graph& graph) {
  KW_TRY(Writer writer, Writer::open(graph));
  return writer.write(Choices(graph.nodes.size(), nullptr),
                      "a plain kernel to start from, one thread an element. 'kw show' prints what the task is.");
}

}  // namespace kw::cuda
