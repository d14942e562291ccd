// What is worth a kernel of its own in a model, and how the time for finding it is shared.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/tunables.h"
#include "models/groups.h"
#include "models/model.h"
#include "models/times.h"
#include "runs/order.h"

namespace kw::models {

// Groups that are alike.
struct GroupKind {
  std::string op;  // what the custom operator is called: "Conv_Sigmoid_Mul_3"
  Task task;       // of the first group; large weights are drawn, so that one search serves all of them
  std::vector<Group> groups;
  double in_model_ns = 0;          // of all of them together, inside of the runtime
  std::optional<double> least_ns;  // likewise
  bool is_tail = false;            // these are another kind's groups without their first node
  bool is_region = false;          // one large group, with a kernel that was not searched (regions.h)

  double saving_ns() const { return least_ns ? std::max(0.0, in_model_ns - *least_ns) : in_model_ns; }
};

// A kernel for a kind of groups.
struct KindKernel {
  std::string technique;
  std::string file, source;
  Settings settings;
  std::optional<double> alone_ns;  // as the judge timed it; none: it was not timed alone
  bool uses_threads = false;       // it gives work to the threads that the runtime lends
};

struct Plan {
  std::vector<GroupKind> kinds;  // the largest possible saving for the effort of judging it first
  std::size_t left_out = 0;      // kinds whose possible saving is too small, or for which there is no time
};

// As many kinds as `within_s` seconds are enough for. Nodes that are `taken` have a kernel already.
Result<Plan> plan_of(const Model& model, const ModelTimes& times, const std::string& device, double within_s,
                     const std::set<std::size_t>& taken = {});

// A group that gets its kind's kernel.
struct Chosen {
  std::size_t kind = 0;
  std::size_t group = 0;
};

// The model with these groups replaced by the custom operators of their kinds, and its lengths fixed.
Result<std::string> model_with(const Model& model, const std::vector<GroupKind>& kinds,
                               const std::vector<Chosen>& chosen, const std::string& domain);

// The search for it: each kind gets a share of the time by what it may save. `threads` is what kernels are judged with.
runs::Order order_of(const Plan& plan, const std::string& device, double within_s, int threads);

// Whether a kernel that was found asks for threads, and has enough to do for them: lending them costs microseconds.
bool uses_threads(const Task& task, const std::string& source);

}  // namespace kw::models
