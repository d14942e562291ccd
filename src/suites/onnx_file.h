// ONNX files in and out: what a file says, as plain data of ours, and a task's graph as a file.
//
// A reader of models meets much that it cannot compute: subgraphs, strings, sequences, operators of other domains. None
// of that makes a file unreadable. Such a node or value is kept and carries the reason in `unsupported`, so that only
// using it is an error. What contradicts itself (a tensor without its bytes, a cycle) is an error at once.
// The library's own types stay in onnx_file.cpp; how a model becomes a task is in onnx_task.h.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "ops/graph.h"

namespace kw::suites {

// The newest version of ONNX's operators whose meaning we know (ONNX 1.23).
inline constexpr int kNewestOpset = 28;

// What a file says of a tensor's type; each part may be open.
struct OnnxValue {
  std::string name;
  std::optional<DType> dtype;
  // None: not even the rank is known. An axis without a length is named by the file, or "VALUE.AXIS" if it has no name.
  std::optional<std::vector<Length>> lengths;
  std::string unsupported;  // why it cannot be one of our tensors; empty: it can
};

struct OnnxNode {
  Node node;
  std::string unsupported;  // why it cannot be computed; empty: nothing is known against it
};

struct OnnxModel {
  std::string place;  // what errors call the file
  int opset = 0;
  std::vector<OnnxNode> nodes;                    // as the file numbers them
  std::vector<std::size_t> order;                 // the nodes in an order that computes
  std::map<std::string, Tensor> initializers;     // the values of Constant nodes among them
  std::map<std::string, std::string> unreadable;  // initializers that cannot be tensors of ours, and why
  std::vector<OnnxValue> inputs;                  // without those that have an initializer
  std::vector<OnnxValue> outputs;
  std::map<std::string, OnnxValue> values;  // what the file says of results in between
  std::set<std::string> read_by_subgraphs;  // names that nodes inside of other nodes (If, Loop) read
};

// "node #3 (Conv 'stem')": what errors call a node; without a name of its own it has that of its first output.
std::string label(const Node& node, std::size_t index);

Result<OnnxModel> read_onnx(const std::filesystem::path& path);

// `place` is what errors call the bytes. Tensors that lie in files of their own are looked for in `folder`, and nowhere
// outside of it; without a folder they are an error.
Result<OnnxModel> parse_onnx(std::string_view bytes, const std::string& place,
                             const std::filesystem::path& folder = {});

// One tensor by itself, as the .pb files of ONNX's test data hold it.
Result<Tensor> parse_onnx_tensor(std::string_view bytes, const std::string& place);

// A model of the graph's task. `inputs` has a tensor for each of graph.inputs: those of weights and constants are
// written into the model, the others only give its inputs their types.
Result<std::string> write_onnx(const ops::Graph& graph, std::span<const Tensor> inputs);

}  // namespace kw::suites
