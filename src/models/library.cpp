#include "models/library.h"

#include <fmt/ranges.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "base/files.h"
#include "base/process.h"
#include "compose/outside_text.h"
#include "ops/graph.h"
#include "runs/attribute_text.h"
#include "targets/target.h"

namespace kw::models {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kMostBuilding{300};
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
  rows += fmt::format("    {{\"{0}\", {0}_run, {0}_prepare, {0}_in, {1}, {0}_out, {2}, {0}_attributes, {3}}},\n", op,
                      in.size(), out.size(), attributes.size());
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

// What a kernel's source becomes: its tunables fixed, its symbols its own.
Result<std::string> kernel_source(const LibraryKernel& kernel, const Choice& choice) {
  KW_TRY(const std::string fixed, with_tunables_fixed(kernel.source.text, choice));
  return fmt::format("// {}\n#define kw_run {}_run\n#define kw_prepare {}_prepare\n{}", compose::remark(kernel.about),
                     kernel.op, kernel.op, fixed);
}

// The words with which the target builds a source, but for what the source and the object are called.
Result<std::vector<std::string>> build_words(const std::string& device, const Choice& choice) {
  KW_TRY(const targets::Target target, targets::target_of(device));
  if (!target.build_command) return fail("kernels of {} cannot be built into a library", device);
  std::istringstream line(target.build_command("@", choice));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  return words;
}

struct BuildStep {
  std::string what;
  std::vector<std::string> words;
  fs::path made;
  std::vector<std::string> options = {};  // of those words, what is said to the compiler besides files
};

Status run_step(const BuildStep& step) {
  const fs::path log = step.made.string() + ".log";
  KW_TRY(const int code, run_program(step.words, log, false, kMostBuilding));
  if (code == 0) {
    std::error_code error;
    fs::remove(log, error);
    return {};
  }
  const auto said = read_file(log);
  std::string first = said.ok() ? *said : "";
  if (const std::size_t at = first.find("error:"); at != std::string::npos) first = first.substr(at);
  return fail("{} does not build (code {}): {}", step.what, code, first.substr(0, first.find('\n')));
}

Status run_steps(const std::vector<BuildStep>& steps) {
  std::vector<Status> results(steps.size());
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    workers.emplace_back([&] {
      for (std::size_t k; (k = next++) < steps.size();) results[k] = run_step(steps[k]);
    });
  }
  workers.clear();
  for (const Status& result : results) {
    if (!result.ok()) return result;
  }
  return {};
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
  KW_TRY(const std::string interface, read_file(data / "kernels" / "models" / "onnxruntime_ops.h"));
  KW_CHECK(write_file(folder / "kernelwright.h", contract));
  KW_CHECK(write_file(folder / "onnxruntime_ops.h", interface));
  KW_CHECK(write_file(folder / "exports.map", kExports));

  std::string declarations, tables, rows;
  std::vector<BuildStep> all, steps;
  const auto compile = [&](const Choice& choice, const std::string& stem) -> Status {
    BuildStep step{.what = stem + ".cpp", .words = {}, .made = folder / (stem + ".o")};
    KW_TRY(const std::vector<std::string> words, build_words(device, choice));
    for (const std::string& word : words) {
      step.words.push_back(word == "@.cpp" ? (folder / step.what).string()
                           : word == "@.o" ? step.made.string()
                           : word == "-I." ? "-I" + folder.string()
                                           : word);
      const bool is_option = word.starts_with("-") && word != "-I." && word != "-c" && word != "-o";
      if (is_option) step.options.push_back(word);
    }
    step.words.push_back("-fPIC");
    all.push_back(std::move(step));
    return {};
  };
  const BuildOptions options = targets::build_options(device);
  for (const LibraryKernel& kernel : kernels) {
    KW_TRY(const ops::Graph graph, ops::resolve(kernel.task));
    KW_TRY(const Tunables tunables, read_tunables(kernel.source.text));
    KW_TRY(const Choice choice, choose(tunables, kernel.settings, options));
    KW_TRY(const std::string source, kernel_source(kernel, choice));
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

}  // namespace kw::models
