// A framework as a framework of the judge's races: one worker, kept as long as the object, ready for one task at a
// time.
//
// A task is handed over as an ONNX model with weights in it. Which of the framework's settings serves the task best
// (the fastest that is right) is tried once for each model and remembered beside the model in the cache, where
// conversions lie too; both are found again by the model's content and the framework's version.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/framework_rival.h"
#include "rivals/catalog.h"
#include "rivals/site.h"
#include "rivals/worker.h"

namespace kw::rivals {

// How a task went when its settings were tried.
struct SettingTrial {
  enum class State { right, wrong, unsupported, failed } state = State::failed;
  std::string setting;     // the best one; of those that were tried in vain, the last
  std::string why;         // it does not run right
  double time_ns = 0;      // of a call, roughly
  double overhead_ns = 0;  // of that, what calling costs
  bool lasts = true;       // false: a setting did not answer in time, which a busy machine can do to it

  bool right() const { return state == State::right; }
  double net_ns() const { return time_ns - overhead_ns; }
};
std::string_view name_of(SettingTrial::State state);
std::string trial_as_json(const SettingTrial& trial);
// Of text that is none: a trial that failed.
SettingTrial trial_from_json(const std::string& text);

// How long a worker may take before it is given up.
struct Patience {
  std::chrono::seconds start{120};  // Python and the framework's own import
  std::chrono::seconds load{120};   // converting a model
  std::chrono::seconds run{20};
};

class Framework final : public judge::FrameworkRival {
 public:
  // Starts no process yet.
  static Result<Framework> open(RivalFile rival, Patience patience = {});
  // Elsewhere than on this machine.
  static Framework open_at(std::unique_ptr<Site> site, RivalFile rival, Patience patience = {});

  // Starts its process and does not wait for it: a caller that will need it soon can do other things meanwhile.
  void start();

  // Its worker has room for two models: the task's, and one with next to nothing in it.
  enum class Side { task, nothing };

  std::string name() const override { return rival_.name; }
  std::string version() const override;
  void runs_beside(targets::Device& device) override;
  judge::FrameworkStatus enter(const targets::Instance& instance, int threads) override;
  const std::vector<Tensor>& weights() const override { return weights_; }
  double overhead_ns() const override { return overhead_ns_; }
  judge::FrameworkStatus arrange(const targets::SharedCalls& shared, const targets::Instance& instance,
                                 Clock::time_point deadline) override;
  judge::FrameworkStatus run(std::uint32_t first, std::uint32_t count, std::uint32_t warm, double* time_ns,
                             Clock::time_point deadline) override;
  std::vector<Shape> shapes(std::size_t call) const override;
  void pin(int core) const override {
    if (worker_ != nullptr) worker_->pin(core);
  }

  // How the task that it entered last went in trials, now or earlier.
  const SettingTrial& trial() const { return trial_; }
  // The model of that task, as ONNX; its folder holds conversions.
  const std::filesystem::path& model_file() const { return model_file_; }
  // How a task went earlier; without starting anything where that is known, else it is tried now.
  SettingTrial tried(const targets::Instance& instance, int threads);
  // The same without ever trying: a trial that failed where nothing is known.
  SettingTrial kept_trial(const targets::Instance& instance, int threads);
  // Forgets what is remembered of a task's settings.
  Status forget(const targets::Instance& instance);
  // What a call costs beyond the operator, in the first setting.
  Result<double> measure_overhead();

 private:
  struct Model {
    std::string text;
    std::filesystem::path folder;
  };

  Framework(std::unique_ptr<Site> site, RivalFile rival, Patience patience)
      : site_(std::move(site)), rival_(std::move(rival)), patience_(patience) {}

  Result<Model> model_of(const targets::Instance& instance);
  // Where the trials of a model are kept.
  static std::filesystem::path trial_file(const Model& model, int threads);
  // An Error: the worker is gone. An FrameworkStatus: it said no.
  Status wake();
  Result<judge::FrameworkStatus> load(const Model& model, const targets::Instance& instance, const std::string& setting,
                                      int threads, Side side = Side::task);
  bool alive() const { return worker_ != nullptr && worker_->alive(); }
  judge::FrameworkStatus arrange(const targets::SharedCalls& shared, const targets::Instance& instance,
                                 Clock::time_point deadline, Side side);
  judge::FrameworkStatus run(std::uint32_t first, std::uint32_t count, std::uint32_t warm, double* time_ns,
                             Clock::time_point deadline, Side side);
  SettingTrial try_setting(const Model& model, const targets::Instance& instance, const std::string& setting,
                           int threads);
  SettingTrial try_all(const Model& model, const targets::Instance& instance, int threads);
  Status measure_overhead_in(const std::string& setting, int threads);

  std::unique_ptr<Site> site_;
  RivalFile rival_;
  Patience patience_;
  std::unique_ptr<targets::Worker> worker_;
  std::string found_version_;  // as the worker said it
  bool awake_ = false;         // the worker has said what it is
  std::vector<std::string> settings_;
  std::filesystem::path model_file_;
  std::string entered_;  // the model's text; empty: none
  int threads_ = 0;
  SettingTrial trial_;
  std::map<std::string, SettingTrial> passing_;  // that do not last, by the file that would hold them
  std::vector<Tensor> weights_;
  std::vector<std::vector<Shape>> shapes_;  // of each call of the last run, where they are not as declared
  double overhead_ns_ = 0;
  std::string overhead_of_;  // the setting that it was measured in
};

}  // namespace kw::rivals
