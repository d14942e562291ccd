// For tests and benchmarks: runs, candidates and verdicts made up by hand.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace kw::store {

inline TaskSnapshot task_by_hand(const std::string& name = "Relu") {
  return {.name = name, .suite = "mine", .category = "Activation", .text = "{\"name\":\"" + name + "\"}"};
}

inline NewItem item_by_hand(std::int64_t position, const std::string& source, const std::string& task = "Relu") {
  return {.position = position,
          .task = task_by_hand(task),
          .candidate = Candidate{.file = "kernel.cpp", .source = source, .settings = R"({"TILE":"8"})"},
          .label = std::to_string(position)};
}

// Accepted, and `speedup` times as fast as the rival "plain".
inline Verdict verdict_by_hand(double time_ns, double speedup, int pairs = 8) {
  Verdict verdict{.task = "Relu", .target = "cpu", .stage = VerdictStage::accepted, .time_ns = time_ns, .noise = 0.01};
  Speedup one{.rival = "plain", .median = speedup, .low = speedup * 0.99, .high = speedup * 1.01, .pairs = pairs};
  for (int i = 0; i < pairs; ++i) one.times.push_back({time_ns + i, (time_ns + i) * speedup});
  verdict.speedups.push_back(std::move(one));
  return verdict;
}

// The parts of kw eval --json that the store's readers look at.
inline std::string json_by_hand(const Verdict& verdict) {
  const auto number = [](const std::optional<double>& value) { return value ? fmt::format("{}", *value) : "null"; };
  return fmt::format(
      R"({{"task":"{}","accepted":{},"stage":"{}","reason":null,"max_error":0.5,"time_ns":{},"roof_fraction":null,"noise":{}}})",
      verdict.task, verdict.accepted(), name_of(verdict.stage), number(verdict.time_ns), number(verdict.noise));
}

inline Machine machine_by_hand(const std::string& identity = "this") {
  return {.identity = identity, .name = "A Processor", .facts = R"({"cpu":{"model":"A Processor"}})"};
}

inline Circumstances around_by_hand(std::int64_t machine, const std::string& version = "1") {
  return {.machine = machine, .spent_s = 0.5, .terms = "warm caches, 1 thread", .versions = {{"plain", version}}};
}

}  // namespace kw::store
