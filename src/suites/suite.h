// Suites: text files of tasks that a person can read, write and extend. TOML, one [[task]] a task:
//
//   suite = "mobilekernelbench"
//   about = "190 tasks over 95 ONNX operators"
//   level = 1                     (of a suite that has levels: of every task in this file)
//
//   [[task]]
//   name = "Gemm"
//   category = "Matrix"
//   inputs = ["x: float32[N=32, K=512] in [0, 1]"]
//   weights = ["w: float32[M=256, K] normal(0, 0.05)", "b: float32[M]"]
//   constants = ["factor: float32 = 1.5", "axes: int64[1] = [1]"]
//   nodes = ["h = Gemm<transB=1>(x, w, b)", "y = Mul(h, factor)"]
//   outputs = ["y"]
//
// inputs    a tensor is NAME: TYPE[LENGTHS] and, if wanted, how its typical values are spread: `in [LOW, HIGH]`
//           (uniform) or `normal(MEAN, DEVIATION)`; plain `normal` is normal(0, 1). A length is a number, NAME=NUMBER,
//           or the NAME of one given so before. Named lengths are what the task leaves open: the judge tries others.
// weights   likewise; drawn once and known to a kernel's `prepare`.
// constants NAME: TYPE[LENGTHS] = VALUE or [VALUES]; integers may be names of lengths.
// nodes     OUTPUTS = Operator<ATTRIBUTE=VALUE, ...>(INPUTS), in an order that computes. Attribute values are numbers,
//           'texts', lists of them, or names of lengths. `_` stands for an output or input that is left out.
// outputs   names; the last node's outputs if absent. NAME: TYPE[LENGTHS] where an operator cannot tell (Range).
// opset     if absent, the first from 17 on that has all the operators.
// precision "tf32": products and convolutions of float32 may be computed in TF32.
// note, degenerate, tolerance: see core/task.h.
//
// A suite may be several files: NAME.toml and NAME-ANYTHING.toml that say the same `suite`.
//
// Every error names file, line and column.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/task.h"

namespace kw::suites {

struct Suite {
  std::string name;
  std::string about;
  std::vector<Task> tasks;
};

// `place` is what errors call the text, usually the file's path. Tasks are only read, not resolved; names are unique.
Result<Suite> parse_suite(std::string_view text, const std::string& place);
Result<Suite> read_suite(const std::filesystem::path& path);

}  // namespace kw::suites
