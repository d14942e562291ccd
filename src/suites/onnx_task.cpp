#include "suites/onnx_task.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "ops/graph.h"
#include "suites/onnx_inference.h"

namespace kw::suites {
namespace {

// The outputs of a node that anything in the model uses; all of them if nothing does.
std::vector<std::string> used_outputs(const OnnxModel& model, const Node& node) {
  std::set<std::string> used = model.given_to_owners;
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
  if (const std::string reason = obstacle_to(node); !reason.empty()) return fail("{}", reason);
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
