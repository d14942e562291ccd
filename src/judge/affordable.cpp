#include "judge/affordable.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/files.h"
#include "ops/lengths.h"

namespace kw::judge {
namespace {

constexpr double kCallsOfACase = 3;  // a case's calls lie in three places
constexpr double kShareOfMemory = 2.0 / 3;
constexpr double kComfortable_s = 0.5;
// Where the system does not say.
constexpr double kMemoryUnlessKnown = 8e9;
// References are plain loops in double precision; kw_reference_bench shows how long they take.
constexpr double kFlopsPerSecond = 1e9;
constexpr double kElementsPerSecond = 2e7;

std::string dims_of(const Lengths& lengths, const Lengths& own) {
  std::string flags;
  for (const auto& [name, value] : lengths) {
    if (value != own.at(name)) flags += fmt::format(" --dim {}={}", name, value);
  }
  return flags;
}

bool is_within(const Burden& burden, const Means& means) {
  return burden.memory_bytes <= means.memory_bytes && burden.reference_s <= means.reference_s;
}

// What can be held and computed within these means, and a factor less.
ops::Allowance allowance_of(const Means& means, double factor) {
  return {.elements = factor * std::min(means.reference_s * kElementsPerSecond, means.memory_bytes / 32),
          .flops = factor * means.reference_s * kFlopsPerSecond};
}

// What is made smaller, or proposed, takes moments instead of all that there is.
Means comfortable(const Means& means) {
  return {.memory_bytes = means.memory_bytes / 4, .reference_s = std::min(means.reference_s, kComfortable_s)};
}

// Its own where they are affordable, or nothing that can be made shorter is.
Lengths affordable_lengths(const Task& task, const Means& means) {
  Lengths lengths = task.lengths;
  // An allowance does not know of results in between: it is halved until they fit too.
  for (double factor = 1; factor > 1e-6; factor /= 2) {
    const auto graph = ops::resolve(task, lengths);
    if (graph.ok() && is_within(burden_of(*graph), means)) return lengths;
    lengths = ops::lengths_within(task, allowance_of(means, factor));
  }
  return task.lengths;
}

}  // namespace

Burden burden_of(const ops::Graph& graph) {
  Burden burden;
  double elements = 0;
  const auto add = [&](const TensorType& type) {
    burden.memory_bytes += (kCallsOfACase + 1) * static_cast<double>(type.bytes());
  };
  for (const ops::GraphInput& input : graph.inputs) add(input.type);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) add(graph.output_type(i));
  for (const TensorType& type : graph.types) elements += static_cast<double>(type.shape.count());
  // Beside each number stands its slack.
  burden.memory_bytes += elements * 2 * sizeof(double);
  burden.reference_s = elements / kElementsPerSecond + ops::cost_of(graph).flops / kFlopsPerSecond;
  return burden;
}

Means means_of_this_machine() {
  Means means{.memory_bytes = kShareOfMemory * kMemoryUnlessKnown};
  const auto text = read_file("/proc/meminfo");
  if (!text.ok()) return means;
  constexpr std::string_view kKey = "MemAvailable:";
  const std::size_t at = text->find(kKey);
  if (at == std::string::npos) return means;
  const std::size_t digits = text->find_first_not_of(' ', at + kKey.size());
  double kibibytes = 0;
  if (digits != std::string::npos) {
    std::from_chars(text->data() + digits, text->data() + text->size(), kibibytes);
  }
  if (kibibytes > 0) means.memory_bytes = kShareOfMemory * 1024 * kibibytes;
  return means;
}

Status check_affordable(const Task& task, const Means& means) {
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  const Burden burden = burden_of(graph);
  if (is_within(burden, means)) return {};
  const std::string flags = dims_of(affordable_lengths(task, comfortable(means)), task.lengths);
  return fail(
      "{} is too large to be judged here: a case takes about {:.1f} GB and {:.0f} s of reference, and {:.1f} GB "
      "and {:.0f} s are the most; {}",
      task.name, burden.memory_bytes / 1e9, burden.reference_s, means.memory_bytes / 1e9, means.reference_s,
      flags.empty() ? "it leaves no length open that would make it fit" : "smaller:" + flags);
}

Task made_affordable(Task task, const Means& means) {
  if (check_affordable(task, means).ok()) return task;
  const Lengths lengths = affordable_lengths(task, comfortable(means));
  if (lengths == task.lengths) return task;
  task.lengths = lengths;
  task.name += "_small";
  return task;
}

}  // namespace kw::judge
