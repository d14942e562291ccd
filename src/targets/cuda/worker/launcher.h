// A kernel's machine code on the GPU and its launches: bound to a plan, run one by one, or timed as a graph.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "targets/cuda/driver_api.h"
#include "targets/cuda/plan.h"

namespace kw::cuda {

// Where a call's tensors and memory lie.
struct Places {
  std::vector<api::Address> inputs, outputs, shapes;
  api::Address scratch = 0, kept = 0;
};

class Launcher {
 public:
  explicit Launcher(const api::Functions& driver) : driver_(driver) {}

  api::Result load(const void* code);
  void unload();

  // Finds the plan's kernels and holds its arguments to their parameters.
  Status bind(const Plan& plan);
  bool writes_shapes() const { return writes_shapes_; }
  // The launches of a call: those that prepare, or the others. They have been started, not more.
  api::Result launch(const Plan& plan, const Places& places, bool once);
  api::Result finish();

  // The calls one after another as one graph between two events; `cold`: each alone, after the device's cache was
  // overwritten. `first` names the group among others of the same size.
  api::Result time(const Plan& plan, const std::vector<Places>& calls, std::size_t first, bool cold, double* ns);
  void forget_graphs();

 private:
  api::Result start();  // streams, events and our own kernel, once
  Status bind_launch(const Launch& launch);
  Result<std::string> encode(const Argument& argument, const Places& places) const;
  api::Result graph_of(const Plan& plan, const std::vector<Places>& calls, api::Executable* graph);
  api::Result time_graph(api::Executable graph, bool cold, double* ns);

  const api::Functions& driver_;
  api::Module module_ = nullptr, own_ = nullptr;
  api::Function spin_ = nullptr;
  std::map<std::string, api::Function> functions_;
  bool writes_shapes_ = false;
  api::Stream stream_ = nullptr;
  api::Event begin_ = nullptr, end_ = nullptr;
  api::Address flush_ = 0;
  std::map<std::pair<std::size_t, std::size_t>, api::Executable> graphs_;  // by first call and count
};

}  // namespace kw::cuda
