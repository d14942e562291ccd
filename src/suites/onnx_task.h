// Tasks from ONNX models: one node with the shapes it meets there, or a whole small model.
//
// A model rarely says the shapes of its results, so they are inferred with our own operators' shape rules, node by node
// and only as far as the wanted node needs. Where an operator is not ours, the file's own word counts if it has one.
// Lengths that the model leaves open come from the user by name.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "suites/onnx_file.h"

namespace kw::suites {

// A node is selected by its name, by the name of one of its outputs, or by its number ("#3" or "3"). What it gets from
// initializers alone becomes weights with the model's values (constants where they decide shapes); everything else is
// drawn. Open lengths that reach the node become the task's named lengths, also those that nodes before it made of
// them: "height/2".
Result<Task> task_from_node(const OnnxModel& model, std::string_view selector, const Lengths& dims);

// All nodes as one task, with the model's inputs and outputs.
Result<Task> task_from_model(const OnnxModel& model, const Lengths& dims);

// Every node of one model, with the same lengths: shapes are inferred once. The model must outlive it.
class ModelTasks {
 public:
  // An Error where the model leaves a length open that `dims` does not give, or has no such length. An input of one
  // whole number can be given there too: it is a constant then.
  static Result<ModelTasks> of(const OnnxModel& model, const Lengths& dims);
  ModelTasks(ModelTasks&&) noexcept;
  ~ModelTasks();

  // What the model's inputs are with these lengths.
  const std::vector<std::pair<std::string, TensorType>>& inputs() const;
  // Null where it is not known.
  const TensorType* type(const std::string& value) const;
  // Whether it comes from initializers alone.
  bool is_constant(const std::string& value) const;
  // Why the node cannot be computed; empty: nothing is known against it.
  std::string why_not(std::size_t node) const;
  // Whether it stands in a branch that these lengths rule out.
  bool never_runs(std::size_t node) const;
  // The branch of an If that runs, where its condition is known.
  std::optional<std::size_t> known_branch(std::size_t node) const;
  // Why a branch cannot run with these lengths; empty: nothing is known against it.
  std::string why_impossible(std::size_t scope) const;
  // Inputs that have been given a value, by the name of the input.
  const std::map<std::string, Tensor>& given_values() const;

  // These nodes as one task with fixed lengths, in computing order, with every result that is used outside of them as
  // an output. What they get from initializers alone becomes weights and constants with the model's values.
  Result<Task> task(const std::vector<std::size_t>& nodes) const;

 private:
  struct Inside;
  explicit ModelTasks(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace kw::suites
