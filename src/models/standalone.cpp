#include "models/standalone.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "base/files.h"
#include "base/hash.h"
#include "base/inside.h"
#include "base/json.h"
#include "base/process.h"
#include "base/units.h"
#include "compose/outside_text.h"
#include "models/build_steps.h"
#include "models/ncnn_layer.h"
#include "models/reference.h"
#include "models/regions.h"
#include "rivals/worker.h"
#include "runs/c_interface.h"
#include "targets/target.h"

namespace kw::models {
namespace fs = std::filesystem;
namespace {

constexpr char kStandalone[] = "standalone";
constexpr double kRaceTimes = 3;  // as long as other measurements
constexpr int kCases = 3;
constexpr std::chrono::seconds kMostRunning{300};

std::string number_list(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> all = a;
  all.insert(all.end(), b.begin(), b.end());
  return fmt::format("{}", fmt::join(all, ", "));
}

// What a step takes besides its tensors.
struct StepMemory {
  std::int64_t scratch_bytes = 0, kept_bytes = 0;
};

class StandaloneWriter {
 public:
  StandaloneWriter(const Model& model, StandalonePlan plan, fs::path folder, std::string device)
      : model_(model),
        plan_(std::move(plan)),
        folder_(std::move(folder)),
        device_(std::move(device)),
        prefix_(fmt::format("m{:08x}", hash_of(plan_.weights, hash_of(model_.bytes())) & 0xffffffffu)),
        memory_(plan_.units.size()) {
    for (PlannedKernel& kernel : plan_.kernels) kernel.symbol = prefix_ + "_" + kernel.symbol;
    names_.add("m");  // the model itself
    for (const int tensor : plan_.inputs) inputs_.push_back(names_.add(tensor_at(tensor).name));
    for (const int tensor : plan_.outputs) outputs_.push_back(names_.add(tensor_at(tensor).name));
  }

  // All sources, with the memory that each step takes as far as it is known.
  Status write(const std::vector<Difference>& recorded) {
    KW_TRY(const fs::path data, data_folder());
    std::error_code error;
    fs::create_directories(folder_ / "kernels", error);
    fs::create_directories(folder_ / "check", error);
    if (error) return fail("{}: {}", folder_.string(), error.message());
    const fs::path parts = data / "kernels" / "models";
    KW_TRY(const std::string contract, read_file(data / "include" / "kernelwright.h"));
    KW_TRY(const std::string runner, read_file(parts / "standalone_run.h"));
    KW_TRY(std::string check, read_file(parts / "standalone_check.cpp.in"));
    KW_CHECK(write_file(folder_ / "kernels" / "kernelwright.h", contract));
    KW_CHECK(write_file(folder_ / "kernels" / "standalone_run.h", runner));
    KW_CHECK(write_file(folder_ / "weights.bin", plan_.weights.empty() ? std::string(1, '\0') : plan_.weights));
    KW_CHECK(write_file(folder_ / "model.h", header()));
    put(check, "@INPUTS@", check_rows(plan_.inputs, {}));
    put(check, "@OUTPUTS@", check_rows(plan_.outputs, recorded));
    put(check, "@RUN@", check_call());
    KW_CHECK(write_file(folder_ / "check" / "model_check.cpp", check));
    KW_CHECK(write_layer());
    KW_CHECK(write_kernels());
    return write_plan();
  }

  // Builds all, sees what memory the kernels take, and builds again with that.
  Status build(const Tell& tell) {
    tell(fmt::format("building {} kernels", plan_.kernels.size()));
    KW_CHECK(run_steps(kernel_steps_));
    KW_CHECK(build_program("measure", {"-DKW_MODEL_MEASURE"}));
    KW_TRY(const std::string said, run_check("measure"));
    KW_CHECK(read_memory(said));
    KW_CHECK(write_plan());
    KW_CHECK(build_program("model_check", {}));
    KW_TRY(const std::string again, run_check("model_check"));
    return link("libmodel.so", {"-shared"}, false);
  }

  fs::path library() const { return folder_ / "libmodel.so"; }

  Status write_pages(const std::string& accuracy) {
    KW_TRY(const fs::path data, data_folder());
    KW_TRY(std::string page, read_file(data / "kernels" / "models" / "standalone_README.md.in"));
    KW_TRY(std::string lists, read_file(data / "kernels" / "models" / "standalone_CMakeLists.txt.in"));
    std::vector<std::string> arguments = {"m"};
    arguments.insert(arguments.end(), inputs_.begin(), inputs_.end());
    arguments.insert(arguments.end(), outputs_.begin(), outputs_.end());
    std::string about = "Written by kw. Its tensors, all dense and row-major:\n";
    for (const std::string& line : tensor_lines()) about += "\n-" + line;
    put(page, "@ACCURACY@", accuracy);
    put(page, "@MEMORY@", memory_text());
    put(page, "@EXAMPLE@", fmt::format("model_run({});  /* 0: done */", fmt::join(arguments, ", ")));
    put(page, "@ABOUT@", about);
    put(page, "@NCNN@", no_layer_.empty() ? "see below" : "not there: " + no_layer_);
    put(page, "@MODEL@", compose::remark(model_.file().filename().string()));
    std::string sources, options;
    KW_TRY(const BuildStep bare,
           compile_step(folder_, "bare", device_, {.values = {}, .compiler = compiler_, .flags = {}}));
    for (std::size_t i = 0; i < plan_.kernels.size(); ++i) {
      sources += fmt::format("            kernels/{}\n", kernel_steps_[i].what);
      std::vector<std::string> own;  // of this file alone: the target's own are said for all of them
      for (const std::string& option : kernel_steps_[i].options) {
        if (std::ranges::find(bare.options, option) == bare.options.end()) own.push_back(option);
      }
      if (own.empty()) continue;
      options += fmt::format("set_source_files_properties(kernels/{} PROPERTIES COMPILE_OPTIONS \"{}\")\n",
                             kernel_steps_[i].what, fmt::join(own, ";"));
    }
    put(lists, "@SOURCES@", sources);
    put(lists, "@OPTIONS@", options);
    put(lists, "@COMPILER@", compiler_);
    KW_CHECK(write_file(folder_ / "README.md", page));
    return write_file(folder_ / "CMakeLists.txt", lists);
  }

  // What a user gets, without what was built.
  Status copy_to(const fs::path& out) const {
    std::vector<std::string> files = {"model.h",
                                      "model.cpp",
                                      "weights.bin",
                                      "README.md",
                                      "CMakeLists.txt",
                                      "check/model_check.cpp",
                                      "check/inputs.bin",
                                      "check/outputs.bin",
                                      "kernels/kernelwright.h",
                                      "kernels/standalone_run.h"};
    for (const BuildStep& step : kernel_steps_) files.push_back("kernels/" + step.what);
    files.insert(files.end(), layer_files_.begin(), layer_files_.end());
    std::error_code error;
    fs::create_directories(out, error);
    if (error) return fail("{}: {}", out.string(), error.message());
    for (const std::string& file : files) {
      KW_TRY(const std::string bytes, read_file(folder_ / file));
      KW_CHECK(write_inside(out, file, bytes));
    }
    return {};
  }

  void describe(Standalone& made) const {
    made.kernels = plan_.kernels.size();
    made.calls = plan_.units.size();
    made.weight_bytes = static_cast<std::int64_t>(plan_.weights.size());
    made.memory_bytes = plan_.memory_bytes;
    made.unshared_bytes = plan_.unshared_bytes;
    for (const StepMemory& one : memory_) {
      made.scratch_bytes = std::max(made.scratch_bytes, one.scratch_bytes);
      made.kept_bytes += one.kept_bytes;
    }
    for (const PlannedKernel& kernel : plan_.kernels) {
      made.techniques.emplace_back(kernel.task.operators(), kernel.kernel.technique);
    }
  }

  std::vector<NamedType> output_types() const { return types_of(plan_.outputs); }

 private:
  const PlannedTensor& tensor_at(int i) const { return plan_.tensors[static_cast<std::size_t>(i)]; }

  std::vector<NamedType> types_of(const std::vector<int>& tensors) const {
    std::vector<NamedType> types;
    for (const int tensor : tensors) types.emplace_back(tensor_at(tensor).name, tensor_at(tensor).type);
    return types;
  }

  // Where ncnn's tensors can hold the model's.
  Status write_layer() {
    const auto files = ncnn_layer(model_.file().filename().string(), types_of(plan_.inputs), types_of(plan_.outputs));
    if (!files.ok()) {
      no_layer_ = files.error().message;
      return {};
    }
    std::error_code error;
    fs::create_directories(folder_ / "ncnn", error);
    for (const auto& [name, text] : *files) {
      layer_files_.push_back("ncnn/" + name);
      KW_CHECK(write_file(folder_ / "ncnn" / name, text));
    }
    return {};
  }

  static void put(std::string& text, const std::string& place, const std::string& instead) {
    for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos; at += instead.size()) {
      text.replace(at, place.size(), instead);
    }
  }

  // " x  float32[1, 3, 640, 640], read; called 'x' in the model"
  std::vector<std::string> tensor_lines() const {
    std::vector<std::string> lines;
    const auto add = [&](const std::vector<int>& tensors, const std::vector<std::string>& names, const char* how) {
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        const PlannedTensor& one = tensor_at(tensors[i]);
        lines.push_back(fmt::format(" {}  {}, {}: {}", names[i], one.type.text(), how, compose::remark(one.name)));
      }
    };
    add(plan_.inputs, inputs_, "the model's input");
    add(plan_.outputs, outputs_, "its output");
    return lines;
  }

  std::string memory_text() const {
    Standalone made;
    describe(made);
    return fmt::format(
        "`model_create` allocates {} bytes: {} for results in between (they would take {} without sharing), {} of "
        "scratch memory, {} for prepared weights. The library itself holds {} bytes of weights.",
        made.memory_bytes + made.scratch_bytes + made.kept_bytes, made.memory_bytes, made.unshared_bytes,
        made.scratch_bytes, made.kept_bytes, made.weight_bytes);
  }

  std::string header() const {
    std::string text = fmt::format("/* {} without any framework; written by kw. README.md says more.\n *\n",
                                   compose::remark(model_.file().filename().string()));
    for (const std::string& line : tensor_lines()) text += " *  " + line + "\n";
    text +=
        " *\n * Tensors are dense and row-major, with any alignment.\n */\n#ifndef MODEL_H\n#define MODEL_H\n\n"
        "#include <stdint.h>\n\n#ifdef MODEL_PREFIX\n#define MODEL_JOIN_(a, b) a##b\n"
        "#define MODEL_JOIN(a, b) MODEL_JOIN_(a, b)\n";
    for (const char* name : {"model_create", "model_lend_threads", "model_run", "model_destroy"}) {
      text += fmt::format("#define {0} MODEL_JOIN(MODEL_PREFIX, {0})\n", name);
    }
    text += "#endif\n\n/* How many elements the tensors have. */\nenum {\n";
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      text += fmt::format("  MODEL_INPUT_{}_COUNT = {},\n", i, tensor_at(plan_.inputs[i]).type.shape.count());
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      text += fmt::format("  MODEL_OUTPUT_{}_COUNT = {},\n", i, tensor_at(plan_.outputs[i]).type.shape.count());
    }
    text +=
        "};\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\ntypedef struct model model;\n\n"
        "/* Allocates all memory and prepares the weights. NULL: there is no memory. */\nmodel* model_create(void);\n"
        "/* Lends threads to the kernels, the one that calls model_run among them; without, a model uses that one "
        "alone.\n"
        " * parallel(pool, count, work, data) calls work(data, i) once for each i below count, on any threads, and "
        "returns\n"
        " * when all are done. The outputs are the same to the last bit. threads = 1 takes them back. Not while the "
        "model\n"
        " * runs. 0: done; else there is no memory, and nothing has changed. */\n"
        "int model_lend_threads(model* m, int threads,\n"
        "                       void (*parallel)(void* pool, int32_t count, void (*work)(void* data, int32_t index),\n"
        "                                        void* data),\n"
        "                       void* pool);\n"
        "/* Not from two threads at once with one model. 0: every element of the outputs is written. */\n";
    return text +
           fmt::format("int model_run({});\nvoid model_destroy(model* m);\n\n#ifdef __cplusplus\n}}\n#endif\n#endif\n",
                       fmt::join(parameters(), ", "));
  }

  std::vector<std::string> parameters() const {
    std::vector<std::string> all = {"model* m"};
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      all.push_back(fmt::format("const {}* {}", runs::c_type(tensor_at(plan_.inputs[i]).type.dtype), inputs_[i]));
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      all.push_back(fmt::format("{}* {}", runs::c_type(tensor_at(plan_.outputs[i]).type.dtype), outputs_[i]));
    }
    return all;
  }

  std::string check_rows(const std::vector<int>& tensors, const std::vector<Difference>& recorded) const {
    std::string rows;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const PlannedTensor& one = tensor_at(tensors[i]);
      const bool held = i < recorded.size();
      rows += fmt::format("    {{{}, {}, {}, {:.9g}, {}}},\n", compose::string_literal(compose::remark(one.name)),
                          targets::contract_number(one.type.dtype), one.type.shape.count(),
                          held ? recorded[i].allowed() : 0.0,
                          held ? std::max(recorded[i].own_different, recorded[i].count / 1000) : 0);
    }
    return rows.empty() ? "    {nullptr, 0, 0, 0, 0},\n" : rows;
  }

  std::string check_call() const {
    std::vector<std::string> all = {"made"};
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      all.push_back(
          fmt::format("static_cast<const {}*>(in[{}])", runs::c_type(tensor_at(plan_.inputs[i]).type.dtype), i));
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      all.push_back(fmt::format("static_cast<{}*>(out[{}])", runs::c_type(tensor_at(plan_.outputs[i]).type.dtype), i));
    }
    return fmt::format("model_run({})", fmt::join(all, ", "));
  }

  // One compiler builds them all: what the kernel of most nodes wants.
  Status write_kernels() {
    const BuildOptions options = targets::build_options(device_);
    std::vector<Choice> choices;
    std::size_t most = 0;
    for (const PlannedKernel& kernel : plan_.kernels) {
      KW_TRY(const Tunables tunables, read_tunables(kernel.kernel.source));
      KW_TRY(Choice choice, choose(tunables, kernel.kernel.settings, options));
      if (kernel.task.nodes.size() > most) {
        most = kernel.task.nodes.size();
        compiler_ = choice.compiler;
      }
      choices.push_back(std::move(choice));
    }
    KW_TRY(usual_, choose(Tunables(), {}, options));
    if (compiler_.empty()) compiler_ = usual_.compiler;
    usual_.compiler = compiler_;
    for (std::size_t i = 0; i < plan_.kernels.size(); ++i) {
      const PlannedKernel& kernel = plan_.kernels[i];
      choices[i].compiler = compiler_;
      const std::string about = fmt::format("{}: {}", kernel.task.operators(), kernel.kernel.technique);
      KW_TRY(const std::string source, with_symbols(kernel.kernel.source, choices[i], kernel.symbol, about));
      KW_CHECK(write_file(folder_ / "kernels" / (kernel.symbol + ".cpp"), source));
      KW_TRY(BuildStep step, compile_step(folder_ / "kernels", kernel.symbol, device_, choices[i]));
      kernel_steps_.push_back(std::move(step));
    }
    return {};
  }

  Status write_plan() {
    std::string declared, tables, kernels, tensors, lists, steps;
    for (const PlannedKernel& kernel : plan_.kernels) {
      KW_TRY(const ops::Graph graph, ops::resolve(kernel.task));
      const runs::AttributeTable attributes = runs::attribute_table(graph, kernel.symbol);
      declared +=
          fmt::format("int {0}_run(kw_call*);\n__attribute__((weak)) int {0}_prepare(kw_call*);\n", kernel.symbol);
      tables += attributes.text;
      kernels += fmt::format("    {{{0}_run, {0}_prepare, {1}, {2}}},\n", kernel.symbol,
                             attributes.count > 0 ? attributes.name : "nullptr", attributes.count);
    }
    static const char* const kPlaces[] = {"input", "output", "constant", "memory"};
    for (const PlannedTensor& one : plan_.tensors) {
      std::vector<std::int64_t> dims(one.type.shape.begin(), one.type.shape.end());
      if (dims.empty()) dims.push_back(0);
      tensors += fmt::format("    {{kw_model::Tensor::{}, {}, {}, {}, {{{}}}}},  // {}\n",
                             kPlaces[static_cast<int>(one.place)], one.at, targets::contract_number(one.type.dtype),
                             one.type.shape.rank(), fmt::join(dims, ", "), compose::remark(one.name));
    }
    for (std::size_t u = 0; u < plan_.units.size(); ++u) {
      const PlannedUnit& unit = plan_.units[u];
      lists += fmt::format("const int32_t kTensorsOf{}[] = {{{}}};\n", u, number_list(unit.inputs, unit.outputs));
      steps += fmt::format("    {{{}, kTensorsOf{}, {}, {}, {}, {}}},  // {}\n",
                           unit.kernel < 0 ? "nullptr" : fmt::format("&kKernels[{}]", unit.kernel), u,
                           unit.inputs.size(), unit.outputs.size(), memory_[u].scratch_bytes, memory_[u].kept_bytes,
                           compose::remark(unit.about));
    }
    std::vector<std::string> in = {}, out = {};
    for (const std::string& name : inputs_) in.push_back(name);
    for (const std::string& name : outputs_) out.push_back(name);
    const std::string text = fmt::format(
        "// The plan of {name}: which kernel is called with which tensors, and where these lie. Written by kw.\n"
        "#define kw_model {prefix}_plan\n"
        "#include \"standalone_run.h\"\n\n#include \"model.h\"\n\n"
        "// The weights, as they lie in weights.bin.\n"
        "__asm__(\".section .rodata\\n.balign 64\\n.globl {prefix}_weights\\n.hidden {prefix}_weights\\n\"\n"
        "        \"{prefix}_weights:\\n.incbin \\\"\" MODEL_FOLDER \"/weights.bin\\\"\\n.previous\\n\");\n\n"
        "extern \"C\" {{\nextern const unsigned char {prefix}_weights[];\n{declared}}}\n\n"
        "namespace {{\n\n{tables}\nconst kw_model::Kernel kKernels[] = {{\n{kernels}}};\n\n"
        "const kw_model::Tensor kTensors[] = {{\n{tensors}}};\n\n{lists}\nconst kw_model::Step kSteps[] = "
        "{{\n{steps}}};\n\n"
        "const kw_model::Plan kPlan = {{kTensors, kSteps, {count}, {prefix}_weights, {memory}}};\n\n"
        "kw_model::Model* inside(model* m) {{ return reinterpret_cast<kw_model::Model*>(m); }}\n\n}}  // namespace\n\n"
        "extern \"C\" {{\n\n"
        "model* model_create(void) {{ return reinterpret_cast<model*>(kw_model::Model::create(kPlan)); }}\n\n"
        "int model_lend_threads(model* m, int threads,\n"
        "                       void (*parallel)(void*, int32_t, void (*)(void*, int32_t), void*), void* pool) {{\n"
        "  return inside(m)->lend(threads, parallel, pool) ? 0 : 1;\n}}\n\n"
        "int model_run({parameters}) {{\n  const void* const inputs[] = {{{in}}};\n  void* const outputs[] = "
        "{{{out}}};\n"
        "  return inside(m)->run(inputs, outputs);\n}}\n\n"
        "void model_destroy(model* m) {{ delete inside(m); }}\n\n}}\n",
        fmt::arg("name", compose::remark(model_.file().filename().string())), fmt::arg("prefix", prefix_),
        fmt::arg("declared", declared), fmt::arg("tables", tables),
        fmt::arg("kernels", kernels.empty() ? "    {},\n" : kernels), fmt::arg("tensors", tensors),
        fmt::arg("lists", lists), fmt::arg("steps", steps), fmt::arg("count", plan_.units.size()),
        fmt::arg("memory", plan_.memory_bytes),
        fmt::arg("parameters", fmt::format("{}", fmt::join(parameters(), ", "))),
        fmt::arg("in", in.empty() ? "nullptr" : fmt::format("{}", fmt::join(in, ", "))),
        fmt::arg("out", fmt::format("{}", fmt::join(out, ", "))));
    return write_file(folder_ / "model.cpp", text);
  }

  // The plan and the check, linked with the kernels.
  Status build_program(const std::string& name, const std::vector<std::string>& more) {
    std::vector<BuildStep> steps;
    for (const fs::path& part : {folder_ / "model.cpp", folder_ / "check" / "model_check.cpp"}) {
      KW_TRY(BuildStep step, compile_step(part.parent_path(), part.stem().string(), device_, usual_));
      step.words.push_back("-I" + folder_.string());
      step.words.push_back("-I" + (folder_ / "kernels").string());
      step.words.push_back(fmt::format("-DMODEL_FOLDER=\"{}\"", folder_.string()));
      step.words.insert(step.words.end(), more.begin(), more.end());
      steps.push_back(std::move(step));
    }
    KW_CHECK(run_steps(steps));
    return link(name, {"-pthread"}, true);
  }

  Status link(const std::string& name, const std::vector<std::string>& how, bool with_check) {
    std::vector<std::string> words = {compiler_};
    words.insert(words.end(), how.begin(), how.end());
    words.insert(words.end(), {"-o", (folder_ / name).string(), (folder_ / "model.o").string()});
    if (with_check) words.push_back((folder_ / "check" / "model_check.o").string());
    for (const BuildStep& step : kernel_steps_) words.push_back(step.made.string());
    return run_step({name, words, folder_ / name});
  }

  // What it printed.
  Result<std::string> run_check(const std::string& name) const {
    const fs::path log = folder_ / (name + ".log");
    KW_TRY(const int code,
           run_program(rivals::confined_program({(folder_ / name).string(), "--untimed"}), log, false, kMostRunning));
    KW_TRY(std::string said, read_file(log));
    if (code == 0) return said;
    std::istringstream lines(said);
    std::string problem;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("WRONG") != std::string::npos) problem = line;
    }
    return fail("{}: without a framework it is not right, so nothing is written: {}", model_.file().string(),
                problem.empty() ? fmt::format("its program ended with code {}", code) : problem);
  }

  // "used STEP SCRATCH KEPT"
  Status read_memory(const std::string& said) {
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string word;
      std::size_t step = 0;
      StepMemory used;
      if (!(words >> word >> step >> used.scratch_bytes >> used.kept_bytes) || word != "used") continue;
      if (step >= memory_.size()) return fail("a plan of {} steps used memory in step {}", memory_.size(), step);
      memory_[step].scratch_bytes = std::max(memory_[step].scratch_bytes, (used.scratch_bytes + 63) / 64 * 64);
      memory_[step].kept_bytes = std::max(memory_[step].kept_bytes, (used.kept_bytes + 63) / 64 * 64);
    }
    return {};
  }

  const Model& model_;
  StandalonePlan plan_;
  const fs::path folder_;
  const std::string device_;
  const std::string prefix_;  // of symbols, so that two models link together
  compose::Identifiers names_;
  std::vector<std::string> inputs_, outputs_;  // parameters of model_run
  std::vector<StepMemory> memory_;             // of each unit
  std::vector<BuildStep> kernel_steps_;
  std::string compiler_;
  Choice usual_;
  std::vector<std::string> layer_files_;  // of ncnn
  std::string no_layer_;                  // why there are none
};

double middle_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

// The worst of the cases, of each output; an Error where one is beyond its bound.
Result<std::vector<Difference>> worst_of(const Race& race) {
  const auto& cases = race.cases.at(kStandalone);
  std::vector<Difference> worst = cases.front();
  for (const auto& outputs : cases) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Difference& one = outputs[i];
      if (!one.within()) {
        return fail("without a framework its output '{}' {}, so nothing is written", compose::remark(one.output),
                    !one.problem.empty()
                        ? one.problem
                        : fmt::format("is off by {:.3g}, and {:.3g} is allowed", one.max_error, one.allowed()));
      }
      if (one.max_error > worst[i].max_error) worst[i] = one;
    }
  }
  return worst;
}

std::string size_text(std::int64_t bytes) { return with_unit(static_cast<double>(bytes), "B"); }

}  // namespace

std::vector<Unit> units_of_regions(const Model& model) {
  ModelTimes untimed;
  untimed.node_ns.assign(model.count(), 0);
  std::vector<Unit> units;
  for (const Region& region : regions_of(model, untimed)) {
    units.push_back({region.kind.groups[0].nodes, region.kernel, region.kind.op});
  }
  return units;
}

Result<Standalone> make_standalone(const Model& model, const Runtime& runtime, const RunTerms& terms,
                                   const fs::path& out, const std::string& device,
                                   const std::optional<StandaloneSearch>& search, const Tell& tell) {
  std::vector<Unit> units = units_of_regions(model);
  if (search) {
    KW_CHECK(standalone_plan(model, units, device));  // what cannot be expressed is told before the search
    KW_TRY(const std::vector<Unit> found,
           search_units(model, units, runtime, terms, device, search->within_s, search->run, tell));
    units.insert(units.end(), found.begin(), found.end());
  }
  return write_standalone(model, units, runtime, terms, out, device, tell);
}

Result<Standalone> write_standalone(const Model& model, const std::vector<Unit>& found, const Runtime& runtime,
                                    const RunTerms& terms, const fs::path& out, const std::string& device,
                                    const Tell& tell) {
  KW_TRY(StandalonePlan plan, standalone_plan(model, found, device));
  KW_TRY(const WorkFolder folder, WorkFolder::make());
  StandaloneWriter writer(model, std::move(plan), folder.path(), device);
  std::error_code error;
  fs::create_directories(folder.path() / "check", error);
  const fs::path original = fs::absolute(model.file());
  RunTerms race_terms = terms;
  tell("computing the whole graph in double precision");
  race_terms.reference = make_reference(model, runtime, terms, folder.path());
  tell("recording inputs and outputs of ONNX Runtime");
  KW_TRY(std::vector<Difference> recorded, runtime.record(original, terms, folder.path() / "check"));
  for (std::size_t i = 0; i < race_terms.reference.runtime_errors.size() && i < recorded.size(); ++i) {
    recorded[i].double_error = race_terms.reference.runtime_errors[i];
  }
  KW_CHECK(writer.write(recorded));
  KW_CHECK(writer.build(tell));
  tell("timing it beside ONNX Runtime");
  race_terms.outputs = writer.output_types();
  race_terms.seconds = kRaceTimes * terms.seconds;
  KW_TRY(const Race race, runtime.race({{.name = kOriginal, .model = original},
                                        {.name = kTwin, .model = original},
                                        {.name = kStandalone, .model = {}, .standalone = writer.library()}},
                                       race_terms, kCases));
  Standalone made;
  KW_TRY(made.outputs, worst_of(race));
  made.no_reference = race_terms.reference.why_none;
  if (made.no_reference.empty()) made.in_double = race.in_double.at(kStandalone);
  for (const ErrorsInDouble& one : made.in_double) {
    if (one.within()) continue;
    return fail(
        "without a framework its output '{}' is off by {:.3g} from the graph in double precision, and {:.3g} "
        "is allowed, so nothing is written",
        compose::remark(one.output), one.ours.largest_error, one.allowed());
  }
  writer.describe(made);
  made.runtime = "ONNX Runtime " + race.version;
  made.runtime_ns = middle_of(race.times_ns.at(kOriginal));
  made.model_ns = middle_of(race.times_ns.at(kStandalone));
  made.speedup = ratio_of(race, kStandalone, kOriginal);
  made.twin = ratio_of(race, kTwin, kOriginal);
  made.rounds = race.times_ns.at(kOriginal).size();
  made.cases = race.cases.at(kStandalone).size();
  made.folder = out;
  std::string accuracy = fmt::format("Held to {} on {} sets of inputs when it was written:", made.runtime, made.cases);
  for (const Difference& one : made.outputs) {
    accuracy += fmt::format(" {} was off by {:.3g} at most ({:.3g} allowed).", compose::remark(one.output),
                            one.max_error, one.allowed());
  }
  KW_CHECK(writer.write_pages(accuracy));
  KW_CHECK(writer.copy_to(out));
  return made;
}

std::string standalone_as_text(const Standalone& made) {
  std::string text = fmt::format("{:<44} {}\n", "KERNEL", "HOW");
  for (const auto& [what, how] : made.techniques) {
    text += fmt::format("{:<44} {}\n", what.size() > 43 ? what.substr(0, 40) + "..." : what, how);
  }
  text += fmt::format("\nplan       {} calls of {} kernels; {} of weights\n", made.calls, made.kernels,
                      size_text(made.weight_bytes));
  text += fmt::format("memory     {}: {} between steps ({} without sharing), {} scratch, {} prepared weights\n",
                      size_text(made.memory_bytes + made.scratch_bytes + made.kept_bytes), size_text(made.memory_bytes),
                      size_text(made.unshared_bytes), size_text(made.scratch_bytes), size_text(made.kept_bytes));
  text += fmt::format("speed      {} times {} ({} -> {}; {} rounds in random order)\n", ratio_text(made.speedup),
                      made.runtime, time_text(made.runtime_ns), time_text(made.model_ns), made.rounds);
  text += fmt::format("twin       {}: {} against itself\n", ratio_text(made.twin), made.runtime);
  for (const Difference& one : made.outputs) {
    text += fmt::format("output     {}: largest error {:.3g}, mean {:.3g}; allowed {:.3g}\n",
                        compose::remark(one.output), one.max_error, one.mean_error, one.allowed());
  }
  text += errors_as_text(made.in_double, made.no_reference);
  return text + fmt::format("wrote      {}\n", made.folder.string());
}

std::string standalone_as_json(const Standalone& made) {
  std::vector<Json> kernels, outputs;
  for (const auto& [what, how] : made.techniques) kernels.push_back({{"operators", what}, {"technique", how}});
  for (const Difference& one : made.outputs) {
    outputs.push_back({{"output", one.output},
                       {"max_error", one.max_error},
                       {"mean_error", one.mean_error},
                       {"allowed", one.allowed()},
                       {"different", one.different}});
  }
  const Json json = {{"folder", made.folder.string()},
                     {"kernels", kernels},
                     {"calls", made.calls},
                     {"weight_bytes", made.weight_bytes},
                     {"memory_bytes", made.memory_bytes},
                     {"unshared_bytes", made.unshared_bytes},
                     {"scratch_bytes", made.scratch_bytes},
                     {"kept_bytes", made.kept_bytes},
                     {"runtime", made.runtime},
                     {"runtime_ns", made.runtime_ns},
                     {"model_ns", made.model_ns},
                     {"speedup", ratio_json(made.speedup)},
                     {"twin", ratio_json(made.twin)},
                     {"rounds", made.rounds},
                     {"outputs", outputs},
                     {"in_double", errors_as_json(made.in_double)},
                     {"no_reference", made.no_reference}};
  return json.dump(1) + "\n";
}

}  // namespace kw::models
