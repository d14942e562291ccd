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
  std::string unsupported;               // why it cannot be computed; empty: nothing is known against it
  std::size_t scope = 0;                 // in which of the model's scopes it stands
  std::vector<std::size_t> bodies = {};  // the scopes inside of it: branches of an If, the body of a Loop
};

// A graph with names of its own. Number 0 is the model; the others stand inside of nodes (If, Loop, Scan). What is
// called x there is called "If_0/then/x" here, so that names are unique in a model: its nodes and values alike.
struct OnnxScope {
  std::size_t owner = 0;                  // the node that it stands in
  std::size_t parent = 0;                 // the scope of that node
  std::string attribute = {};             // of the owner: "then_branch", "body"
  std::vector<std::string> inputs = {};   // what the owner gives it, of a Loop or Scan anew in each turn
  std::vector<std::string> outputs = {};  // what it gives the owner
};

struct OnnxModel {
  std::string place;  // what errors call the file
  int opset = 0;
  // As the file numbers them; behind them the nodes of other scopes, scope by scope.
  std::vector<OnnxNode> nodes;
  std::vector<OnnxScope> scopes;                  // at least one
  std::vector<std::size_t> order;                 // the nodes in an order that computes: an owner after what is in it
  std::map<std::string, Tensor> initializers;     // the values of Constant nodes among them
  std::map<std::string, std::string> unreadable;  // initializers that cannot be tensors of ours, and why
  std::vector<OnnxValue> inputs;                  // without those that have an initializer
  std::vector<OnnxValue> outputs;
  std::map<std::string, OnnxValue> values;           // what the file says of results in between
  std::set<std::string> given_to_owners;             // what scopes give out
  std::set<std::string> given_by_owners;             // what scopes are given
  std::map<std::string, std::string> names_in_file;  // of values and nodes of scopes but the first

  // What the file calls a value or a node.
  const std::string& in_file(const std::string& name) const {
    const auto found = names_in_file.find(name);
    return found == names_in_file.end() ? name : found->second;
  }
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
