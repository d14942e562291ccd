// Kernels of a model as object files: their sources with symbols of their own, and the compiler's runs, several at
// once.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/tunables.h"

namespace kw::models {

// A file that a program makes.
struct BuildStep {
  std::string what;  // the source, for messages
  std::vector<std::string> words;
  std::filesystem::path made;
  std::vector<std::string> options = {};  // the compiler's options among these words, without files
};

// Compiles folder/STEM.cpp to an object file beside it, as the device's target builds kernels.
Result<BuildStep> compile_step(const std::filesystem::path& folder, const std::string& stem, const std::string& device,
                               const Choice& choice);

// The first line of what the compiler says is wrong is the Error.
Status run_step(const BuildStep& step);
Status run_steps(const std::vector<BuildStep>& steps);

// A kernel's source with its tunables fixed and symbols that begin with `symbol`: SYMBOL_run, SYMBOL_prepare.
Result<std::string> with_symbols(const std::string& source, const Choice& choice, const std::string& symbol,
                                 const std::string& about);

}  // namespace kw::models
