// A kernel behind plain C functions, for the shapes of its task: the header that a program includes, and the code that
// turns a call of it into one of the contract (include/kernelwright.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/graph.h"

namespace kw::runs {

struct CInterface {
  const ops::Graph* graph = nullptr;
  std::string name;  // a C identifier; all symbols begin with it
  bool prepares = false;
  bool threaded = false;                           // it takes a number of threads
  std::int64_t scratch_bytes = 0, kept_bytes = 0;  // with what aligning them may cost; 0: none, and no parameter

  // Names of the parameters, of all inputs and all outputs; no two the same.
  std::vector<std::string> inputs, outputs;
};

CInterface c_interface_of(const ops::Graph& graph, const std::string& name);

// What elements of the type are in C: "float".
std::string c_type(DType dtype);

// The attributes of all nodes as a table of the contract's kw_attribute; no table where there are none.
struct AttributeTable {
  std::string text;
  std::string name;
  std::size_t count = 0;
};
AttributeTable attribute_table(const ops::Graph& graph, const std::string& prefix);

// `about` are lines for the comment that the header begins with.
std::string c_header(const CInterface& interface, const std::vector<std::string>& about);
// What stands behind the kernel's own source, in C as in C++. The kernel's entry points are NAME_kernel and
// NAME_kernel_prepare.
std::string c_functions(const CInterface& interface);
// Calls of the two functions with these arguments for the tensors; that of an output whose shape depends on values has
// one more in it.
std::string prepare_call(const CInterface& interface, const std::vector<std::string>& inputs, const std::string& kept,
                         const std::string& scratch);
std::string run_call(const CInterface& interface, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const std::string& kept, const std::string& scratch);

}  // namespace kw::runs
