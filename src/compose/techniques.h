// Kernels with no language model: the techniques of a folder of kernels/, and the sources that they make for a task.
//
// A technique is one file, kernels/TARGET/NAME.h (.cuh for CUDA): functions for the operators that it serves, in the
// form of compose/compose.h or of the target's own composer, with tunables in them. The first paragraph of its opening
// comment is the idea, and directives in a paragraph of their own say where it applies; any other word in a directive's
// place is an error:
//
//   // serves: MatMul, Gemm               a long list in several such lines
//   // types: float32                     of all the node's float tensors; any of a list; left out: all types
//   // when: group == 1 && rank0 == 4     integer arithmetic on the node's facts, below; left out: always
//   // order: 10                          which is tried first: the lowest; 50 where it is left out, plain code is last
//   // parts: any                         element by element: of a part of its inputs it computes that part of its
//                                         outputs, so that neighbours can work block by block
//   // fuses: before, after               neighbours that work element by element may be computed where it reads its
//                                         first operand, and where it writes its result (CUDA)
//
// Facts: the node's integer attributes by their names (`group`), lists of them by name and place (`kernel_shape0`),
// `rank0` and `constant0` of each input (-1 where it is left out), `inputs`, `outputs`: how many of them anybody wants,
// `size0`: how many elements an input has, `length0_1`: how long its axis 1 is, and `last0`: its last one; `tf32`:
// whether the task allows TF32.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compose/compose.h"
#include "compose/quantized_products.h"
#include "core/dtype.h"
#include "core/tunables.h"
#include "ops/graph.h"

namespace kw::compose {

struct Technique {
  std::string name;  // of the file
  std::filesystem::path file;
  std::string idea;  // the opening comment's first sentence
  std::vector<std::string> serves;
  std::vector<DType> types;
  std::string when;
  int order = 50;
  bool any_part = false;
  bool fuses_before = false, fuses_after = false;
  std::vector<std::string> prepares;  // operators with a prepare_OP
};

// Reads kernels/FOLDER/; a file that is not a technique is an error that names it. Of no folder there are none.
Result<std::vector<Technique>> read_techniques(const std::string& folder);
Result<Technique> read_technique(const std::filesystem::path& file);

// Whether it can compute this node.
Result<bool> applies(const Technique& technique, const ops::Graph& graph, const ops::GraphNode& node);

// Whether any of them can; they must outlive what this returns.
Served served_by(const std::vector<Technique>& techniques);

inline constexpr char kPlain[] = "plain";  // the technique of a kernel that uses none

// A kernel of a task that an author proposes to begin with, its tunables open.
struct Draft {
  std::string technique;  // "gemm_packed"; of several nodes "conv_depthwise+gemm_packed"; or kPlain
  std::string source;
  Tunables tunables;
};

// How a kernel is written down: its source in a target's language, each node with its technique; null: plainly.
// `about` goes into its first line.
using Composer = std::function<Result<std::string>(const ops::Graph& graph, const std::vector<const Technique*>& choice,
                                                   const std::string& about, Parts parts)>;

// The kernel in which each node is computed with its technique; null: plainly. Without a composer: in C++, for CPUs.
Result<Draft> draft_with(const ops::Graph& graph, const std::vector<const Technique*>& choice,
                         Parts parts = Parts::inlined, const Composer& composer = {});

// All that the techniques offer for the task, the most promising first and the plain kernel last. A node that no
// technique serves gets its plain function.
Result<std::vector<Draft>> drafts_of(const ops::Graph& graph, const std::vector<Technique>& techniques,
                                     Parts parts = Parts::inlined, const Composer& composer = {});

}  // namespace kw::compose
