#include <algorithm>
#include <set>
#include <utility>

#include "ops/graph.h"
#include "suites/onnx_inference.h"
#include "suites/onnx_task.h"

namespace kw::suites {

struct ModelTasks::Inside {
  Inside(const OnnxModel& model, const Lengths& lengths) : sources(model), dims(lengths), inference(sources, dims) {}

  Sources sources;
  Lengths dims;
  Inference inference;
  std::vector<std::pair<std::string, TensorType>> inputs;
  std::map<std::string, Tensor> given;
};

ModelTasks::ModelTasks(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
ModelTasks::ModelTasks(ModelTasks&&) noexcept = default;
ModelTasks::~ModelTasks() = default;

Result<ModelTasks> ModelTasks::of(const OnnxModel& model, const Lengths& dims) {
  if (auto known = check_known(model, dims); !known.ok()) return at(model.place, known.error());
  auto inside = std::make_unique<Inside>(model, dims);
  std::set<std::string> needed;
  for (const OnnxValue& input : model.inputs) needed.merge(open_lengths(input));
  if (auto given = check_given(needed, dims); !given.ok()) return at(model.place, given.error());
  for (const OnnxValue& input : model.inputs) {
    if (auto usable = check_usable(input); !usable.ok()) return at(model.place, usable.error());
    const auto type = stated_type(input, dims);
    if (!type) return fail("{}: '{}' has more than 2^40 elements with these lengths", model.place, input.name);
    inside->inputs.emplace_back(input.name, *type);
    if (auto value = value_given(input, dims)) inside->given.emplace(input.name, *std::move(value));
  }
  inside->inference.reach_all();
  return ModelTasks(std::move(inside));
}

const std::vector<std::pair<std::string, TensorType>>& ModelTasks::inputs() const { return inside_->inputs; }

const TensorType* ModelTasks::type(const std::string& value) const { return inside_->inference.find_type(value); }

bool ModelTasks::is_constant(const std::string& value) const {
  if (inside_->sources.initializer(value) || inside_->inference.known(value)) return true;
  const auto from = value_from_initializers(inside_->sources, value);
  return from.ok() && from->has_value();
}

std::string ModelTasks::why_not(std::size_t node) const {
  const OnnxModel& model = inside_->sources.model();
  return obstacle_to(model.nodes[node]);
}

bool ModelTasks::never_runs(std::size_t node) const { return inside_->inference.never_runs(node); }

std::optional<std::size_t> ModelTasks::known_branch(std::size_t node) const {
  const OnnxNode& one = inside_->sources.model().nodes[node];
  if (!inside_->inference.is_decided(one)) return std::nullopt;
  const std::vector<std::size_t> branches = inside_->inference.branches_of(one);
  return branches.size() == 1 ? std::optional(branches[0]) : std::nullopt;
}

std::string ModelTasks::why_impossible(std::size_t scope) const { return inside_->inference.why_impossible(scope); }

const std::map<std::string, Tensor>& ModelTasks::given_values() const { return inside_->given; }

Result<Task> ModelTasks::task(const std::vector<std::size_t>& nodes) const {
  const OnnxModel& model = inside_->sources.model();
  const std::set<std::size_t> chosen(nodes.begin(), nodes.end());
  std::vector<std::size_t> sorted;
  std::ranges::copy_if(model.order, std::back_inserter(sorted), [&](std::size_t i) { return chosen.contains(i); });
  const std::set<std::string> deciding = shape_deciding(model, sorted);
  std::set<std::string> used_outside = model.given_to_owners;
  for (const OnnxValue& output : model.outputs) used_outside.insert(output.name);
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    if (chosen.contains(i)) continue;
    used_outside.insert(model.nodes[i].node.inputs.begin(), model.nodes[i].node.inputs.end());
  }
  Task task;
  task.opset = model.opset;
  std::set<std::string> there;
  for (const std::size_t i : sorted) {
    const Node& node = model.nodes[i].node;
    if (const std::string reason = why_not(i); !reason.empty()) return fail("{} {}", label(node, i), reason);
    for (const std::string& name : node.inputs) {
      if (name.empty() || !there.insert(name).second) continue;
      const TensorType* type = inside_->inference.find_type(name);
      if (!type) return fail("{}", inside_->inference.why(name));
      const Role role = deciding.contains(name) ? Role::constant : Role::weight;
      if (const Tensor* known = inside_->inference.known(name)) {
        task.values.push_back(value_of_tensor(name, role, *known));
        continue;
      }
      KW_TRY(const auto values, value_from_initializers(inside_->sources, name));
      task.values.push_back(values ? value_of_tensor(name, role, *values) : value_of_type(name, *type));
    }
    there.insert(node.outputs.begin(), node.outputs.end());
    task.nodes.push_back(node);
    for (const std::string& name : node.outputs) {
      if (!name.empty() && used_outside.contains(name)) task.outputs.push_back({name, std::nullopt, {}});
    }
  }
  if (task.outputs.empty()) return fail("nothing in the model uses what these nodes compute");
  const Node& first = model.nodes[sorted.front()].node;
  task.name = task_name(model, first.name.empty() ? fmt::format("#{}", sorted.front()) : first.name);
  if (sorted.size() > 1) task.name += fmt::format("+{}", sorted.size() - 1);
  if (const auto graph = ops::resolve(task); !graph.ok()) return graph.error();
  return task;
}

}  // namespace kw::suites
