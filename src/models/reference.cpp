#include "models/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "base/files.h"
#include "base/units.h"
#include "ops/graph.h"
#include "suites/onnx_inference.h"

namespace kw::models {
namespace {

using ops::WideTensor;

constexpr double kMostFlops = 6e10;         // some minutes
constexpr std::int64_t kMostTurns = 10000;  // of a loop
constexpr std::int64_t kMostDeciding = 64;  // elements of an input whose values decide a shape
constexpr std::size_t kAligned = 64;        // of the tensors in inputs.bin

class WideRun {
 public:
  explicit WideRun(const Model& model) : model_(model), of_scope_(model.onnx().scopes.size()) {
    for (const std::size_t i : model.onnx().order) {
      const auto& outputs = model.node(i).outputs;
      const bool is_constant = std::ranges::any_of(outputs, [&](const auto& name) { return initializer(name); });
      if (!is_constant) of_scope_[model.scope(i)].push_back(i);
    }
  }

  void give(const std::string& name, WideTensor value) { values_[name] = std::move(value); }

  // The nodes of a scope, and of those inside of them as they are chosen.
  Status run(std::size_t scope) {
    const std::vector<std::size_t>& nodes = of_scope_[scope];
    std::map<std::size_t, std::vector<std::string>> last_use = scope == 0 ? last_uses() : decltype(last_uses())();
    for (const std::size_t i : nodes) {
      if (const Status done = run_node(i); !done.ok()) return done;
      for (const std::string& name : last_use[i]) values_.erase(name);
    }
    return {};
  }

  Result<WideTensor> value(const std::string& name) const {
    if (const auto found = values_.find(name); found != values_.end()) return found->second;
    if (const Tensor* tensor = initializer(name)) return ops::widen(*tensor);
    return fail("'{}' is given by nothing in the model", name);
  }

 private:
  const Tensor* initializer(const std::string& name) const {
    const auto found = model_.onnx().initializers.find(name);
    return found == model_.onnx().initializers.end() ? nullptr : &found->second;
  }

  // Of the model's own nodes, the values that nothing reads after each.
  std::map<std::size_t, std::vector<std::string>> last_uses() const {
    std::map<std::string, std::size_t> last;
    for (const std::size_t i : of_scope_[0]) {
      const auto reads = [&](std::size_t node) {
        for (const std::string& name : model_.node(node).inputs) last[name] = i;
      };
      reads(i);
      for (const std::size_t inner : model_.inside(i)) reads(inner);
    }
    std::map<std::size_t, std::vector<std::string>> after;
    for (const auto& [name, node] : last) {
      if (!model_.leaves(name)) after[node].push_back(name);
    }
    return after;
  }

  Status run_node(std::size_t i) {
    const Node& node = model_.node(i);
    const auto named = [&](const Error& error) { return at(suites::label(node, i), error); };
    if (node.op == "If" || node.op == "Loop") {
      const Status done = node.op == "If" ? branch(i) : loop(i);
      return done.ok() ? done : named(done.error());
    }
    if (const std::string why = model_.tasks().why_not(i); !why.empty()) return named(fail("{}", why));
    const Status done = compute(node);
    return done.ok() ? done : named(done.error());
  }

  // A node alone, with the types and shapes that the values have.
  Status compute(const Node& node) {
    Task task;
    task.opset = model_.onnx().opset;
    task.nodes = {node};
    std::map<std::string, WideTensor> given;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const std::string& name = node.inputs[k];
      if (name.empty() || given.contains(name)) continue;
      KW_TRY(WideTensor wide, value(name));
      bool decides = wide.count() <= kMostDeciding;  // as the limits of a Range do
      for (std::size_t input = k; input < node.inputs.size(); ++input) {
        decides = decides || (node.inputs[input] == name && suites::decides_shape(node, input));
      }
      task.values.push_back(decides ? suites::value_of_tensor(name, Role::constant, ops::narrow(wide))
                                    : suites::value_of_type(name, {wide.dtype, wide.shape}));
      given.emplace(name, std::move(wide));
    }
    for (const std::string& name : node.outputs) {
      if (!name.empty()) task.outputs.push_back({name, std::nullopt, {}});
    }
    KW_TRY(const ops::Graph graph, ops::resolve(task));
    const ops::Call& call = graph.nodes[0].call;
    std::vector<const WideTensor*> in;
    for (const std::string& name : node.inputs) in.push_back(name.empty() ? nullptr : &given.at(name));
    std::vector<WideTensor> out(call.outputs.begin(), call.outputs.end());
    KW_CHECK(call.op->reference(call, in, out));
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k].empty()) continue;
      out[k].slack.clear();  // what a judge would allow is not asked here, and carrying it takes time
      values_[node.outputs[k]] = std::move(out[k]);
    }
    return {};
  }

  Result<bool> condition(const std::string& name) const {
    KW_TRY(const WideTensor wide, value(name));
    if (wide.count() != 1) return fail("its condition '{}' has {} elements", name, wide.count());
    return wide.number(0) != 0;
  }

  Status branch(std::size_t i) {
    const Node& node = model_.node(i);
    KW_TRY(const bool chosen, condition(node.inputs.at(0)));
    for (const std::size_t body : model_.onnx().nodes[i].bodies) {
      const suites::OnnxScope& scope = model_.onnx().scopes[body];
      if (scope.attribute != (chosen ? "then_branch" : "else_branch")) continue;
      KW_CHECK(run(body));
      for (std::size_t k = 0; k < node.outputs.size() && k < scope.outputs.size(); ++k) {
        KW_TRY(values_[node.outputs[k]], value(scope.outputs[k]));
      }
      return {};
    }
    return fail("the chosen branch is missing");
  }

  // Inputs: the number of turns or "", a condition or "", what is carried. The body takes the turn, the condition and
  // what is carried, and gives the condition, what is carried, and what is collected of all turns.
  Status loop(std::size_t i) {
    const Node& node = model_.node(i);
    if (model_.onnx().nodes[i].bodies.size() != 1) return fail("a loop has one body");
    const std::size_t body = model_.onnx().nodes[i].bodies[0];
    const suites::OnnxScope& scope = model_.onnx().scopes[body];
    const std::size_t carried = node.inputs.size() < 2 ? 0 : node.inputs.size() - 2;
    if (scope.inputs.size() != carried + 2 || scope.outputs.size() < carried + 1) {
      return fail("its body takes {} values and gives {}, and {} are carried", scope.inputs.size(),
                  scope.outputs.size(), carried);
    }
    std::int64_t turns = std::numeric_limits<std::int64_t>::max();
    if (!node.inputs.empty() && !node.inputs[0].empty()) {
      KW_TRY(const WideTensor count, value(node.inputs[0]));
      if (count.count() == 1) turns = static_cast<std::int64_t>(count.number(0));
    }
    bool going = true;
    if (node.inputs.size() > 1 && !node.inputs[1].empty()) {
      KW_TRY(going, condition(node.inputs[1]));
    }
    std::vector<WideTensor> state;
    for (std::size_t k = 0; k < carried; ++k) {
      KW_TRY(WideTensor wide, value(node.inputs[k + 2]));
      state.push_back(std::move(wide));
    }
    std::vector<WideTensor> collected(scope.outputs.size() - 1 - carried);
    for (std::int64_t turn = 0; going && turn < turns; ++turn) {
      if (turn == kMostTurns) return fail("it takes more than {} turns", kMostTurns);
      give(scope.inputs[0], ops::widen(Tensor::scalar(static_cast<double>(turn), DType::int64)));
      give(scope.inputs[1], ops::widen(Tensor::scalar(1, DType::boolean)));
      for (std::size_t k = 0; k < carried; ++k) give(scope.inputs[k + 2], std::move(state[k]));
      KW_CHECK(run(body));
      KW_TRY(going, condition(scope.outputs[0]));
      for (std::size_t k = 0; k < carried; ++k) {
        KW_TRY(state[k], value(scope.outputs[k + 1]));
      }
      for (std::size_t k = 0; k < collected.size(); ++k) {
        KW_TRY(const WideTensor piece, value(scope.outputs[carried + 1 + k]));
        append(collected[k], piece, turn);
      }
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k].empty()) continue;
      give(node.outputs[k], k < carried ? std::move(state[k]) : std::move(collected.at(k - carried)));
    }
    return {};
  }

  // One piece more behind the others, along a new first axis.
  static void append(WideTensor& all, const WideTensor& piece, std::int64_t turn) {
    all.dtype = piece.dtype;
    all.shape = Shape{turn + 1};
    for (const std::int64_t length : piece.shape) all.shape.append(length);
    all.reals.insert(all.reals.end(), piece.reals.begin(), piece.reals.end());
    all.integers.insert(all.integers.end(), piece.integers.begin(), piece.integers.end());
  }

  const Model& model_;
  std::vector<std::vector<std::size_t>> of_scope_;  // the nodes that compute, in order
  std::map<std::string, WideTensor> values_;
};

// Of what is known before it runs.
double flops_of(const Model& model) {
  double flops = 0;
  for (std::size_t i = 0; i < model.count(); ++i) {
    if (!model.computes(i) || !model.tasks().why_not(i).empty()) continue;
    const auto task = model.tasks().task({i});
    if (!task.ok()) continue;
    if (const auto graph = ops::resolve(*task); graph.ok()) flops += ops::cost_of(*graph).flops;
  }
  return flops;
}

// Of tensors as the runtime's worker writes them.
Result<std::vector<Tensor>> read_tensors(const std::filesystem::path& file, const std::vector<NamedType>& types) {
  KW_TRY(const std::string bytes, read_file(file));
  std::vector<Tensor> tensors;
  std::size_t at = 0;
  for (const auto& [name, type] : types) {
    Tensor tensor(type);
    const std::size_t count = tensor.bytes().size();
    if (at + count > bytes.size()) return fail("ONNX Runtime's worker left too few bytes for '{}'", name);
    if (count > 0) std::memcpy(tensor.bytes().data(), bytes.data() + at, count);
    at += (count + kAligned - 1) / kAligned * kAligned;
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace

Result<std::vector<WideTensor>> outputs_in_double(const Model& model, std::span<const Tensor> inputs) {
  WideRun all(model);
  for (std::size_t i = 0; i < inputs.size(); ++i) all.give(model.tasks().inputs()[i].first, ops::widen(inputs[i]));
  KW_CHECK(all.run(0));
  std::vector<WideTensor> outputs;
  for (const suites::OnnxValue& output : model.onnx().outputs) {
    KW_TRY(WideTensor wide, all.value(output.name));
    outputs.push_back(std::move(wide));
  }
  return outputs;
}

namespace {

// The largest error of finite numbers.
double largest_error(const WideTensor& right, const Tensor& got) {
  double largest = 0;
  for (std::int64_t i = 0; i < got.count() && is_float(right.dtype); ++i) {
    const double error = std::fabs(got.real(i) - right.reals[static_cast<std::size_t>(i)]);
    if (std::isfinite(error)) largest = std::max(largest, error);
  }
  return largest;
}

Result<Reference> reference_of(const Model& model, const Runtime& runtime, const RunTerms& terms,
                               const std::filesystem::path& folder) {
  if (const double flops = flops_of(model); flops > kMostFlops) {
    return fail("it takes {} in double precision, and up to {} are computed", with_unit(flops, "flop"),
                with_unit(kMostFlops, "flop"));
  }
  KW_CHECK(runtime.record(std::filesystem::absolute(model.file()), terms, folder));
  KW_TRY(const std::vector<Tensor> inputs, read_tensors(folder / "inputs.bin", terms.inputs));
  KW_TRY(const std::vector<WideTensor> outputs, outputs_in_double(model, inputs));
  Reference reference{.file = folder / "reference.bin"};
  std::string bytes;
  for (const WideTensor& output : outputs) {
    reference.shapes.push_back(output.shape);
    const bool is_real = is_float(output.dtype);
    bytes.append(is_real ? reinterpret_cast<const char*>(output.reals.data())
                         : reinterpret_cast<const char*>(output.integers.data()),
                 static_cast<std::size_t>(output.count()) * sizeof(double));
  }
  KW_CHECK(write_file(reference.file, bytes));
  std::vector<NamedType> types;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    types.emplace_back(model.onnx().outputs[i].name, TensorType{outputs[i].dtype, outputs[i].shape, false});
  }
  KW_TRY(const std::vector<Tensor> own, read_tensors(folder / "outputs.bin", types));
  for (std::size_t i = 0; i < own.size(); ++i) reference.runtime_errors.push_back(largest_error(outputs[i], own[i]));
  return reference;
}

}  // namespace

Reference make_reference(const Model& model, const Runtime& runtime, const RunTerms& terms,
                         const std::filesystem::path& folder) {
  auto made = reference_of(model, runtime, terms, folder);
  if (made.ok()) return *std::move(made);
  return {.why_none = made.error().message};
}

}  // namespace kw::models
