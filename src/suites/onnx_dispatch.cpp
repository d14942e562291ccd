#include "suites/onnx_dispatch.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <set>
#include <utility>

#define ONNX_ML 1
#define ONNX_NAMESPACE onnx
#include <onnx/onnx_pb.h>

#include "suites/onnx_rewrite.h"
#include "suites/onnx_tensor.h"

namespace kw::suites {
namespace {

constexpr std::size_t kMostFileBytes = (std::size_t{1} << 31) - 1;

Result<onnx::ModelProto> parsed(std::string_view bytes, const std::string& place) {
  onnx::ModelProto file;
  if (bytes.size() > kMostFileBytes || !file.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail("{}: is not an ONNX model", place);
  }
  return file;
}

// Names of a graph that becomes a branch, in which nothing may be called as something around it.
class Branch {
 public:
  Branch(onnx::GraphProto& graph, std::string prefix) : graph_(graph), prefix_(std::move(prefix)) {
    for (const auto& tensor : graph.initializer()) add(tensor.name());
    for (const auto& sparse : graph.sparse_initializer()) add(sparse.values().name());
    for (const auto& node : graph.node()) {
      for (const std::string& output : node.output()) add(output);
      computed_.insert(node.output().begin(), node.output().end());
    }
  }

  void run() {
    for (auto& tensor : *graph_.mutable_initializer()) tensor.set_name(names_.at(tensor.name()));
    for (auto& sparse : *graph_.mutable_sparse_initializer()) {
      sparse.mutable_values()->set_name(names_.at(sparse.values().name()));
    }
    for (auto& info : *graph_.mutable_value_info()) rename(*info.mutable_name());
    rename_nodes(graph_, true);
    graph_.clear_input();
    std::set<std::string> given;
    for (int i = 0; i < graph_.output_size(); ++i) {
      std::string& name = *graph_.mutable_output(i)->mutable_name();
      // A branch gives out what a node of it computes, each value once.
      const bool is_computed = computed_.contains(name) && given.insert(name).second;
      rename(name);
      if (is_computed) continue;
      onnx::NodeProto& node = *graph_.add_node();
      node.set_op_type("Identity");
      node.add_input(name);
      name = fmt::format("{}result_{}", prefix_, i);
      node.add_output(name);
    }
    graph_.set_name(prefix_);
  }

 private:
  void add(const std::string& name) {
    if (!name.empty()) names_[name] = prefix_ + name;
  }

  void rename(std::string& name) const {
    if (const auto found = names_.find(name); found != names_.end()) name = found->second;
  }

  void rename_nodes(onnx::GraphProto& graph, bool outer) const {
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      for (std::string& input : *node.mutable_input()) rename(input);
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) rename_nodes(*attribute.mutable_g(), false);
        for (onnx::GraphProto& inner : *attribute.mutable_graphs()) rename_nodes(inner, false);
      }
      if (!outer) continue;
      for (std::string& output : *node.mutable_output()) rename(output);
      node.set_name(prefix_ + node.name());
    }
    if (outer) return;
    for (auto& output : *graph.mutable_output()) rename(*output.mutable_name());
  }

  onnx::GraphProto& graph_;
  const std::string prefix_;
  std::map<std::string, std::string> names_;
  std::set<std::string> computed_;
};

// Adds nodes that tell whether the inputs are those of a variant.
class Picker {
 public:
  // Constants and the shapes of inputs stand in `outer`, once for all variants.
  Picker(onnx::GraphProto& outer, std::string prefix) : outer_(outer), prefix_(std::move(prefix)) {}

  // What the condition is called.
  std::string pick(onnx::GraphProto& graph, const OnnxVariant& variant, std::size_t number) {
    std::vector<std::string> distances;
    const auto distance = [&](const std::string& from, const Tensor& wanted) {
      const std::string name = fmt::format("{}{}_{}", prefix_, number, distances.size());
      fill_tensor(*outer_.add_initializer(), name + "_wanted", wanted);
      add(graph, "Sub", {from, name + "_wanted"}, name + "_off");
      add(graph, "Abs", {name + "_off"}, name + "_size");
      onnx::AttributeProto& keep = *add(graph, "ReduceSum", {name + "_size"}, name).add_attribute();
      keep.set_name("keepdims");
      keep.set_type(onnx::AttributeProto::INT);
      keep.set_i(0);
      distances.push_back(name);
    };
    for (const auto& [input, shape] : variant.shapes) {
      if (shape.rank() == 0) continue;
      distance(shape_of(input), Tensor::of_integers({shape.begin(), shape.end()}));
    }
    for (const auto& [input, value] : variant.values) distance(number_of(input), Tensor::of_integers({value}));
    std::string sum = distances.front();
    for (std::size_t i = 1; i < distances.size(); ++i) {
      const std::string next = fmt::format("{}{}_sum_{}", prefix_, number, i);
      add(graph, "Add", {sum, distances[i]}, next);
      sum = next;
    }
    if (number == 0) fill_tensor(*outer_.add_initializer(), prefix_ + "zero", Tensor::scalar(0, DType::int64));
    const std::string condition = fmt::format("{}{}", prefix_, number);
    add(graph, "Equal", {sum, prefix_ + "zero"}, condition);
    return condition;
  }

 private:
  static onnx::NodeProto& add(onnx::GraphProto& graph, const char* op, const std::vector<std::string>& inputs,
                              const std::string& output) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(op);
    node.set_name(output);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }

  std::string shape_of(const std::string& input) {
    const std::string name = prefix_ + "shape_of_" + input;
    if (there_.insert(name).second) add(outer_, "Shape", {input}, name);
    return name;
  }

  std::string number_of(const std::string& input) {
    const std::string name = prefix_ + "value_of_" + input;
    if (!there_.insert(name).second) return name;
    onnx::AttributeProto& to = *add(outer_, "Cast", {input}, name).add_attribute();
    to.set_name("to");
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(onnx::TensorProto::INT64);
    return name;
  }

  onnx::GraphProto& outer_;
  const std::string prefix_;
  std::set<std::string> there_;
};

// `graph` computes the outputs by an If of this condition; its else branch is what comes back.
onnx::GraphProto& add_if(onnx::GraphProto& graph, const std::string& condition, onnx::GraphProto& then,
                         const std::vector<std::string>& outputs) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("If");
  node.set_name(condition + "_if");
  node.add_input(condition);
  for (const std::string& output : outputs) node.add_output(output);
  onnx::AttributeProto& yes = *node.add_attribute();
  yes.set_name("then_branch");
  yes.set_type(onnx::AttributeProto::GRAPH);
  yes.mutable_g()->Swap(&then);
  onnx::AttributeProto& no = *node.add_attribute();
  no.set_name("else_branch");
  no.set_type(onnx::AttributeProto::GRAPH);
  return *no.mutable_g();
}

// A prefix that no name of the file begins with.
std::string free_prefix(const OnnxModel& model) {
  std::string prefix = "kw_pick/";
  const auto is_taken = [&] {
    const auto begins = [&](const std::string& name) { return name.starts_with(prefix); };
    const auto input = [&](const OnnxValue& one) { return begins(one.name); };
    return std::ranges::any_of(model.inputs, input) || std::ranges::any_of(model.nodes, [&](const OnnxNode& one) {
             return std::ranges::any_of(one.node.outputs, begins);
           });
  };
  while (is_taken()) prefix.insert(prefix.size() - 1, "_");
  return prefix;
}

void add_opsets(onnx::ModelProto& to, const onnx::ModelProto& from) {
  for (const auto& import : from.opset_import()) {
    const auto is_same = [&](const auto& one) { return one.domain() == import.domain(); };
    if (std::ranges::none_of(to.opset_import(), is_same)) *to.add_opset_import() = import;
  }
}

}  // namespace

Result<std::string> dispatch_onnx(const OnnxModel& model, std::string_view bytes,
                                  const std::vector<OnnxVariant>& variants) {
  const google::protobuf::LogSilencer silence;
  KW_TRY(const std::string whole, edit_onnx(model, bytes, {}));
  KW_TRY(onnx::ModelProto file, parsed(whole, model.place));
  const std::string prefix = free_prefix(model);

  onnx::GraphProto original;
  original.Swap(file.mutable_graph());
  onnx::GraphProto& outer = *file.mutable_graph();
  outer.set_name(original.name());
  for (const auto& input : original.input()) {
    const auto is_same = [&](const OnnxValue& one) { return one.name == input.name(); };
    if (std::ranges::any_of(model.inputs, is_same)) *outer.add_input() = input;
  }
  *outer.mutable_output() = original.output();
  std::vector<std::string> results;
  for (const auto& output : original.output()) results.push_back(output.name());
  Branch(original, prefix + "any/").run();

  Picker picker(outer, prefix);
  onnx::GraphProto* level = &outer;
  for (std::size_t k = 0; k < variants.size(); ++k) {
    KW_TRY(onnx::ModelProto variant, parsed(variants[k].bytes, model.place));
    add_opsets(file, variant);
    Branch(*variant.mutable_graph(), fmt::format("{}size_{}/", prefix, k)).run();
    const std::string condition = picker.pick(*level, variants[k], k);
    onnx::GraphProto& rest = add_if(*level, condition, *variant.mutable_graph(), results);
    if (k + 1 == variants.size()) {
      rest.Swap(&original);
      break;
    }
    rest.set_name(condition + "_else");
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i] = fmt::format("{}{}_result_{}", prefix, k + 1, i);
      *rest.add_output() = outer.output(static_cast<int>(i));
      rest.mutable_output(static_cast<int>(i))->set_name(results[i]);
    }
    level = &rest;
  }
  if (file.ir_version() < 4) file.set_ir_version(4);  // the first in which initializers need not be inputs
  if (file.ByteSizeLong() > kMostFileBytes) {
    return fail("{}: with the weights of {} sizes it is more than 2 GiB, the most an ONNX file may be", model.place,
                variants.size());
  }
  return file.SerializeAsString();
}

}  // namespace kw::suites
