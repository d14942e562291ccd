#include "models/plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compose/outside_text.h"
#include "ops/graph.h"
#include "suites/onnx_rewrite.h"
#include "targets/target.h"

namespace kw::models {
namespace {

constexpr double kLeastSaving = 0.002;          // of the model's time: less is not worth a kernel
constexpr double kLeastSeconds = 10;            // for searching and judging one kind
constexpr std::int64_t kMostKeptElements = 64;  // of a weight whose values stay in the task
constexpr double kTiming_s = 0.5;               // of judging the best kernel of a kind
constexpr double kSearching = 0.75;             // of the time; the rest builds the library and runs models

std::string op_name(const Model& model, const Group& group, std::size_t number) {
  std::string name;
  for (std::size_t i = 0; i < group.nodes.size() && i < 3; ++i) name += model.node(group.nodes[i]).op + "_";
  return compose::file_stem(fmt::format("{}{}", name, number));
}

Task with_weights_drawn(Task task) {
  for (Value& value : task.values) {
    if (value.role == Role::weight && value.constant.count() > kMostKeptElements) value.constant = Tensor();
  }
  return task;
}

double time_of(const ModelTimes& times, const Group& group) {
  double ns = 0;
  for (const std::size_t i : group.nodes) ns += times.node_ns[i];
  return ns;
}

// What it may save, by what judging it costs: a reference in double precision takes far longer than the kernel. What
// the runtime computes in a layout of its own is seldom worth breaking that layout.
double worth(const Model& model, const GroupKind& kind) {
  const auto graph = ops::resolve(kind.task);
  if (!graph.ok()) return 0;
  const Cost cost = ops::cost_of(*graph);
  const double effort = 1 + cost.bytes() / 8e6 + cost.flops / 1e8;
  const bool is_blocked = model.node(kind.groups[0].nodes[0]).op == "Conv";
  return kind.saving_ns() * (is_blocked ? 0.5 : 1) / effort;
}

class Kinds {
 public:
  Kinds(const Model& model, const ModelTimes& times, const std::string& device)
      : model_(model), times_(times), device_(device) {}

  void add(const Group& group, bool is_tail) {
    if (group.nodes.empty()) return;
    const std::string signature = model_.signature(group.nodes);
    if (signature.empty()) return;
    const auto [place, is_new] = known_.emplace(signature, kinds.size());
    if (is_new) kinds.push_back({.is_tail = is_tail});
    GroupKind& kind = kinds[place->second];
    kind.groups.push_back(group);
    kind.in_model_ns += time_of(times_, group);
    kind.is_tail = kind.is_tail && is_tail;
  }

  // The tasks of those that may pay.
  void complete() {
    std::erase_if(kinds, [&](const GroupKind& kind) { return kind.in_model_ns < kLeastSaving * times_.total_ns; });
    std::erase_if(kinds, [&](GroupKind& kind) {
      auto task = model_.tasks().task(kind.groups.front().nodes);
      if (!task.ok() || task->outputs.size() != 1) return true;
      kind.task = with_weights_drawn(*std::move(task));
      const auto graph = ops::resolve(kind.task);
      if (!graph.ok()) return true;
      const auto least = targets::least_time(device_, ops::cost_of(*graph));
      if (least.ok()) kind.least_ns = least->ns() * static_cast<double>(kind.groups.size());
      return kind.saving_ns() < kLeastSaving * times_.total_ns;
    });
  }

  std::vector<GroupKind> kinds;

 private:
  const Model& model_;
  const ModelTimes& times_;
  std::string device_;
  std::map<std::string, std::size_t> known_;
};

}  // namespace

Result<Plan> plan_of(const Model& model, const ModelTimes& times, const std::string& device, double within_s,
                     const std::set<std::size_t>& taken) {
  KW_TRY(std::vector<Fit> fits, fits_of(model, device));
  for (const std::size_t i : taken) fits[i] = Fit::none;
  Kinds all(model, times, device);
  for (const Group& group : form_groups(model, fits)) {
    all.add(group, false);
    all.add(tail_of(model, group, fits), true);
  }
  const std::size_t found = all.kinds.size();
  all.complete();
  std::ranges::stable_sort(all.kinds, std::ranges::greater(),
                           [&](const GroupKind& kind) { return worth(model, kind); });
  const auto most = static_cast<std::size_t>(std::max(1.0, within_s / kLeastSeconds));
  if (all.kinds.size() > most) all.kinds.resize(most);
  for (std::size_t i = 0; i < all.kinds.size(); ++i) {
    all.kinds[i].op = op_name(model, all.kinds[i].groups.front(), i);
    all.kinds[i].task.name = fmt::format("{}:{}", model.file().filename().string(), all.kinds[i].op);
  }
  Plan plan{.kinds = std::move(all.kinds)};
  plan.left_out = found - plan.kinds.size();
  return plan;
}

Result<std::string> model_with(const Model& model, const std::vector<GroupKind>& kinds,
                               const std::vector<Chosen>& chosen, const std::string& domain) {
  suites::OnnxEdit edit{.dims = model.dims(), .domain = domain};
  for (const Chosen& one : chosen) {
    const GroupKind& kind = kinds[one.kind];
    // With the values of this group's own weights.
    KW_TRY(const Task task, model.tasks().task(kind.groups[one.group].nodes));
    KW_TRY(const ops::Graph graph, ops::resolve(task));
    suites::OnnxReplacement replacement{
        .nodes = kind.groups[one.group].nodes, .op = kind.op, .name = fmt::format("{}_{}", kind.op, one.group)};
    for (const Value& value : task.values) {
      replacement.inputs.push_back(value.name);
      if (value.role != Role::input) replacement.constants[value.name] = value.constant;
    }
    for (std::size_t i = 0; i < task.outputs.size(); ++i) {
      replacement.outputs.push_back(task.outputs[i].name);
      replacement.output_types.push_back(graph.output_type(i));
    }
    edit.replacements.push_back(std::move(replacement));
  }
  return suites::edit_onnx(model.onnx(), model.bytes(), edit);
}

runs::Order order_of(const Plan& plan, const std::string& device, double within_s, int threads) {
  runs::Order order{.kind = store::RunKind::search};
  order.rules.device = device;
  order.rules.budget_s = kTiming_s;
  order.rules.threads = threads;
  order.search.budget = "1h";  // within_s is what counts
  order.search.within_s = within_s * kSearching;
  for (const GroupKind& kind : plan.kinds) {
    order.tasks.push_back(kind.task);
    order.search.shares.push_back(std::sqrt(kind.saving_ns()));  // so that one does not take all
  }
  return order;
}

bool uses_threads(const Task& task, const std::string& source) {
  constexpr double kLeastFlops = 2e6, kLeastBytes = 512e3;  // as kernels/cpu/parts/threads.h has it
  const auto graph = ops::resolve(task);
  if (!graph.ok()) return false;
  const Cost cost = ops::cost_of(*graph);
  const bool asks = source.find("threads_for(") != std::string::npos || source.find("parallel") != std::string::npos;
  return asks && (cost.flops >= kLeastFlops || cost.bytes() >= kLeastBytes);
}

}  // namespace kw::models
