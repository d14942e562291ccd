// Rewards from another process, over lines of JSON: `kw gym`, or any program that speaks as it does (docs/corpus.md).
//
//   to it     {"id": 3, "task_text": ..., "source": ...}
//   from it   {"id": 3, "reward": 0.7, ...}, in any order; with "error" in place of "reward" it could not be judged
//
// A process that ends or says nothing for too long is started anew and asked again for what it has not answered, so
// that a judge that is away for a while costs no answer.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/json.h"
#include "base/result.h"

namespace kw::lm {

struct RewardPatience {
  double silence_s = 600;  // no line for as long: it is started anew
  double pause_s = 10;     // before it is started anew
  int tries = 10;          // without a single answer between them
};

class RewardProcess {
 public:
  RewardProcess(std::vector<std::string> words, RewardPatience patience = {});
  RewardProcess(const RewardProcess&) = delete;
  RewardProcess& operator=(const RewardProcess&) = delete;
  ~RewardProcess();

  // One for each request, which get ids of ours; none where it could not be judged. An Error where the process cannot
  // be had at all.
  Result<std::vector<std::optional<double>>> rewards(const std::vector<Json>& requests);

 private:
  Status start();
  void end();
  // What is left to ask goes out, and lines are taken until all are answered; false: it ended or was silent.
  bool exchange(const std::vector<Json>& requests, std::vector<bool>& answered,
                std::vector<std::optional<double>>& made);
  void take(const std::string& line, std::vector<bool>& answered, std::vector<std::optional<double>>& made);

  std::vector<std::string> words_;
  RewardPatience patience_;
  pid_t id_ = 0;
  Descriptor socket_;
  std::string pending_;
  std::int64_t first_id_ = 0;  // of the current requests: late answers to others are passed over
};

}  // namespace kw::lm
