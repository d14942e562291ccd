// The page of trainings: loss on what is learnt and on what is held out, rewards and the share of answers that got one,
// and some texts that the model wrote.
//
// It is made of what kw-lm tells at a checkpoint and writes as training.json (src/lm_torch/train.h), which may come
// from anywhere: what is not as it must be is an Error, and nothing else of it reaches the page. Long curves are
// thinned.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kw::report {

struct ShownTraining {
  std::string where;  // the file that it was read from, for complaints
  Json about;
};
// A page that is `live` loads itself anew now and then.
Result<std::string> training_page(std::span<const ShownTraining> trainings, bool live, const std::string& version);

// Of folders with a training.json, or such files themselves.
Result<std::string> training_page_of_runs(std::span<const std::filesystem::path> runs, const std::string& version);

// The page of a training that goes on, written to a file at each checkpoint; after its first failure nothing more is
// written or complained about.
class LiveTrainingPage {
 public:
  LiveTrainingPage(std::filesystem::path file, std::string version)  // no file: no page
      : file_(std::move(file)), version_(std::move(version)) {}
  Status show(const Json& checkpoint);
  Status end();  // the last checkpoint, no longer live

 private:
  Status write(bool live);

  std::filesystem::path file_;
  std::string version_;
  std::vector<ShownTraining> last_;
  bool failed_ = false;
};

// What the page shows of one training.
Result<Json> shown_of_training(const Json& about);

}  // namespace kw::report
