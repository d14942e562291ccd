// What is known of a model's values before anything runs: their types, and the values of those that do not depend on
// the model's inputs. For onnx_task.cpp and model_tasks.cpp, which make tasks of nodes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "suites/onnx_file.h"

namespace kw::suites {

// ----- Lengths

std::set<std::string> open_lengths(const OnnxValue& value);
// An Error that names the flags where one of the lengths has no value.
Status check_given(const std::set<std::string>& needed, const Lengths& dims);
// The value that `dims` gives an input of one whole number; none: it is not such an input, or has no value.
std::optional<Tensor> value_given(const OnnxValue& input, const Lengths& dims);
// A name that the model does not have is a typing error, not a wish.
Status check_known(const OnnxModel& model, const Lengths& dims);
// The type that the file gives a value; none if it leaves a part open.
std::optional<TensorType> stated_type(const OnnxValue& value, const Lengths& dims);
// Why a value of the model cannot be used, where that is known before looking at lengths.
Status check_usable(const OnnxValue& value);

std::vector<Length> fixed_lengths(const Shape& shape);
Value value_of_type(const std::string& name, const TensorType& type);
Value value_of_tensor(const std::string& name, Role role, const Tensor& tensor);

// ----- The model as a graph

// Whether the shape rule of the operator reads the values of this input.
bool decides_shape(const Node& node, std::size_t input);
// What the shape rules of these nodes read.
std::set<std::string> shape_deciding(const OnnxModel& model, const std::vector<std::size_t>& nodes);
// Why a node cannot be computed by our operators; empty: it can.
std::string obstacle_to(const OnnxNode& node);

// Names, each with the node that produces it. The model must outlive it.
class Sources {
 public:
  explicit Sources(const OnnxModel& model);

  const OnnxModel& model() const { return model_; }
  const Tensor* initializer(const std::string& name) const;
  const OnnxValue* input(const std::string& name) const;
  std::optional<std::size_t> node(const std::string& name) const;
  // Whether it comes from the node around it, of a Loop or Scan anew in each turn.
  bool given_by_owner(const std::string& name) const { return model_.given_by_owners.contains(name); }
  // What the file says of a value that a node computes.
  const OnnxValue* stated(const std::string& name) const;

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
      for (const std::size_t body : model_.nodes[*from].bodies) {
        const auto& outputs = model_.scopes[body].outputs;
        open.insert(open.end(), outputs.begin(), outputs.end());
      }
    }
    std::vector<std::size_t> sorted;
    for (const std::size_t i : model_.order) {
      if (found.contains(i)) sorted.push_back(i);
    }
    return sorted;
  }

  Error nobody_gives(const std::string& name) const;

 private:
  const OnnxModel& model_;
  std::map<std::string, std::size_t> node_;
  std::map<std::string, const OnnxValue*> input_;
};

// ----- Shapes

// Types, and values where they do not depend on the model's inputs, of everything that one node needs, or of all.
class Inference {
 public:
  Inference(const Sources& sources, const Lengths& dims) : sources_(sources), dims_(dims) {}

  // Of everything that goes into the node, and into what comes before.
  Status reach(std::size_t target);
  // Of the whole model. What cannot be found out is missing afterwards, with the reason in why().
  void reach_all();

  const TensorType& type(const std::string& name) const { return types_.at(name); }
  // Null where it is not known.
  const TensorType* find_type(const std::string& name) const;
  std::string why(const std::string& name) const;
  // Null where the value is not known, or large.
  const Tensor* known(const std::string& name) const;
  // Whether it stands in a branch whose condition is known to choose the other one, or in one that cannot run.
  bool never_runs(std::size_t node) const;
  // Which of an If's branches may run: one where its condition is known, or where the other cannot run.
  std::vector<std::size_t> branches_of(const OnnxNode& node) const;
  // Whether the condition is known.
  bool is_decided(const OnnxNode& node) const;
  // Why a scope cannot run with these lengths: a node in it, which every run of it computes, takes no such shapes.
  // Empty: nothing is known against it.
  std::string why_impossible(std::size_t scope) const;

 private:
  void infer_all(const std::vector<std::size_t>& nodes);
  std::set<std::string> needed_lengths(const Node& wanted, const std::vector<std::size_t>& behind) const;
  // An initializer or an input of the model; results of nodes are there already.
  Status add_given(const std::string& name);
  // Where a node's results cannot be inferred, what the file says of them counts; what it does not say is an error for
  // those who need it.
  void trust_file(const Node& node, std::size_t index, const std::string& reason);
  // By the operator's own shape rule.
  Status infer(const Node& node);
  // The results of an If: of the branch that is chosen, or what both agree on.
  void infer_branches(const OnnxNode& node);
  // That every run of the node's scope fails at it.
  void note_impossible(const OnnxNode& node, const std::string& reason);
  const Tensor* condition_of(const OnnxNode& node) const;

  const Sources& sources_;
  const Lengths& dims_;
  std::map<std::string, TensorType> types_;
  std::map<std::string, Tensor> known_;
  std::map<std::string, std::string> blocked_;     // what could not be found out, and why
  std::map<std::size_t, std::string> impossible_;  // scopes
};

// A task of these nodes (in computing order): what none of them computes becomes an input, a weight or a constant.
Result<Task> task_of_nodes(const Sources& sources, const std::vector<std::size_t>& nodes, const Lengths& dims,
                           const std::vector<std::string>& outputs);

// The value of a name that initializers alone decide (a transposed weight); none if an input does, or it costs much.
Result<std::optional<Tensor>> value_from_initializers(const Sources& sources, const std::string& name);

// "model.onnx:NODE"
std::string task_name(const OnnxModel& model, const std::string& node);

}  // namespace kw::suites
