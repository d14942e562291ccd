// Kernels as one shared library that ONNX Runtime loads by its documented interface, with everything to build it again.
//
// What the library has in common with every other one is kernels/models/onnxruntime_ops.h; here come the kernels, each
// with symbols of its own, and a table that says for which shapes and attributes they were made.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "core/tunables.h"
#include "judge/judge.h"

namespace kw::models {

struct LibraryKernel {
  std::string op;  // the custom operator's name, and the beginning of its symbols: letters, digits, underscores
  Task task;
  judge::Source source;
  Settings settings;
  std::string about;          // a line for readers
  bool uses_threads = false;  // it gives work to those that the runtime lends
};

inline constexpr char kLibraryFile[] = "libkernels.so";

// Makes the folder and writes sources, CMakeLists.txt and the built library into it. Kernels whose files are there
// unchanged are not built again. `domain` is the domain of the operators' names.
Status write_library(const std::filesystem::path& folder, const std::vector<LibraryKernel>& kernels,
                     const std::string& domain, const std::string& device);
// Copies what was written there to where the user wants it: the built library beside a folder `library` with its
// sources. Nothing is built in the user's folder: a compiler would follow links, and take objects that lie there for
// its own.
Status hand_over_library(const std::filesystem::path& written, const std::filesystem::path& out);

}  // namespace kw::models
