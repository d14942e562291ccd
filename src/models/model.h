// A whole model, as everything in this module sees it: the file, what it says, its lengths, and which nodes are alike.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "suites/onnx_file.h"
#include "suites/onnx_task.h"

namespace kw::models {

class Model {
 public:
  // What stands in the place of an If whose condition is known with these lengths: itself, as in the file, or the nodes
  // of the branch that it chooses.
  enum class KnownBranches { as_in_file, in_place };

  // Open lengths get their values from `dims`, and so may inputs of one whole number (suites::ModelTasks).
  static Result<Model> open(const std::filesystem::path& file, const Lengths& dims,
                            KnownBranches branches = KnownBranches::as_in_file);

  const std::filesystem::path& file() const { return file_; }
  // What onnx() was read from: the file's, or with known branches in place.
  const std::string& bytes() const { return *bytes_; }
  const suites::OnnxModel& onnx() const { return *onnx_; }
  const suites::ModelTasks& tasks() const { return *tasks_; }
  const Lengths& dims() const { return dims_; }
  std::size_t count() const { return onnx_->nodes.size(); }
  const Node& node(std::size_t i) const { return onnx_->nodes[i].node; }

  // Whether the node computes anything when the model runs with these lengths.
  bool computes(std::size_t i) const;
  // Nodes of one scope can be replaced by one (suites::OnnxScope).
  std::size_t scope(std::size_t i) const { return onnx_->nodes[i].scope; }
  // The nodes inside of it, and of those inside of them.
  const std::vector<std::size_t>& inside(std::size_t i) const { return inside_[i]; }
  // The nodes that read a value; and whether the model gives it out, or a subgraph may read it.
  const std::vector<std::size_t>& readers(const std::string& value) const;
  bool leaves(const std::string& value) const { return leaving_.contains(value); }
  // The node that computes it; none: an input or an initializer.
  std::optional<std::size_t> producer(const std::string& value) const;

  // What nodes must have in common to be computed by one kernel: operators, attributes, types, how they hang together,
  // and which inputs are constant. The values of weights may differ. Of a value whose type is not known: "".
  std::string signature(const std::vector<std::size_t>& nodes) const;

 private:
  Model() = default;

  std::filesystem::path file_;
  std::unique_ptr<std::string> bytes_;
  std::unique_ptr<suites::OnnxModel> onnx_;
  std::unique_ptr<suites::ModelTasks> tasks_;
  Lengths dims_;
  std::map<std::string, std::vector<std::size_t>> readers_;
  std::map<std::string, std::size_t> producers_;
  std::set<std::string> leaving_;
  std::vector<std::vector<std::size_t>> inside_;
};

}  // namespace kw::models
