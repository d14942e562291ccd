#include "suites/onnx_inference.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/nearest.h"
#include "ops/graph.h"

namespace kw::suites {
namespace {

// Values up to this size are carried along while shapes are inferred: shapes are computed from them.
constexpr std::int64_t kMostKnownElements = 4096;

// What is computed from initializers alone is computed here up to this size; a file may claim any.
constexpr std::int64_t kMostFoldedElements = std::int64_t{1} << 26;
constexpr double kMostFoldedFlops = 0x1p28;

}  // namespace

// ----- Lengths

std::set<std::string> open_lengths(const OnnxValue& value) {
  std::set<std::string> names;
  if (!value.lengths) return names;
  for (const Length& length : *value.lengths) {
    if (!length.name.empty()) names.insert(length.name);
  }
  return names;
}

namespace {
std::string flags_for(const std::set<std::string>& names) {
  std::string flags;
  for (const std::string& name : names) flags += fmt::format(" --dim {}=VALUE", name);
  return flags;
}
}  // namespace

Status check_given(const std::set<std::string>& needed, const Lengths& dims) {
  std::set<std::string> missing;
  for (const std::string& name : needed) {
    if (!dims.contains(name)) missing.insert(name);
  }
  if (missing.empty()) return {};
  return fail("the model leaves {} open; give{}", missing.size() == 1 ? "a length" : "lengths", flags_for(missing));
}

namespace {
bool is_one_whole_number(const OnnxValue& input) {
  const auto type = stated_type(input, {});
  return type && !is_float(type->dtype) && type->shape.count() == 1;
}
}  // namespace

std::optional<Tensor> value_given(const OnnxValue& input, const Lengths& dims) {
  const auto given = dims.find(input.name);
  if (given == dims.end() || !is_one_whole_number(input)) return std::nullopt;
  Tensor value(*stated_type(input, {}));
  value.set_integer(0, given->second);
  return value;
}

Status check_known(const OnnxModel& model, const Lengths& dims) {
  std::set<std::string> names;
  for (const OnnxValue& input : model.inputs) {
    if (is_one_whole_number(input)) names.insert(input.name);
  }
  for (const OnnxValue& input : model.inputs) names.merge(open_lengths(input));
  for (const OnnxValue& output : model.outputs) names.merge(open_lengths(output));
  for (const auto& [name, value] : model.values) names.merge(open_lengths(value));
  for (const auto& [name, length] : dims) {
    if (length < 0) return fail("--dim {}={}: a length cannot be negative", name, length);
    if (names.contains(name)) continue;
    return fail("--dim {}: the model has no open length of that name{}", name,
                nearest_hint(name, {names.begin(), names.end()}));
  }
  return {};
}

std::optional<TensorType> stated_type(const OnnxValue& value, const Lengths& dims) {
  if (!value.unsupported.empty() || !value.dtype || !value.lengths) return std::nullopt;
  TensorType type{*value.dtype, {}, false};
  for (const Length& length : *value.lengths) {
    const auto given = dims.find(length.name);
    if (!length.name.empty() && given == dims.end()) return std::nullopt;
    type.shape.append(length.name.empty() ? length.value : given->second);
  }
  if (!check_shape(type.shape).ok()) return std::nullopt;
  return type;
}

Status check_usable(const OnnxValue& value) {
  if (!value.unsupported.empty()) return fail("'{}' {}, which is not supported", value.name, value.unsupported);
  if (!value.dtype || !value.lengths) {
    return fail("the file does not say the type and shape of '{}'; export the model with the shapes of its inputs",
                value.name);
  }
  return {};
}

std::vector<Length> fixed_lengths(const Shape& shape) {
  std::vector<Length> lengths;
  for (std::int64_t length : shape) lengths.push_back({length, ""});
  return lengths;
}

Value value_of_type(const std::string& name, const TensorType& type) {
  Value value;
  value.name = name;
  value.dtype = type.dtype;
  value.lengths = fixed_lengths(type.shape);
  return value;
}

Value value_of_tensor(const std::string& name, Role role, const Tensor& tensor) {
  Value value = value_of_type(name, tensor.type());
  value.role = role;
  value.constant = tensor;
  return value;
}

// ----- The model as a graph

bool decides_shape(const Node& node, std::size_t input) {
  const ops::Op* op = ops::find_op(node.op);
  if (!op || op->inputs.empty()) return false;
  return op->inputs[std::min(input, op->inputs.size() - 1)].constant;
}

Sources::Sources(const OnnxModel& model) : model_(model) {
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    for (const std::string& name : model.nodes[i].node.outputs) {
      if (!name.empty()) node_.emplace(name, i);
    }
  }
  for (const OnnxValue& input : model.inputs) input_.emplace(input.name, &input);
}

const Tensor* Sources::initializer(const std::string& name) const {
  const auto found = model_.initializers.find(name);
  return found == model_.initializers.end() ? nullptr : &found->second;
}

const OnnxValue* Sources::input(const std::string& name) const {
  const auto found = input_.find(name);
  return found == input_.end() ? nullptr : found->second;
}

std::optional<std::size_t> Sources::node(const std::string& name) const {
  const auto found = node_.find(name);
  return found == node_.end() ? std::nullopt : std::optional(found->second);
}

const OnnxValue* Sources::stated(const std::string& name) const {
  if (const auto found = model_.values.find(name); found != model_.values.end()) return &found->second;
  const auto output = std::ranges::find(model_.outputs, name, &OnnxValue::name);
  return output == model_.outputs.end() ? nullptr : &*output;
}

Error Sources::nobody_gives(const std::string& name) const {
  if (const auto found = model_.unreadable.find(name); found != model_.unreadable.end()) {
    return fail("'{}' {}, which is not supported", name, found->second);
  }
  return fail("'{}' is given by nothing in the model", name);
}

namespace {
std::string unknown_operator(const std::string& op) {
  std::vector<std::string> names;
  for (const ops::Op& known : ops::all_ops()) names.push_back(known.name);
  return fmt::format("is an operator that is not known{}", nearest_hint(op, names));
}
}  // namespace

std::string obstacle_to(const OnnxNode& node) {
  if (!node.unsupported.empty()) return node.unsupported;
  return ops::find_op(node.node.op) ? "" : unknown_operator(node.node.op);
}

// ----- Shapes

Status Inference::reach(std::size_t target) {
  const OnnxNode& wanted = sources_.model().nodes[target];
  const auto opaque = [&](std::size_t i) {
    const OnnxNode& node = sources_.model().nodes[i];
    return node.bodies.empty() && !obstacle_to(node).empty();
  };
  const auto behind = sources_.nodes_behind(wanted.node.inputs, opaque);
  KW_CHECK(check_given(needed_lengths(wanted.node, behind), dims_));
  infer_all(behind);
  for (const std::string& name : wanted.node.inputs) KW_CHECK(add_given(name));
  return {};
}

void Inference::reach_all() {
  infer_all(sources_.model().order);
  for (const OnnxNode& node : sources_.model().nodes) {
    for (const std::string& name : node.node.inputs) {
      if (const Status added = add_given(name); !added.ok()) blocked_[name] = added.error().message;
    }
  }
}

const TensorType* Inference::find_type(const std::string& name) const {
  const auto found = types_.find(name);
  return found == types_.end() ? nullptr : &found->second;
}

std::string Inference::why(const std::string& name) const {
  const auto found = blocked_.find(name);
  return found == blocked_.end() ? fmt::format("the shape of '{}' is not known", name) : found->second;
}

const Tensor* Inference::known(const std::string& name) const {
  const auto found = known_.find(name);
  return found == known_.end() ? nullptr : &found->second;
}

void Inference::infer_all(const std::vector<std::size_t>& nodes) {
  for (std::size_t i : nodes) {
    const OnnxNode& node = sources_.model().nodes[i];
    if (std::ranges::any_of(node.node.outputs, [&](const auto& name) { return sources_.initializer(name); })) continue;
    const std::string reason = obstacle_to(node);
    if (!reason.empty()) {
      trust_file(node.node, i, reason);
      if (node.node.op == "If") infer_branches(node);
    } else if (const Status inferred = infer(node.node); !inferred.ok()) {
      trust_file(node.node, i, inferred.error().message);
      note_impossible(node, inferred.error().message);
    }
  }
}

std::set<std::string> Inference::needed_lengths(const Node& wanted, const std::vector<std::size_t>& behind) const {
  std::set<std::string> needed;
  const auto add_inputs = [&](const Node& node) {
    for (const std::string& name : node.inputs) {
      if (const OnnxValue* input = sources_.input(name)) needed.merge(open_lengths(*input));
    }
  };
  add_inputs(wanted);
  for (std::size_t i : behind) {
    const OnnxNode& node = sources_.model().nodes[i];
    if (obstacle_to(node).empty() || !node.bodies.empty()) {
      add_inputs(node.node);
      continue;
    }
    for (const std::string& name : node.node.outputs) {
      if (const OnnxValue* stated = sources_.stated(name)) needed.merge(open_lengths(*stated));
    }
  }
  return needed;
}

Status Inference::add_given(const std::string& name) {
  if (name.empty() || types_.contains(name)) return {};
  if (const auto found = blocked_.find(name); found != blocked_.end()) return Error{found->second};
  if (const Tensor* tensor = sources_.initializer(name)) {
    types_[name] = tensor->type();
    if (tensor->count() <= kMostKnownElements) known_.emplace(name, *tensor);
    return {};
  }
  if (sources_.given_by_owner(name)) {
    const OnnxValue* stated = sources_.stated(name);
    const auto type = stated ? stated_type(*stated, dims_) : std::nullopt;
    if (!type) {
      return fail("the shape of '{}' is not known: it may be another one in each turn of the loop; {}", name,
                  "export the model with shapes inside of its loops");
    }
    types_[name] = *type;
    return {};
  }
  const OnnxValue* input = sources_.input(name);
  if (!input) return sources_.nobody_gives(name);
  KW_CHECK(check_usable(*input));
  const auto type = stated_type(*input, dims_);
  if (!type) return fail("'{}' has more than 2^40 elements with these lengths", name);
  types_[name] = *type;
  if (auto value = value_given(*input, dims_)) known_.emplace(name, *std::move(value));
  return {};
}

void Inference::trust_file(const Node& node, std::size_t index, const std::string& reason) {
  // Where an input is not known, the reason is the one for which that is so, not the way from there to here.
  const auto cause = std::ranges::find_if(node.inputs, [&](const auto& name) { return blocked_.contains(name); });
  for (const std::string& name : node.outputs) {
    if (name.empty()) continue;
    const OnnxValue* stated = sources_.stated(name);
    if (const auto type = stated ? stated_type(*stated, dims_) : std::nullopt) {
      types_[name] = *type;
      continue;
    }
    if (cause != node.inputs.end()) {
      blocked_[name] = blocked_.at(*cause);
      continue;
    }
    std::string help = "run onnx.shape_inference on the model, or export it with shapes";
    if (stated && check_usable(*stated).ok()) help = "give" + flags_for(open_lengths(*stated));
    blocked_[name] = fmt::format("the shape of '{}' is not known, since {} stands before it ({}); {}", name,
                                 label(node, index), reason, help);
  }
}

Status Inference::infer(const Node& node) {
  Task task;
  task.opset = sources_.model().opset;
  task.nodes = {node};
  std::set<std::string> declared;
  for (const std::string& name : node.inputs) {
    KW_CHECK(add_given(name));
    if (name.empty() || !declared.insert(name).second) continue;
    const Tensor* values = known(name);
    task.values.push_back(values ? value_of_tensor(name, Role::constant, *values) : value_of_type(name, type(name)));
  }
  for (const std::string& name : node.outputs) {
    if (!name.empty()) task.outputs.push_back({name, std::nullopt, {}});
  }
  const auto graph = ops::resolve(task);
  if (!graph.ok()) return graph.error();
  for (std::size_t slot = graph->inputs.size(); slot < graph->names.size(); ++slot) {
    types_[graph->names[slot]] = graph->types[slot];
    if (graph->known[slot]) known_.emplace(graph->names[slot], *graph->known[slot]);
  }
  return {};
}

const Tensor* Inference::condition_of(const OnnxNode& node) const {
  const Tensor* condition = node.node.inputs.empty() ? nullptr : known(node.node.inputs[0]);
  return node.node.op == "If" && condition != nullptr && condition->count() == 1 ? condition : nullptr;
}

bool Inference::is_decided(const OnnxNode& node) const { return condition_of(node) != nullptr; }

std::string Inference::why_impossible(std::size_t scope) const {
  const auto found = impossible_.find(scope);
  return found == impossible_.end() ? "" : found->second;
}

std::vector<std::size_t> Inference::branches_of(const OnnxNode& node) const {
  if (node.node.op != "If") return node.bodies;
  const Tensor* condition = condition_of(node);
  const std::string chosen = condition == nullptr ? "" : condition->real(0) != 0 ? "then_branch" : "else_branch";
  std::vector<std::size_t> branches, possible;
  for (const std::size_t body : node.bodies) {
    if (condition != nullptr && sources_.model().scopes[body].attribute != chosen) continue;
    branches.push_back(body);
    if (!impossible_.contains(body)) possible.push_back(body);
  }
  return possible.empty() ? branches : possible;
}

void Inference::note_impossible(const OnnxNode& node, const std::string& reason) {
  if (node.scope == 0) return;
  const auto refused = [&](const std::string& name) {
    const TensorType* type = find_type(name);
    return name.empty() || (type != nullptr && !type->from_values);
  };
  // An If fails where every branch of it that may be chosen does.
  const auto fails = [&](std::size_t body) { return impossible_.contains(body); };
  const bool is_if = node.node.op == "If";
  if (is_if ? std::ranges::all_of(branches_of(node), fails) : std::ranges::all_of(node.node.inputs, refused)) {
    impossible_.emplace(node.scope, is_if ? impossible_.at(branches_of(node).front()) : reason);
  }
}

void Inference::infer_branches(const OnnxNode& node) {
  const std::vector<std::size_t> branches = branches_of(node);
  if (!branches.empty()) note_impossible(node, "");
  for (std::size_t i = 0; i < node.node.outputs.size(); ++i) {
    const std::string& result = node.node.outputs[i];
    const TensorType* agreed = nullptr;
    bool agree = !result.empty() && !branches.empty();
    for (const std::size_t body : branches) {
      const auto& outputs = sources_.model().scopes[body].outputs;
      if (i < outputs.size() && add_given(outputs[i]).ok()) {
        const TensorType* type = find_type(outputs[i]);
        agree = agree && (agreed == nullptr || *agreed == *type);
        agreed = type;
      } else {
        agree = false;
      }
    }
    if (!agree) continue;
    types_[result] = TensorType(*agreed);
    blocked_.erase(result);
    if (branches.size() != 1) continue;
    if (const Tensor* value = known(sources_.model().scopes[branches[0]].outputs[i])) {
      known_.emplace(result, Tensor(*value));
    }
  }
}

bool Inference::never_runs(std::size_t node) const {
  const OnnxModel& model = sources_.model();
  for (std::size_t scope = model.nodes[node].scope; scope != 0; scope = model.scopes[scope].parent) {
    const std::vector<std::size_t> branches = branches_of(model.nodes[model.scopes[scope].owner]);
    if (std::ranges::find(branches, scope) == branches.end()) return true;
  }
  return false;
}

// ----- Tasks

std::set<std::string> shape_deciding(const OnnxModel& model, const std::vector<std::size_t>& nodes) {
  std::set<std::string> names;
  for (std::size_t i : nodes) {
    const Node& node = model.nodes[i].node;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (decides_shape(node, k)) names.insert(node.inputs[k]);
    }
  }
  return names;
}

Result<Task> task_of_nodes(const Sources& sources, const std::vector<std::size_t>& nodes, const Lengths& dims,
                           const std::vector<std::string>& outputs) {
  const OnnxModel& model = sources.model();
  Task task;
  task.opset = model.opset;
  const std::set<std::string> deciding = shape_deciding(model, nodes);
  std::set<std::string> there;
  const auto add_given = [&](const std::string& name) -> Status {
    if (name.empty() || !there.insert(name).second) return {};
    if (const Tensor* tensor = sources.initializer(name)) {
      const Role role = deciding.contains(name) ? Role::constant : Role::weight;
      task.values.push_back(value_of_tensor(name, role, *tensor));
      return {};
    }
    const OnnxValue* input = sources.input(name);
    if (!input) return sources.nobody_gives(name);
    KW_CHECK(check_usable(*input));
    KW_CHECK(check_given(open_lengths(*input), dims));
    for (const std::string& length : open_lengths(*input)) task.lengths[length] = dims.at(length);
    Value value;
    value.name = name;
    value.dtype = *input->dtype;
    value.lengths = *input->lengths;
    for (Length& length : value.lengths) {
      if (!length.name.empty()) length.value = dims.at(length.name);
    }
    task.values.push_back(std::move(value));
    return {};
  };
  for (std::size_t i : nodes) {
    const OnnxNode& node = model.nodes[i];
    if (const std::string reason = obstacle_to(node); !reason.empty()) {
      return fail("{} {}", label(node.node, i), reason);
    }
    for (const std::string& name : node.node.inputs) {
      if (auto added = add_given(name); !added.ok()) return at(label(node.node, i), added.error());
    }
    there.insert(node.node.outputs.begin(), node.node.outputs.end());
    task.nodes.push_back(node.node);
  }
  for (const std::string& name : outputs) {
    KW_CHECK(add_given(name));
    task.outputs.push_back({name, std::nullopt, {}});
  }
  return task;
}

namespace {
bool is_cheap(const ops::Graph& graph) {
  std::int64_t elements = 0;
  for (const TensorType& type : graph.types) {
    if (type.shape.count() > kMostFoldedElements) return false;
    elements += type.shape.count();
  }
  return elements <= kMostFoldedElements && ops::cost_of(graph).flops <= kMostFoldedFlops;
}
}  // namespace

Result<std::optional<Tensor>> value_from_initializers(const Sources& sources, const std::string& name) {
  if (const Tensor* tensor = sources.initializer(name)) return std::optional<Tensor>(*tensor);
  const auto is_given = [&](const std::string& value) {
    return sources.input(value) != nullptr || sources.given_by_owner(value);
  };
  bool depends = is_given(name);
  const auto nodes = sources.nodes_behind({name}, [&](std::size_t i) {
    const OnnxNode& node = sources.model().nodes[i];
    depends = depends || !obstacle_to(node).empty() || std::ranges::any_of(node.node.inputs, is_given);
    return depends;
  });
  if (depends) return std::optional<Tensor>();
  KW_TRY(const Task task, task_of_nodes(sources, nodes, {}, {name}));
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  if (!is_cheap(graph)) return std::optional<Tensor>();
  std::vector<Tensor> inputs;
  for (const ops::GraphInput& input : graph.inputs) inputs.push_back(input.declared->constant);
  KW_TRY(const auto results, ops::evaluate(graph, inputs));
  return std::optional<Tensor>(ops::narrow(results.front()));
}

std::string task_name(const OnnxModel& model, const std::string& node) {
  return fmt::format("{}:{}", std::filesystem::path(model.place).filename().string(), node);
}

}  // namespace kw::suites
