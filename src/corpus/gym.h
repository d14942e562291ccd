// The reward service: candidates come as JSON lines, rewards go back as JSON lines, in the order of completion.
//
// A request names a task, or gives its text, and a source; or a hole's prefix and suffix with what was filled in. All
// are judged at the desk (mcp/desk.h): many are built and examined together, one is timed alone, and everything is in
// the record. A reward other than 0 needs a kernel that was accepted: built, right on hidden cases, honest when timed.
// docs/corpus.md has the protocol.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "core/verdict.h"
#include "mcp/desk.h"

namespace kw::corpus {

struct GymRules {
  std::string against = "plain";  // the rival whose interval counts
  double budget_s = 0.25;         // of timing, for each candidate
  int at_once = 0;                // requests that are taken at once; 0: four for each core
};

// 0 for what was not accepted; else log2(1 + low) of the lower end of the interval against the rival: 1 where the
// kernel surely is as fast as it, 2 where it is three times as fast, and at most kMostReward.
inline constexpr double kMostReward = 4;
double reward_of(const Verdict& verdict, const std::string& against);

class Gym {
 public:
  // The desk must outlive it.
  Gym(mcp::Desk& desk, GymRules rules) : desk_(desk), rules_(std::move(rules)) {}

  // One request, from any thread; returns when it is judged. `number` is the line's, for errors.
  Json answer(const std::string& line, std::int64_t number);

  // Answers lines from `in` until it ends, or the reader of `out` is gone.
  void serve(int in, int out);

 private:
  struct Wanted;
  Result<Wanted> wanted_in(const Json& request);
  Result<const Task*> task_in(const Json& request);
  Json judged(const Wanted& wanted);

  mcp::Desk& desk_;
  const GymRules rules_;
  std::mutex lock_;  // of what follows
  // By their texts, for as long as the service lives: the record's side knows a task by its address.
  std::map<std::string, std::unique_ptr<const Task>> tasks_;
  // Recent answers, by task and source: equal candidates are judged once.
  std::map<std::string, Json> known_;
  std::deque<std::string> known_order_;
};

}  // namespace kw::corpus
