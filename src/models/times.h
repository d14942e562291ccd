// Where a model's time goes: what each node takes inside of ONNX Runtime, what no kernel can take less than, and how
// much faster the whole would be (Amdahl's law).
//
// The runtime works on a graph of its own: it joins nodes, folds others away and changes layouts between them. The
// model is given to it with numbered names, so that what it made of them can be traced back; the time of a joined node
// is shared among those that it stands for, in proportion to what they take alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/model.h"
#include "models/runtime.h"

namespace kw::models {

// Nodes that are alike: one kernel serves all of them.
struct TimeRow {
  std::string op;
  std::string first;  // the first node's name
  std::vector<std::size_t> nodes;
  std::string shapes;              // "float32[1, 3, 8, 8] -> float32[1, 16, 8, 8]"
  double in_model_ns = 0;          // of all of them together, in the runtime with all its optimisations
  double alone_ns = 0;             // with none
  std::optional<double> least_ns;  // by the machine's limits; none: not known
  std::string obstacle;            // why kw cannot express them; empty: it can
  double possible = 1;             // how many times as fast the model would be if they took the least time

  double saving_ns() const { return least_ns && *least_ns < in_model_ns ? in_model_ns - *least_ns : 0; }
};

struct ModelTimes {
  std::string runtime;  // "ONNX Runtime 1.31.1"
  int threads = 1;
  // Of a call: the tenth percentile, since whatever else runs on the machine lengthens whole calls far more often than
  // single nodes, whose times are medians; and the median.
  double total_ns = 0, median_ns = 0;
  std::size_t calls = 0;
  std::vector<TimeRow> rows;    // the largest saving first, then by time
  double layout_ns = 0;         // what the runtime adds: changes of layout and type
  double rest_ns = 0;           // calls, scheduling; of whole calls what no node took
  std::vector<double> node_ns;  // of each node of the model, in the runtime with all its optimisations
};

// `device` gives the machine's limits.
Result<ModelTimes> where_time_goes(const Model& model, const Runtime& runtime, const RunTerms& terms,
                                   const std::string& device);

// What the model consists of and must take at least; nothing is run, and times are 0.
ModelTimes without_times(const Model& model, const std::string& device);

// Terms with the model's own inputs.
RunTerms terms_of(const Model& model);
// And with the user's values for them from an .npz file; empty: they are drawn.
Result<RunTerms> terms_given(const Model& model, std::int64_t threads, const std::string& inputs);

std::string times_as_text(const Model& model, const ModelTimes& times, std::size_t most_rows);
std::string times_as_json(const Model& model, const ModelTimes& times);

}  // namespace kw::models
