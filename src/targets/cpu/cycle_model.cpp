#include "targets/cpu/cycle_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "base/files.h"
#include "base/filter.h"

namespace kw::cpu {
namespace {

// Cores whose own schedule LLVM has, since which version. Models of a family that share a core share a row.
struct Core {
  const char* vendor;
  int family, first_model, last_model;
  const char* name;
  int since;
};
constexpr Core kCores[] = {
    {"GenuineIntel", 6, 60, 60, "haswell", 3},           {"GenuineIntel", 6, 63, 63, "haswell", 3},
    {"GenuineIntel", 6, 69, 70, "haswell", 3},           {"GenuineIntel", 6, 61, 61, "broadwell", 4},
    {"GenuineIntel", 6, 71, 71, "broadwell", 4},         {"GenuineIntel", 6, 79, 79, "broadwell", 4},
    {"GenuineIntel", 6, 86, 86, "broadwell", 4},         {"GenuineIntel", 6, 78, 78, "skylake", 5},
    {"GenuineIntel", 6, 94, 94, "skylake", 5},           {"GenuineIntel", 6, 142, 142, "skylake", 5},
    {"GenuineIntel", 6, 158, 158, "skylake", 5},         {"GenuineIntel", 6, 85, 85, "skylake-avx512", 6},
    {"GenuineIntel", 6, 106, 108, "icelake-server", 14}, {"GenuineIntel", 6, 125, 126, "icelake-client", 14},
    {"GenuineIntel", 6, 143, 143, "sapphirerapids", 17}, {"AuthenticAMD", 23, 0, 47, "znver1", 5},
    {"AuthenticAMD", 23, 48, 255, "znver2", 10},         {"AuthenticAMD", 25, 0, 15, "znver3", 12},
    {"AuthenticAMD", 25, 32, 95, "znver3", 12},          {"AuthenticAMD", 25, 16, 31, "znver4", 16},
    {"AuthenticAMD", 25, 96, 127, "znver4", 16},
};

// "model\t\t: 143"
std::string field_of(const std::string& cpuinfo, const std::string& name) {
  std::istringstream stream(cpuinfo);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1) != name) continue;
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return {};
}

// "Total Cycles: 400", and the largest of "Resource pressure per iteration:".
std::optional<Cycles> read_mca(const std::string& said) {
  Cycles cycles;
  std::istringstream stream(said);
  std::vector<std::string> names;
  int iterations = 0;
  double total = 0;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("Iterations:")) iterations = std::atoi(line.c_str() + 11);
    if (line.starts_with("Total Cycles:")) total = std::atof(line.c_str() + 13);
    if (line.starts_with("[") && line.find(" - ") != std::string::npos)
      names.push_back(line.substr(line.find(" - ") + 3));
    if (!line.starts_with("Resource pressure per iteration")) continue;
    std::getline(stream, line);  // the numbers of the columns
    std::getline(stream, line);
    std::istringstream columns(line);
    double most = 0;
    std::size_t at = 0, best = 0;
    for (std::string word; columns >> word; ++at) {
      const double value = word == "-" ? 0 : std::atof(word.c_str());
      if (value > most) most = value, best = at;
    }
    if (best < names.size() && iterations > 0)
      cycles.busiest = fmt::format("{}, {:.1f} of {:.1f} cycles", names[best], most, total / iterations);
    break;
  }
  if (iterations <= 0 || !(total > 0)) return std::nullopt;
  cycles.of_a_turn = total / iterations;
  return cycles;
}

// One run of llvm-mca for all: starting it takes longer than its work.
std::vector<std::optional<Cycles>> ask(const std::string& core, std::span<const std::string> loops) {
  std::vector<std::optional<Cycles>> answers(loops.size());
  std::string assembly;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    std::string code = loops[i];
    // The loops' own label, told apart.
    for (const char* use : {"turn:\n", " turn\n"}) {
      for (std::size_t at = code.find(use); at != std::string::npos; at = code.find(use, at + 1)) {
        code.insert(at + std::string_view(use).find("turn") + 4, std::to_string(i));
      }
    }
    assembly += fmt::format("# LLVM-MCA-BEGIN loop{}\n{}# LLVM-MCA-END\n", i, code);
  }
  const auto mca =
      run_filter({"llvm-mca", "-mcpu=" + core, "-iterations=50", "-instruction-info=false"}, assembly, {.whole_s = 10});
  if (!mca.ok() || !mca->well()) return answers;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const std::size_t begin = mca->out.find(fmt::format("Code Region - loop{}\n", i));
    if (begin == std::string::npos) continue;
    const std::size_t from = mca->out.find('\n', begin);
    answers[i] = read_mca(mca->out.substr(from, mca->out.find("Code Region - ", from) - from));
  }
  return answers;
}

// Of llvm-mca; 0: it is not there.
int llvm_version() {
  static const int version = [] {
    const auto said = run_filter({"llvm-mca", "--version"}, "", {.whole_s = 10});
    const std::size_t at = said.ok() ? said->out.find("LLVM version ") : std::string::npos;
    return at == std::string::npos ? 0 : std::atoi(said->out.c_str() + at + 13);
  }();
  return version;
}

}  // namespace

std::string modelled_core(const std::string& cpuinfo, int llvm_version) {
  const std::string vendor = field_of(cpuinfo, "vendor_id");
  const int family = std::atoi(field_of(cpuinfo, "cpu family").c_str());
  const int model = std::atoi(field_of(cpuinfo, "model").c_str());
  for (const Core& core : kCores) {
    if (vendor == core.vendor && family == core.family && model >= core.first_model && model <= core.last_model &&
        llvm_version >= core.since)
      return core.name;
  }
  return {};
}

Result<std::vector<std::optional<Cycles>>> cycles_of(std::span<const std::string> loops) {
  const int version = llvm_version();
  if (version == 0) return fail("llvm-mca is not there (on Debian: apt-get install llvm): cycles are not known");
  const auto cpuinfo = read_file("/proc/cpuinfo");
  const std::string core = modelled_core(cpuinfo.ok() ? *cpuinfo : "", version);
  if (core.empty()) return fail("cycles of a turn are not told: llvm-mca {} has no model of this core", version);
  if (loops.empty()) return std::vector<std::optional<Cycles>>();
  std::vector<std::optional<Cycles>> answers = ask(core, loops);
  // Where it cannot read one of them, the others are still to be had.
  if (loops.size() > 1 && std::ranges::none_of(answers, [](const auto& one) { return one.has_value(); })) {
    for (std::size_t i = 0; i < loops.size(); ++i) answers[i] = ask(core, loops.subspan(i, 1))[0];
  }
  return answers;
}

}  // namespace kw::cpu
