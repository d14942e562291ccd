// A framework beside the kernels of a GPU of this machine: the user's own PyTorch, which runs a task's graph on the
// same GPU (rivals/shared/torch_on_gpu.py).
//
// It gets the kernels' inputs and weights, which its process copies to the GPU before anything is timed, and is timed
// as they are: calls as one graph between events, while the kernels' processes are idle. What a call from Python takes
// beyond that is told beside it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "judge/framework_rival.h"
#include "rivals/catalog.h"
#include "rivals/worker.h"

namespace kw::rivals {

// How long its process may take before it is given up.
struct GpuPatience {
  std::chrono::seconds start{120};    // Python and PyTorch's own import
  std::chrono::seconds prepare{240};  // the first calls, in which torch.compile compiles
  std::chrono::seconds run{60};
};

class OnGpu final : public judge::FrameworkRival {
 public:
  OnGpu(RivalFile rival, int gpu, GpuPatience patience = {})
      : rival_(std::move(rival)), gpu_(gpu), patience_(patience) {}

  // Starts its process and does not wait for it.
  void start();

  std::string name() const override { return rival_.name; }
  std::string version() const override { return version_.empty() ? rival_.version() : version_; }
  judge::FrameworkStatus enter(const targets::Instance& instance, int threads) override;
  const std::vector<Tensor>& weights() const override { return no_weights_; }
  double overhead_ns() const override { return 0; }
  judge::FrameworkStatus arrange(const targets::SharedCalls& shared, const targets::Instance& instance,
                                 Clock::time_point deadline) override;
  judge::FrameworkStatus run(std::uint32_t first, std::uint32_t count, std::uint32_t warm, double* time_ns,
                             Clock::time_point deadline) override;
  std::optional<double> own_ns() const override { return own_ns_; }
  std::optional<double> own_warm_ns() const override { return own_warm_ns_; }
  bool set_cold(bool cold) override { return cold_ = cold, true; }
  judge::FrameworkStatus fetch(std::size_t call) override;
  std::vector<Shape> shapes(std::size_t call) const override;
  void pin(int) const override {}

 private:
  judge::FrameworkStatus ask(const Json& command, const targets::SharedCalls* shared, std::chrono::seconds most,
                             Json* answer);
  // Its models, and what its compiler keeps.
  std::filesystem::path kept() const;
  bool alive() const { return worker_ != nullptr && worker_->alive(); }

  RivalFile rival_;
  int gpu_;
  GpuPatience patience_;
  std::unique_ptr<targets::Worker> worker_;
  bool awake_ = false;  // it has said its version
  bool cold_ = false;
  bool ran_ = false;  // since it was arranged
  std::string version_;
  std::optional<double> own_ns_, own_warm_ns_;
  std::pair<std::size_t, std::vector<Shape>> fetched_;  // a call, and its outputs' shapes
  std::vector<Tensor> no_weights_;
};

}  // namespace kw::rivals
