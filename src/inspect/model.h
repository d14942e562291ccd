// A task taken apart: as ONNX says it, node by node with every attribute and type, and as the kernel sees it, call by
// call with types and layouts; and what the verifier found wrong, where. What agents are told, and `kw inspect task`
// shows.
#pragma once

#include <string>
#include <vector>

#include "core/verdict.h"
#include "ops/graph.h"

namespace kw::inspect {

// A tensor as it is handed to a kernel.
struct KernelTensor {
  std::string call;     // "call.input<float>(0)"
  std::string name;     // in the task
  TensorType type;      // dense and row-major, whatever ONNX calls its axes
  std::string when;     // "new with every call", "constant: KW_PREPARE may pack it"; empty for outputs
  std::string content;  // of a small constant: "[0, 2, 1]"; else empty
};
std::vector<KernelTensor> inputs_of_kernel(const ops::Graph& graph);
std::vector<KernelTensor> outputs_of_kernel(const ops::Graph& graph);

// An attribute of a node, defaults filled in.
struct NodeFact {
  std::string name;
  std::string value;  // as a suite has it
  std::string call;   // "call.node(1).integers(\"axes\")"
  bool said = false;  // the task says it; else it is the operator's default
};
std::vector<NodeFact> attributes_of(const ops::Graph& graph, std::size_t node);

// "  call.input<float>(0)  x  float32[64, 2048]  new with every call", a line a tensor: the short form, for prompts.
// What asks for them: a kernel, or the plan of device code (include/kernelwright_cuda.h).
enum class Reads { call, plan };
std::string kernel_side(const ops::Graph& graph, Reads reads = Reads::call);
// Nodes, attributes, types of everything between, constants, layouts.
std::string model_as_text(const ops::Graph& graph);
// What was found wrong, and where.
std::string findings_as_text(const Verdict& verdict);

}  // namespace kw::inspect
