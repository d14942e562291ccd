#include "runs/c_interface.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "compose/outside_text.h"
#include "runs/attribute_text.h"
#include "targets/instance.h"

namespace kw::runs {
namespace {

bool is_constant(const ops::GraphInput& input) { return input.role != Role::input; }

// The parameters of the functions, as they are declared.
std::vector<std::string> prepare_parameters(const CInterface& interface) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
    const ops::GraphInput& input = interface.graph->inputs[i];
    if (is_constant(input)) all.push_back(fmt::format("const {}* {}", c_type(input.type.dtype), interface.inputs[i]));
  }
  if (interface.kept_bytes > 0) all.push_back("void* kept");
  if (interface.scratch_bytes > 0) all.push_back("void* scratch");
  return all;
}

std::vector<std::string> run_parameters(const CInterface& interface) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
    all.push_back(fmt::format("const {}* {}", c_type(interface.graph->inputs[i].type.dtype), interface.inputs[i]));
  }
  for (std::size_t i = 0; i < interface.outputs.size(); ++i) {
    const TensorType type = interface.graph->output_type(i);
    all.push_back(fmt::format("{}* {}", c_type(type.dtype), interface.outputs[i]));
    if (type.from_values) all.push_back(fmt::format("int64_t* {}shape", interface.outputs[i]));
  }
  if (interface.threaded) all.push_back("int threads");
  if (interface.kept_bytes > 0) all.push_back("const void* kept");
  if (interface.scratch_bytes > 0) all.push_back("void* scratch");
  return all;
}

std::string parameter_text(const std::vector<std::string>& all) {
  return all.empty() ? "void" : fmt::format("{}", fmt::join(all, ", "));
}

std::string tensor_text(const TensorType& type, const std::string& data) {
  std::vector<std::int64_t> dims(type.shape.begin(), type.shape.end());
  if (dims.empty()) dims.push_back(0);  // an empty list is not C
  return fmt::format("{{{}, {{{}}}, {}, {}, {}}}", data, fmt::join(dims, ", "), type.shape.count(), type.shape.rank(),
                     targets::contract_number(type.dtype));
}

}  // namespace

AttributeTable attribute_table(const ops::Graph& graph, const std::string& prefix) {
  std::string lists;
  std::vector<std::string> rows;
  const auto list = [&](const char* type, const std::vector<std::string>& values) -> std::string {
    if (values.empty()) return "0";
    const std::string name = fmt::format("{}_list_{}", prefix, std::ranges::count(lists, '\n'));
    lists += fmt::format("static const {} {}[] = {{{}}};\n", type, name, fmt::join(values, ", "));
    return name;
  };
  for (const AttributeText& one : attribute_texts(graph)) {
    const std::size_t elements = one.integers.size() + one.reals.size() + one.texts.size();
    const std::string integers = list("int64_t", one.integers), reals = list("double", one.reals),
                      texts = list("char* const", one.texts);
    rows.push_back(fmt::format("    {{{}, {}, {}, {}, {}, {}, {}}}", one.name, one.node, one.list ? 1 : 0, elements,
                               integers, reals, texts));
  }
  AttributeTable table{.text = {}, .name = prefix + "_attributes", .count = rows.size()};
  if (!rows.empty()) {
    table.text =
        fmt::format("{}static const kw_attribute {}[] = {{\n{}}};\n", lists, table.name, fmt::join(rows, ",\n"));
  }
  return table;
}

std::string c_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "float";
    case DType::float64:
      return "double";
    case DType::boolean:
      return "unsigned char";
    case DType::float16:
    case DType::bfloat16:
      return "uint16_t";
    default:
      return std::string(name_of(dtype)) + "_t";
  }
}

CInterface c_interface_of(const ops::Graph& graph, const std::string& name) {
  CInterface made{.graph = &graph, .name = name, .inputs = {}, .outputs = {}};
  compose::Identifiers names;
  for (const ops::GraphInput& input : graph.inputs) made.inputs.push_back(names.add(input.name));
  for (const int slot : graph.outputs) made.outputs.push_back(names.add(graph.names[static_cast<std::size_t>(slot)]));
  return made;
}

std::string c_header(const CInterface& interface, const std::vector<std::string>& about) {
  const std::string& name = interface.name;
  std::string text = "/* ";
  for (std::size_t i = 0; i < about.size(); ++i)
    text += (i == 0 ? "" : about[i].empty() ? " *" : " * ") + about[i] + "\n";
  text += fmt::format(" */\n#ifndef {0}_H\n#define {0}_H\n\n#include <stdint.h>\n\n", name);
  if (interface.scratch_bytes > 0) {
    text += "/* Bytes of memory for one call, with anything in it; any alignment. */\n";
    text += fmt::format("#define {}_SCRATCH_BYTES {}\n\n", name, interface.scratch_bytes);
  }
  if (interface.kept_bytes > 0) {
    text += "/* Bytes of memory for what is prepared from the constant inputs; any alignment. */\n";
    text += fmt::format("#define {}_KEPT_BYTES {}\n\n", name, interface.kept_bytes);
  }
  text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  if (interface.prepares) {
    text += fmt::format(
        "/* Once, before the first call: packs the constant inputs into `kept`, which {0}_run only reads. 0: done. */\n"
        "int {0}_prepare({1});\n\n",
        name, parameter_text(prepare_parameters(interface)));
  }
  std::string shapes;
  for (std::size_t i = 0; i < interface.outputs.size(); ++i) {
    if (interface.graph->output_type(i).from_values) {
      shapes = " The lengths that an output turned out to have are written to its shape.";
    }
  }
  text += fmt::format("/* Writes every element of the outputs.{} 0: done. */\nint {}_run({});\n\n", shapes, name,
                      parameter_text(run_parameters(interface)));
  return text + "#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

std::string c_functions(const CInterface& interface) {
  const std::string& name = interface.name;
  const AttributeTable attributes = attribute_table(*interface.graph, name);
  std::string text =
      fmt::format("\n/* ----- The functions of {0}.h */\n#if __has_include(\"{0}.h\")\n#include \"{0}.h\"\n\n", name);
  text += attributes.text;
  text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  // The parts of a call that both functions have.
  const auto call = [&](bool prepares) {
    std::vector<std::string> in, out;
    for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
      const ops::GraphInput& input = interface.graph->inputs[i];
      const bool is_shown = !prepares || is_constant(input);
      in.push_back("      " + tensor_text(input.type, is_shown ? "(void*)" + interface.inputs[i] : "0"));
    }
    for (std::size_t i = 0; i < interface.outputs.size(); ++i) {
      out.push_back("      " +
                    tensor_text(interface.graph->output_type(i), prepares ? "0" : "(void*)" + interface.outputs[i]));
    }
    std::string body;
    if (in.empty()) {
      body += "  const kw_tensor* in = 0;\n";
    } else {
      body += fmt::format("  const kw_tensor in[] = {{\n{}}};\n", fmt::join(in, ",\n"));
    }
    body += fmt::format("  kw_tensor out[] = {{\n{}}};\n  kw_call call;\n", fmt::join(out, ",\n"));
    body += "  memset(&call, 0, sizeof call);\n  call.version = KW_CONTRACT_VERSION;\n";
    body += fmt::format("  call.threads = {};\n", interface.threaded && !prepares ? "threads" : "1");
    body += fmt::format("  call.input_count = {};\n  call.output_count = {};\n", in.size(), out.size());
    body += "  call.inputs = in;\n  call.outputs = out;\n";
    if (attributes.count > 0) {
      body += fmt::format("  call.attribute_count = {};\n  call.attributes = {};\n", attributes.count, attributes.name);
    }
    const char* aligned = "(unsigned char*)(((uintptr_t){} + 63) / 64 * 64)";
    if (interface.scratch_bytes > 0) {
      body += fmt::format("  call.scratch = {};\n  call.scratch_bytes = {}_SCRATCH_BYTES - 64;\n",
                          fmt::format(fmt::runtime(aligned), "scratch"), name);
    }
    if (interface.kept_bytes > 0) {
      const std::string kept = fmt::format(fmt::runtime(aligned), "kept");
      body += prepares ? fmt::format("  call.kept = {};\n  call.kept_bytes = {}_KEPT_BYTES - 64;\n", kept, name)
                       : fmt::format("  call.prepared = {};\n", kept);
    }
    return body;
  };
  if (interface.prepares) {
    text += fmt::format("int {0}_prepare({1}) {{\n{2}  return {0}_kernel_prepare(&call);\n}}\n\n", name,
                        parameter_text(prepare_parameters(interface)), call(true));
  }
  std::string found;
  for (std::size_t i = 0; i < interface.outputs.size(); ++i) {
    if (!interface.graph->output_type(i).from_values) continue;
    found += fmt::format("  for (int i = 0; i < out[{0}].rank; ++i) {1}shape[i] = out[{0}].shape[i];\n", i,
                         interface.outputs[i]);
  }
  text += fmt::format("int {0}_run({1}) {{\n{2}  const int status = {0}_kernel(&call);\n{3}  return status;\n}}\n\n",
                      name, parameter_text(run_parameters(interface)), call(false), found);
  return text + "#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

std::string prepare_call(const CInterface& interface, const std::vector<std::string>& inputs, const std::string& kept,
                         const std::string& scratch) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_constant(interface.graph->inputs[i])) all.push_back(inputs[i]);
  }
  if (interface.kept_bytes > 0) all.push_back(kept);
  if (interface.scratch_bytes > 0) all.push_back(scratch);
  return fmt::format("{}_prepare({})", interface.name, fmt::join(all, ", "));
}

std::string run_call(const CInterface& interface, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const std::string& kept, const std::string& scratch) {
  std::vector<std::string> all = inputs;
  all.insert(all.end(), outputs.begin(), outputs.end());
  if (interface.threaded) all.push_back("1");
  if (interface.kept_bytes > 0) all.push_back(kept);
  if (interface.scratch_bytes > 0) all.push_back(scratch);
  return fmt::format("{}_run({})", interface.name, fmt::join(all, ", "));
}

}  // namespace kw::runs
