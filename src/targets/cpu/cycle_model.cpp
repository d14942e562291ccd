#include "targets/cpu/cycle_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
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

// Its resources are called "A57UnitB", "CortexA55UnitALU": by the core whose schedule it is.
std::string scheduled_as(const std::string& said) {
  const std::size_t list = said.find("Resources:\n"), name = said.find(" - ", list);
  if (list == std::string::npos || name == std::string::npos) return {};
  std::string core = said.substr(name + 3, said.find_first_of("\n", name) - name - 3);
  if (core.starts_with("Cortex")) core.erase(0, 6);
  const std::size_t unit = core.find("Unit");
  return unit == std::string::npos ? std::string() : core.substr(0, unit);
}

// "cortex-a76" and "A76"
bool is_the_same(const std::string& core, const std::string& scheduled) {
  std::string plain;
  for (const char c : core.substr(core.rfind('-') + 1)) plain += static_cast<char>(std::toupper(c));
  return plain == scheduled;
}

// One run of llvm-mca for all: starting it takes longer than its work.
struct Asked {
  std::vector<std::optional<Cycles>> loops;
  std::string scheduled_as;  // the core whose resources it names: "A57"
  std::string warned;
};
Asked ask(const Model& model, std::span<const std::string> loops) {
  Asked answer{.loops = std::vector<std::optional<Cycles>>(loops.size())};
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
  std::vector<std::string> words = {"llvm-mca", "-mcpu=" + model.core, "-iterations=50", "-instruction-info=false"};
  if (!model.triple.empty()) words.push_back("-mtriple=" + model.triple);
  // What later cores have more is read for all: whether the core has it is the compiler's to know.
  if (model.triple.starts_with("aarch64")) words.push_back("-mattr=+fullfp16,+dotprod,+i8mm,+bf16");
  const auto mca = run_filter(words, assembly, {.whole_s = 10});
  if (!mca.ok()) return answer;
  answer.warned = mca->err;
  if (!mca->well()) return answer;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const std::size_t begin = mca->out.find(fmt::format("Code Region - loop{}\n", i));
    if (begin == std::string::npos) continue;
    const std::size_t from = mca->out.find('\n', begin);
    answer.loops[i] = read_mca(mca->out.substr(from, mca->out.find("Code Region - ", from) - from));
  }
  answer.scheduled_as = scheduled_as(mca->out);
  return answer;
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

Result<ModelledLoops> cycles_of(std::span<const std::string> loops, const Model& wanted) {
  const int version = llvm_version();
  if (version == 0) return fail("llvm-mca is not there (on Debian: apt-get install llvm): cycles are not known");
  Model model = wanted;
  if (model.core.empty()) {
    if (!model.triple.empty()) return fail("cycles of a turn are not told: which core the device has is not known");
    const auto cpuinfo = read_file("/proc/cpuinfo");
    model.core = modelled_core(cpuinfo.ok() ? *cpuinfo : "", version);
    if (model.core.empty())
      return fail("cycles of a turn are not told: llvm-mca {} has no model of this core", version);
  }
  ModelledLoops modelled;
  if (loops.empty()) return modelled;
  Asked asked = ask(model, loops);
  if (asked.warned.find("not a recognized processor") != std::string::npos)
    return fail("cycles of a turn are not told: llvm-mca {} knows no core '{}'", version, model.core);
  // Where it cannot read one of them, the others are still to be had.
  if (loops.size() > 1 && std::ranges::none_of(asked.loops, [](const auto& one) { return one.has_value(); })) {
    for (std::size_t i = 0; i < loops.size(); ++i) {
      Asked one = ask(model, loops.subspan(i, 1));
      asked.loops[i] = one.loops[0];
      if (!one.scheduled_as.empty()) asked.scheduled_as = one.scheduled_as;
    }
  }
  modelled.loops = std::move(asked.loops);
  if (!wanted.core.empty() && !asked.scheduled_as.empty()) {
    modelled.model = fmt::format("cycles are of {} by llvm-mca {}", model.core, version);
    if (!is_the_same(model.core, asked.scheduled_as))
      modelled.model +=
          fmt::format(", which takes its model of the {} for it: good to compare loops with", asked.scheduled_as);
  }
  return modelled;
}

}  // namespace kw::cpu
