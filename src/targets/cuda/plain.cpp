#include "targets/cuda/plain.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "base/files.h"
#include "core/cpp_type.h"

namespace kw::cuda {
namespace {

namespace fs = std::filesystem;

// Every element is the input's at the same place; only the shape is another one.
constexpr std::array kCopies = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"};

struct Expression {
  std::string text;
  std::string finish = {};                   // of one that joins operands
  bool joins = false;                        // any number of operands
  std::vector<std::string> attributes = {};  // p0, p1 ...
};

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(trimmed(part));
  return parts;
}

Result<std::map<std::string, Expression>> read_expressions(const fs::path& folder) {
  KW_TRY(const std::string text, read_file(folder / "elementwise.txt"));
  std::map<std::string, Expression> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    // An expression may hold "||": columns are split at a bar between blanks.
    std::vector<std::string> columns;
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find(" | ", begin), line.size());
      columns.push_back(trimmed(line.substr(begin, end - begin)));
      begin = end + 3;
    }
    if (columns.size() < 2) return fail("elementwise.txt: {} has no expression", columns[0]);
    Expression one{.text = columns[1]};
    if (one.text.starts_with("fold ")) {
      const std::vector<std::string> parts = split(one.text.substr(5), ';');
      one.joins = true;
      one.text = parts[0];
      if (parts.size() > 1) one.finish = parts[1];
    }
    if (columns.size() > 2) {
      for (const std::string& name : split(columns[2], ' ')) {
        if (!name.empty()) one.attributes.push_back(name);
      }
    }
    all[columns[0]] = std::move(one);
  }
  return all;
}

class Writer {
 public:
  Writer(const ops::Graph& graph, fs::path folder, std::map<std::string, Expression> expressions)
      : graph_(graph), folder_(std::move(folder)), expressions_(std::move(expressions)) {}

  Result<std::string> write() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      plan_ += fmt::format(
          "  const Given t{0}{{plan.input({0}).shape(), plan.input({0}).data<void>(), "
          "plan.input({0}).dtype(), true}};\n",
          i);
      arguments_[static_cast<int>(i)] = fmt::format("plan.input({})", i);
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      arguments_.try_emplace(graph_.outputs[i], fmt::format("plan.output({})", i));
      outputs_.try_emplace(graph_.outputs[i], i);
    }
    KW_CHECK(include("common.cuh"));
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) KW_CHECK(write_node(i));
    return fmt::format(
        "// {}: a plain kernel to start from, one thread an element. 'kw show' prints what the task is.\n"
        "#include <kernelwright_cuda.h>\n\n"
        "KW_TUNE(BLOCK, 256, 128, 256, 512);\n\n"
        "{}\n{}\n#ifdef __CUDACC__\n{}#else\nKW_PLAN(plan) {{\n{}}}\n#endif\n",
        graph_.task->name, parts_, structures_, kernels_, plan_);
  }

 private:
  // A file of the folder with what it includes, once.
  Status include(const std::string& name) {
    if (!included_.insert(name).second) return {};
    KW_TRY(const std::string text, read_file(folder_ / name));
    std::string own;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("#pragma once") || line.starts_with("#include <")) continue;
      if (line.starts_with("#include \"")) {
        KW_CHECK(include(line.substr(10, line.size() - 11)));
      } else if (!own.empty() || !line.empty()) {
        own += line + "\n";
      }
    }
    parts_ += own + "\n";
    return {};
  }

  Result<std::string> type_of(int slot) const {
    const DType dtype = graph_.types[static_cast<std::size_t>(slot)].dtype;
    if (dtype == DType::float16 || dtype == DType::bfloat16) {
      return fail("{}: there is no plain CUDA kernel for {} yet", graph_.task->name, name_of(dtype));
    }
    return cpp_type(dtype);
  }

  // An operand or result that is left out has some type: it does not matter which.
  Result<std::string> type_of_any(int slot, const std::string& otherwise) const {
    return slot < 0 ? otherwise : type_of(slot);
  }

  // How one node becomes launches.
  struct Parts {
    std::size_t index = 0;
    std::string op;
    std::vector<int> results;           // slots; -1: nobody wants it
    std::vector<std::string> types;     // of the results
    std::string parameters, arguments;  // of the operands, in a kernel and in the plan
    std::string operands, givens;       // their names in a kernel's body, and what the plan knows of them
    std::string structure;              // the type of what the plan fills in
  };

  Status write_node(std::size_t index) {
    const ops::GraphNode& node = graph_.nodes[index];
    const std::string& op = node.call.op->name;
    Parts parts{.index = index, .op = op, .results = node.outputs};
    const int first_result = node.outputs.at(0);
    const bool copies = std::ranges::find(kCopies, op) != kCopies.end() && outputs_.contains(first_result);
    const auto expression = copies ? expressions_.find("Identity") : expressions_.find(op);
    const bool has_file = expression == expressions_.end();
    std::error_code error;
    if (has_file && !fs::exists(folder_ / (op + ".cuh"), error)) {
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
      place(parts, 0);
      launch_elements(parts, 0, body);
      return {};
    }
    KW_CHECK(include(op + ".cuh"));
    parts.structure = op + "_node";
    plan_ +=
        fmt::format("  kw::Shape shapes{0}[{1}];\n  const {2}_node n{0} = {2}_plan(plan.node({0}), shapes{0}{3});\n",
                    index, parts.results.size(), op, parts.givens);
    for (std::size_t k = 0; k < parts.results.size(); ++k) {
      if (parts.results[k] < 0) continue;
      plan_ += fmt::format("  kw::Shape s{} = shapes{}[{}];\n", parts.results[k], index, k);
      place(parts, k);
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
  Status check_shapes(const ops::GraphNode& node) const {
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

  // Where a result lies, and what the plan knows of it.
  void place(const Parts& parts, std::size_t k) {
    const int slot = parts.results[k];
    if (const auto output = outputs_.find(slot); output != outputs_.end()) {
      plan_ += fmt::format("  s{} = plan.output({}).shape();\n", slot, output->second);
    } else {
      plan_ += fmt::format("  const kw::PlanMemory m{0} = plan.scratch(s{0}.count() * {1});\n", slot,
                           size_bytes(graph_.types[static_cast<std::size_t>(slot)].dtype));
      arguments_[slot] = fmt::format("m{}", slot);
    }
    plan_ += fmt::format("  [[maybe_unused]] const Given t{0}{{s{0}, nullptr, 0, true}};\n", slot);
  }

  void launch(const std::string& kernel, const std::string& count, const std::string& arguments) {
    plan_ += fmt::format(
        "  if ({0} > 0) {{\n    plan.launch(\"{1}\", std::min<int64_t>(kw::blocks({0}, BLOCK), 1 << 20), BLOCK, {2}, "
        "{0});\n  }}\n",
        count, kernel, arguments);
  }

  void add_kernel(const std::string& name, const std::string& parameters, const std::string& body) {
    kernels_ += fmt::format(
        "extern \"C\" __global__ void {}({}, int64_t count) {{\n"
        "  for (int64_t i = int64_t(blockIdx.x) * BLOCK + threadIdx.x; i < count; i += "
        "int64_t(gridDim.x) * BLOCK) {{\n    {}\n  }}\n}}\n",
        name, parameters, body);
  }

  // One thread an element of one result.
  void launch_elements(const Parts& parts, std::size_t k, const std::string& body) {
    const int slot = parts.results[k];
    const std::string kernel = fmt::format("node{}{}", parts.index, k == 0 ? "" : fmt::format("_{}", k));
    launch(kernel, fmt::format("s{}.count()", slot),
           fmt::format("{}{}, n{}", parts.arguments, arguments_.at(slot), parts.index));
    add_kernel(kernel, fmt::format("{}{}* y, {} of", parts.parameters, parts.types[k], parts.structure), body);
  }

  // One thread a row, which writes all results; a room holds what it needs meanwhile.
  void launch_rows(const Parts& parts) {
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

  // The kernel's body for one element; the structure with where its operands lie is written too.
  Result<std::string> write_expression(std::size_t index, const Expression& expression, const ops::GraphNode& node,
                                       std::size_t operands, const std::string& type) {
    const std::size_t numbers = std::max<std::size_t>(expression.attributes.size(), 1);
    structures_ +=
        fmt::format("struct node{}_of {{\n  Strided x[{}];\n  double p[{}];\n}};\n", index, operands, numbers);
    const int result = node.outputs[0];
    plan_ += fmt::format("  node{0}_of n{0}{{}};\n", index);
    for (std::size_t k = 0; k < operands; ++k) {
      plan_ += fmt::format("  s{0} = broadcast(s{0}, t{1}.shape);\n", result, node.inputs[k]);
    }
    for (std::size_t k = 0; k < operands; ++k) {
      plan_ += fmt::format("  n{}.x[{}] = broadcast_to(t{}.shape, s{});\n", index, k, node.inputs[k], result);
    }
    for (std::size_t k = 0; k < expression.attributes.size(); ++k) {
      const std::string& name = expression.attributes[k];
      const auto is_named = [&](const auto& one) { return one.first == name; };
      const auto value = std::ranges::find_if(node.call.attributes, is_named);
      const bool integer = value != node.call.attributes.end() && std::holds_alternative<std::int64_t>(value->second);
      plan_ += fmt::format("  n{0}.p[{1}] = static_cast<double>(plan.node({0}).{2}(\"{3}\"));\n", index, k,
                           integer ? "integer" : "real", name);
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

  const ops::Graph& graph_;
  fs::path folder_;
  std::map<std::string, Expression> expressions_;
  std::set<std::string> included_;
  std::map<int, std::string> arguments_;  // of a launch, by slot
  std::map<int, std::size_t> outputs_;    // of the graph, by slot
  std::string parts_, structures_, kernels_, plan_;
};

}  // namespace

Result<std::string> plain_kernel(const ops::Graph& graph) {
  KW_TRY(const fs::path data, data_folder());
  const fs::path folder = data / "kernels" / "cuda" / "plain";
  KW_TRY(auto expressions, read_expressions(folder));
  return Writer(graph, folder, std::move(expressions)).write();
}

}  // namespace kw::cuda
