#include "suites/onnx_rewrite.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cassert>
#include <cctype>
#include <charconv>
#include <cstring>
#include <functional>
#include <set>

#define ONNX_ML 1
#define ONNX_NAMESPACE onnx
#include <onnx/onnx_pb.h>

#include "suites/onnx_tensor.h"

namespace kw::suites {
namespace {

constexpr std::string_view kNumbered = "kwn";

using Names = std::map<std::string, std::string>;

void rename_inputs(onnx::NodeProto& node, const Names& names);

// Subgraphs read values of the graph around them by name.
void rename_inside(onnx::GraphProto& graph, const Names& names) {
  for (onnx::NodeProto& node : *graph.mutable_node()) rename_inputs(node, names);
  for (onnx::ValueInfoProto& output : *graph.mutable_output()) {
    if (const auto found = names.find(output.name()); found != names.end()) output.set_name(found->second);
  }
}

void rename_inputs(onnx::NodeProto& node, const Names& names) {
  for (std::string& input : *node.mutable_input()) {
    if (const auto found = names.find(input); found != names.end()) input = found->second;
  }
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) rename_inside(*attribute.mutable_g(), names);
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) rename_inside(graph, names);
  }
}

// Everything that a name could be that a new one must not be.
void collect_names(const onnx::GraphProto& graph, std::set<std::string>& all) {
  for (const auto& one : graph.input()) all.insert(one.name());
  for (const auto& one : graph.output()) all.insert(one.name());
  for (const auto& one : graph.initializer()) all.insert(one.name());
  for (const auto& node : graph.node()) {
    all.insert(node.input().begin(), node.input().end());
    all.insert(node.output().begin(), node.output().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_names(attribute.g(), all);
      for (const auto& inner : attribute.graphs()) collect_names(inner, all);
    }
  }
}

class Editor {
 public:
  Editor(onnx::ModelProto& file, const OnnxModel& model, const OnnxEdit& edit)
      : file_(file), graph_(*file.mutable_graph()), model_(model), edit_(edit) {
    graphs_.push_back(&graph_);
    for (std::size_t i = 0; i < graphs_.size(); ++i) {  // which grows meanwhile
      first_.push_back(count_);
      count_ += static_cast<std::size_t>(graphs_[i]->node_size());
      for (onnx::NodeProto& node : *graphs_[i]->mutable_node()) {
        for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
          if (attribute.has_g()) graphs_.push_back(attribute.mutable_g());
        }
      }
    }
    assert(count_ == model.nodes.size() && graphs_.size() == model.scopes.size());
  }

  Status run() {
    KW_CHECK(bring_tensors_in());
    if (!edit_.branches.empty()) put_branches_in_place();
    KW_CHECK(fix_lengths());
    KW_CHECK(replace());
    if (edit_.number_names) number_names();
    return {};
  }

 private:
  Status bring_tensors_in() {
    for (std::size_t i = 1; i < graphs_.size(); ++i) {
      for (const onnx::TensorProto& tensor : graphs_[i]->initializer()) {
        if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
          return fail("initializer '{}' of a branch or loop lies in a file of its own and cannot be moved",
                      tensor.name());
      }
    }
    for (onnx::TensorProto& tensor : *graph_.mutable_initializer()) {
      if (tensor.data_location() != onnx::TensorProto::EXTERNAL) continue;
      const auto found = model_.initializers.find(tensor.name());
      if (found == model_.initializers.end()) {
        return fail("initializer '{}' lies in a file of its own and cannot be moved", tensor.name());
      }
      fill_tensor(tensor, tensor.name(), found->second);
    }
    return {};
  }

  // Inner scopes come later: what an outer one takes over has its inside changed already.
  void put_branches_in_place() {
    assert(edit_.replacements.empty() && !edit_.number_names);
    std::set<std::string> taken;
    collect_names(graph_, taken);
    std::set<std::size_t, std::greater<>> touched;
    for (const auto& [node, branch] : edit_.branches) touched.insert(model_.nodes[node].scope);
    for (const std::size_t scope : touched) {
      onnx::GraphProto& graph = *graphs_[scope];
      google::protobuf::RepeatedPtrField<onnx::NodeProto> before;
      before.Swap(graph.mutable_node());
      for (int i = 0; i < before.size(); ++i) {
        const auto found = edit_.branches.find(first_[scope] + static_cast<std::size_t>(i));
        if (found == edit_.branches.end()) {
          graph.add_node()->Swap(before.Mutable(i));
        } else {
          splice(graph, before[i], found->second, taken);
        }
      }
    }
  }

  // The nodes of a branch behind those that are there, with names of their own; its results are called as the owner's.
  void splice(onnx::GraphProto& graph, const onnx::NodeProto& owner, std::size_t branch, std::set<std::string>& taken) {
    onnx::GraphProto& body = *graphs_[branch];
    const std::string prefix = fmt::format("{}/{}/", owner.name(), model_.scopes[branch].attribute);
    Names names;
    const auto add_name = [&](const std::string& name) {
      if (name.empty() || names.contains(name)) return;
      std::string whole = prefix + name;
      while (!taken.insert(whole).second) whole += "'";
      names[name] = whole;
    };
    std::set<std::string> computed;
    for (const onnx::NodeProto& node : body.node()) computed.insert(node.output().begin(), node.output().end());
    for (int k = 0; k < owner.output_size() && k < body.output_size(); ++k) {
      const std::string& name = body.output(k).name();
      if (!owner.output(k).empty() && computed.contains(name)) names.emplace(name, owner.output(k));
    }
    for (const onnx::TensorProto& tensor : body.initializer()) add_name(tensor.name());
    for (const std::string& name : computed) add_name(name);
    rename_inside(body, names);
    for (onnx::TensorProto& tensor : *body.mutable_initializer()) {
      tensor.set_name(names.at(tensor.name()));
      graph.add_initializer()->Swap(&tensor);
    }
    for (onnx::NodeProto& node : *body.mutable_node()) {
      for (std::string& output : *node.mutable_output()) {
        if (!output.empty()) output = names.at(output);
      }
      node.set_name(prefix + node.name());
      graph.add_node()->Swap(&node);
    }
    for (int k = 0; k < owner.output_size() && k < body.output_size(); ++k) {
      if (owner.output(k).empty() || body.output(k).name() == owner.output(k)) continue;
      onnx::NodeProto& node = *graph.add_node();
      node.set_op_type("Identity");
      node.set_name(fmt::format("{}result_{}", prefix, k));
      node.add_input(body.output(k).name());
      node.add_output(owner.output(k));
    }
  }

  // A branch that these lengths rule out may contradict them, and a runtime looks at it all the same when it loads the
  // model: where there are branches, shapes stay as open as they were.
  bool has_branches() const { return graphs_.size() > 1; }

  Status fix_lengths() {
    if (edit_.dims.empty() || has_branches()) return {};
    for (onnx::ValueInfoProto& input : *graph_.mutable_input()) {
      if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape()) continue;
      const auto value = std::ranges::find(model_.inputs, input.name(), &OnnxValue::name);
      if (value == model_.inputs.end() || !value->lengths) continue;
      auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
      for (int i = 0; i < shape.dim_size(); ++i) {
        const std::string& name = (*value->lengths)[static_cast<std::size_t>(i)].name;
        if (const auto given = edit_.dims.find(name); given != edit_.dims.end()) {
          shape.mutable_dim(i)->set_dim_value(given->second);
        }
      }
    }
    graph_.clear_value_info();  // which was said with open lengths
    for (onnx::ValueInfoProto& output : *graph_.mutable_output()) {
      if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->clear_shape();
    }
    return {};
  }

  Status replace() {
    if (edit_.replacements.empty()) return {};
    std::set<std::string> taken;
    collect_names(graph_, taken);
    std::map<std::size_t, const OnnxReplacement*> at;  // by the node whose place it takes
    std::set<std::size_t> gone, touched;
    for (const OnnxReplacement& one : edit_.replacements) {
      std::size_t last = one.nodes.front();
      for (const std::size_t node : one.nodes) {
        if (!gone.insert(node).second) return fail("{} is replaced twice", label(model_.nodes[node].node, node));
        if (model_.nodes[node].scope != model_.nodes[last].scope) {
          return fail("{} stands in another branch than {}", label(model_.nodes[node].node, node),
                      label(model_.nodes[last].node, last));
        }
        const auto place = [&](std::size_t i) { return std::ranges::find(model_.order, i); };
        if (place(node) > place(last)) last = node;
      }
      at[last] = &one;
      touched.insert(model_.nodes[last].scope);
    }
    // Inner scopes come later: what an outer one moves has its inside changed already.
    for (auto scope = touched.rbegin(); scope != touched.rend(); ++scope) replace_in(*scope, at, gone, taken);
    auto& opset = *file_.add_opset_import();
    opset.set_domain(edit_.domain);
    opset.set_version(1);
    drop_unused_initializers();
    return {};
  }

  void replace_in(std::size_t scope, const std::map<std::size_t, const OnnxReplacement*>& at,
                  const std::set<std::size_t>& gone, std::set<std::string>& taken) {
    onnx::GraphProto& graph = *graphs_[scope];
    google::protobuf::RepeatedPtrField<onnx::NodeProto> before;
    before.Swap(graph.mutable_node());
    for (const std::size_t i : model_.order) {
      if (model_.nodes[i].scope != scope) continue;
      if (const auto found = at.find(i); found != at.end()) {
        add_replacement(graph, *found->second, taken);
      } else if (!gone.contains(i)) {
        graph.add_node()->Swap(before.Mutable(static_cast<int>(i - first_[scope])));
      }
    }
  }

  void add_replacement(onnx::GraphProto& graph, const OnnxReplacement& one, std::set<std::string>& taken) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(one.op);
    node.set_domain(edit_.domain);
    node.set_name(one.name);
    for (const std::string& input : one.inputs) {
      const auto constant = one.constants.find(input);
      const std::string& own = model_.in_file(input);
      if (constant == one.constants.end() || is_plain_initializer(graph, own)) {
        node.add_input(own);
        continue;
      }
      std::string name = own + "_fixed";
      while (taken.contains(name)) name += "_";
      taken.insert(name);
      fill_tensor(*graph.add_initializer(), name, constant->second);
      node.add_input(name);
    }
    for (std::size_t i = 0; i < one.outputs.size(); ++i) {
      const std::string& own = model_.in_file(one.outputs[i]);
      node.add_output(own);
      const bool is_declared =
          std::ranges::any_of(graph.output(), [&](const auto& output) { return output.name() == own; });
      if (is_declared) continue;
      onnx::ValueInfoProto& info = *graph.add_value_info();
      declare_value(info, own, one.output_types[i]);
      if (has_branches()) info.mutable_type()->mutable_tensor_type()->clear_shape();
    }
  }

  static bool is_plain_initializer(const onnx::GraphProto& graph, const std::string& name) {
    return std::ranges::any_of(graph.initializer(), [&](const auto& one) { return one.name() == name; });
  }

  // Weights that only replaced nodes read, and constants of the model that callers could override: a prepared weight
  // must not change afterwards.
  void drop_unused_initializers() {
    std::set<std::string> used;
    for (const auto& node : graph_.node()) {
      used.insert(node.input().begin(), node.input().end());
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) collect_names(attribute.g(), used);
        for (const auto& graph : attribute.graphs()) collect_names(graph, used);
      }
    }
    for (const auto& output : graph_.output()) used.insert(output.name());
    std::set<std::string> initialized;
    google::protobuf::RepeatedPtrField<onnx::TensorProto> tensors;
    tensors.Swap(graph_.mutable_initializer());
    for (onnx::TensorProto& tensor : tensors) {
      initialized.insert(tensor.name());
      if (used.contains(tensor.name())) graph_.add_initializer()->Swap(&tensor);
    }
    google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> inputs;
    inputs.Swap(graph_.mutable_input());
    for (onnx::ValueInfoProto& input : inputs) {
      if (!initialized.contains(input.name())) graph_.add_input()->Swap(&input);
    }
    if (file_.ir_version() < 4) file_.set_ir_version(4);  // the first in which initializers need not be inputs
  }

  void number_names() {
    std::set<std::string> kept;
    for (const auto& input : graph_.input()) kept.insert(input.name());
    for (const auto& output : graph_.output()) kept.insert(output.name());
    // Inner scopes first: a name of theirs hides an outer one.
    for (std::size_t scope = graphs_.size(); scope-- > 0;) {
      onnx::GraphProto& graph = *graphs_[scope];
      Names names;
      for (int i = 0; i < graph.node_size(); ++i) {
        onnx::NodeProto& node = *graph.mutable_node(i);
        const std::size_t number = first_[scope] + static_cast<std::size_t>(i);
        node.set_name(fmt::format("{}{}", kNumbered, number));
        for (int k = 0; k < node.output_size(); ++k) {
          if (node.output(k).empty() || (scope == 0 && kept.contains(node.output(k)))) continue;
          const std::string name = fmt::format("{}{}_{}", kNumbered, number, k);
          names[node.output(k)] = name;
          node.set_output(k, name);
        }
      }
      if (scope == 0) {
        for (onnx::NodeProto& node : *graph.mutable_node()) rename_inputs(node, names);
      } else {
        rename_inside(graph, names);
      }
      graph.clear_value_info();
    }
  }

  onnx::ModelProto& file_;
  onnx::GraphProto& graph_;
  const OnnxModel& model_;
  const OnnxEdit& edit_;
  std::vector<onnx::GraphProto*> graphs_;  // of each scope
  std::vector<std::size_t> first_;         // of each scope, its first node's number
  std::size_t count_ = 0;
};

}  // namespace

Result<std::string> edit_onnx(const OnnxModel& model, std::string_view bytes, const OnnxEdit& edit) {
  constexpr std::size_t kMostBytes = (std::size_t{1} << 31) - 1;
  const google::protobuf::LogSilencer silence;
  onnx::ModelProto file;
  if (bytes.size() > kMostBytes || !file.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail("{}: is not an ONNX model", model.place);
  }
  if (const Status edited = Editor(file, model, edit).run(); !edited.ok()) return at(model.place, edited.error());
  if (file.ByteSizeLong() > kMostBytes) {
    return fail("{}: with its weights it is more than 2 GiB, the most an ONNX file may be", model.place);
  }
  return file.SerializeAsString();
}

int number_in_name(std::string_view name) {
  for (std::size_t at = name.find(kNumbered); at != std::string_view::npos; at = name.find(kNumbered, at + 1)) {
    const char* begin = name.data() + at + kNumbered.size();
    int number = -1;
    if (std::from_chars(begin, name.data() + name.size(), number).ptr != begin && number >= 0) return number;
  }
  return -1;
}

}  // namespace kw::suites
