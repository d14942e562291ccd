// The text of a CUDA kernel, node by node: what device code and plan need of each operator is taken from files of
// kernels/cuda, and launches are put one after the other.
//
// A node is computed plainly (plain.h), or with a technique and its neighbours as one launch (composed.h).
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "ops/graph.h"
#include "targets/cuda/groups.h"

namespace kw::cuda {

// A row of kernels/cuda/plain/elementwise.txt.
struct Expression {
  std::string text;
  std::string finish = {};                   // of one that joins operands
  bool joins = false;                        // any number of operands
  std::vector<std::string> attributes = {};  // p0, p1 ...
};

class Writer {
 public:
  static Result<Writer> open(const ops::Graph& graph);

  // Plain nodes are computed as references are (kernels/cuda/reference) where there is a file for them.
  void prefer_references() { prefers_references_ = true; }

  // Files that several kernels share are included by their names (compose/parts.h).
  void name_parts() { names_parts_ = true; }

  // The whole source. `choice`: the technique of each node; null: plainly.
  Result<std::string> write(const Choices& choice, const std::string& about);

 private:
  Writer(const ops::Graph& graph, std::filesystem::path folder, std::map<std::string, Expression> expressions)
      : graph_(graph), folder_(std::move(folder)), expressions_(std::move(expressions)) {}

  // A file of kernels/cuda with what it includes, once; in a namespace where one is given.
  Status include(const std::filesystem::path& file, const std::string& space = "");
  Result<std::string> type_of(int slot) const;
  // An operand or result that is left out has some type: it does not matter which.
  Result<std::string> type_of_any(int slot, const std::string& otherwise) const;

  // How one node becomes launches.
  struct Parts {
    std::size_t index = 0;
    std::string op;
    std::vector<int> results;           // slots; -1: unused
    std::vector<std::string> types;     // of the results
    std::string parameters, arguments;  // of the operands, in a kernel and in the plan
    std::string operands, givens;       // their names in a kernel's body, and what the plan knows of them
    std::string structure;              // the type of what the plan fills in
  };
  Status write_plain(std::size_t index);
  Status check_shapes(const ops::GraphNode& node) const;
  // Where a result lies, and what the plan knows of it.
  void place(int slot);
  void launch(const std::string& kernel, const std::string& count, const std::string& arguments);
  void add_kernel(const std::string& name, const std::string& parameters, const std::string& body);
  void launch_elements(const Parts& parts, std::size_t k, const std::string& body);
  void launch_rows(const Parts& parts);
  void launch_blocks(const Parts& parts);
  Result<std::string> write_expression(std::size_t index, const Expression& expression, const ops::GraphNode& node,
                                       std::size_t operands, const std::string& type);
  // An attribute as the plan reads it: plan.node(2).real("alpha").
  std::string attribute_of(const ops::GraphNode& node, const std::string& name) const;

  // Nodes that work element by element, as a structure that reads or writes through them.
  struct Chain {
    std::string name;         // chain4
    std::string type;         // of its last result
    std::vector<int> leaves;  // slots that it reads from memory
    std::string parameters;   // "const float* chain4_x0, "
    std::string arguments;    // of a launch, for those
    std::string members;      // "chain4_x0, chain4_of_it": what the structure is made of in a kernel
  };
  // `of`: the slot whose value comes from elsewhere; -1: none. *Shape of the result must be known to the plan before.
  Result<Chain> write_chain(const Choices& choice, const std::vector<std::size_t>& nodes, int of);
  Status write_chain_alone(const Choices& choice, const Group& group);
  Status write_technique(const Choices& choice, const Group& group);

  const ops::Graph& graph_;
  std::filesystem::path folder_;  // kernels/cuda
  std::map<std::string, Expression> expressions_;
  bool prefers_references_ = false, names_parts_ = false;
  std::set<std::string> included_;
  std::map<int, std::string> arguments_;  // of a launch, by slot
  std::map<int, std::size_t> outputs_;    // of the graph, by slot
  std::string parts_, structures_, kernels_, plan_;
};

}  // namespace kw::cuda
