// ONNX's own test data against our references.
//
//   kw_onnx_cases FOLDER...      each holds CASE/model.onnx and CASE/test_data_set_N/{input,output}_K.pb
//
// A case whose operators and types are ours is evaluated and compared with its outputs; any difference fails. The
// others are listed with the reason, so that a case never goes missing in silence. Exit 0: all that ran passed.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "ops/compare.h"
#include "ops/graph.h"
#include "suites/onnx_file.h"
#include "suites/onnx_task.h"

namespace kw {
namespace {
namespace fs = std::filesystem;

// Before this opset operators broadcast by attributes of their own. Where a reference refuses such a form, the case is
// not one for it; where it answers, the answer must be right.
constexpr int kNumpyBroadcasting = 7;

// Cases whose outputs are no better than this: typed by hand with four digits, or computed with pi = 3.1415
// (ONNX 1.12).
constexpr double kCoarse = 1e-4;
constexpr std::string_view kCoarseCases[] = {
    "test_averagepool_2d_ceil_last_window_starts_on_pad",
    "test_gridsample_bicubic",
    "test_roialign_aligned_false",
    "test_roialign_aligned_true",
    "test_blackmanwindow",
    "test_blackmanwindow_expanded",
    "test_blackmanwindow_symmetric",
    "test_blackmanwindow_symmetric_expanded",
    "test_hammingwindow",
    "test_hammingwindow_expanded",
    "test_hammingwindow_symmetric",
    "test_hammingwindow_symmetric_expanded",
    "test_hannwindow",
    "test_hannwindow_expanded",
    "test_hannwindow_symmetric",
    "test_hannwindow_symmetric_expanded",
};

// Cases at odds with the operator's text, up to the opset where they were mended.
struct Contradiction {
  std::string_view name;
  int last_opset;
  std::string_view how;
};
constexpr std::string_view kLength = "divides by scale * length before that is rounded; the text, by the length";
constexpr std::string_view kCut = "ONNX 1.12 cut floats to bfloat16; the text rounds them";
constexpr Contradiction kContradictions[] = {
    {"test_resize_downsample_scales_cubic_align_corners", suites::kNewestOpset, kLength},
    {"test_resize_downsample_scales_linear_align_corners", suites::kNewestOpset, kLength},
    {"test_cast_FLOAT_to_BFLOAT16", 18, kCut},
    {"test_castlike_FLOAT_to_BFLOAT16", 18, kCut},
    {"test_castlike_FLOAT_to_BFLOAT16_expanded", 18, kCut},
};

struct Outcome {
  enum class Kind { passed, failed, not_run } kind = Kind::passed;
  std::string reason;   // of a failure, or why it was not run, the same text for all cases that share it
  std::string subject;  // what the reason is about: an operator, a type
};

Outcome failed(std::string reason) { return {Outcome::Kind::failed, std::move(reason), ""}; }
Outcome not_run(std::string reason, std::string subject) {
  return {Outcome::Kind::not_run, std::move(reason), std::move(subject)};
}

// ONNX 1.12 stored bfloat16 as uint16: numpy had nothing else.
Tensor as_declared(Tensor stored, const suites::OnnxValue& declared) {
  if (declared.dtype != DType::bfloat16 || stored.dtype() != DType::uint16) return stored;
  Tensor tensor(DType::bfloat16, stored.shape());
  std::ranges::copy(stored.bytes(), tensor.bytes().begin());
  return tensor;
}

// The files PREFIX_0.pb, PREFIX_1.pb, ... of a data set, one for each declared value.
Result<std::vector<Tensor>> read_tensors(const fs::path& folder, const std::string& prefix,
                                         const std::vector<suites::OnnxValue>& declared) {
  std::vector<Tensor> tensors;
  for (const suites::OnnxValue& value : declared) {
    const fs::path path = folder / fmt::format("{}_{}.pb", prefix, tensors.size());
    KW_TRY(const std::string bytes, read_file(path));
    KW_TRY(Tensor tensor, suites::parse_onnx_tensor(bytes, path.filename().string()));
    tensors.push_back(as_declared(std::move(tensor), value));
  }
  return tensors;
}

// Why a case is not for us, seen from the model alone.
std::optional<Outcome> not_ours(const suites::OnnxModel& model) {
  for (const suites::OnnxNode& node : model.nodes) {
    if (node.node.op == "Constant") continue;
    if (node.unsupported.find("subgraph") != std::string::npos) return not_run("has a subgraph", node.node.op);
    if (node.unsupported.find("domain") != std::string::npos)
      return not_run("operator of another domain", node.node.op);
    if (!ops::find_op(node.node.op)) return not_run("operator not ours", node.node.op);
    if (!node.unsupported.empty()) return not_run("attribute not ours", node.node.op + " " + node.unsupported);
  }
  for (const auto* values : {&model.inputs, &model.outputs}) {
    for (const suites::OnnxValue& value : *values) {
      if (!value.unsupported.empty()) {
        return not_run("type not ours", fmt::format("{}: {}", model.nodes.front().node.op, value.unsupported));
      }
    }
  }
  return std::nullopt;
}

// The operator is ours, but not for this type (an older or rarer one): only told of inputs that the case itself gives.
std::optional<Outcome> types_not_ours(const suites::OnnxModel& model) {
  for (const suites::OnnxNode& node : model.nodes) {
    const ops::Op* op = ops::find_op(node.node.op);
    if (!op || op->inputs.empty()) continue;
    for (std::size_t i = 0; i < node.node.inputs.size(); ++i) {
      const auto given = model.initializers.find(node.node.inputs[i]);
      if (given == model.initializers.end()) continue;
      const ops::InputSpec& spec = op->inputs[std::min(i, op->inputs.size() - 1)];
      if (spec.types.has(given->second.dtype())) continue;
      return not_run("type not ours", fmt::format("{}: {} is {}", op->name, spec.name, name_of(given->second.dtype())));
    }
  }
  return std::nullopt;
}

// The case's inputs take the place of initializers: all is known, so that shape rules may read any of it.
Outcome run_data_set(suites::OnnxModel model, const fs::path& folder, double coarseness) {
  auto given = read_tensors(folder, "input", model.inputs);
  if (!given.ok()) return failed(given.error().message);
  const auto wanted = read_tensors(folder, "output", model.outputs);
  if (!wanted.ok()) return failed(wanted.error().message);
  for (std::size_t i = 0; i < given->size(); ++i) {
    model.initializers.emplace(model.inputs[i].name, std::move((*given)[i]));
  }
  model.inputs.clear();
  if (auto reason = types_not_ours(model)) return *reason;
  const auto task = suites::task_from_model(model, {});
  if (!task.ok()) return failed(task.error().message);
  const auto graph = ops::resolve(*task);
  if (!graph.ok() && model.opset < kNumpyBroadcasting) return not_run("form of an old opset", graph.error().message);
  if (!graph.ok()) return failed(graph.error().message);
  std::vector<Tensor> inputs;
  for (const ops::GraphInput& input : graph->inputs) inputs.push_back(input.declared->constant);
  auto expected = ops::evaluate(*graph, inputs);
  if (!expected.ok()) return failed(expected.error().message);
  for (std::size_t k = 0; k < expected->size(); ++k) {
    if (coarseness > 0) (*expected)[k].add_slack();
    for (double& slack : (*expected)[k].slack) slack += coarseness;
    const ops::Comparison comparison = compare((*expected)[k], (*wanted)[k]);
    if (!comparison.right()) return failed(fmt::format("output {}: {}", k, comparison.text((*expected)[k])));
  }
  return {};
}

Outcome run_case(const fs::path& folder) {
  const auto model = suites::read_onnx(folder / "model.onnx");
  if (!model.ok()) return failed(model.error().message);
  const std::string name = folder.filename().string();
  for (const Contradiction& known : kContradictions) {
    if (known.name == name && model->opset <= known.last_opset) {
      return not_run("at odds with the operator's text", std::string(known.how));
    }
  }
  if (auto reason = not_ours(*model)) return *reason;
  const double coarseness = std::ranges::count(kCoarseCases, name) > 0 ? kCoarse : 0;
  Outcome outcome = failed("has no data set");
  for (int set = 0;; ++set) {
    const fs::path data = folder / fmt::format("test_data_set_{}", set);
    if (!fs::exists(data)) return outcome;
    outcome = run_data_set(*model, data, coarseness);
    if (outcome.kind != Outcome::Kind::passed) return outcome;
  }
}

struct Report {
  int passed = 0;
  std::vector<std::string> failures;
  std::map<std::string, std::map<std::string, std::vector<std::string>>> not_run;  // reason, subject, cases
};

Report run_folder(const fs::path& folder) {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (fs::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
  }
  std::ranges::sort(cases);
  Report report;
  for (const fs::path& path : cases) {
    const std::string name = path.filename().string();
    Outcome outcome = run_case(path);
    if (outcome.kind == Outcome::Kind::passed) ++report.passed;
    if (outcome.kind == Outcome::Kind::failed) report.failures.push_back(name + ": " + outcome.reason);
    if (outcome.kind == Outcome::Kind::not_run) report.not_run[outcome.reason][outcome.subject].push_back(name);
  }
  return report;
}

void print(const std::string& source, const Report& report) {
  std::size_t left_out = 0;
  for (const auto& [reason, subjects] : report.not_run) {
    for (const auto& [subject, cases] : subjects) left_out += cases.size();
  }
  fmt::print("\n{}: {} run, {} passed, {} failed, {} not run\n", source,
             static_cast<std::size_t>(report.passed) + report.failures.size(), report.passed, report.failures.size(),
             left_out);
  for (const std::string& failure : report.failures) fmt::print("  FAILED {}\n", failure);
  for (const auto& [reason, subjects] : report.not_run) {
    fmt::print("  not run, {}:\n", reason);
    for (const auto& [subject, cases] : subjects) {
      fmt::print("    {} ({}):", subject, cases.size());
      for (const std::string& name : cases) fmt::print(" {}", name);
      fmt::print("\n");
    }
  }
}

int run_folders(const std::vector<fs::path>& folders) {
  bool right = !folders.empty();
  for (const fs::path& folder : folders) {
    if (!fs::is_directory(folder)) {
      fmt::print(stderr, "{}: no such folder\n", folder.string());
      return 2;
    }
    const Report report = run_folder(folder);
    print(folder.string(), report);
    right = right && report.failures.empty() && report.passed > 0;
  }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace kw

int main(int count, char** arguments) {
  return kw::run_folders(std::vector<std::filesystem::path>(arguments + 1, arguments + count));
}
