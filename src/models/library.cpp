#include "models/library.h"

#include <fmt/ranges.h>

#include "base/files.h"
#include "base/inside.h"
#include "compose/outside_text.h"
#include "models/build_steps.h"
#include "ops/graph.h"
#include "runs/attribute_text.h"
#include "targets/target.h"

namespace kw::models {
namespace fs = std::filesystem;
namespace {

constexpr char kExports[] = "{ global: RegisterCustomOps; local: *; };\n";

std::string slot_text(const TensorType& type, bool constant) {
  return fmt::format("{{{}, {}, {{{}}}, {}}}", targets::contract_number(type.dtype), type.shape.rank(),
                     fmt::join(type.shape, ", "), constant);
}

// The tables of one kernel, and its row in the table of all.
void add_kernel(const LibraryKernel& kernel, const ops::Graph& graph, std::string& tables, std::string& rows,
                std::string& declarations) {
  const std::string& op = kernel.op;
  declarations += fmt::format("int {0}_run(kw_call*);\n__attribute__((weak)) int {0}_prepare(kw_call*);\n", op);
  std::vector<std::string> in, out, attributes;
  for (const ops::GraphInput& input : graph.inputs) in.push_back(slot_text(input.type, input.role != Role::input));
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) out.push_back(slot_text(graph.output_type(i), false));
  int number = 0;
  const auto list = [&](const char* type, const std::vector<std::string>& values) -> std::string {
    if (values.empty()) return "nullptr";
    const std::string name = fmt::format("{}_{}", op, number++);
    tables += fmt::format("const {} {}[] = {{{}}};\n", type, name, fmt::join(values, ", "));
    return name;
  };
  for (const runs::AttributeText& one : runs::attribute_texts(graph)) {
    const std::size_t count = one.integers.size() + one.reals.size() + one.texts.size();
    const std::string integers = list("int64_t", one.integers), reals = list("double", one.reals);
    attributes.push_back(fmt::format("{{{}, {}, {}, {}, {}, {}, {}}}", one.name, one.node, one.list ? 1 : 0, count,
                                     integers, reals, list("char* const", one.texts)));
  }
  tables += fmt::format("const kw_ort::Slot {}_in[] = {{{}}};\n", op, fmt::join(in, ", "));
  tables += fmt::format("const kw_ort::Slot {}_out[] = {{{}}};\n", op, fmt::join(out, ", "));
  tables += fmt::format("const kw_attribute {}_attributes[] = {{\n    {}}};\n\n", op, fmt::join(attributes, ",\n    "));
  rows += fmt::format("    {{\"{0}\", {0}_run, {0}_prepare, {0}_in, {1}, {0}_out, {2}, {0}_attributes, {3}, {4}}},\n",
                      op, in.size(), out.size(), attributes.size(), kernel.uses_threads);
}

std::string library_source(const std::string& declarations, const std::string& tables, const std::string& rows,
                           const std::string& domain) {
  return fmt::format(
      "// The operators of one model, for ONNX Runtime; written by kw. onnxruntime_ops.h explains the interface.\n"
      "#include \"onnxruntime_ops.h\"\n\nextern \"C\" {{\n{}}}\n\nnamespace {{\n\n{}const kw_ort::Kernel kKernels[] = "
      "{{\n"
      "{}}};\n\n}}  // namespace\n\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) kw_ort::Status* RegisterCustomOps(\n"
      "    kw_ort::SessionOptions* options, const kw_ort::ApiBase* base) {{\n"
      "  return kw_ort::register_kernels(options, base, {}, kKernels, sizeof kKernels / sizeof kKernels[0]);\n}}\n",
      declarations, tables, rows, compose::string_literal(domain));
}

std::string cmake_lists(const std::vector<BuildStep>& steps) {
  std::string text =
      "# Builds libkernels.so again, for the processor that it is built on. kw chose the options of each file.\n"
      "cmake_minimum_required(VERSION 3.16)\nproject(kernels CXX)\nadd_library(kernels MODULE";
  for (const BuildStep& step : steps) text += "\n            " + step.what;
  text +=
      ")\ntarget_include_directories(kernels PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})\n"
      "target_link_options(kernels PRIVATE -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/exports.map)\n";
  for (const BuildStep& step : steps) {
    text += fmt::format("set_source_files_properties({} PROPERTIES COMPILE_OPTIONS \"{}\")\n", step.what,
                        fmt::join(step.options, ";"));
  }
  return text;
}

}  // namespace

Status write_library(const fs::path& folder, const std::vector<LibraryKernel>& kernels, const std::string& domain,
                     const std::string& device) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail("{}: {}", folder.string(), error.message());
  KW_TRY(const fs::path data, data_folder());
  KW_TRY(const std::string contract, read_file(data / "include" / "kernelwright.h"));
  KW_CHECK(write_file(folder / "kernelwright.h", contract));
  for (const char* name : {"onnxruntime_ops.h", "crew.h"}) {
    KW_TRY(const std::string part, read_file(data / "kernels" / "models" / name));
    KW_CHECK(write_file(folder / name, part));
  }
  KW_CHECK(write_file(folder / "exports.map", kExports));

  std::string declarations, tables, rows;
  std::vector<BuildStep> all, steps;
  const auto compile = [&](const Choice& choice, const std::string& stem) -> Status {
    KW_TRY(BuildStep step, compile_step(folder, stem, device, choice));
    all.push_back(std::move(step));
    return {};
  };
  const BuildOptions options = targets::build_options(device);
  for (const LibraryKernel& kernel : kernels) {
    KW_TRY(const ops::Graph graph, ops::resolve(kernel.task));
    KW_TRY(const Tunables tunables, read_tunables(kernel.source.text));
    KW_TRY(const Choice choice, choose(tunables, kernel.settings, options));
    KW_TRY(const std::string source, with_symbols(kernel.source.text, choice, kernel.op, kernel.about));
    add_kernel(kernel, graph, tables, rows, declarations);
    KW_CHECK(compile(choice, kernel.op));
    const fs::path file = folder / (kernel.op + ".cpp");
    const auto before = read_file(file);
    if (before.ok() && *before == source && fs::exists(all.back().made)) continue;
    KW_CHECK(write_file(file, source));
    steps.push_back(all.back());
  }
  KW_CHECK(write_file(folder / "operators.cpp", library_source(declarations, tables, rows, domain)));
  KW_TRY(const Choice usual, choose(Tunables(), {}, options));
  KW_CHECK(compile(usual, "operators"));
  steps.push_back(all.back());
  KW_CHECK(write_file(folder / "CMakeLists.txt", cmake_lists(all)));
  KW_CHECK(run_steps(steps));
  std::vector<std::string> link = {usual.compiler, "-shared",
                                   "-Wl,--version-script=" + (folder / "exports.map").string(), "-o",
                                   (folder / kLibraryFile).string()};
  for (const BuildStep& step : all) link.push_back(step.made.string());
  return run_step({kLibraryFile, link, folder / kLibraryFile});
}

Status hand_over_library(const fs::path& written, const fs::path& out) {
  std::error_code error;
  fs::create_directories(out, error);
  if (error) return fail("{}: {}", out.string(), error.message());
  for (const auto& entry : fs::directory_iterator(written, error)) {
    const fs::path& file = entry.path();
    if (file.extension() == ".o") continue;
    KW_TRY(const std::string bytes, read_file(file));
    const bool is_library = file.filename() == kLibraryFile;
    KW_CHECK(write_inside(out, is_library ? file.filename() : fs::path("library") / file.filename(), bytes));
  }
  return {};
}

}  // namespace kw::models
