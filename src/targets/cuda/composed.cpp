#include "targets/cuda/composed.h"

#include <algorithm>

#include "base/files.h"
#include "targets/cuda/plain.h"
#include "targets/cuda/writer.h"

namespace kw::cuda {
namespace {

// A number of an operator by its technique's text: "OP_kernels = 2", else "kernels = 2", else 1.
int number_of(const std::string& text, const std::string& op, const std::string& what) {
  for (const std::string& words : {" " + op + "_" + what + " = ", " " + what + " = "}) {
    const std::size_t at = text.find(words);
    if (at != std::string::npos) return std::atoi(text.c_str() + at + words.size());
  }
  return 1;
}

// Which function of elements computes a node.
std::string function_of(const ops::GraphNode& node) {
  const std::string& op = node.call.op->name;
  return op == "Gelu" && node.call.text("approximate") == "tanh" ? "Gelu_tanh" : op;
}

}  // namespace

Result<Writer::Chain> Writer::write_chain(const Choices& choice, const std::vector<std::size_t>& nodes, int of) {
  const int result = graph_.nodes[nodes.back()].outputs[0];
  Chain chain{.name = fmt::format("chain{}", nodes.back())};
  KW_TRY(chain.type, type_of(result));
  std::string body, values, packed, loads, elements, packs, members, constructed;
  std::vector<std::string> numbers;
  std::set<int> made;
  std::map<int, std::string> names;
  if (of >= 0) {
    KW_TRY(const std::string type, type_of(of));
    names[of] = "v";
    values = type + " v";
  }
  for (const std::size_t index : nodes) {
    const ops::GraphNode& node = graph_.nodes[index];
    const compose::Technique& technique = *choice[index];
    KW_CHECK(include(technique.file, technique.name));
    std::string arguments;
    for (const int slot : node.inputs) {
      if (slot < 0) {
        arguments += fmt::format("{}{}::Absent()", arguments.empty() ? "" : ", ", technique.name);
        continue;
      }
      if (!names.contains(slot)) {
        const std::size_t k = chain.leaves.size();
        KW_TRY(const std::string type, type_of(slot));
        chain.leaves.push_back(slot);
        names[slot] = fmt::format("a{}", k);
        members += fmt::format("  const {}* x{};\n", type, k);
        values += fmt::format("{}{} a{}", values.empty() ? "" : ", ", type, k);
        elements += fmt::format("{}x{}[of.x[{}].at(i)]", elements.empty() ? "" : ", ", k, k);
        packed += fmt::format("    const auto p{0} = of.x[{0}].template pack<N>(x{0}, i);\n", k);
        loads += fmt::format("{}p{}.at[k]", loads.empty() ? "" : ", ", k);
        packs += fmt::format(" && of.x[{0}].template packs<N>(x{0})", k);
        chain.parameters += fmt::format("const {}* {}_x{}, ", type, chain.name, k);
        chain.arguments += arguments_.at(slot) + ", ";
        constructed += fmt::format("{}_x{}, ", chain.name, k);
      }
      arguments += (arguments.empty() ? "" : ", ") + names[slot];
    }
    const auto add_number = [&](const std::string& name) {
      arguments += fmt::format(", of.p[{}]", numbers.size());
      numbers.push_back(fmt::format("static_cast<float>({})", attribute_of(node, name)));
    };
    if (const auto expression = expressions_.find(node.call.op->name); expression != expressions_.end()) {
      for (const std::string& name : expression->second.attributes) add_number(name);
    }
    if (node.call.op->name == "Clip") {
      // Opsets before 11 have the limits as attributes.
      for (std::size_t k = node.inputs.size(); k < 3; ++k) {
        const std::string name = k == 1 ? "min" : "max";
        if (node.call.attributes.has(name)) {
          add_number(name);
        } else {
          arguments += fmt::format(", {}::Absent()", technique.name);
        }
      }
    }
    names[node.outputs[0]] = fmt::format("t{}", index);
    KW_TRY(const std::string type, type_of(node.outputs[0]));
    body += fmt::format("    const {} t{} = {}::{}({});\n", type, index, technique.name, function_of(node), arguments);
  }
  // What the plan fills in.
  structures_ += fmt::format("struct {}_of {{\n  Spread x[{}];\n  float p[{}];\n}};\n", chain.name,
                             std::max<std::size_t>(chain.leaves.size(), 1), std::max<std::size_t>(numbers.size(), 1));
  plan_ += fmt::format("  {0}_of {0}{{}};\n", chain.name);
  for (std::size_t k = 0; k < chain.leaves.size(); ++k) {
    plan_ += fmt::format("  {}.x[{}] = spread_to(t{}.shape, s{});\n", chain.name, k, chain.leaves[k], result);
  }
  for (std::size_t k = 0; k < numbers.size(); ++k)
    plan_ += fmt::format("  {}.p[{}] = {};\n", chain.name, k, numbers[k]);
  chain.arguments += chain.name + ", ";
  chain.parameters += fmt::format("const __grid_constant__ {0}_of {0}_it, ", chain.name);
  chain.members = constructed + chain.name + "_it";
  // And the structure that uses it.
  kernels_ += fmt::format("struct {} {{\n{}  const {}_of& of;\n", chain.name, members, chain.name);
  if (of >= 0) kernels_ += fmt::format("  {}* y;\n", chain.type);
  kernels_ += fmt::format("  using Element = {0};\n  __device__ {0} value({1}) const {{\n{2}    return t{3};\n  }}\n",
                          chain.type, values, body, nodes.back());
  if (of >= 0) {
    KW_TRY(const std::string type, type_of(of));
    kernels_ += fmt::format("  __device__ void operator()(int64_t i, {} v) const {{ y[i] = value(v{}{}); }}\n", type,
                            elements.empty() ? "" : ", ", elements);
    kernels_ += fmt::format(
        "  template <int N>\n  __device__ void pack(int64_t i, const Pack<{0}, N>& v) const {{\n{2}    Pack<{1}, N> "
        "result;\n#pragma unroll\n    for (int k = 0; k < N; ++k) result.at[k] = value(v.at[k]{3}{4});\n"
        "    *reinterpret_cast<Pack<{1}, N>*>(y + i) = result;\n  }}\n"
        "  template <int N>\n  __device__ bool packs() const {{\n    return can_pack<N>(y){5};\n  }}\n",
        type, chain.type, packed, loads.empty() ? "" : ", ", loads, packs);
  } else {
    kernels_ += fmt::format(
        "  __device__ {0} operator()(int64_t i) const {{ return value({1}); }}\n"
        "  template <int N>\n  __device__ Pack<{0}, N> pack(int64_t i) const {{\n{2}    Pack<{0}, N> result;\n"
        "#pragma unroll\n    for (int k = 0; k < N; ++k) result.at[k] = value({3});\n    return result;\n  }}\n"
        "  template <int N>\n  __device__ bool packs() const {{\n    return true{4};\n  }}\n",
        chain.type, elements, packed, loads, packs);
  }
  kernels_ += "};\n";
  return chain;
}

// The shape of a chain's result is what its operands broadcast to.
Status Writer::write_chain_alone(const Choices& choice, const Group& group) {
  const int result = graph_.nodes[group.last()].outputs[0];
  plan_ += fmt::format("  // {} element by element\n  kw::Shape s{};\n", group.after.size(), result);
  std::set<int> made;
  for (const std::size_t index : group.after) {
    for (const int slot : graph_.nodes[index].inputs) {
      if (slot >= 0 && !made.contains(slot))
        plan_ += fmt::format("  s{0} = broadcast(s{0}, t{1}.shape);\n", result, slot);
    }
    made.insert(graph_.nodes[index].outputs[0]);
  }
  place(result);
  KW_TRY(const Chain chain, write_chain(choice, group.after, -1));
  const std::string& space = choice[group.last()]->name;
  const std::string kernel = fmt::format("pass{}", group.last());
  kernels_ += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({0}::threads) {1}({2}{3}* y, int64_t count) {{\n"
      "  {0}::write_all<16 / sizeof({3})>({4}{{{5}}}, y, count);\n}}\n",
      space, kernel, chain.parameters, chain.type, chain.name, chain.members);
  plan_ += fmt::format(
      "  if (s{0}.count() > 0) {{\n    plan.launch(\"{1}\", {2}::blocks_of(s{0}.count()), {2}::threads, {3}{4}, "
      "s{0}.count());\n  }}\n",
      result, kernel, space, chain.arguments, arguments_.at(result));
  return {};
}

Status Writer::write_technique(const Choices& choice, const Group& group) {
  const std::size_t index = *group.node;
  const ops::GraphNode& node = graph_.nodes[index];
  const compose::Technique& technique = *choice[index];
  const std::string& op = node.call.op->name;
  const std::string& space = technique.name;
  KW_CHECK(check_shapes(node));
  KW_CHECK(include(technique.file, space));
  KW_TRY(const std::string text, read_file(technique.file));
  KW_TRY(const std::string first_type, type_of_any(node.inputs.empty() ? -1 : node.inputs[0], "float"));
  plan_ += fmt::format("  // {}: {}\n", op, space);
  std::string parameters, arguments, operands, givens;
  if (!group.before.empty()) {
    const int slot = node.inputs[0];
    plan_ += fmt::format("  kw::Shape s{};\n", slot);
    std::set<int> made;
    for (const std::size_t before : group.before) {
      for (const int read : graph_.nodes[before].inputs) {
        if (read >= 0 && !made.contains(read))
          plan_ += fmt::format("  s{0} = broadcast(s{0}, t{1}.shape);\n", slot, read);
      }
      made.insert(graph_.nodes[before].outputs[0]);
    }
    plan_ += fmt::format("  const Given t{0}{{s{0}, nullptr, 0, true}};\n", slot);
    KW_TRY(const Chain chain, write_chain(choice, group.before, -1));
    parameters += chain.parameters;
    arguments += chain.arguments;
    operands = fmt::format(", {}{{{}}}", chain.name, chain.members);
  }
  const std::size_t count = std::max(node.inputs.size(), node.call.op->inputs.size());
  for (std::size_t k = 0; k < count; ++k) {
    const int slot = k < node.inputs.size() ? node.inputs[k] : -1;
    givens += slot < 0 ? ", Given{}" : fmt::format(", t{}", slot);
    if (k == 0 && !group.before.empty()) continue;
    KW_TRY(const std::string type, type_of_any(slot, first_type));
    parameters += fmt::format("const {}* x{}, ", type, k);
    arguments += (slot < 0 ? "int64_t{0}" : arguments_.at(slot)) + ", ";
    operands += k == 0 ? fmt::format(", Read<{}>{{x0}}", type) : fmt::format(", x{}", k);
  }
  const int made = node.outputs[0], result = graph_.nodes[group.last()].outputs[0];
  plan_ += fmt::format(
      "  kw::Shape shapes{0}[{1}];\n  Steps steps{0};\n"
      "  const {2}::{3}_node n{0} = {2}::{3}_plan(plan.node({4}), steps{0}, shapes{0}{5});\n"
      "  if (steps{0}.cannot != nullptr) return plan.fail(steps{0}.cannot);\n  kw::Shape s{6} = shapes{0}[0];\n",
      index, std::max(node.outputs.size(), node.call.op->outputs.size()), space, op, node.number, givens, result);
  place(result);
  // Further results are written as they are.
  std::string more_parameters, more_arguments, more_written;
  const std::size_t results = static_cast<std::size_t>(number_of(text, op, "results"));
  for (std::size_t k = 1; k < results; ++k) {
    const int slot = k < node.outputs.size() ? node.outputs[k] : -1;
    KW_TRY(const std::string type, type_of_any(slot, first_type));
    if (slot >= 0) {
      plan_ += fmt::format("  kw::Shape s{} = shapes{}[{}];\n", slot, index, k);
      place(slot);
    }
    more_parameters += fmt::format("{}* y{}, ", type, k);
    more_arguments += (slot < 0 ? "int64_t{0}" : arguments_.at(slot)) + ", ";
    more_written += fmt::format("y{}, ", k);
  }
  std::string written = fmt::format("Write<{}>{{y}}", first_type);
  KW_TRY(const std::string type, type_of(result));
  if (!group.after.empty()) {
    plan_ += fmt::format("  if (s{0}.count() != shapes{1}[0].count()) return plan.fail(\"the shapes do not fit\");\n",
                         result, index);
    KW_TRY(const Chain chain, write_chain(choice, group.after, made));
    parameters += chain.parameters;
    arguments += chain.arguments;
    written = fmt::format("{}{{{}, y}}", chain.name, chain.members);
  } else {
    written = fmt::format("Write<{}>{{y}}", type);
  }
  plan_ += fmt::format(
      "  const kw::PlanMemory room{0} = plan.scratch(steps{0}.room);\n  const char* const names{0}[] = {{", index);
  for (int k = 0; k < number_of(text, op, "kernels"); ++k) {
    const std::string kernel = fmt::format("node{}_{}", index, k);
    plan_ += fmt::format("{}\"{}\"", k == 0 ? "" : ", ", kernel);
    kernels_ += fmt::format(
        "extern \"C\" __global__ void __launch_bounds__({0}::threads) {1}({2}{3}* y, {8}unsigned char* room, "
        "const __grid_constant__ {0}::{4}_node of) {{\n  {0}::{4}<{5}>(of{6}, {7}, {9}room);\n}}\n",
        space, kernel, parameters, type, op, k, operands, written, more_parameters, more_written);
  }
  plan_ += fmt::format(
      "}};\n  for (int i = 0; i < steps{0}.count{1}; ++i) {{\n"
      "    const Steps::Step& step = steps{0}.list[i];\n"
      "    plan.shared(step.shared).launch(names{0}[step.kernel], step.grid, {2}::threads, {3}{4}, {5}room{0}, "
      "n{0});\n  "
      "}}\n",
      index, results > 1 ? "" : fmt::format(" && s{}.count() > 0", result), space, arguments, arguments_.at(result),
      more_arguments);
  return {};
}

Result<std::string> composed_kernel(const ops::Graph& graph, const std::vector<const compose::Technique*>& choice,
                                    const std::string& about, compose::Parts parts) {
  if (about == compose::kPlain) return plain_kernel(graph);
  KW_TRY(Writer writer, Writer::open(graph));
  if (parts == compose::Parts::by_name) writer.name_parts();
  return writer.write(choice, about);
}

}  // namespace kw::cuda
