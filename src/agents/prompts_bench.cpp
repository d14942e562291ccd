// How long are prompts? Fills the first ones of every author for every task of a suite, and prints the longest of each
// part.
//
//   kw_prompts_bench [SUITE] [--target DEVICE]   exit code 1 where a part is over its budget
#include <fmt/core.h>

#include <map>

#include "agents/facts.h"
#include "judge/plain_source.h"
#include "suites/catalog.h"

namespace {

using namespace kw;

struct Longest {
  std::size_t tokens = 0;
  std::string task;
};

void take(Longest& longest, std::size_t characters, const std::string& task) {
  const std::size_t tokens = (characters + 3) / 4;
  if (tokens > longest.tokens) longest = {tokens, task};
}

}  // namespace

int main(int argc, char** argv) {
  std::string suite_name = "mobilekernelbench", device = targets::usual_device();
  for (int i = 1; i < argc; ++i) {
    if (const std::string word = argv[i]; word == "--target" && i + 1 < argc) {
      device = argv[++i];
    } else {
      suite_name = word;
    }
  }
  const auto suite = suites::find_suite(suite_name);
  const auto prompts = agents::Prompts::open();
  if (!suite.ok() || !prompts.ok())
    return fmt::print("{}\n", suite.ok() ? prompts.error().message : suite.error().message), 2;
  std::map<std::string, Longest> parts, whole;
  std::map<std::string, int> cut;
  int without = 0;  // a plain kernel, which operators may lack on a device
  for (const Task& task : suite->tasks) {
    const auto graph = ops::resolve(task);
    if (!graph.ok()) continue;
    auto facts = agents::facts_of(task, *graph, {.device = device, .from_nothing = true});
    const auto kernel = judge::plain_source(device, *graph);
    if (!facts.ok() || !kernel.ok()) {
      fmt::print("{}: {}\n", task.name, facts.ok() ? kernel.error().message : facts.error().message);
      if (!facts.ok()) return 2;
      ++without;
      continue;
    }
    (*facts)["kernel"] = kernel->text;
    (*facts)["start"] = "A plain kernel that is right and slow";
    for (const agents::PromptSlot& place : agents::all_slots()) {
      const auto fact = facts->find(place.name);
      if (fact == facts->end()) continue;
      const std::string kept = agents::cut_to(fact->second, place.most_tokens);
      cut[place.name] += kept.size() < fact->second.size();
      take(parts[place.name], kept.size(), task.name);
    }
    for (const std::string& name : prompts->names()) take(whole[name], prompts->text(name, *facts).size(), task.name);
  }
  bool within = true;
  for (const agents::PromptSlot& place : agents::all_slots()) {
    if (!parts.contains(place.name)) continue;
    fmt::print("{:<12} longest {:>5} of {:>5} tokens ({}), cut on {} tasks\n", place.name, parts[place.name].tokens,
               place.most_tokens, parts[place.name].task, cut[place.name]);
    within = within && parts[place.name].tokens <= static_cast<std::size_t>(place.most_tokens);
  }
  for (const auto& [name, longest] : whole)
    fmt::print("prompt {:<12} longest {:>5} tokens ({})\n", name, longest.tokens, longest.task);
  fmt::print("{} tasks, {} of them without a plain kernel and left out; every part within its budget: {}\n",
             suite->tasks.size(), without, within ? "yes" : "NO");
  return within ? 0 : 1;
}
