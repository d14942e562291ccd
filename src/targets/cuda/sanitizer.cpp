#include "targets/cuda/sanitizer.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/process.h"

namespace kw::cuda {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "compute-sanitizer";
constexpr std::string_view kMark = "=========";
constexpr std::size_t kMostLines = 4;  // of an error
constexpr std::size_t kMostErrors = 5;

// The first number in a text; 0 where there is none.
int number_in(std::string_view text) {
  const std::size_t at = text.find_first_of("0123456789");
  int number = 0;
  if (at != std::string_view::npos) std::from_chars(text.data() + at, text.data() + text.size(), number);
  return number;
}

}  // namespace

Result<std::string> find_sanitizer() {
  if (auto found = find_program(kName); found.ok()) return found;
  std::vector<fs::path> roots = {"/usr/local/cuda", "/opt/cuda"};
  if (const char* own = std::getenv("KW_CUDA"); own != nullptr && *own != 0) roots.insert(roots.begin(), own);
  for (const fs::path& root : roots) {
    for (const char* folder : {"bin", "compute-sanitizer"}) {
      const fs::path program = root / folder / kName;
      if (program.is_absolute() && ::access(program.c_str(), X_OK) == 0) return program.string();
    }
  }
  return fail("there is no {} on this machine: it is part of CUDA's toolkit", kName);
}

std::vector<std::string> sanitizer_words(const std::string& program, const std::string& tool) {
  // Errors of the driver's functions are what our own process asks, and handles.
  return {program, "--tool", tool, "--report-api-errors", "no", "--print-limit", "100", "--show-backtrace", "no"};
}

targets::ToolFindings findings_in(const std::string& tool, const std::string& log) {
  targets::ToolFindings findings{.tool = tool};
  bool finished = false;
  std::istringstream lines(log);
  std::string error;
  std::size_t lines_of_error = 0;
  const auto end_error = [&] {
    if (!error.empty() && findings.errors.size() < kMostErrors) findings.errors.push_back(error);
    error.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kMark)) continue;
    const std::string text = line.substr(kMark.size());
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string::npos) {
      end_error();
    } else if (text.find(" SUMMARY:") != std::string::npos) {
      end_error();
      finished = true;
      // Of errors, of hazards: the first number of the line.
      findings.count += number_in(text.substr(text.find(':')));
    } else if (text.find("COMPUTE-SANITIZER") != std::string::npos || text.starts_with(" Target application") ||
               text.starts_with(" LEAK") || text.starts_with(" Warning")) {
      continue;
    } else if (begin == 1) {
      end_error();
      error = text.substr(1);
      lines_of_error = 1;
    } else if (!error.empty() && lines_of_error++ < kMostLines) {
      error += "\n" + text.substr(begin);
    }
  }
  end_error();
  if (!finished) findings.problem = "it did not finish";
  return findings;
}

}  // namespace kw::cuda
