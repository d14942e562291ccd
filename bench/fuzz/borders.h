// The places at which kw reads what others made, each as a function that takes any bytes.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kw::fuzz {

// Takes one input. What it refuses is no fault; a crash, an exception that gets out, or a broken promise (it traps) is.
using Take = std::function<void(std::string_view)>;

struct Border {
  std::string name;
  double weight = 1;               // its share of all inputs: what takes longer gets fewer
  std::vector<std::string> seeds;  // good inputs, to be damaged
  // Called once in the process that tries them, with a folder of its own.
  std::function<Take(const std::filesystem::path& scratch)> begin;
};

std::vector<Border> all_borders(const std::filesystem::path& project);
// Parts of them.
std::vector<Border> corpus_borders(const std::filesystem::path& project);
std::vector<Border> agent_borders(const std::filesystem::path& project);
std::vector<Border> lm_borders(const std::filesystem::path& project);  // where language models are built (KW_LM)

// Traps where it is not kept.
inline void promise(bool kept) {
  if (!kept) __builtin_trap();
}

inline Border without_state(std::string name, double weight, std::vector<std::string> seeds,
                            void (*take)(std::string_view)) {
  return {std::move(name), weight, std::move(seeds), [take](const std::filesystem::path&) -> Take { return take; }};
}

}  // namespace kw::fuzz
