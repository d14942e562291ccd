// An ONNX model with a part of it changed: the rest stays as the file has it, whatever it holds.
//
// What onnx_file.h reads is what we understand; a model that goes back to its runtime must keep everything else too
// (metadata, subgraphs, operators of other domains). So the file itself is edited.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "suites/onnx_file.h"

namespace kw::suites {

// One node in place of several.
struct OnnxReplacement {
  std::vector<std::size_t> nodes;  // of one scope of the model, of which only `outputs` are used elsewhere
  std::string op;
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<TensorType> output_types;     // for the runtime, which knows nothing of the operator
  std::map<std::string, Tensor> constants;  // inputs that become initializers, where the model has none of that name
};

struct OnnxEdit {
  // Ifs, and for each the scope of the branch whose nodes take its place. Numbers of nodes change by it, so that it is
  // an edit by itself.
  std::map<std::size_t, std::size_t> branches = {};
  Lengths dims = {};  // the model's inputs get these lengths in place of open ones, where it has no branches
  std::vector<OnnxReplacement> replacements = {};
  std::string domain = {};  // of the replacements
  // Node number 17 is called "kwn17" and its first result "kwn17_0", so that a runtime's own names for what it made of
  // the model can be traced back. Inputs and outputs of the model keep their names.
  bool number_names = false;
};

// `bytes` are those that `model` was read from. Tensors that lie in files of their own are put into the model, so that
// it can lie anywhere.
Result<std::string> edit_onnx(const OnnxModel& model, std::string_view bytes, const OnnxEdit& edit);

// The number in a name that an edited model, or a runtime that worked on one, gave: 17 of "kwn17_0_nchwc". -1: none.
int number_in_name(std::string_view name);

}  // namespace kw::suites
