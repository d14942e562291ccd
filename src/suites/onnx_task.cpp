#include "suites/onnx_task.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "ops/graph.h"

namespace kw::suites {
namespace {

// Values up to this size are carried along while shapes are inferred: shapes are computed from them.
constexpr std::int64_t kMostKnownElements = 4096;

// What is computed from initializers alone is computed here up to this size; a file may claim any.
constexpr std::int64_t kMostFoldedElements = std::int64_t{1} << 26;
constexpr double kMostFoldedFlops = 0x1p28;

// ----- Lengths

std::set<std::string> open_lengths(const OnnxValue& value) {
  std::set<std::string> names;
  if (!value.lengths) return names;
  for (const Length& length : *value.lengths) {
    if (!length.name.empty()) names.insert(length.name);
  }
  return names;
}

std::string flags_for(const std::set<std::string>& names) {
  std::string flags;
  for (const std::string& name : names) flags += fmt::format(" --dim {}=VALUE", name);
  return flags;
}

Status check_given(const std::set<std::string>& needed, const Lengths& dims) {
  std::set<std::string> missing;
  for (const std::string& name : needed) {
    if (!dims.contains(name)) missing.insert(name);
  }
  if (missing.empty()) return {};
  return fail("the model leaves {} open; give{}", missing.size() == 1 ? "a length" : "lengths", flags_for(missing));
}

// A name that the model does not have is a typing error, not a wish.
Status check_known(const OnnxModel& model, const Lengths& dims) {
  std::set<std::string> names;
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

// The type that the file gives a value; none if it leaves a part open.
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

// Why a value of the model cannot be used, where that is known before looking at lengths.
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

// Whether the shape rule of the operator reads the values of this input.
bool decides_shape(const Node& node, std::size_t input) {
  const ops::Op* op = ops::find_op(node.op);
  if (!op || op->inputs.empty()) return false;
  return op->inputs[std::min(input, op->inputs.size() - 1)].constant;
}

// Names by who gives them.
class Sources {
 public:
  explicit Sources(const OnnxModel& model) : model_(model) {
    for (std::size_t i = 0; i < model.nodes.size(); ++i) {
      for (const std::string& name : model.nodes[i].node.outputs) {
        if (!name.empty()) node_.emplace(name, i);
      }
    }
    for (const OnnxValue& input : model.inputs) input_.emplace(input.name, &input);
  }

  const OnnxModel& model() const { return model_; }
  const Tensor* initializer(const std::string& name) const {
    const auto found = model_.initializers.find(name);
    return found == model_.initializers.end() ? nullptr : &found->second;
  }
  const OnnxValue* input(const std::string& name) const {
    const auto found = input_.find(name);
    return found == input_.end() ? nullptr : found->second;
  }
  std::optional<std::size_t> node(const std::string& name) const {
    const auto found = node_.find(name);
    return found == node_.end() ? std::nullopt : std::optional(found->second);
  }
  // What the file says of a value that a node computes.
  const OnnxValue* stated(const std::string& name) const {
    if (const auto found = model_.values.find(name); found != model_.values.end()) return &found->second;
    const auto output = std::ranges::find(model_.outputs, name, &OnnxValue::name);
    return output == model_.outputs.end() ? nullptr : &*output;
  }

  // The nodes that these values need, in computing order. `enough` says of a node that one need not look behind it.
  template <class Enough>
  std::vector<std::size_t> nodes_behind(const std::vector<std::string>& names, Enough&& enough) const {
    std::set<std::size_t> found;
    std::vector<std::string> open = names;
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      const auto from = initializer(name) ? std::nullopt : node(name);
      if (!from || !found.insert(*from).second || enough(*from)) continue;
      const auto& inputs = model_.nodes[*from].node.inputs;
      open.insert(open.end(), inputs.begin(), inputs.end());
    }
    std::vector<std::size_t> sorted;
    std::ranges::copy_if(model_.order, std::back_inserter(sorted), [&](std::size_t i) { return found.contains(i); });
    return sorted;
  }

  Error nobody_gives(const std::string& name) const {
    if (const auto found = model_.unreadable.find(name); found != model_.unreadable.end()) {
      return fail("'{}' {}, which is not supported", name, found->second);
    }
    return fail("'{}' is given by nothing in the model", name);
  }

 private:
  const OnnxModel& model_;
  std::map<std::string, std::size_t> node_;
  std::map<std::string, const OnnxValue*> input_;
};

std::string unknown_operator(const std::string& op) {
  std::vector<std::string> names;
  for (const ops::Op& known : ops::all_ops()) names.push_back(known.name);
  return fmt::format("is an operator that is not known{}", nearest_hint(op, names));
}

// Why a node cannot be computed by our operators; empty: it can.
std::string why_not(const OnnxNode& node) {
  if (!node.unsupported.empty()) return node.unsupported;
  return ops::find_op(node.node.op) ? "" : unknown_operator(node.node.op);
}

// ----- Shapes

// Types, and values where they do not depend on the model's inputs, of everything that one node needs.
class Inference {
 public:
  Inference(const Sources& sources, const Lengths& dims) : sources_(sources), dims_(dims) {}

  // Of everything that goes into the node, and into what comes before.
  Status reach(std::size_t target) {
    const OnnxNode& wanted = sources_.model().nodes[target];
    const auto opaque = [&](std::size_t i) { return !why_not(sources_.model().nodes[i]).empty(); };
    const auto behind = sources_.nodes_behind(wanted.node.inputs, opaque);
    KW_CHECK(check_given(needed_lengths(wanted.node, behind), dims_));
    for (std::size_t i : behind) {
      const OnnxNode& node = sources_.model().nodes[i];
      const std::string reason = why_not(node);
      if (!reason.empty()) {
        trust_file(node.node, i, reason);
      } else if (const Status inferred = infer(node.node); !inferred.ok()) {
        trust_file(node.node, i, inferred.error().message);
      }
    }
    for (const std::string& name : wanted.node.inputs) KW_CHECK(add_given(name));
    return {};
  }

  const TensorType& type(const std::string& name) const { return types_.at(name); }
  // Null where the value is not known, or large.
  const Tensor* known(const std::string& name) const {
    const auto found = known_.find(name);
    return found == known_.end() ? nullptr : &found->second;
  }

 private:
  std::set<std::string> needed_lengths(const Node& wanted, const std::vector<std::size_t>& behind) const {
    std::set<std::string> needed;
    const auto add_inputs = [&](const Node& node) {
      for (const std::string& name : node.inputs) {
        if (const OnnxValue* input = sources_.input(name)) needed.merge(open_lengths(*input));
      }
    };
    add_inputs(wanted);
    for (std::size_t i : behind) {
      const OnnxNode& node = sources_.model().nodes[i];
      if (why_not(node).empty()) {
        add_inputs(node.node);
        continue;
      }
      for (const std::string& name : node.node.outputs) {
        if (const OnnxValue* stated = sources_.stated(name)) needed.merge(open_lengths(*stated));
      }
    }
    return needed;
  }

  // An initializer or an input of the model; results of nodes are there already.
  Status add_given(const std::string& name) {
    if (name.empty() || types_.contains(name)) return {};
    if (const auto found = blocked_.find(name); found != blocked_.end()) return Error{found->second};
    if (const Tensor* tensor = sources_.initializer(name)) {
      types_[name] = tensor->type();
      if (tensor->count() <= kMostKnownElements) known_.emplace(name, *tensor);
      return {};
    }
    const OnnxValue* input = sources_.input(name);
    if (!input) return sources_.nobody_gives(name);
    KW_CHECK(check_usable(*input));
    const auto type = stated_type(*input, dims_);
    if (!type) return fail("'{}' has more than 2^40 elements with these lengths", name);
    types_[name] = *type;
    return {};
  }

  // Where a node's results cannot be inferred, what the file says of them counts; what it does not say is an error for
  // those who need it.
  void trust_file(const Node& node, std::size_t index, const std::string& reason) {
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      const OnnxValue* stated = sources_.stated(name);
      if (const auto type = stated ? stated_type(*stated, dims_) : std::nullopt) {
        types_[name] = *type;
        continue;
      }
      std::string help = "run onnx.shape_inference on the model, or export it with shapes";
      if (stated && check_usable(*stated).ok()) help = "give" + flags_for(open_lengths(*stated));
      blocked_[name] = fmt::format("the shape of '{}' is not known, since {} stands before it ({}); {}", name,
                                   label(node, index), reason, help);
    }
  }

  // By the operator's own shape rule.
  Status infer(const Node& node) {
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

  const Sources& sources_;
  const Lengths& dims_;
  std::map<std::string, TensorType> types_;
  std::map<std::string, Tensor> known_;
  std::map<std::string, std::string> blocked_;  // what could not be found out, and why
};

// ----- Building tasks

// What the shape rules of these nodes read.
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

// A task of these nodes (in computing order): what none of them computes becomes an input, a weight or a constant.
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
    if (const std::string reason = why_not(node); !reason.empty()) {
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

bool is_cheap(const ops::Graph& graph) {
  std::int64_t elements = 0;
  for (const TensorType& type : graph.types) {
    if (type.shape.count() > kMostFoldedElements) return false;
    elements += type.shape.count();
  }
  return elements <= kMostFoldedElements && ops::cost_of(graph).flops <= kMostFoldedFlops;
}

// The value of a name that initializers alone decide (a transposed weight); none if an input does, or it costs much.
Result<std::optional<Tensor>> value_from_initializers(const Sources& sources, const std::string& name) {
  if (const Tensor* tensor = sources.initializer(name)) return std::optional<Tensor>(*tensor);
  bool depends = sources.input(name) != nullptr;
  const auto nodes = sources.nodes_behind({name}, [&](std::size_t i) {
    const OnnxNode& node = sources.model().nodes[i];
    depends = depends || !why_not(node).empty() ||
              std::ranges::any_of(node.node.inputs, [&](const auto& input) { return sources.input(input) != nullptr; });
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

// The outputs of a node that anything in the model uses; all of them if nothing does.
std::vector<std::string> used_outputs(const OnnxModel& model, const Node& node) {
  std::set<std::string> used;
  for (const OnnxValue& output : model.outputs) used.insert(output.name);
  for (const OnnxNode& other : model.nodes) used.insert(other.node.inputs.begin(), other.node.inputs.end());
  std::vector<std::string> all;
  std::ranges::copy_if(node.outputs, std::back_inserter(all), [](const auto& name) { return !name.empty(); });
  std::vector<std::string> wanted;
  std::ranges::copy_if(all, std::back_inserter(wanted), [&](const auto& name) { return used.contains(name); });
  return wanted.empty() ? all : wanted;
}

// Which lengths a one-node task leaves open: those that change when an open length of the model does. Shapes are
// inferred again with other values of each; axes and constants' elements that always agree are one length of the task.
// It is called as the model calls it where it is the same, and by how it follows from it (`height/2`) where it is not.
// Then it is a length of its own: the node takes more shapes than the model gives it.
class LengthNames {
 public:
  LengthNames(const Sources& sources, std::size_t node, const Lengths& dims, const Inference& base, Task& task)
      : sources_(sources), node_(node), base_(base), task_(task) {
    worlds_.push_back(dims);
    for (const auto& [name, value] : dims) add_worlds(name, value);
  }

  void give() {
    std::map<Seen, std::vector<Length*>> together;
    for (Place& place : places()) {
      const bool moves = std::ranges::any_of(place.seen, [&](std::int64_t one) { return one != place.seen[0]; });
      if (moves) together[place.seen].push_back(place.length());
    }
    for (const auto& [seen, lengths] : together) open(name_of(seen), seen[0], lengths);
    for (Value& value : task_.values) {
      if (std::ranges::all_of(value.elements, [](const Length& one) { return one.name.empty(); })) {
        value.elements.clear();
      }
    }
  }

 private:
  using Seen = std::vector<std::int64_t>;  // one value in each world

  struct Place {
    Value* value;
    std::size_t at;
    bool element;  // of a constant; else an axis
    Seen seen;

    Length* length() {
      if (!element) return &value->lengths[at];
      if (value->elements.empty()) {
        for (std::int64_t one : value->constant.integers()) value->elements.push_back({one, ""});
      }
      return &value->elements[at];
    }
  };

  // Other values of one open length that the nodes before accept and that leave everything else as it is.
  void add_worlds(const std::string& name, std::int64_t value) {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (value > kMost) return;
    for (const std::int64_t other : {value + 1, value + 7, 2 * value, 3 * value}) {
      Lengths moved = worlds_[0];
      moved[name] = other;
      Inference inference(sources_, moved);
      if (other == value || !inference.reach(node_).ok() || !comparable(inference)) continue;
      worlds_.push_back(moved);
      inferences_.push_back(seen_in(inference));
    }
  }

  // Whether nothing but lengths and elements of integer constants differs.
  bool comparable(const Inference& moved) const {
    return std::ranges::all_of(task_.values, [&](const Value& value) {
      if (base_.type(value.name).shape.rank() != moved.type(value.name).shape.rank()) return false;
      const Tensor* known = moved.known(value.name);
      if (value.role == Role::input || known == nullptr) {
        return value.constant.count() == 0 || moved.type(value.name) == base_.type(value.name);
      }
      if (known->type() != value.constant.type()) return false;
      return has_lengths(value) || std::ranges::equal(known->bytes(), value.constant.bytes());
    });
  }

  static bool has_lengths(const Value& value) {
    return value.role == Role::constant && !is_float(value.constant.dtype());
  }

  // All axes, and all elements of integer constants, in the task's order.
  Seen seen_in(const Inference& inference) const {
    Seen all;
    for (const Value& value : task_.values) {
      for (const std::int64_t length : inference.type(value.name).shape) all.push_back(length);
      const Tensor* known = inference.known(value.name);
      for (std::int64_t i = 0; has_lengths(value) && i < value.constant.count(); ++i) {
        all.push_back(known != nullptr ? known->integer(i) : value.constant.integer(i));
      }
    }
    return all;
  }

  std::vector<Place> places() {
    std::vector<Place> all;
    for (Value& value : task_.values) {
      for (std::size_t axis = 0; axis < value.lengths.size(); ++axis) all.push_back({&value, axis, false, {}});
      const auto elements = has_lengths(value) ? static_cast<std::size_t>(value.constant.count()) : 0;
      for (std::size_t i = 0; i < elements; ++i) all.push_back({&value, i, true, {}});
    }
    const Seen own = seen_in(base_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].seen.push_back(own[i]);
      for (const Seen& moved : inferences_) all[i].seen.push_back(moved[i]);
    }
    return all;
  }

  Seen values_of(const std::string& name) const {
    Seen seen;
    for (const Lengths& world : worlds_) seen.push_back(world.at(name));
    return seen;
  }

  // "height", "height/2", "2*height", "height+1", "height*width"; where none of these fits, the lengths that it goes
  // by.
  std::string name_of(const Seen& seen) const {
    constexpr std::int64_t kMostFactor = 64;
    std::string from;
    for (const auto& [name, value] : worlds_[0]) {
      const Seen of = values_of(name);
      const auto is = [&](auto&& rule) {
        for (std::size_t i = 0; i < of.size(); ++i) {
          if (seen[i] != rule(of[i])) return false;
        }
        return true;
      };
      if (seen == of) return name;
      for (std::int64_t k = 2; k <= kMostFactor; ++k) {
        if (is([k](auto v) { return v / k; }) || is([k](auto v) { return (v + k - 1) / k; })) {
          return fmt::format("{}/{}", name, k);
        }
        if (is([k](auto v) { return v * k; })) return fmt::format("{}*{}", k, name);
      }
      const std::int64_t more = seen[0] - of[0];
      if (is([more](auto v) { return v + more; })) return fmt::format("{}{:+}", name, more);
      for (const auto& [other, ignored] : worlds_[0]) {
        const Seen factors = values_of(other);
        bool product = true;
        for (std::size_t i = 0; i < of.size(); ++i) product = product && seen[i] == of[i] * factors[i];
        if (product) return fmt::format("{}*{}", name, other);
      }
      for (std::size_t i = 1; i < of.size(); ++i) {
        if (of[i] == of[0] || seen[i] == seen[0]) continue;
        from += (from.empty() ? "by " : ", ") + name;
        break;
      }
    }
    return from;
  }

  // Unless the node takes no other value of it while all others stay.
  void open(std::string name, std::int64_t value, const std::vector<Length*>& lengths) {
    while (task_.lengths.contains(name)) name += "'";
    for (Length* length : lengths) length->name = name;
    task_.lengths[name] = value;
    for (const std::int64_t other : {value + 1, value + 7, 2 * value, value / 2}) {
      Lengths moved = task_.lengths;
      moved[name] = other;
      if (other != value && ops::resolve(task_, moved).ok()) return;
    }
    for (Length* length : lengths) length->name.clear();
    task_.lengths.erase(name);
  }

  const Sources& sources_;
  std::size_t node_;
  const Inference& base_;
  Task& task_;
  std::vector<Lengths> worlds_;   // of the model's lengths; the first is the one asked for
  std::vector<Seen> inferences_;  // what the node sees in each of the others
};

// ----- Selecting

std::optional<std::size_t> number_in(std::string_view selector) {
  if (selector.starts_with('#')) selector.remove_prefix(1);
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(selector.data(), selector.data() + selector.size(), number);
  if (error != std::errc() || end != selector.data() + selector.size()) return std::nullopt;
  return number;
}

Result<std::size_t> select(const OnnxModel& model, std::string_view selector) {
  std::vector<std::size_t> named;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    const Node& node = model.nodes[i].node;
    if (!selector.empty() && node.name == selector) named.push_back(i);
    if (!node.name.empty()) names.push_back(node.name);
    names.insert(names.end(), node.outputs.begin(), node.outputs.end());
  }
  if (named.size() == 1) return named.front();
  if (named.size() > 1) {
    return fail("{} nodes are named '{}': #{}, #{}{}; give the number", named.size(), selector, named[0], named[1],
                named.size() > 2 ? ", ..." : "");
  }
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    const auto& outputs = model.nodes[i].node.outputs;
    if (!selector.empty() && std::ranges::find(outputs, selector) != outputs.end()) return i;
  }
  if (model.nodes.empty()) return fail("the model has no nodes");
  if (const auto number = number_in(selector); number && *number < model.nodes.size()) return *number;
  return fail("no node '{}': give a node's name, one of its outputs, or a number from #0 to #{}{}", selector,
              model.nodes.size() - 1, nearest_hint(selector, names));
}

Result<Task> task_of_node(const Sources& sources, std::size_t index, const Lengths& dims) {
  const OnnxNode& node = sources.model().nodes[index];
  if (const std::string reason = why_not(node); !reason.empty()) return fail("{}", reason);
  Inference inference(sources, dims);
  KW_CHECK(inference.reach(index));
  Task task;
  task.opset = sources.model().opset;
  task.nodes = {node.node};
  std::set<std::string> there;
  for (std::size_t k = 0; k < node.node.inputs.size(); ++k) {
    const std::string& name = node.node.inputs[k];
    if (name.empty() || !there.insert(name).second) continue;
    const Role role = decides_shape(node.node, k) ? Role::constant : Role::weight;
    if (const Tensor* known = inference.known(name)) {
      task.values.push_back(value_of_tensor(name, role, *known));
      continue;
    }
    KW_TRY(const auto values, value_from_initializers(sources, name));
    task.values.push_back(values ? value_of_tensor(name, role, *values) : value_of_type(name, inference.type(name)));
  }
  for (const std::string& name : used_outputs(sources.model(), node.node)) {
    task.outputs.push_back({name, std::nullopt, {}});
  }
  if (ops::resolve(task).ok()) {
    LengthNames(sources, index, dims, inference, task).give();
    return task;
  }
  // Some shape rules cannot tell (Range): then the file's word is declared, if it has one.
  for (Output& output : task.outputs) {
    const OnnxValue* stated = sources.stated(output.name);
    const auto type = stated ? stated_type(*stated, dims) : std::nullopt;
    if (!type) continue;
    output.dtype = type->dtype;
    output.lengths = fixed_lengths(type->shape);
  }
  if (const auto graph = ops::resolve(task); !graph.ok()) return graph.error();
  return task;
}

std::string task_name(const OnnxModel& model, const std::string& node) {
  return fmt::format("{}:{}", std::filesystem::path(model.place).filename().string(), node);
}

}  // namespace

Result<Task> task_from_node(const OnnxModel& model, std::string_view selector, const Lengths& dims) {
  if (auto known = check_known(model, dims); !known.ok()) return at(model.place, known.error());
  const auto index = select(model, selector);
  if (!index.ok()) return at(model.place, index.error());
  const Node& node = model.nodes[*index].node;
  auto task = task_of_node(Sources(model), *index, dims);
  if (!task.ok()) return at(fmt::format("{}: {}", model.place, label(node, *index)), task.error());
  task->name = task_name(model, node.name.empty() ? fmt::format("#{}", *index) : node.name);
  return task;
}

Result<Task> task_from_model(const OnnxModel& model, const Lengths& dims) {
  if (auto known = check_known(model, dims); !known.ok()) return at(model.place, known.error());
  std::vector<std::size_t> nodes;
  std::ranges::copy_if(model.order, std::back_inserter(nodes), [&](std::size_t i) {
    return std::ranges::none_of(model.nodes[i].node.outputs,
                                [&](const auto& name) { return model.initializers.contains(name); });
  });
  std::vector<std::string> outputs;
  for (const OnnxValue& output : model.outputs) outputs.push_back(output.name);
  auto task = task_of_nodes(Sources(model), nodes, dims, outputs);
  if (!task.ok()) return at(model.place, task.error());
  task->name = std::filesystem::path(model.place).stem().string();
  return task;
}

}  // namespace kw::suites
