#include "models/standalone_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "compose/outside_text.h"
#include "models/groups.h"
#include "runs/drafts.h"

namespace kw::models {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kMostWeights = std::int64_t{1} << 30;  // what a program can hold in itself
constexpr std::size_t kMostNamed = 5;                         // nodes in one message

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

class Planner {
 public:
  Planner(const Model& model, const std::string& device) : model_(model), device_(device) {}

  Result<StandalonePlan> plan(const std::vector<Unit>& found) {
    KW_TRY(techniques_, runs::techniques_for(device_));
    find_needed();
    KW_CHECK(check_nodes());
    KW_CHECK(form_units(found));
    KW_CHECK(order_units());
    KW_CHECK(add_outside());
    for (const Unit& unit : units_) KW_CHECK(add(unit));
    KW_CHECK(finish_outputs());
    share();
    if (static_cast<std::int64_t>(plan_.weights.size()) > kMostWeights) {
      return fail("{}: it has {} MB of weights; a program without a framework holds 1 GB at most",
                  model_.file().string(), plan_.weights.size() >> 20);
    }
    return std::move(plan_);
  }

 private:
  // Whether its value does not depend on the model's inputs; finding that out may mean computing it.
  bool is_known(const std::string& value) {
    const auto [place, is_new] = known_.emplace(value, false);
    if (is_new) place->second = model_.tasks().is_constant(value);
    return place->second;
  }

  // Nodes that the model's outputs depend on, and whose results are not known beforehand.
  void find_needed() {
    needed_.assign(model_.count(), false);
    std::vector<std::string> open;
    for (const suites::OnnxValue& output : model_.onnx().outputs) open.push_back(output.name);
    while (!open.empty()) {
      const std::string value = std::move(open.back());
      open.pop_back();
      if (value.empty() || is_known(value)) continue;
      const auto from = model_.producer(value);
      if (!from || needed_[*from]) continue;
      needed_[*from] = true;
      for (const std::string& input : model_.node(*from).inputs) open.push_back(input);
    }
  }

  // Lists everything that cannot be expressed, in one message.
  Status check_nodes() {
    std::vector<std::string> obstacles;
    for (std::size_t i = 0; i < model_.count(); ++i) {
      if (!needed_[i]) continue;
      if (std::string why = obstacle(i); !why.empty()) {
        obstacles.push_back(fmt::format("{}: {}", compose::remark(suites::label(model_.node(i), i)), why));
      }
    }
    if (obstacles.empty()) return {};
    std::string text = fmt::format("{}: {} of its nodes cannot be computed without the runtime", model_.file().string(),
                                   obstacles.size());
    for (std::size_t i = 0; i < std::min(obstacles.size(), kMostNamed); ++i) text += "\n  " + obstacles[i];
    if (obstacles.size() > kMostNamed) text += fmt::format("\n  and {} more", obstacles.size() - kMostNamed);
    return Error{text};
  }

  std::string obstacle(std::size_t i) const {
    if (std::string why = model_.tasks().why_not(i); !why.empty()) return why;
    for (const std::string& output : model_.node(i).outputs) {
      if (output.empty()) continue;
      const TensorType* type = model_.tasks().type(output);
      if (type == nullptr) return "the type of its result is not known";
      if (type->from_values) return "the shape of its result depends on values";
      if (type->shape.rank() > 8) return "its result has more than 8 axes";
    }
    const auto task = model_.tasks().task({i});
    return task.ok() ? "" : task.error().message;
  }

  // Whether it gives its first input out again, byte by byte.
  bool only_reshapes(std::size_t i) const {
    static const std::set<std::string> kOps = {"Reshape",  "Squeeze",   "Unsqueeze", "Flatten",
                                               "Identity", "Transpose", "Cast",      "Dropout"};
    const Node& node = model_.node(i);
    if (!kOps.contains(node.op) || node.inputs.empty()) return false;
    for (std::size_t k = 1; k < node.outputs.size(); ++k) {
      if (!node.outputs[k].empty() && (!model_.readers(node.outputs[k]).empty() || model_.leaves(node.outputs[k])))
        return false;
    }
    const TensorType *in = model_.tasks().type(node.inputs[0]), *out = model_.tasks().type(node.outputs[0]);
    if (in == nullptr || out == nullptr || in->dtype != out->dtype) return false;
    if (node.op == "Dropout" && node.inputs.size() > 2 && !node.inputs[2].empty()) return false;  // it may be training
    if (node.op != "Transpose") return in->shape.count() == out->shape.count();
    // Axes of one element may change places; of others the order must be the same.
    const auto found = node.attributes.find("perm");
    if (found == node.attributes.end()) return false;
    const auto* perm = std::get_if<std::vector<std::int64_t>>(&found->second.value);
    if (perm == nullptr) return false;
    std::vector<std::int64_t> moved;
    for (const std::int64_t axis : *perm) {
      if (axis < 0 || axis >= in->shape.rank()) return false;
      if (in->shape[static_cast<int>(axis)] != 1) moved.push_back(axis);
    }
    return std::ranges::is_sorted(moved);
  }

  Status form_units(const std::vector<Unit>& found) {
    std::vector<bool> taken(model_.count(), false);
    // Nodes that no unit has taken and that are needed. A node that nothing reads may be part of a unit that has its
    // inputs anyway.
    const auto is_free = [&](const std::vector<std::size_t>& nodes) {
      const std::set<std::size_t> inside(nodes.begin(), nodes.end());
      const auto is_there = [&](const std::string& input) {
        const auto from = input.empty() || is_known(input) ? std::nullopt : model_.producer(input);
        return !from || needed_[*from] || inside.contains(*from);
      };
      return std::ranges::any_of(nodes, [&](std::size_t i) { return needed_[i]; }) &&
             std::ranges::all_of(nodes, [&](std::size_t i) {
               return !taken[i] && (needed_[i] || std::ranges::all_of(model_.node(i).inputs, is_there));
             });
    };
    const auto take = [&](Unit unit) {
      for (const std::size_t i : unit.nodes) taken[i] = true;
      units_.push_back(std::move(unit));
    };
    for (std::size_t i = 0; i < model_.count(); ++i) {
      if (!needed_[i] || only_reshapes(i)) continue;
      for (const Unit& unit : found) {
        if (unit.nodes.front() == i && is_free(unit.nodes)) take(unit);
      }
    }
    for (const Unit& unit : found) {  // those that begin with what only reshapes
      if (is_free(unit.nodes)) take(unit);
    }
    KW_TRY(std::vector<Fit> fits, fits_of(model_, device_));
    for (std::size_t i = 0; i < model_.count(); ++i) {
      if (taken[i] || !needed_[i] || only_reshapes(i)) fits[i] = Fit::none;
    }
    for (const Group& group : form_groups(model_, fits)) {
      if (is_free(group.nodes)) take({group.nodes, {}, {}});
    }
    for (std::size_t i = 0; i < model_.count(); ++i) {
      if (needed_[i] && !taken[i]) take({{i}, {}, {}});
    }
    return {};
  }

  // Orders units so that each follows the ones it reads. Units that wait for each other are split.
  Status order_units() {
    for (;;) {
      std::vector<Unit> sorted;
      std::vector<bool> done(units_.size(), false);
      std::set<std::size_t> computed;
      const auto is_ready = [&](const Unit& unit) {
        const std::set<std::size_t> inside(unit.nodes.begin(), unit.nodes.end());
        return std::ranges::all_of(unit.nodes, [&](std::size_t i) {
          return std::ranges::all_of(model_.node(i).inputs, [&](const std::string& input) {
            const auto from = input.empty() || is_known(input) ? std::nullopt : model_.producer(input);
            return !from || inside.contains(*from) || computed.contains(*from);
          });
        });
      };
      for (bool more = true; more;) {
        more = false;
        for (std::size_t u = 0; u < units_.size(); ++u) {
          if (done[u] || !is_ready(units_[u])) continue;
          done[u] = more = true;
          computed.insert(units_[u].nodes.begin(), units_[u].nodes.end());
          sorted.push_back(units_[u]);
        }
      }
      if (sorted.size() == units_.size()) {
        units_ = std::move(sorted);
        return {};
      }
      // The smallest of several nodes among those that wait.
      std::size_t smallest = units_.size();
      for (std::size_t u = 0; u < units_.size(); ++u) {
        if (done[u] || units_[u].nodes.size() < 2) continue;
        if (smallest == units_.size() || units_[u].nodes.size() < units_[smallest].nodes.size()) smallest = u;
      }
      if (smallest == units_.size()) return fail("{}: its nodes wait for one another", model_.file().string());
      const std::vector<std::size_t> nodes = units_[smallest].nodes;
      units_.erase(units_.begin() + static_cast<std::ptrdiff_t>(smallest));
      for (const std::size_t i : nodes) units_.push_back({{i}, {}, {}});
    }
  }

  int add_tensor(PlannedTensor tensor) {
    const int number = static_cast<int>(plan_.tensors.size());
    tensor_of_[tensor.name] = number;
    plan_.tensors.push_back(std::move(tensor));
    root_.push_back(number);
    return number;
  }

  Status add_outside() {
    for (const auto& [name, type] : model_.tasks().inputs()) {
      if (type.shape.rank() > 8) return fail("{}: '{}' has more than 8 axes", model_.file().string(), name);
      const auto number = static_cast<std::int64_t>(plan_.inputs.size());
      plan_.inputs.push_back(
          add_tensor({.place = PlannedTensor::Place::input, .name = name, .type = type, .at = number}));
    }
    std::set<std::string> names;
    for (const suites::OnnxValue& output : model_.onnx().outputs) {
      if (!names.insert(output.name).second) {
        return fail("{}: two of its outputs are called '{}'", model_.file().string(), output.name);
      }
      const TensorType* type = model_.tasks().type(output.name);
      if (type == nullptr)
        return fail("{}: the type of its output '{}' is not known", model_.file().string(), output.name);
      const auto number = static_cast<std::int64_t>(plan_.outputs.size());
      plan_.outputs.push_back(static_cast<int>(plan_.tensors.size()));
      root_.push_back(static_cast<int>(plan_.tensors.size()));
      plan_.tensors.push_back(
          {.place = PlannedTensor::Place::output, .name = output.name, .type = *type, .at = number});
    }
    return {};
  }

  int constant(const Value& value) {
    const std::string name = value.name;
    if (const auto found = tensor_of_.find(name); found != tensor_of_.end()) return found->second;
    const auto bytes = value.constant.bytes();
    plan_.weights.resize(static_cast<std::size_t>(aligned(static_cast<std::int64_t>(plan_.weights.size()))), '\0');
    const auto at = static_cast<std::int64_t>(plan_.weights.size());
    plan_.weights.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return add_tensor({.place = PlannedTensor::Place::constant, .name = name, .type = value.constant.type(), .at = at});
  }

  Status add(const Unit& unit) {
    if (unit.nodes.size() == 1 && unit.kernel.source.empty() && only_reshapes(unit.nodes[0])) {
      const Node& node = model_.node(unit.nodes[0]);
      if (add_alias(node.inputs[0], node.outputs[0])) return {};
    }
    KW_TRY(Task task, model_.tasks().task(unit.nodes));
    PlannedUnit planned;
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(unit.nodes.size(), 3); ++i) {
      names += (i == 0 ? "" : ", ") + model_.node(unit.nodes[i]).op;
    }
    planned.about = unit.nodes.size() > 3 ? fmt::format("{} and {} more", names, unit.nodes.size() - 3) : names;
    for (const Value& value : task.values) {
      if (value.role != Role::input) {
        planned.inputs.push_back(constant(value));
        continue;
      }
      const auto found = tensor_of_.find(value.name);
      if (found == tensor_of_.end()) return fail("{}: nothing computes '{}'", model_.file().string(), value.name);
      planned.inputs.push_back(found->second);
    }
    for (const Output& output : task.outputs) {
      const TensorType* type = model_.tasks().type(output.name);
      planned.outputs.push_back(add_tensor({.name = output.name, .type = *type}));
    }
    KW_TRY(planned.kernel, kernel_of(unit, std::move(task)));
    plan_.units.push_back(std::move(planned));
    return {};
  }

  // The same memory under another name and shape.
  bool add_alias(const std::string& from, const std::string& to) {
    const auto found = tensor_of_.find(from);
    if (found == tensor_of_.end()) return false;
    const int source = found->second;
    const int made = add_tensor({.name = to, .type = *model_.tasks().type(to)});
    root_.back() = root_[static_cast<std::size_t>(source)];
    plan_.tensors[static_cast<std::size_t>(made)].place = plan_.tensors[static_cast<std::size_t>(source)].place;
    plan_.tensors[static_cast<std::size_t>(made)].at = plan_.tensors[static_cast<std::size_t>(source)].at;
    return true;
  }

  Result<int> kernel_of(const Unit& unit, Task task) {
    std::string key = unit.kind.empty() ? model_.signature(unit.nodes) : "kind " + unit.kind;
    if (key.empty()) key = fmt::format("unit {}", plan_.kernels.size());
    const auto [place, is_new] = kernel_of_.emplace(key, static_cast<int>(plan_.kernels.size()));
    if (!is_new) return place->second;
    PlannedKernel made{.symbol = {}, .task = std::move(task), .kernel = unit.kernel};
    std::string name;
    for (std::size_t i = 0; i < std::min<std::size_t>(unit.nodes.size(), 3); ++i)
      name += model_.node(unit.nodes[i]).op + "_";
    made.symbol = compose::file_stem(fmt::format("kernel_{}{}", name, plan_.kernels.size()));
    if (made.kernel.source.empty()) {
      KW_TRY(const ops::Graph graph, ops::resolve(made.task));
      KW_TRY(std::vector<compose::Draft> drafts, runs::drafts_for(device_, graph, techniques_));
      made.kernel.technique = drafts.front().technique;
      made.kernel.source = std::move(drafts.front().source);
      made.kernel.settings = {};
    }
    plan_.kernels.push_back(std::move(made));
    return place->second;
  }

  // What the model gives out: made where it is wanted, or copied there.
  Status finish_outputs() {
    for (const int output : plan_.outputs) {
      const std::string& name = plan_.tensors[static_cast<std::size_t>(output)].name;
      int from = -1;
      if (const auto found = tensor_of_.find(name); found != tensor_of_.end()) {
        from = found->second;
      } else {
        KW_TRY(const Task task, known_output(name));
        from = constant(task.values[0]);
      }
      const int root = root_[static_cast<std::size_t>(from)];
      if (plan_.tensors[static_cast<std::size_t>(root)].place != PlannedTensor::Place::memory) {
        plan_.units.push_back({.kernel = -1, .inputs = {from}, .outputs = {output}, .about = "a copy"});
        continue;
      }
      for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
        if (root_[i] != root) continue;
        plan_.tensors[i].place = PlannedTensor::Place::output;
        plan_.tensors[i].at = plan_.tensors[static_cast<std::size_t>(output)].at;
      }
    }
    return {};
  }

  // An output that does not depend on the inputs, as the constant of a task that passes it on.
  Result<Task> known_output(const std::string& name) const {
    const auto found = model_.onnx().initializers.find(name);
    const auto from = model_.producer(name);
    if (found == model_.onnx().initializers.end()) {
      return fail("{}: its output '{}' is always the same and was not computed{}", model_.file().string(), name,
                  from ? "" : ": nothing makes it");
    }
    Task task;
    Value value;
    value.name = name;
    value.role = Role::weight;
    value.constant = found->second;
    task.values.push_back(std::move(value));
    return task;
  }

  void share() {
    std::map<int, Lifetime> lives;
    for (std::size_t u = 0; u < plan_.units.size(); ++u) {
      for (const auto* list : {&plan_.units[u].inputs, &plan_.units[u].outputs}) {
        for (const int tensor : *list) {
          const int root = root_[static_cast<std::size_t>(tensor)];
          if (plan_.tensors[static_cast<std::size_t>(root)].place != PlannedTensor::Place::memory) continue;
          Lifetime& life =
              lives.emplace(root, Lifetime{plan_.tensors[static_cast<std::size_t>(root)].type.bytes(), u, u})
                  .first->second;
          life.last = u;
        }
      }
    }
    std::vector<Lifetime> all;
    for (const auto& [root, life] : lives) {
      all.push_back(life);
      plan_.unshared_bytes += aligned(life.bytes);
    }
    std::vector<std::int64_t> places;
    plan_.memory_bytes = share_memory(all, places);
    std::size_t next = 0;
    for (const auto& [root, life] : lives) {
      const std::int64_t place = places[next++];
      for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
        if (root_[i] == root) plan_.tensors[i].at = place;
      }
    }
  }

  const Model& model_;
  const std::string& device_;
  std::vector<compose::Technique> techniques_;
  std::vector<bool> needed_;  // of each node
  std::vector<Unit> units_;
  StandalonePlan plan_;
  std::vector<int> root_;  // of each tensor: the first one in the same memory
  std::map<std::string, bool> known_;
  std::map<std::string, int> tensor_of_;
  std::map<std::string, int> kernel_of_;
};

}  // namespace

std::int64_t share_memory(const std::vector<Lifetime>& all, std::vector<std::int64_t>& places) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return all[i].bytes; });
  places.assign(all.size(), 0);
  std::vector<std::size_t> placed;  // by where they begin
  std::int64_t most = 0;
  for (const std::size_t i : order) {
    std::int64_t at = 0;
    for (const std::size_t other : placed) {
      if (all[other].last < all[i].first || all[i].last < all[other].first) continue;
      if (places[other] >= at + all[i].bytes) break;
      at = std::max(at, aligned(places[other] + all[other].bytes));
    }
    places[i] = at;
    most = std::max(most, aligned(at + all[i].bytes));
    placed.insert(std::ranges::upper_bound(placed, at, {}, [&](std::size_t k) { return places[k]; }), i);
  }
  return most;
}

Result<StandalonePlan> standalone_plan(const Model& model, const std::vector<Unit>& found, const std::string& device) {
  return Planner(model, device).plan(found);
}

}  // namespace kw::models
