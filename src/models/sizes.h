// A model whose lengths stay open, with kernels for some of them: `kw model --optimize --over`.
//
// A kernel with fixed lengths is the fast one, so that each size gets a choice of its own, as if it were the only one
// (optimize.h). The choices become one model that picks by the shapes that it meets (suites/onnx_dispatch.h), with one
// library; sizes that none was made for run the original. At every size of a choice, and at some between them, the
// whole is held to the original: a choice that does not gain there is left out.
//
// Choices take minutes each. Until the work is done they are kept in the user's own cache folder, so that the same
// command goes on where it was ended. They are not kept in the output folder: files there may
// come from other users, and sources among them would be built and run.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "models/optimize.h"
#include "runs/over.h"

namespace kw::models {

// "N=1..64": both ends and the middle, and others between them that no search sees; again for further lengths, which
// grow together. "N=1,8,64": these.
Result<std::vector<runs::OverSize>> sizes_of(const std::vector<std::string>& over);

struct OverOrder {
  std::filesystem::path file;
  Lengths dims;  // of the other lengths
  std::vector<runs::OverSize> sizes;
  int threads = 1;
  std::string device;
  double within_s = 600;  // for all sizes together
};

// Where the choices are kept until the work is done: those for another model, other sizes or another device are another
// work's.
std::filesystem::path choices_file(const OverOrder& order, std::string_view model_bytes);

struct SizeOutcome {
  Lengths lengths;
  bool seen = false;
  bool kept = false;  // it has kernels of its own
  std::string why;    // the reason why it has none
  double original_ns = 0, model_ns = 0;
  Ratio speedup, twin;
  std::vector<Difference> outputs;  // of the first set of inputs
};

struct OverOutcome {
  bool gained = false;
  std::string why;
  std::string runtime;
  std::vector<SizeOutcome> sizes;
  std::vector<std::filesystem::path> files;
};

// Writes into the folder, which exists: model.onnx, libkernels.so, library/, run.py, run.c, report.json.
Result<OverOutcome> optimize_over(const OverOrder& order, const Runtime& runtime, const std::filesystem::path& out,
                                  const Search& search, const Tell& tell);

std::string over_as_text(const OverOutcome& outcome);
std::string over_as_json(const OverOutcome& outcome);

}  // namespace kw::models
