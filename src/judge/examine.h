// Is the candidate right? It is run on the task's own shape and on shapes that its author never saw, on typical and on
// hard values, at awkward addresses between unmapped pages, twice, and over memory that holds rubbish; and every
// element of every output is held against the reference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/verdict.h"
#include "judge/glance.h"
#include "judge/instance.h"
#include "ops/compare.h"
#include "ops/op.h"
#include "sandbox/sandbox.h"
#include "targets/cpu/cell.h"

namespace kw::judge {

// Why a candidate is rejected.
struct Finding {
  VerdictStage stage = VerdictStage::verify;
  std::string reason;
};

struct Examined {
  std::optional<Finding> finding;
  double max_error = 0;  // of what was compared, in parts of what is allowed
  bool varies = false;
  // For each output: the largest error that typical inputs allow an element.
  std::vector<double> allowed;
  int cases = 0;
};

struct Exam {
  const Task* task = nullptr;
  const sandbox::Sandbox* sandbox = nullptr;
  const sandbox::Descriptor* library = nullptr;
  const Arena* inputs = nullptr;
  int threads = 1;
  std::uint64_t seed = 0;
  const Glance* glance = nullptr;  // only these inputs, in the task's own shape
};

Result<Examined> examine(const Exam& exam);

// Where a fault's address lies: "4 bytes behind the end of input 0 (x)", or empty where it is near no buffer.
std::string describe_address(std::uint64_t address, const Layout& layout, const Instance& instance);

// The outputs that a call left in the arena, with the shapes that the kernel gave to those that depend on values.
Result<std::vector<Tensor>> read_outputs(const Cell& cell, const Layout& layout, const Instance& instance,
                                         std::size_t call, std::string* problem);

// What a candidate's trouble means for its verdict.
Finding finding_of(const Trouble& trouble, VerdictStage stage, const Layout* layout, const Instance* instance);

}  // namespace kw::judge
