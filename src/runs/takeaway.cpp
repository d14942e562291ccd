#include "runs/takeaway.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/files.h"
#include "base/inside.h"
#include "compose/outside_text.h"
#include "compose/parts.h"
#include "compose/reached.h"
#include "core/tunable_defaults.h"
#include "judge/plain_source.h"
#include "ops/draw.h"
#include "ops/graph.h"
#include "runs/attribute_text.h"
#include "runs/c_interface.h"
#include "runs/check_case.h"
#include "runs/kernel_file.h"
#include "runs/task_text.h"
#include "targets/target.h"

namespace kw::runs {
namespace {

namespace fs = std::filesystem;

// What was tested and measured, a line each.
std::vector<std::string> findings_of(const ops::Graph& graph, const Verdict& verdict, const std::string& machine) {
  std::vector<std::string> lines;
  std::string shapes;
  for (const ops::GraphInput& input : graph.inputs) {
    shapes += (shapes.empty() ? "" : ", ") + compose::remark(input.name) + " " + input.type.text();
  }
  lines.push_back("for " + shapes);
  for (const std::string& line : text_of(verdict.coverage)) lines.push_back(compose::remark(line));
  if (verdict.max_error > 0 || !verdict.coverage.empty()) {
    lines.push_back(fmt::format("largest error seen: {:.3g} of what exact arithmetic in the tensors' type may be off",
                                verdict.max_error));
  }
  if (verdict.time_ns) {
    lines.push_back(fmt::format(
        "{} a call, {} caches, one core of: {}{}", time_text(*verdict.time_ns), verdict.caches,
        compose::remark(machine),
        verdict.roof_fraction
            ? fmt::format("; {:.0f} % of the speed that the machine's limits allow{}", 100 * *verdict.roof_fraction,
                          *verdict.roof_fraction > 1 ? " an algorithm that does every operation of the definition" : "")
            : ""));
  }
  for (const Speedup& one : verdict.speedups) {
    lines.push_back(fmt::format("{:.3f} times as fast as {} [{:.3f}, {:.3f}]{}", one.median,
                                compose::remark(one.rival + (one.called ? " " + one.called->version : "")), one.low,
                                one.high, one.claimed ? "" : ": no difference is claimed"));
  }
  return lines;
}

std::string operators_of(const ops::Graph& graph) {
  std::string nodes;
  for (const ops::GraphNode& node : graph.nodes) nodes += (nodes.empty() ? "" : ", then ") + node.call.op->name;
  return nodes;
}

std::string opening(const Task& task, const ops::Graph& graph, const std::vector<std::string>& findings,
                    const std::string& build_line) {
  std::string text = fmt::format("// {}: {}\n//\n", compose::remark(task.name), operators_of(graph));
  text += "// Written and judged by kw. What was tested and measured:\n";
  for (const std::string& line : findings) text += "//   - " + line + "\n";
  return text + fmt::format("//\n// {}\n", build_line);
}

// The source without the comment that it begins with. A line that may go on in the next one stays: without it that one
// would become code which the judge never saw.
std::string without_opening(std::string source) {
  while (source.starts_with("//")) {
    const std::string line = source.substr(0, source.find('\n'));
    if (line.size() == source.size() || line.find('\\') != std::string::npos || line.ends_with("?\?/")) break;
    source.erase(0, line.size() + 1);
  }
  return source;
}

std::string attribute_lines(const ops::Graph& graph) {
  std::string lines;
  for (const AttributeText& one : attribute_texts(graph)) {
    lines +=
        fmt::format("      {{{}, {}, {{{}}}, {{{}}}, {{{}}}, {}}},\n", one.name, one.node,
                    fmt::join(one.integers, ", "), fmt::join(one.reals, ", "), fmt::join(one.texts, ", "), one.list);
  }
  return lines;
}

// The beginning of its symbols, and of its files.
std::string symbol_of(const std::string& task) {
  std::string name = compose::file_stem(task);
  if (name[0] >= '0' && name[0] <= '9') name.insert(0, "kernel_");
  return name;
}

std::int64_t with_room_to_align(std::uint64_t bytes) {
  return bytes == 0 ? 0 : static_cast<std::int64_t>((bytes + 63) / 64 * 64 + 64);
}

// The kernel as it is taken away.
struct Taken {
  std::string text;
  bool is_c = false;
  Choice choice;
  targets::MemoryUse memory;
  std::string vectors;  // that it was built for
};

constexpr std::chrono::seconds kMostTime{60};

// Builds the kernel on its device and calls it there, locked up; none where it does not build.
Result<std::optional<targets::MemoryUse>> memory_of(targets::Device& device, const Task& task,
                                                    const targets::Source& source, const Choice& choice) {
  KW_TRY(const std::unique_ptr<const targets::Built> built, device.build(source, choice));
  if (!built->ok()) return std::optional<targets::MemoryUse>();
  KW_TRY(const targets::Instance instance, targets::make_instance(task, task.lengths, 1));
  KW_TRY(const std::unique_ptr<targets::Calls> calls, device.make_calls());
  KW_TRY(
      const std::unique_ptr<targets::LoadedKernel> kernel,
      device.load(*built, *calls,
                  {.threads = 1, .memory_bytes = instance.all_bytes(), .constant_bytes = instance.constant_bytes()}));
  const auto deadline = targets::Clock::now() + kMostTime;
  const auto must = [&](const Reason& reason) -> Status {
    if (reason.empty()) return {};
    return fail("{}: the kernel cannot be called again: {}", task.name, text_of(reason));
  };
  KW_CHECK(must(kernel->finish_loading(deadline)));
  Random random(1);
  targets::MemoryUse most;
  for (const ops::InputClass input_class : ops::kInputClasses) {  // what it takes may depend on values
    const targets::Placement place[] = {targets::Placement::aligned};
    KW_CHECK(calls->lay_out(instance, place, random));
    const std::vector<Tensor> inputs = ops::draw_inputs(instance.graph, input_class, 1);
    for (std::size_t i = 0; i < inputs.size(); ++i) calls->write(0, i, inputs[i]);
    KW_TRY(const Reason arranged, kernel->arrange(*calls, instance, deadline));
    KW_CHECK(must(arranged));
    KW_CHECK(must(kernel->run(0, 1, deadline)));
    const auto used = kernel->memory_used();
    if (!used) return fail("{}: this device does not say how much memory a kernel takes", task.name);
    most.prepares = used->prepares;
    most.scratch_bytes = std::max(most.scratch_bytes, used->scratch_bytes);
    most.kept_bytes = std::max(most.kept_bytes, used->kept_bytes);
  }
  return std::optional(most);
}

Result<Taken> taken_of(const std::string& device_name, const Task& task, const judge::Source& kernel,
                       const Settings& settings) {
  KW_TRY(const std::string whole, compose::with_parts_inlined(kernel.text));
  KW_TRY(const Tunables tunables, read_tunables(whole));
  Taken taken{.is_c = fs::path(kernel.name).extension() == ".c"};
  KW_TRY(taken.choice, choose(tunables, settings, targets::build_options(device_name)));
  KW_TRY(std::string fixed, with_tunables_fixed(whole, taken.choice));
  fixed = without_opening(std::move(fixed));  // ours says more
  KW_TRY(const std::unique_ptr<targets::Device> device, targets::open_device(device_name));
  std::vector<std::string> texts = {fixed};
  // Whatever was not understood there shows when it is built.
  if (!taken.is_c)
    texts.insert(texts.begin(), {compose::with_own_names_only(fixed), compose::with_reached_only(fixed)});
  for (std::string& text : texts) {
    KW_TRY(const auto memory, memory_of(*device, task, {kernel.name, text}, taken.choice));
    if (!memory) continue;
    taken.text = std::move(text);
    taken.memory = *memory;
    const targets::DeviceFacts facts = targets::facts_of(device_name);
    for (const targets::Fact& fact : facts.rows) {
      if (fact.name == "vectors") taken.vectors = compose::remark(fact.text);
    }
    return taken;
  }
  return fail("{}: the kernel does not build with its tunables fixed", task.name);
}

// A text with places for others, @NAME@.
class Form {
 public:
  Form& put(const std::string& place, std::string text) {
    texts_["@" + place + "@"] = std::move(text);
    return *this;
  }
  // Nothing is looked for in what was put in.
  std::string filled(const std::string& text) const {
    std::string made;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text[at] == '@' ? text.find('@', at + 1) : std::string::npos;
      const auto found = end == std::string::npos ? texts_.end() : texts_.find(text.substr(at, end - at + 1));
      if (found == texts_.end()) {
        made += text[at++];
      } else {
        made += found->second;
        at = end + 1;
      }
    }
    return made;
  }

 private:
  std::map<std::string, std::string> texts_;
};

std::string memory_text(const CInterface& interface) {
  const std::string& name = interface.name;
  std::string text;
  if (interface.scratch_bytes > 0) {
    text += fmt::format("A call needs {}_SCRATCH_BYTES = {} bytes of scratch memory, with anything in it. ", name,
                        interface.scratch_bytes);
  }
  if (interface.kept_bytes > 0) {
    text += fmt::format("{0}_prepare packs the constant inputs into {0}_KEPT_BYTES = {1} bytes. ", name,
                        interface.kept_bytes);
  }
  if (text.empty()) return "A call needs no memory besides its tensors, and allocates none.";
  return text + "Both as seen when it was called with inputs of all kinds; tensors need no alignment.";
}

std::string thread_text(const CInterface& interface) {
  return fmt::format(
      "{}_run may be called from several threads at once{}; {}.", interface.name,
      interface.scratch_bytes > 0 ? ", each with scratch memory of its own" : "",
      interface.threaded ? "it uses as many threads as it is told, and none after it returns" : "it starts no threads");
}

// `vectors` is what the device says of its own: "avx512f, 512 bits, 32 registers".
std::string processor_text(const std::string& vectors, const std::string& machine) {
  return fmt::format(
      "It is built for the processor that -march names (native by default), and runs on that and better ones. "
      "Measured on {}{}.",
      compose::remark(machine), vectors.empty() ? "" : fmt::format(", built for its vectors ({})", vectors));
}

std::string shape_text(const CInterface& interface, const Task& task) {
  if (task.lengths.empty()) return "These alone.";
  std::vector<std::string> names;
  for (const auto& [name, value] : task.lengths) names.push_back(compose::remark(name));
  return fmt::format(
      "The C function is for these. The kernel itself is right for other lengths too ({}): {}_kernel, in the "
      "contract of kernelwright.h.",
      fmt::join(names, ", "), interface.name);
}

std::vector<std::string> tensor_lines(const CInterface& interface) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
    const ops::GraphInput& input = interface.graph->inputs[i];
    lines.push_back(fmt::format("  {}  {}{}", interface.inputs[i], input.type.text(),
                                input.role == Role::input ? "" : ", constant"));
  }
  for (std::size_t i = 0; i < interface.outputs.size(); ++i) {
    const TensorType type = interface.graph->output_type(i);
    lines.push_back(fmt::format("  {}  {}, written{}", interface.outputs[i], type.text(),
                                type.from_values ? "; the largest that it may be" : ""));
  }
  return lines;
}

std::vector<std::string> header_lines(const CInterface& interface, const Task& task, const ops::Graph& graph,
                                      const std::string& machine) {
  std::vector<std::string> lines = {fmt::format("{}: {}", compose::remark(task.name), operators_of(graph)), "",
                                    "Dense row-major tensors, as ONNX means them; README.md says more."};
  for (const std::string& line : tensor_lines(interface)) lines.push_back(line);
  lines.push_back("");
  lines.push_back("Memory: " + memory_text(interface));
  lines.push_back("Threads: " + thread_text(interface));
  lines.push_back(fmt::format("Processor: the one that it is built for; measured on {}.", compose::remark(machine)));
  for (std::string& line : lines) {
    for (std::size_t at = 0; (at = line.find("*/", at)) != std::string::npos;) line.replace(at, 2, "* /");
  }
  return lines;
}

// What programs and pages say of this kernel.
void fill(Form& form, const CInterface& interface, const CheckCase& check, const Taken& taken,
          const std::vector<std::string>& findings, const std::string& machine, const fs::path& folder,
          const std::string& computes) {
  const std::string& name = interface.name;
  std::vector<std::string> in, out, written = interface.outputs;
  for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
    in.push_back(
        fmt::format("static_cast<const {}*>(in.tensors[{}].data)", c_type(interface.graph->inputs[i].type.dtype), i));
  }
  for (std::size_t i = 0; i < interface.outputs.size(); ++i) {
    out.push_back(
        fmt::format("static_cast<{}*>(out.tensors[{}].data)", c_type(interface.graph->output_type(i).dtype), i));
    if (interface.graph->output_type(i).from_values) {
      out[i] += fmt::format(", out.tensors[{}].shape", i);
      written[i] += fmt::format(", {}shape", interface.outputs[i]);
    }
  }
  std::string memory, example;
  if (interface.scratch_bytes > 0) {
    memory += fmt::format("    scratch.resize({}_SCRATCH_BYTES);\n", name);
    example += fmt::format("void* scratch = malloc({}_SCRATCH_BYTES);\n", name);
  }
  if (interface.kept_bytes > 0) {
    memory += fmt::format("    kept.resize({}_KEPT_BYTES);\n", name);
    example += fmt::format("void* kept = malloc({}_KEPT_BYTES);\n", name);
  }
  memory += interface.prepares
                ? fmt::format("    return {};", prepare_call(interface, in, "kept.data()", "scratch.data()"))
                : "    return 0;";
  if (interface.prepares) {
    example += prepare_call(interface, interface.inputs, "kept", "scratch") + ";  /* once */\n";
  }
  example += run_call(interface, interface.inputs, written, "kept", "scratch") + ";";
  std::string tested;
  for (const std::string& line : findings) tested += "- " + line + "\n";
  std::string computed = computes + ". Tensors are dense and row-major:\n";
  for (const std::string& line : tensor_lines(interface)) computed += "\n-" + line.substr(1);
  form.put("INPUTS", check.inputs)
      .put("OUTPUTS", check.outputs)
      .put("LIMITS", check.limits)
      .put("ATTRIBUTES", attribute_lines(*interface.graph))
      .put("PREPARE", memory)
      .put("RUN", fmt::format("    return {};", run_call(interface, in, out, "kept.data()", "scratch.data()")))
      .put("COMPILER", taken.choice.compiler)
      .put("LANGUAGES", taken.is_c ? "C CXX" : "CXX")
      .put("STANDARD", taken.is_c ? "-std=gnu17" : "-std=c++20")
      .put("FLAGS", fmt::format("{}", fmt::join(taken.choice.flags, " ")))
      .put("THREADS", interface.threaded
                          ? fmt::format("find_package(Threads REQUIRED)\ntarget_link_libraries({} PUBLIC "
                                        "Threads::Threads)\n",
                                        name)
                          : "")
      .put("FOLDER", compose::remark(fs::absolute(folder).lexically_normal().filename().string()))
      .put("COMPUTES", computed)
      .put("EXAMPLE", example)
      .put("MEMORY", memory_text(interface))
      .put("THREAD_SAFETY", thread_text(interface))
      .put("PROCESSOR", processor_text(taken.vectors, machine))
      .put("SHAPES", shape_text(interface, *interface.graph->task))
      .put("TESTED", tested);
}

using Files = std::vector<std::pair<std::string, std::string>>;

Result<std::vector<fs::path>> written_into(const fs::path& folder, const Files& files) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail("{}: {}", folder.string(), error.message());
  std::vector<fs::path> written;
  for (const auto& [path, text] : files) {
    KW_CHECK(write_inside(folder, path, text));
    written.push_back(folder / path);
  }
  return written;
}

// Of a target whose kernels only kw launches: the source with its tunables' values as defaults, and what it includes.
Result<Files> source_alone(const Task& task, const judge::Source& kernel, Settings settings,
                           const std::vector<std::string>& findings, const std::string& device) {
  const BuildOptions options = targets::build_options(device);
  if (options.compilers.size() < 2) settings.erase("compiler");
  KW_TRY(const std::string text, with_defaults(kernel.text, settings, options));
  KW_TRY(const fs::path data, data_folder());
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  const std::string file = targets::source_name(device, compose::file_stem(task.name));
  const std::string judging =
      fmt::format("kw eval {} {} --on {}", compose::remark(task.name), file, compose::remark(device));
  Files files = {{file, opening(task, graph, findings, judging) + without_opening(text)}};
  for (const std::string& header : std::set<std::string>{"kernelwright.h", contract_of(device)}) {
    KW_TRY(std::string contract, read_file(data / "include" / header));
    files.emplace_back(header, std::move(contract));
  }
  return files;
}

}  // namespace

fs::path takeaway_folder(const std::string& task) { return compose::file_stem(task) + "-kernel"; }

Result<fs::path> new_folder(const fs::path& folder, bool anyway) {
  std::error_code error;
  const fs::path whole = fs::absolute(folder).lexically_normal();
  fs::create_directories(whole, error);
  if (error) return fail("--out {}: {}", folder.string(), error.message());
  if (!anyway && !fs::is_empty(whole, error)) {
    return fail("--out {}: there is something in it already; --force writes over it", folder.string());
  }
  const fs::path probe = whole / fmt::format(".kw-{}", ::getpid());
  if (const Status written = write_file(probe, ""); !written.ok()) return at("--out", written.error());
  fs::remove(probe, error);
  return whole;
}

Result<std::vector<fs::path>> take_away(const fs::path& folder, const Task& task, const judge::Source& kernel,
                                        const Settings& settings, const Verdict& verdict, const std::string& device,
                                        const std::string& machine) {
  KW_TRY(const targets::Target target, targets::target_of(device));
  KW_TRY(const fs::path data, data_folder());
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  const std::vector<std::string> findings = findings_of(graph, verdict, machine);
  if (!target.build_command || target.takeaway.empty()) {
    KW_TRY(const Files files, source_alone(task, kernel, settings, findings, device));
    return written_into(folder, files);
  }
  KW_TRY(const Taken taken, taken_of(device, task, kernel, settings));
  CInterface interface = c_interface_of(graph, symbol_of(task.name));
  interface.prepares = taken.memory.prepares;
  // It starts its own; those that are lent to a kernel the plain function has none of.
  interface.threaded =
      taken.text.find(".threads()") != std::string::npos || taken.text.find("->threads") != std::string::npos;
  interface.scratch_bytes = with_room_to_align(taken.memory.scratch_bytes);
  interface.kept_bytes = with_room_to_align(taken.memory.kept_bytes);
  const std::string& name = interface.name;
  const std::string build_line = compose::remark(target.build_command(name, taken.choice));
  KW_TRY(const judge::Source plain, judge::plain_source(device, graph));
  KW_TRY(const CheckCase check, check_case_of(graph));
  KW_TRY(const std::string contract, read_file(data / "include" / "kernelwright.h"));

  const std::string file = name + (taken.is_c ? ".c" : target.languages.front());
  const std::string entries = fmt::format(
      "/* Without its header beside it this is a kernel like any other, which `kw eval` judges. */\n"
      "#if __has_include(\"{0}.h\")\n#define kw_run {0}_kernel\n#define kw_prepare {0}_kernel_prepare\n#endif\n",
      name);
  const fs::path templates = data / "kernels" / target.takeaway;
  Form form;
  form.put("NAME", name).put("TASK", compose::remark(task.name)).put("SOURCE", file).put("BUILD", build_line);
  fill(form, interface, check, taken, findings, machine, folder,
       compose::remark(task.name) + ": " + operators_of(graph));
  Files files = {{file, opening(task, graph, findings, build_line) + entries + taken.text + c_functions(interface)},
                 {name + ".h", c_header(interface, header_lines(interface, task, graph, machine))},
                 {"kernelwright.h", contract},
                 {fmt::format("check/{}_plain{}", name, target.languages.front()),
                  fmt::format("#define kw_run {}_plain_run\n{}", name, compose::with_reached_only(plain.text))},
                 {fmt::format("check/{}_expected.inc", name), check.expected}};
  for (const auto& [from, to] : Files{{"README.md.in", "README.md"},
                                      {"CMakeLists.txt.in", "CMakeLists.txt"},
                                      {"check.cpp.in", fmt::format("check/{}_check.cpp", name)}}) {
    KW_TRY(const std::string text, read_file(templates / from));
    files.emplace_back(to, form.filled(text));
  }
  return written_into(folder, files);
}

}  // namespace kw::runs
