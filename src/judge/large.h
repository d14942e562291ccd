// Tasks whose own shape the host cannot afford (affordable.h), on a device that draws and compares by itself
// (targets/large_shapes.h).
//
// In the own shape every element of every output is compared with a reference in float64 that the device computes. How
// far it may be off is taken from the CPU's derived bounds on a smaller shape whose sums are as long as can be
// afforded: the largest bound there, as floor + share * |answer|, twice, and more by what sums are longer in the own
// shape. Hidden shapes are small and judged as always, with exact bounds, by the CPU's references.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "judge/affordable.h"
#include "judge/examine.h"
#include "targets/large_shapes.h"

namespace kw::judge {

struct LargeTask {
  targets::LargeShapes* device = nullptr;
  std::shared_ptr<const targets::DeviceReference> reference;
  std::vector<targets::OutputBound> bounds;  // of the outputs
  Lengths bounded_at;                        // the smaller shape that they come from
};

// Tasks up to this size are judged by the host although the device could: larger ones would take seconds a case.
inline constexpr Means kQuickOnHost{.memory_bytes = 2e9, .reference_s = 1};

// None: the host judges it as usual. An Error: neither the host nor the device can afford the task.
Result<std::optional<LargeTask>> large_task(const Task& task, targets::Device& device, const Means& means);

// As check_affordable, for kernels of a device that is not open: an Error where neither the host nor it can afford the
// task.
Status check_affordable_on(const std::string& device, const Task& task, const Means& means);

// The smaller shape, within these means, with the longest sums.
Lengths lengths_with_long_sums(const Task& task, const Means& means);

// The candidate in the own shape on typical inputs: at three places, and once again; or only once.
Result<std::optional<Finding>> examine_large(const LargeTask& large, const Task& task, targets::Device& device,
                                             targets::Calls& calls, targets::LoadedKernel& kernel, int threads,
                                             bool once, Random& random, Examined& examined);

// What is wrong with an answer, if anything; the largest error in parts of what is allowed goes to *worst.
std::optional<Reason> wrong_answer(const targets::Instance& instance,
                                   const std::vector<targets::CheckedOutput>& outputs, double* worst);

// Inputs of fewer elements are drawn by the host.
inline constexpr std::int64_t kLeastDrawnThere = 1 << 16;

}  // namespace kw::judge
