#include "ops/graph.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <set>

#include "base/nearest.h"

namespace kw::ops {
namespace {

Result<std::int64_t> value_of(const Length& length, const Lengths& lengths) {
  if (length.name.empty()) return length.value;
  const auto found = lengths.find(length.name);
  if (found == lengths.end()) return fail("length '{}' has no value", length.name);
  return found->second;
}

Result<Shape> shape_of(const std::vector<Length>& lengths, const Lengths& values) {
  Shape shape;
  for (const Length& length : lengths) {
    KW_TRY(const std::int64_t value, value_of(length, values));
    shape.append(value);
  }
  KW_CHECK(check_shape(shape));
  return shape;
}

Result<Tensor> constant_of(const Value& value, const Lengths& lengths) {
  Tensor tensor = value.constant;
  for (std::size_t i = 0; i < value.elements.size(); ++i) {
    KW_TRY(const std::int64_t element, value_of(value.elements[i], lengths));
    tensor.set_integer(static_cast<std::int64_t>(i), element);
  }
  return tensor;
}

Result<Attribute> attribute_of(const NodeAttribute& given, const Lengths& lengths) {
  Attribute value = given.value;
  for (std::size_t i = 0; i < given.lengths.size(); ++i) {
    KW_TRY(const std::int64_t length, value_of(given.lengths[i], lengths));
    if (auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
      (*integers)[i] = length;
    } else {
      value = length;
    }
  }
  return value;
}

// An integer is a fine real, and [] is a fine list of any kind.
Attribute as_kind(Attribute value, AttributeKind kind) {
  if (kind == AttributeKind::real) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) value = static_cast<double>(*integer);
  }
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    if (kind == AttributeKind::reals) value = std::vector<double>(integers->begin(), integers->end());
    if (kind == AttributeKind::texts && integers->empty()) value = std::vector<std::string>{};
  }
  // ONNX's floats have 32 bits.
  if (auto* real = std::get_if<double>(&value)) *real = static_cast<float>(*real);
  if (auto* reals = std::get_if<std::vector<double>>(&value)) {
    for (double& real : *reals) real = static_cast<float>(real);
  }
  return value;
}

Result<Attributes> complete_attributes(const Node& node, const Op& op, const Lengths& lengths) {
  Attributes result;
  std::vector<std::string> known;
  for (const AttributeSpec& spec : op.attributes) known.push_back(spec.name);
  for (const auto& [name, given] : node.attributes) {
    const auto spec = std::ranges::find(op.attributes, name, &AttributeSpec::name);
    if (spec == op.attributes.end()) return fail("no attribute '{}'{}", name, nearest_hint(name, known));
    KW_TRY(Attribute value, attribute_of(given, lengths));
    value = as_kind(std::move(value), spec->kind);
    if (kind_of(value) != spec->kind) {
      return fail("attribute '{}' must be {}, but {} is {}", name, name_of(spec->kind), text_of(value),
                  name_of(kind_of(value)));
    }
    if (const auto* text = std::get_if<std::string>(&value); text && !spec->choices.empty()) {
      if (std::ranges::find(spec->choices, *text) == spec->choices.end()) {
        return fail("attribute '{}' cannot be \"{}\"{}", name, *text, nearest_hint(*text, spec->choices));
      }
    }
    result.set(name, std::move(value));
  }
  for (const AttributeSpec& spec : op.attributes) {
    if (result.has(spec.name)) continue;
    if (spec.required) return fail("attribute '{}' is missing", spec.name);
    if (spec.fallback) result.set(spec.name, as_kind(*spec.fallback, spec.kind));
  }
  return result;
}

const InputSpec* spec_of_input(const Op& op, std::size_t index) {
  if (index < op.inputs.size()) return &op.inputs[index];
  if (!op.inputs.empty() && op.inputs.back().variadic) return &op.inputs.back();
  return nullptr;
}

Status check_inputs(const Call& call) {
  const Op& op = *call.op;
  std::map<std::string, DType> groups;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const InputSpec* spec = spec_of_input(op, i);
    if (!spec) return fail("takes {} inputs, but {} are given", op.inputs.size(), call.inputs.size());
    if (!call.inputs[i]) {
      if (!spec->optional) return fail("input '{}' is left out, but it is not optional", spec->name);
      continue;
    }
    const DType dtype = call.dtype(i);
    if (call.inputs[i]->from_values) {
      return fail("input '{}' has a shape that only values tell; nothing can be computed from it yet", spec->name);
    }
    if (!spec->types.has(dtype)) return fail("input '{}' cannot be {}", spec->name, name_of(dtype));
    if (spec->group.empty()) continue;
    const auto [known, first] = groups.emplace(spec->group, dtype);
    if (!first && known->second != dtype) {
      return fail("input '{}' is {}, but another input of the same type group is {}", spec->name, name_of(dtype),
                  name_of(known->second));
    }
  }
  for (std::size_t i = call.inputs.size(); i < op.inputs.size(); ++i) {
    if (!op.inputs[i].optional) return fail("input '{}' is missing", op.inputs[i].name);
  }
  return {};
}

// Turns a task into a graph: one pass over the nodes, which must come in an order that computes.
class Resolver {
 public:
  Resolver(const Task& task, const Lengths& lengths) : lengths_(lengths) { graph_.task = &task; }

  // An error of a node stands at the node's place, any other at the task's.
  Result<Graph> run() {
    const Task& task = *graph_.task;
    if (auto added = add_inputs(); !added.ok()) return at_task(added.error());
    find_wanted();
    for (const Node& node : task.nodes) {
      if (auto added = add_node(node); !added.ok()) return at(place_of(node), added.error());
    }
    if (auto added = add_outputs(); !added.ok()) return at_task(added.error());
    return std::move(graph_);
  }

 private:
  Error at_task(const Error& error) const { return graph_.task->place.empty() ? error : at(graph_.task->place, error); }

  Status add_inputs() {
    for (const Value& value : graph_.task->values) KW_CHECK(add_input(value));
    return {};
  }

  Status add_outputs() {
    if (graph_.task->outputs.empty()) return fail("the task has no output");
    for (const Output& output : graph_.task->outputs) {
      const auto found = slots_.find(output.name);
      if (found == slots_.end()) return fail("output '{}' is computed by no node", output.name);
      graph_.outputs.push_back(found->second);
      KW_CHECK(check_declared(output));
    }
    return {};
  }

  static std::string place_of(const Node& node) {
    const std::string what = node.name.empty() ? node.op : fmt::format("{} '{}'", node.op, node.name);
    return node.place.empty() ? what : node.place + ": " + what;
  }

  Status add_input(const Value& value) {
    auto shape = shape_of(value.lengths, lengths_);
    if (!shape.ok()) return at("'" + value.name + "'", shape.error());
    if (slots_.contains(value.name)) return fail("'{}' is declared twice", value.name);
    slots_[value.name] = new_slot(value.name, {value.dtype, *shape});
    graph_.inputs.push_back({value.name, value.role, {value.dtype, *shape}, &value});
    if (value.role == Role::constant) {
      KW_TRY(Tensor constant, constant_of(value, lengths_));
      KW_CHECK(check_values(value, constant, *shape));
      graph_.constants.push_back(std::move(constant));
      graph_.known.back() = &graph_.constants.back();
    } else if (value.role == Role::weight && value.constant.count() > 0) {
      KW_CHECK(check_values(value, value.constant, *shape));
      graph_.known.back() = &value.constant;
    }
    return {};
  }

  static Status check_values(const Value& value, const Tensor& values, const Shape& shape) {
    if (values.shape() == shape && values.dtype() == value.dtype) return {};
    return fail("'{}' is declared {} but has the values of {}", value.name, TensorType{value.dtype, shape}.text(),
                values.type().text());
  }

  void find_wanted() {
    for (const Node& node : graph_.task->nodes) wanted_.insert(node.inputs.begin(), node.inputs.end());
    for (const Output& output : graph_.task->outputs) wanted_.insert(output.name);
  }

  Status add_node(const Node& node) {
    GraphNode result;
    result.number = static_cast<int>(graph_.nodes.size());
    Call& call = result.call;
    call.op = find_op(node.op);
    call.opset = graph_.task->opset;
    call.precision = graph_.task->precision;
    if (!call.op) {
      std::vector<std::string> names;
      for (const Op& op : all_ops()) names.push_back(op.name);
      return fail("unknown operator{}", nearest_hint(node.op, names));
    }
    KW_TRY(call.attributes, complete_attributes(node, *call.op, lengths_));
    for (const std::string& name : node.inputs) KW_CHECK(add_operand(name, result));
    KW_CHECK(check_inputs(call));
    if (node.outputs.size() > call.op->outputs.size() && !call.op->outputs.back().variadic) {
      return fail("gives {} outputs, but {} are named", call.op->outputs.size(), node.outputs.size());
    }
    for (const std::string& name : node.outputs) {
      call.wanted.push_back(!name.empty() && wanted_.contains(name));
      KW_TRY(auto declared, declared_shape(name));
      call.declared.push_back(std::move(declared));
    }
    KW_TRY(Types types, call.op->infer(call));
    for (const TensorType& type : types) KW_CHECK(check_shape(type.shape));
    call.outputs = types;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) {
        result.outputs.push_back(-1);
        continue;
      }
      if (i >= types.size()) return fail("output {} does not exist for these inputs", i);
      if (slots_.contains(node.outputs[i])) return fail("'{}' is computed twice", node.outputs[i]);
      const int slot = new_slot(node.outputs[i], types[i]);
      slots_[node.outputs[i]] = slot;
      result.outputs.push_back(slot);
    }
    fold(result);
    graph_.nodes.push_back(std::move(result));
    return {};
  }

  Status add_operand(const std::string& name, GraphNode& node) {
    if (name.empty()) {
      node.inputs.push_back(-1);
      node.call.inputs.push_back(std::nullopt);
      node.call.constants.push_back(nullptr);
      return {};
    }
    const auto found = slots_.find(name);
    if (found == slots_.end()) return fail("uses '{}', which nothing before it declares or computes", name);
    const int slot = found->second;
    node.inputs.push_back(slot);
    node.call.inputs.push_back(graph_.types[static_cast<std::size_t>(slot)]);
    node.call.constants.push_back(graph_.known[static_cast<std::size_t>(slot)]);
    return {};
  }

  Result<std::optional<Shape>> declared_shape(const std::string& name) const {
    for (const Output& output : graph_.task->outputs) {
      if (output.name != name || !output.dtype) continue;
      KW_TRY(Shape shape, shape_of(output.lengths, lengths_));
      return std::optional<Shape>(std::move(shape));
    }
    return std::optional<Shape>();
  }

  Status check_declared(const Output& output) {
    if (!output.dtype) return {};
    KW_TRY(const Shape shape, shape_of(output.lengths, lengths_));
    const TensorType& type = graph_.types[static_cast<std::size_t>(graph_.outputs.back())];
    if (type.dtype == *output.dtype && type.shape == shape) return {};
    return fail("output '{}' is declared {} but the operators give {}", output.name,
                TensorType{*output.dtype, shape}.text(), type.text());
  }

  // A small result of constants alone is a constant too: models compute shapes that way.
  void fold(const GraphNode& node) {
    constexpr std::int64_t kMostElements = 4096;
    const Call& call = node.call;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const bool only_shape_counts = call.op->name == "Shape" || call.op->name == "Size";
      if (only_shape_counts || !call.inputs[i]) continue;
      if (!call.constants[i] || call.constants[i]->count() > kMostElements) return;
    }
    for (const TensorType& type : call.outputs) {
      if (type.from_values || type.shape.count() > kMostElements) return;
    }
    std::vector<WideTensor> inputs;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (call.constants[i]) {
        inputs.push_back(widen(*call.constants[i]));
      } else {
        inputs.emplace_back();
        if (call.inputs[i]) inputs.back().shape = call.shape(i);
      }
    }
    std::vector<const WideTensor*> pointers;
    for (std::size_t i = 0; i < inputs.size(); ++i) pointers.push_back(call.inputs[i] ? &inputs[i] : nullptr);
    std::vector<WideTensor> outputs(call.outputs.begin(), call.outputs.end());
    if (!call.op->reference(call, pointers, outputs).ok()) return;  // it will be reported when it is evaluated
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] < 0) continue;
      graph_.constants.push_back(narrow(outputs[i]));
      graph_.known[static_cast<std::size_t>(node.outputs[i])] = &graph_.constants.back();
    }
  }

  int new_slot(const std::string& name, TensorType type) {
    graph_.types.push_back(std::move(type));
    graph_.names.push_back(name);
    graph_.known.push_back(nullptr);
    return static_cast<int>(graph_.types.size()) - 1;
  }

  const Lengths& lengths_;
  Graph graph_;
  std::map<std::string, int> slots_;
  std::set<std::string> wanted_;
};

}  // namespace

Result<Graph> resolve(const Task& task) { return resolve(task, task.lengths); }

Result<Graph> resolve(const Task& task, const Lengths& lengths) { return Resolver(task, lengths).run(); }

namespace {

// A result in between that its own type cannot hold is an infinity for one kernel and a number for another that fuses
// the two operators: nothing is asked of what comes of it.
void free_beyond_range(WideTensor& tensor) {
  if (!is_float(tensor.dtype) || tensor.dtype == DType::float64) return;
  const double limit = largest_finite(tensor.dtype);
  for (std::size_t i = 0; i < tensor.reals.size(); ++i) {
    if (!std::isfinite(tensor.reals[i]) || std::fabs(tensor.reals[i]) <= limit) continue;
    tensor.add_slack();
    tensor.slack[i] = std::numeric_limits<double>::infinity();
  }
}

}  // namespace

Result<std::vector<WideTensor>> evaluate(const Graph& graph, std::span<const Tensor> inputs) {
  assert(inputs.size() == graph.inputs.size());
  std::vector<WideTensor> slots(graph.types.size());
  std::map<std::size_t, WideTensor> finished;  // the graph's outputs, as they are
  for (std::size_t i = 0; i < inputs.size(); ++i) slots[i] = widen(inputs[i]);
  for (const GraphNode& node : graph.nodes) {
    std::vector<const WideTensor*> in;
    for (int slot : node.inputs) in.push_back(slot < 0 ? nullptr : &slots[static_cast<std::size_t>(slot)]);
    std::vector<WideTensor> out;
    for (const TensorType& type : node.call.outputs) out.emplace_back(type);
    if (const Status done = node.call.op->reference(node.call, in, out); !done.ok()) {
      return at(node.call.op->name, done.error());
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] < 0) continue;
      const auto slot = static_cast<std::size_t>(node.outputs[i]);
      slots[slot] = std::move(out[i]);
      if (std::ranges::find(graph.outputs, node.outputs[i]) != graph.outputs.end()) finished[slot] = slots[slot];
      free_beyond_range(slots[slot]);
    }
  }
  std::vector<WideTensor> results;
  for (int slot : graph.outputs) {
    const auto found = finished.find(static_cast<std::size_t>(slot));
    results.push_back(found != finished.end() ? std::move(found->second) : slots[static_cast<std::size_t>(slot)]);
    for (double& slack : results.back().slack) slack *= graph.task->tolerance;
  }
  return results;
}

Cost cost_of(const Graph& graph) {
  Cost cost;
  for (const GraphNode& node : graph.nodes) cost.flops += node.call.op->flops(node.call);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) cost.written_bytes += bytes_of(graph.output_type(i));
  if (graph.nodes.size() == 1 && graph.nodes[0].call.op->bytes) {
    const Call& call = graph.nodes[0].call;
    const double bytes = call.op->bytes(call);
    cost.written_bytes = std::min(cost.written_bytes, bytes);
    cost.read_bytes = bytes - cost.written_bytes;
  } else {
    for (const GraphInput& input : graph.inputs) cost.read_bytes += bytes_of(input.type);
  }
  return cost;
}

Task task_of(const Op& op, const Sample& sample) {
  Task task;
  task.name = op.name;
  task.opset = std::max(task.opset, op.since);
  Node node;
  node.op = op.name;
  for (const auto& [name, value] : sample.attributes) node.attributes[name] = {value, {}};
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const Sample::Input& input = sample.inputs[i];
    if (!input.type) {
      node.inputs.emplace_back();
      continue;
    }
    Value value;
    value.name = fmt::format("in{}", i);
    value.dtype = input.type->dtype;
    for (std::int64_t length : input.type->shape) value.lengths.push_back({length, ""});
    if (input.constant) {
      value.role = Role::constant;
      value.constant = *input.constant;
    }
    node.inputs.push_back(value.name);
    task.values.push_back(std::move(value));
  }
  for (std::size_t i = 0; i < sample.outputs; ++i) {
    node.outputs.push_back(fmt::format("out{}", i));
    task.outputs.push_back({node.outputs.back(), std::nullopt, {}});
  }
  task.nodes.push_back(std::move(node));
  return task;
}

}  // namespace kw::ops
