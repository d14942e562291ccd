#include "targets/cpu/tools.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/filter.h"
#include "base/process.h"

namespace kw::cpu {
namespace fs = std::filesystem;
namespace {

const Tool kTools[] = {
    {.name = "g++",
     .use = "compiles kernels",
     .package = "g++",
     .required = true,
     .version_argument = "-dumpfullversion",
     .sandboxed = true},
    {.name = "clang++",
     .use = "compiles kernels, some of them faster than g++ does",
     .package = "clang",
     .version_after = "version ",
     .sandboxed = true},
    {.name = "nvcc",
     .use = "compiles kernels for the NVIDIA GPU of this machine",
     .package = "nvidia-cuda-toolkit",
     .version_after = ", V",
     .only_with = "/proc/driver/nvidia",
     .also_in = "/usr/local/cuda/bin"},
};

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// Where the tool is, and whether it can be used there.
ToolFound place_of(const Tool& tool, const std::string& folders, const std::string& shown) {
  ToolFound found = {.tool = tool, .path = program_in(folders + ":" + tool.also_in, tool.name)};
  if (!tool.sandboxed || found.path.empty()) return found;
  std::error_code code;
  const fs::path inside = fs::path(shown) / "bin" / tool.name;
  const fs::path target = fs::canonical(inside, code);  // empty where there is none
  const fs::path first = fs::canonical(found.path, code);
  if (::access(inside.c_str(), X_OK) != 0) {
    found.usable = false;
    found.note = fmt::format("{} is not used: compilers run in a sandbox, which finds them in {} alone", found.path,
                             inside.parent_path().string());
  } else if (!is_within(target, fs::canonical(shown, code))) {
    found.usable = false;
    found.note = fmt::format("{} is not used: it is a link to {}, and the sandbox of compilers shows {} alone",
                             inside.string(), target.string(), shown);
  } else {
    if (first != target) {
      found.note = fmt::format("{} is not used, {} is: compilers run in a sandbox, which finds them in {} alone",
                               found.path, inside.string(), inside.parent_path().string());
    }
    found.path = inside.string();
  }
  return found;
}

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

std::vector<ToolFound> look_for(std::span<const Tool> tools, const std::string& folders, const std::string& shown) {
  std::vector<ToolFound> all;
  for (const Tool& tool : tools) {
    ToolFound found = place_of(tool, folders, shown);
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
  return kernel_compilers(folders ? folders : "", "/usr");
}

std::vector<std::string> kernel_compilers(const std::string& folders, const std::string& shown) {
  std::vector<std::string> names;
  for (const Tool& tool : known_tools()) {
    if (!tool.sandboxed) continue;
    const ToolFound found = place_of(tool, folders, shown);
    if (!found.path.empty() && found.usable) names.push_back(tool.name);
  }
  return names;
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

}  // namespace kw::cpu
