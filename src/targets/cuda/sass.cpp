#include "targets/cuda/sass.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>

#include "base/files.h"
#include "base/filter.h"
#include "base/json.h"
#include "base/process.h"

namespace kw::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostShown = 3;        // loops in the text
constexpr std::size_t kMostKindsShown = 14;  // of instructions, of a loop

struct SassInstruction {
  std::string text;    // with its predicate and operands
  std::string opcode;  // "LDG.E.128.CONSTANT"
  int line = 0;
  std::string target;  // of a branch: the label
};

struct SassFunction {
  std::string name;
  std::vector<SassInstruction> instructions = {};
  std::map<std::string, std::size_t> labels = {};  // before which instruction
};

// The instruction of a line: /*0040*/ @!P0 BRA `(.L_x_0) ; in its parts. Names in it are of anyone's choice and length.
SassInstruction instruction_in(const std::string& line, int number) {
  SassInstruction one{.text = {}, .opcode = {}, .line = number, .target = {}};
  const std::size_t offset = line.find("/*"), after = line.find("*/"), end = line.rfind(';');
  if (offset == std::string::npos || after == std::string::npos || end == std::string::npos || end < after) return one;
  const std::size_t begin = line.find_first_not_of(' ', after + 2), last = line.find_last_not_of(' ', end - 1);
  if (begin >= end || last < begin) return one;
  one.text = line.substr(begin, last + 1 - begin);
  std::istringstream words(one.text);
  words >> one.opcode;
  if (one.opcode.starts_with('@')) words >> one.opcode;
  const std::size_t label = one.text.find("`(");
  if (label != std::string::npos) one.target = one.text.substr(label + 2, one.text.find(')', label) - label - 2);
  return one;
}

std::vector<SassFunction> functions_in(const std::string& disassembly) {
  constexpr std::string_view kSection = ".text.", kPlace = "\", line ";
  std::vector<SassFunction> functions;
  int number = 0;
  std::istringstream lines(disassembly);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kSection) && line.ends_with(':')) {
      functions.push_back({.name = line.substr(kSection.size(), line.size() - kSection.size() - 1)});
      number = 0;
    } else if (functions.empty()) {
      continue;
    } else if (line.starts_with(".L") && line.ends_with(':')) {
      functions.back().labels[line.substr(0, line.size() - 1)] = functions.back().instructions.size();
    } else if (const std::size_t place = line.find(kPlace); line.find("//## File") != std::string::npos) {
      if (place != std::string::npos) number = std::atoi(line.c_str() + place + kPlace.size());
    } else if (SassInstruction one = instruction_in(line, number); !one.opcode.empty()) {
      functions.back().instructions.push_back(std::move(one));
    }
  }
  return functions;
}

bool is_width(const std::string& part) {
  static const std::set<std::string> kWidths = {"64", "128", "U8", "S8", "U16", "S16"};
  return kWidths.contains(part);
}

// What an instruction is to a reader: integers, moves and branches are only counted.
std::string kind_of(const std::string& opcode) {
  std::istringstream parts(opcode);
  std::string root, width;
  std::getline(parts, root, '.');
  static const std::set<std::string> kMemory = {"LDG", "STG", "LDS", "STS", "LDL", "STL", "LDGSTS", "LDSM", "STSM"};
  static const std::set<std::string> kTensor = {"HGMMA", "QGMMA", "IGMMA", "HMMA", "IMMA", "DMMA"};
  static const std::set<std::string> kFloat = {"FFMA",  "FADD",  "FMUL", "DFMA",  "DADD",  "DMUL", "HFMA2",
                                               "HADD2", "HMUL2", "MUFU", "FMNMX", "FSETP", "FSEL", "FCHK"};
  static const std::set<std::string> kWaits = {"BAR",       "WARPGROUP", "WARPSYNC", "DEPBAR",
                                               "LDGDEPBAR", "SYNCS",     "MEMBAR",   "FENCE"};
  static const std::set<std::string> kMoves = {"MOV", "UMOV", "S2R",  "S2UR", "R2UR",
                                               "LDC", "ULDC", "CS2R", "NOP",  "PRMT"};
  static const std::set<std::string> kBranches = {"BRA",   "EXIT",  "CALL", "RET",  "BSSY",
                                                  "BSYNC", "BREAK", "BRX",  "YIELD"};
  if (kMemory.contains(root)) {
    for (std::string part; std::getline(parts, part, '.');) {
      if (is_width(part)) width = part;
    }
    return root + "." + (width.empty() ? "32" : width);
  }
  if (kTensor.contains(root)) {
    std::string shape;
    std::getline(parts, shape, '.');
    return root + "." + shape;
  }
  if (root.starts_with("ATOM") || root == "RED" || root.starts_with("UTMA") || root == "UBLKCP") return root;
  if (kFloat.contains(root) || kWaits.contains(root) || root == "SHFL" || root == "CALL") return root;
  if (root.starts_with("F2") || root.starts_with("I2F") || root.starts_with("I2FP")) return "conversions";
  return kMoves.contains(root) ? "moves" : kBranches.contains(root) ? "branches" : "integer";
}

// How much a turn computes or moves, in instructions of one thread.
int work_of(const SassLoop& loop) {
  return loop.count("HGMMA") * 1000 + loop.count("QGMMA") * 1000 + loop.count("HMMA") * 100 + loop.count("DFMA") * 4 +
         loop.count("FFMA") + loop.count("HFMA2") + loop.count("FADD") + loop.count("FMUL") + loop.count("MUFU") +
         2 * (loop.count("LDG") + loop.count("STG"));
}

// Of first and last instructions: several branches back to one label close one loop, the last of them.
using Spans = std::map<std::size_t, std::size_t>;

// What stands in a loop outside of those inside of it.
SassLoop loop_of(const SassFunction& function, const Spans& spans, std::size_t first, std::size_t last, int depth) {
  SassLoop loop{.kernel = function.name, .depth = depth};
  for (std::size_t i = first; i <= last; ++i) {
    const auto inner = spans.find(i);
    if (i != first && inner != spans.end() && inner->second <= last) {
      i = inner->second;
      continue;
    }
    const SassInstruction& one = function.instructions[i];
    ++loop.instructions;
    ++loop.counts[kind_of(one.opcode)];
    loop.code += one.text + "\n";
    if (one.line == 0) continue;
    loop.first_line = loop.first_line == 0 ? one.line : std::min(loop.first_line, one.line);
    loop.last_line = std::max(loop.last_line, one.line);
  }
  return loop;
}

std::string text_of(const SassLoop& loop) {
  std::string text = fmt::format("{}{}, {} deep: {} instructions a turn:", loop.kernel,
                                 loop.first_line == 0 ? ""
                                 : loop.first_line == loop.last_line
                                     ? fmt::format(" (line {})", loop.first_line)
                                     : fmt::format(" (lines {} to {})", loop.first_line, loop.last_line),
                                 loop.depth, loop.instructions);
  std::vector<std::pair<int, std::string>> kinds;
  for (const auto& [kind, count] : loop.counts) kinds.emplace_back(count, kind);
  std::ranges::stable_sort(kinds, std::greater{}, &std::pair<int, std::string>::first);
  for (std::size_t i = 0; i < kinds.size() && i < kMostKindsShown; ++i)
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", kinds[i].first, kinds[i].second);
  if (loop.count("LDL") + loop.count("STL") > 0) text += "; registers went to memory (LDL, STL: SPILLS)";
  const int narrow = loop.count("LDG.32") + loop.count("STG.32");
  if (narrow > 0 && loop.count("LDG.128") + loop.count("STG.128") == 0)
    text += fmt::format("; {} of global memory by 4 bytes", narrow);
  return text + "\n";
}

Json json_of(const SassLoop& loop) {
  const int fused = loop.count("FFMA") + loop.count("DFMA") + loop.count("HFMA2");
  return {{"function", loop.kernel},
          {"depth", loop.depth},
          {"first_line", loop.first_line},
          {"last_line", loop.last_line},
          {"instructions", loop.instructions},
          {"fused", fused},
          {"tensor_products", loop.count("HGMMA") + loop.count("QGMMA") + loop.count("HMMA")},
          {"loads", loop.count("LDG") + loop.count("LDS")},
          {"stores", loop.count("STG") + loop.count("STS")},
          {"spills", loop.count("LDL") + loop.count("STL")},
          {"counts", loop.counts},
          {"code", loop.code}};
}

}  // namespace

int SassLoop::count(const std::string& prefix) const {
  int sum = 0;
  for (const auto& [kind, many] : counts) {
    if (kind == prefix || kind.starts_with(prefix + ".")) sum += many;
  }
  return sum;
}

std::vector<SassLoop> sass_loops_in(const std::string& disassembly) {
  std::vector<SassLoop> loops;
  for (const SassFunction& function : functions_in(disassembly)) {
    // A branch back to a label closes a loop.
    Spans spans;
    for (std::size_t i = 0; i < function.instructions.size(); ++i) {
      const SassInstruction& one = function.instructions[i];
      const auto label = function.labels.find(one.target);
      // One instruction that branches to itself stands behind the end of a kernel.
      if (!one.opcode.starts_with("BRA") || label == function.labels.end() || label->second >= i) continue;
      spans[label->second] = std::max(spans[label->second], i);
    }
    for (const auto& [first, last] : spans) {
      const auto holds = [&](const auto& other) { return other.first <= first && other.second >= last; };
      const auto depth = static_cast<int>(std::ranges::count_if(spans, holds));
      if (SassLoop loop = loop_of(function, spans, first, last, depth); work_of(loop) > 0)
        loops.push_back(std::move(loop));
    }
  }
  std::ranges::stable_sort(loops, std::greater{},
                           [](const SassLoop& loop) { return std::tuple(work_of(loop), loop.depth); });
  return loops;
}

Result<std::string> find_nvdisasm() {
  constexpr char kName[] = "nvdisasm";
  if (auto found = find_program(kName); found.ok()) return found;
  std::vector<fs::path> roots = {"/usr/local/cuda", "/opt/cuda"};
  if (const char* own = std::getenv("KW_CUDA"); own != nullptr && *own != 0) roots.insert(roots.begin(), own);
  for (const fs::path& root : roots) {
    const fs::path program = root / "bin" / kName;
    if (program.is_absolute() && ::access(program.c_str(), X_OK) == 0) return program.string();
  }
  return fail(
      "machine code is not shown: there is no nvdisasm on this machine (of CUDA's toolkit, or `pip install --target "
      "DIR "
      "nvidia-cuda-nvdisasm` with DIR/nvidia/cu13/bin in PATH)");
}

targets::CodeNotes notes_on(const std::vector<KernelResources>& kernels, const std::string& cubin) {
  targets::CodeNotes notes = notes_on(kernels);
  Json json = Json::parse(notes.json);
  const auto disassembled = [&]() -> Result<std::string> {
    KW_TRY(const std::string program, find_nvdisasm());
    const fs::path file = fs::temp_directory_path() / fmt::format("kw_sass_{}_{}.cubin", ::getpid(), ::gettid());
    KW_CHECK(write_file(file, cubin));
    const auto said =
        run_filter({program, "-c", "-g", file.string()}, "", {.whole_s = 60, .most_bytes = std::size_t{256} << 20});
    std::error_code error;
    fs::remove(file, error);
    if (!said.ok()) return fail("{}", said.error().message);
    if (!said->well()) return fail("nvdisasm cannot read the machine code: {}", said->err.substr(0, 200));
    return said->out;
  }();
  if (!disassembled.ok()) {
    json["missing"] = disassembled.error().message;
    notes.text += disassembled.error().message + "\n";
    notes.json = json.dump();
    return notes;
  }
  const std::vector<SassLoop> loops = sass_loops_in(*disassembled);
  json["loops"] = Json::array();
  for (const SassLoop& loop : loops) json["loops"].push_back(json_of(loop));
  notes.json = json.dump();
  notes.text += loops.empty() ? "no loops in the machine code\n"
                              : "loops without those inside of them, what computes most in a turn first (SASS):\n";
  for (std::size_t i = 0; i < loops.size() && i < kMostShown; ++i) notes.text += text_of(loops[i]);
  if (loops.size() > kMostShown) notes.text += fmt::format("... and {} more\n", loops.size() - kMostShown);
  return notes;
}

}  // namespace kw::cuda
