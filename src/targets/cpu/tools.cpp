#include "targets/cpu/tools.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/filter.h"
#include "base/process.h"

namespace kw::targets {
namespace fs = std::filesystem;
namespace {

const Tool kTools[] = {
    {.name = "g++",
     .use = "compiles kernels",
     .package = "g++",
     .required = true,
     .version_argument = "-dumpfullversion"},
    {.name = "clang++",
     .use = "compiles kernels, some of them faster than g++ does",
     .package = "clang",
     .version_after = "version "},
    {.name = "nvcc",
     .use = "compiles kernels for the NVIDIA GPU of this machine",
     .package = "nvidia-cuda-toolkit",
     .version_after = ", V",
     .only_with = "/proc/driver/nvidia",
     .also_in = "/usr/local/cuda/bin"},
    {.name = "cmake", .use = "builds kw from its source", .package = "cmake", .version_after = "version "},
    {.name = "ninja", .use = "builds kw from its source", .package = "ninja-build"},
};

// What the program prints on its standard output; empty where it does not run or fails.
std::string output_of(const std::string& program, const std::string& argument) {
  const auto ran = run_filter({program, argument}, "", {.whole_s = 20, .most_bytes = 1 << 20});
  return ran.ok() && ran->well() ? ran->out : std::string();
}

// The digits and dots that follow `after`.
std::string version_in(std::string_view text, std::string_view after) {
  const auto start = text.find(after);
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start + after.size());
  return std::string(text.substr(0, text.find_first_not_of("0123456789.")));
}

}  // namespace

std::span<const Tool> known_tools() { return kTools; }

std::vector<ToolFound> look_for(std::span<const Tool> tools, const std::string& folders) {
  std::vector<ToolFound> all;
  for (const Tool& tool : tools) {
    ToolFound found = {.tool = tool, .path = program_in(folders + ":" + tool.also_in, tool.name)};
    if (!found.path.empty()) {
      found.version = version_in(output_of(found.path, tool.version_argument), tool.version_after);
    }
    all.push_back(std::move(found));
  }
  return all;
}

std::vector<ToolFound> look_for_tools() {
  const char* folders = std::getenv("PATH");
  return look_for(known_tools(), folders ? folders : "");
}

std::vector<std::string> kernel_compilers() {
  const char* folders = std::getenv("PATH");
  std::vector<std::string> found;
  for (const char* name : {"g++", "clang++"}) {
    if (!program_in(folders ? folders : "", name).empty()) found.push_back(name);
  }
  return found;
}

std::vector<Tool> missing_tools(std::span<const ToolFound> found) {
  std::vector<Tool> missing;
  for (const ToolFound& each : found) {
    std::error_code code;
    const bool of_use = each.tool.only_with.empty() || fs::exists(each.tool.only_with, code);
    if (!each.works() && of_use) missing.push_back(each.tool);
  }
  return missing;
}

std::string install_command(std::span<const Tool> missing) {
  std::string packages;
  for (const Tool& tool : missing) packages += " " + tool.package;
  const bool has_apt = ::access("/usr/bin/apt-get", X_OK) == 0;
  return (has_apt ? "apt-get install" : "install these packages of your system:") + packages;
}

}  // namespace kw::targets
