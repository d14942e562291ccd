// Kernels put back into a model: the model with groups of nodes replaced by custom operators, and the library of these.
//
// What a kernel gains alone is a guess of what it gains in the model: the runtime keeps layouts between neighbours that
// a kernel of ours breaks. So several choices of replacements run side by side with the original, and the best stays;
// what is not clearly faster, or differs by more than the bound, is taken back.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/paired_ratio.h"
#include "base/result.h"
#include "models/library.h"
#include "models/plan.h"
#include "models/runtime.h"

namespace kw::models {

// The outcome for one kind of groups.
struct KindOutcome {
  std::string op;
  std::size_t groups = 0;
  double before_ns = 0;  // of all of them, in the runtime
  double kernel_ns = 0;  // of all of them, as the judge timed the kernel alone; 0: there is none
  double inside_ns = 0;  // as the runtime's profiler saw them in the new model; 0: not put in
  std::string technique;
  bool used = false;
  std::string why;  // the reason why its kernel is not used; empty: it is used
};

// A kind of groups with its kernel, in a model that was kept.
struct ChosenKind {
  GroupKind kind;  // with the groups that were replaced
  KindKernel kernel;
};

struct PutBack {
  std::vector<KindOutcome> kinds;
  bool gained = false;                   // false: the original model is the one to keep, and nothing was written
  std::string why;                       // the reason where nothing was gained
  std::string runtime;                   // "ONNX Runtime 1.31.1"
  int threads = 1;                       // of both
  double original_ns = 0, model_ns = 0;  // medians
  Ratio speedup;                         // over the original
  Ratio twin;                            // of the original over itself: what equal models show
  Ratio fixed;                           // of the original with its lengths fixed over the original
  std::size_t rounds = 0;
  std::vector<Difference> outputs;  // the worst of the cases, of each output
  std::size_t cases = 0;
  std::vector<ErrorsInDouble> in_double;  // of each output, on the first of the cases
  std::string no_reference;               // why the whole graph was not computed in double precision
  std::vector<std::filesystem::path> files;
  std::vector<ChosenKind> chosen;  // where it gained
};

using Tell = std::function<void(const std::string& line)>;

// Kinds of groups with their kernels.
struct Candidates {
  std::vector<GroupKind> kinds;
  std::vector<std::optional<KindKernel>> kernels;  // of each kind; none: there is none
  std::vector<std::string> why_none;               // of each kind

  void add(GroupKind kind, std::optional<KindKernel> kernel, std::string why_none = {});
};

// Of these regions those that are faster in the whole model.
Result<std::vector<std::size_t>> regions_that_gain(const Model& model, const Candidates& regions,
                                                   const Runtime& runtime, const RunTerms& terms,
                                                   const std::string& device);

LibraryKernel library_kernel(const GroupKind& kind, const KindKernel& kernel);

Ratio ratio_of(const Race& race, const std::string& fast, const std::string& slow);

// The names of the original model and of its second copy in a race.
inline constexpr char kOriginal[] = "original", kTwin[] = "twin";

// Why a version is not kept after a race with the original and its twin; empty: it is right, and faster by more than
// the two equal models differ.
std::string why_taken_back(const Race& race, const std::string& version);

// Writes into `out`, which exists: model.onnx, libkernels.so, library/ with the sources, run.py, run.c, report.json.
Result<PutBack> put_back(const Model& model, const Candidates& candidates, const Runtime& runtime,
                         const RunTerms& terms, const std::filesystem::path& out, const std::string& device,
                         const Tell& tell);

std::string ratio_text(const Ratio& ratio);  // "1.304 [1.292, 1.319]"
Json ratio_json(const Ratio& ratio);
// Against the whole graph in double precision, a line for each output; and as rows.
std::string errors_as_text(const std::vector<ErrorsInDouble>& errors, const std::string& no_reference);
Json errors_as_json(const std::vector<ErrorsInDouble>& errors);

std::string outcome_as_text(const PutBack& outcome);
std::string outcome_as_json(const PutBack& outcome);

}  // namespace kw::models
