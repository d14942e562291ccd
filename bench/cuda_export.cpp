// What a GPU needs to run the kernels that a search begins with, in the tasks' own sizes: for bench/cuda_times.py,
// which times them beside PyTorch on a machine that is lent for minutes. Building and planning need no GPU.
//
//   kw_cuda_export FOLDER TASK[,TUNABLE=VALUE]...    L1_1_Matmul_square,WGMMA_ROWS=64; TASK* is all that begin so
//
// Writes TASK.cubin and TASK.json: the plan, the tensors with their values or spreads, and the nodes.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <thread>

#include "base/json.h"
#include "runs/drafts.h"
#include "suites/catalog.h"
#include "targets/cuda/builder.h"
#include "targets/cuda/plan_runner.h"

namespace kw {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

Json json_of_attribute(const Attribute& value) {
  return std::visit(
      [](const auto& one) -> Json {
        if constexpr (std::is_constructible_v<Json, decltype(one)>) return Json(one);
        return Json();
      },
      value);
}

Json json_of_type(const TensorType& type) {
  Json shape = Json::array();
  for (int axis = 0; axis < type.shape.rank(); ++axis) shape.push_back(type.shape[axis]);
  return {{"dtype", std::string(name_of(type.dtype))}, {"shape", std::move(shape)}};
}

std::string hex_of(std::span<const std::byte> bytes) {
  std::string hex;
  for (const std::byte one : bytes) hex += fmt::format("{:02x}", static_cast<int>(one));
  return hex;
}

Json json_of_input(const ops::GraphInput& input, const Tensor* known) {
  Json one = json_of_type(input.type);
  one["name"] = input.name;
  if (known != nullptr) one["value"] = hex_of(known->bytes());
  if (const auto& spread = input.declared->spread) {
    const bool normal = spread->kind == Spread::Kind::normal;
    one["spread"] = {normal, normal ? spread->mean : spread->low, normal ? spread->deviation : spread->high};
  }
  return one;
}

// The default of a tunable becomes this value.
void set(std::string& text, const std::string& name, const std::string& value) {
  const std::string begins = "KW_TUNE(" + name + ",";
  const std::size_t at = text.find(begins);
  if (at == std::string::npos) return;
  const std::size_t from = at + begins.size();
  text.replace(from, text.find(',', from) - from, " " + value);
}

Status write_one(cuda::Builder& builder, const Task& task, const Settings& settings, const std::string& folder) {
  KW_TRY(const targets::Instance instance, targets::make_instance(task, task.lengths, 1));
  const ops::Graph& graph = instance.graph;
  KW_TRY(const auto techniques, runs::techniques_for("cuda:0"));
  KW_TRY(const auto drafts, runs::drafts_for("cuda:0", graph, techniques));
  std::string text = drafts.front().source, stem = task.name;
  for (const auto& [name, value] : settings) {
    set(text, name, value);
    stem += "." + name + value;
  }
  KW_TRY(const Tunables tunables, read_tunables(text));
  KW_TRY(const Choice choice, choose(tunables, {}, cuda::build_options()));
  KW_TRY(const auto built, builder.build({"draft.cu", text}, choice));
  if (!built->ok()) return fail("{}", text_of(built->reason));
  KW_TRY(const auto runner, cuda::PlanRunner::open(builder.sandbox(), *built->plan));
  const auto deadline = targets::Clock::now() + std::chrono::seconds(20);
  if (const Reason reason = runner->finish_loading(deadline); !reason.empty()) return fail("{}", text_of(reason));
  std::vector<std::string> constants(instance.inputs.size());
  Json inputs = Json::array(), outputs = Json::array(), nodes = Json::array();
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    const Tensor* known = graph.known[i];
    inputs.push_back(json_of_input(graph.inputs[i], known));
    if (known == nullptr || !instance.constant[i] || known->bytes().size() > cuda::kMostSeenConstantBytes) continue;
    constants[i].assign(reinterpret_cast<const char*>(known->bytes().data()), known->bytes().size());
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    outputs.push_back(json_of_type(instance.outputs[i]));
    outputs.back()["slot"] = graph.outputs[i];
  }
  for (const ops::GraphNode& node : graph.nodes) {
    Json attributes = Json::object();
    for (const auto& [name, value] : node.call.attributes) attributes[name] = json_of_attribute(value);
    nodes.push_back({{"op", node.call.op->name},
                     {"attributes", std::move(attributes)},
                     {"inputs", node.inputs},
                     {"outputs", node.outputs}});
  }
  const cuda::PlanLimits limits{
      .shared_bytes = 227 << 10, .scratch_bytes = std::int64_t{32} << 30, .kept_bytes = std::int64_t{8} << 30};
  KW_TRY(auto planned, runner->plan(instance, constants, limits, deadline));
  if (const auto* reason = std::get_if<Reason>(&planned)) return fail("{}", text_of(*reason));
  const Json all{{"task", task.name},
                 {"draft", drafts.front().technique},
                 {"tf32", task.precision == Precision::tf32},
                 {"inputs", std::move(inputs)},
                 {"outputs", std::move(outputs)},
                 {"nodes", std::move(nodes)},
                 {"plan", cuda::json_of(std::get<cuda::Plan>(planned))}};
  std::ofstream(folder + "/" + stem + ".json") << all.dump();
  std::ofstream(folder + "/" + stem + ".cubin", std::ios::binary) << built->cubin;
  fmt::print("{:<50} {}\n", stem, drafts.front().technique);
  std::fflush(stdout);
  return {};
}

int run(const std::vector<std::string>& words) {
  auto builder = cuda::Builder::open("sm_90a");
  const auto suites = suites::installed_suites();
  if (words.size() < 2 || !builder.ok() || !suites.ok()) {
    fmt::print(stderr, "kw_cuda_export FOLDER TASK[,TUNABLE=VALUE]...{}\n",
               builder.ok() ? "" : "\n" + builder.error().message);
    return 2;
  }
  struct Wanted {
    Task task;
    Settings settings;
  };
  std::vector<Wanted> all;
  for (std::size_t i = 1; i < words.size(); ++i) {
    Settings settings;
    std::string name = words[i];
    for (std::size_t comma; (comma = name.rfind(',')) != std::string::npos; name.resize(comma)) {
      const std::string one = name.substr(comma + 1);
      settings.emplace_back(one.substr(0, one.find('=')), one.substr(one.find('=') + 1));
    }
    if (!name.ends_with('*')) {
      const auto task = suites::find_task(name);
      if (!task.ok()) return fmt::print(stderr, "{}\n", task.error().message), 2;
      all.push_back({*task, settings});
      continue;
    }
    name.pop_back();
    for (const suites::Suite& suite : *suites) {
      for (const Task& task : suite.tasks) {
        if (task.name.starts_with(name)) all.push_back({task, settings});
      }
    }
  }
  std::atomic<std::size_t> next = 0;
  std::atomic<int> failed = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++) {
      if (const Status wrote = write_one(*builder, all[i].task, all[i].settings, words[0]); !wrote.ok()) {
        fmt::print("{:<50} failed: {}\n", all[i].task.name, wrote.error().message);
        ++failed;
      }
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < std::max(std::thread::hardware_concurrency(), 1U); ++i) workers.emplace_back(work);
  workers.clear();
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) { return kw::run({argv + 1, argv + argc}); }
