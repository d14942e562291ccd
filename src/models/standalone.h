// A whole model as sources that need no framework: C++ behind one C header, with its memory planned, and a check with
// inputs and outputs of ONNX Runtime.
//
// What every such model has in common is kernels/models/standalone_run.h; here come the plan as tables
// (standalone_plan.h), the kernels and the weights. The sources are built and run before anything is given out: how
// much scratch memory a kernel takes is only known by running it, and outputs that are off are an Error.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/paired_ratio.h"
#include "base/result.h"
#include "models/model.h"
#include "models/optimize.h"
#include "models/put_back.h"
#include "models/runtime.h"
#include "models/standalone_plan.h"

namespace kw::models {

struct Standalone {
  std::size_t kernels = 0, calls = 0;
  std::int64_t weight_bytes = 0;
  std::int64_t memory_bytes = 0;    // of results in between
  std::int64_t unshared_bytes = 0;  // what these would take if they shared no memory
  std::int64_t scratch_bytes = 0, kept_bytes = 0;
  std::string runtime;  // "ONNX Runtime 1.31.1"
  double runtime_ns = 0, model_ns = 0;
  Ratio speedup, twin;  // over ONNX Runtime; of ONNX Runtime over itself
  std::size_t rounds = 0, cases = 0;
  std::vector<Difference> outputs;                              // the worst of the cases, of each
  std::vector<ErrorsInDouble> in_double;                        // of each output, on the first of the cases
  std::string no_reference;                                     // why there are none
  std::vector<std::pair<std::string, std::string>> techniques;  // of each kernel: what it computes, and how
  std::filesystem::path folder;
};

// Units for the regions of the model, which need no search.
std::vector<Unit> units_of_regions(const Model& model);

// How kernels are searched for beside those of the regions.
struct StandaloneSearch {
  double within_s = 600;
  Search run;
};

// Writes into `out`, which exists. Nothing is written where the outputs are not within the bound (runtime.h).
Result<Standalone> make_standalone(const Model& model, const Runtime& runtime, const RunTerms& terms,
                                   const std::filesystem::path& out, const std::string& device,
                                   const std::optional<StandaloneSearch>& search, const Tell& tell);
// The same with these units, and techniques for all other nodes.
Result<Standalone> write_standalone(const Model& model, const std::vector<Unit>& found, const Runtime& runtime,
                                    const RunTerms& terms, const std::filesystem::path& out, const std::string& device,
                                    const Tell& tell);

std::string standalone_as_text(const Standalone& made);
std::string standalone_as_json(const Standalone& made);

}  // namespace kw::models
