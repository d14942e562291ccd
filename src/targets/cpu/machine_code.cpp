#include "targets/cpu/machine_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <sstream>

#include "base/filter.h"
#include "base/json.h"

namespace kw::cpu {
namespace {

struct Instruction {
  std::uint64_t address = 0;
  std::string name;
  std::string operands;
  std::uint64_t target = 0;  // of a jump
};

struct Function {
  std::string name;
  std::vector<Instruction> instructions;
};

std::vector<Function> functions_in(const std::string& disassembly) {
  std::vector<Function> functions;
  std::istringstream stream(disassembly);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with(">:")) {
      const std::size_t open = line.find('<');
      functions.push_back({line.substr(open + 1, line.size() - open - 3), {}});
      continue;
    }
    const std::size_t tab = line.find(":\t");
    if (functions.empty() || tab == std::string::npos) continue;
    Instruction one{.address = std::strtoull(line.c_str(), nullptr, 16)};
    std::string words = line.substr(tab + 2);
    words = words.substr(0, words.find('#'));
    for (const char* prefix : {"bnd ", "notrack ", "rep ", "lock ", "data16 ", "cs "}) {
      if (words.starts_with(prefix)) words.erase(0, std::string_view(prefix).size());
    }
    const std::size_t space = words.find_first_of(" \t");
    one.name = words.substr(0, space);
    if (space != std::string::npos)
      one.operands = words.substr(words.find_first_not_of(" \t", space) == std::string::npos
                                      ? words.size()
                                      : words.find_first_not_of(" \t", space));
    while (one.operands.ends_with(' ')) one.operands.pop_back();
    if (one.name.starts_with('j')) one.target = std::strtoull(one.operands.c_str(), nullptr, 16);
    if (!one.name.empty()) functions.back().instructions.push_back(std::move(one));
  }
  return functions;
}

bool starts_with_any(const std::string& name, std::initializer_list<const char*> prefixes) {
  return std::ranges::any_of(prefixes, [&](const char* prefix) { return name.starts_with(prefix); });
}

void count(const Instruction& one, Loop& loop) {
  ++loop.instructions;
  const std::string name = one.name.starts_with('v') ? one.name.substr(1) : one.name;
  const std::string& operands = one.operands;
  const bool memory = operands.find('(') != std::string::npos;
  const bool stack = operands.find("(%rsp") != std::string::npos || operands.find("(%rbp)") != std::string::npos;
  const bool moves = name.starts_with("mov");
  const bool stores = memory && moves && operands.ends_with(')');
  if (memory && name != "lea" && !name.starts_with("nop") && !name.starts_with("prefetch")) {
    (stores ? loop.stores : loop.loads) += 1;
    if (stack) ++loop.spills;
  }
  if (name.starts_with("gather") || name.starts_with("pgather")) ++loop.gathers;
  if (name.starts_with("call")) {
    const std::size_t open = operands.find('<');
    loop.calls.push_back(open == std::string::npos
                             ? operands
                             : operands.substr(open + 1, operands.find_first_of("@>+", open) - open - 1));
  }
  const bool packed = name.ends_with("ps") || name.ends_with("pd") || one.name.starts_with("vp");
  const bool scalar = name.ends_with("ss") || name.ends_with("sd");
  const bool arithmetic = starts_with_any(
      name, {"add",   "sub",  "mul",  "div",  "sqrt", "max",   "min",   "fma",      "fmsub", "fnm", "padd", "pmul",
             "pmadd", "psub", "pmax", "pmin", "rcp",  "rsqrt", "round", "rndscale", "pabs",  "dpb", "psll", "psra"});
  if (arithmetic && (packed || name.starts_with("p"))) {
    if (operands.find('%') != std::string::npos && one.name.starts_with("v")) {
      ++loop.vector_arithmetic;
      const int bits = operands.find("%zmm") != std::string::npos   ? 512
                       : operands.find("%ymm") != std::string::npos ? 256
                                                                    : 128;
      loop.vector_bits = std::max(loop.vector_bits, bits);
    } else if (packed) {
      ++loop.vector_arithmetic;
      loop.vector_bits = std::max(loop.vector_bits, 128);
    }
  }
  if (arithmetic && scalar) ++loop.scalar_arithmetic;
  if (starts_with_any(name, {"fmadd", "fmsub", "fnmadd", "fnmsub"})) ++loop.fused;
  if (starts_with_any(name, {"div", "sqrt"}) && (packed || scalar)) ++loop.divisions;
}

// What llvm-mca reads: without addresses and names of functions; jumps go to the loop's own beginning.
std::string assembly_of(const std::vector<Instruction>& instructions, std::size_t begin, std::size_t end) {
  std::string text = "turn:\n";
  for (std::size_t i = begin; i <= end; ++i) {
    const Instruction& one = instructions[i];
    if (one.name.starts_with('j')) {
      text += one.name + " turn\n";
    } else if (one.name.starts_with("call")) {
      continue;
    } else {
      text += one.name + " " + one.operands.substr(0, one.operands.find(" <")) + "\n";
    }
  }
  return text;
}

std::vector<Loop> loops_of(const Function& function) {
  struct Range {
    std::size_t begin, end;
  };
  std::vector<Range> ranges;
  const auto& all = function.instructions;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].target == 0 || all[i].target > all[i].address) continue;
    const auto begin = std::ranges::lower_bound(all, all[i].target, {}, &Instruction::address);
    if (begin == all.end() || begin->address != all[i].target) continue;
    ranges.push_back({static_cast<std::size_t>(begin - all.begin()), i});
  }
  std::vector<Loop> loops;
  for (const Range& range : ranges) {
    const bool innermost = std::ranges::none_of(ranges, [&](const Range& other) {
      return (other.begin != range.begin || other.end != range.end) && other.begin >= range.begin &&
             other.end <= range.end;
    });
    if (!innermost) continue;
    Loop loop{.function = function.name};
    loop.depth = static_cast<int>(std::ranges::count_if(
        ranges, [&](const Range& other) { return other.begin <= range.begin && other.end >= range.end; }));
    for (std::size_t i = range.begin; i <= range.end; ++i) {
      count(all[i], loop);
      loop.code += all[i].name + " " + all[i].operands + "\n";
    }
    loops.push_back(std::move(loop));
    loops.back().code = assembly_of(all, range.begin, range.end);
  }
  return loops;
}

// "Block RThroughput: 4.0", and the largest of "Resource pressure per iteration:".
void read_mca(const std::string& said, Loop& loop) {
  std::istringstream stream(said);
  std::vector<std::string> names;
  int iterations = 0;
  double total = 0;
  bool pressure = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("Iterations:")) iterations = std::atoi(line.c_str() + 11);
    if (line.starts_with("Total Cycles:")) total = std::atof(line.c_str() + 13);
    if (line.starts_with("[") && line.find(" - ") != std::string::npos && !pressure)
      names.push_back(line.substr(line.find(" - ") + 3));
    if (line.starts_with("Resource pressure per iteration")) {
      pressure = true;
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
        loop.busiest = fmt::format("{}, {:.1f} of {:.1f} cycles", names[best], most, total / iterations);
      break;
    }
  }
  if (iterations > 0 && total > 0) loop.cycles = total / iterations;
}

// One run of llvm-mca for all: starting it takes longer than its work. An Error where it is not there.
Status ask_mca(std::span<Loop> loops) {
  if (loops.empty()) return {};
  std::string assembly;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    std::string code = loops[i].code;
    // The loops' own label, told apart.
    for (const char* use : {"turn:\n", " turn\n"}) {
      for (std::size_t at = code.find(use); at != std::string::npos; at = code.find(use, at + 1)) {
        code.insert(at + std::string_view(use).find("turn") + 4, std::to_string(i));
      }
    }
    assembly += fmt::format("# LLVM-MCA-BEGIN loop{}\n{}# LLVM-MCA-END\n", i, code);
  }
  const auto mca =
      run_filter({"llvm-mca", "-mcpu=native", "-iterations=50", "-instruction-info=false"}, assembly, {.whole_s = 10});
  if (!mca.ok()) {
    return fail("llvm-mca is not there (on Debian: apt-get install llvm): cycles and busy units are not known");
  }
  if (!mca->well()) return {};
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const std::size_t begin = mca->out.find(fmt::format("Code Region - loop{}\n", i));
    if (begin == std::string::npos) continue;
    const std::size_t from = mca->out.find('\n', begin);
    read_mca(mca->out.substr(from, mca->out.find("Code Region - ", from) - from), loops[i]);
  }
  return {};
}

Json json_of(const Loop& loop) {
  return {{"function", loop.function},
          {"depth", loop.depth},
          {"instructions", loop.instructions},
          {"vectorised", loop.vectorised()},
          {"vector_bits", loop.vector_bits},
          {"vector_arithmetic", loop.vector_arithmetic},
          {"scalar_arithmetic", loop.scalar_arithmetic},
          {"fused", loop.fused},
          {"divisions", loop.divisions},
          {"loads", loop.loads},
          {"stores", loop.stores},
          {"spills", loop.spills},
          {"gathers", loop.gathers},
          {"calls", loop.calls},
          {"cycles", loop.cycles ? Json(*loop.cycles) : Json()},
          {"busiest", loop.busiest},
          {"code", loop.code}};
}

}  // namespace

MachineCode loops_in(const std::string& disassembly) {
  MachineCode code;
  for (const Function& function : functions_in(disassembly)) {
    for (Loop& loop : loops_of(function)) code.loops.push_back(std::move(loop));
  }
  const auto weight = [](const Loop& loop) {
    const int arithmetic = loop.vector_arithmetic + loop.scalar_arithmetic;
    return std::tuple(arithmetic > 0, std::min(loop.depth, 3), loop.fused, arithmetic, loop.loads + loop.stores);
  };
  std::ranges::stable_sort(code.loops, std::greater{}, weight);
  return code;
}

Result<MachineCode> machine_code_of(const std::filesystem::path& library) {
  const auto said = run_filter({"objdump", "-d", "-C", "--no-show-raw-insn", library.string()}, "", {.whole_s = 30});
  if (!said.ok()) return fail("objdump is not there; on Debian: apt-get install binutils");
  if (!said->well()) return fail("objdump cannot read {}: {}", library.string(), said->err.substr(0, 200));
  MachineCode code = loops_in(said->out);
  const std::span<Loop> loops(code.loops.data(), std::min<std::size_t>(code.loops.size(), 3));
  Status asked = ask_mca(loops);
  // Where it cannot read one of them, the others are still to be had.
  for (std::size_t i = 0; i < loops.size() && loops.size() > 1 && asked.ok() && !loops.front().cycles; ++i) {
    asked = ask_mca(loops.subspan(i, 1));
  }
  if (!asked.ok()) code.missing = asked.error().message;
  return code;
}

std::string as_text(const MachineCode& code, std::size_t most_loops) {
  if (code.loops.empty()) return "no loops in the machine code\n";
  std::string text;
  for (std::size_t i = 0; i < std::min(code.loops.size(), most_loops); ++i) {
    const Loop& loop = code.loops[i];
    text += fmt::format("loop {} in {} ({} deep): {} instructions; ", i + 1, loop.function.substr(0, 60), loop.depth,
                        loop.instructions);
    if (loop.vector_arithmetic + loop.scalar_arithmetic == 0) {
      text += "no arithmetic on floats";
    } else {
      text += loop.vectorised()            ? fmt::format("vectorised, {} bits", loop.vector_bits)
              : loop.vector_arithmetic > 0 ? "partly vectorised"
                                           : "NOT vectorised";
      text += fmt::format("; {} vector and {} scalar operations, {} of them fused", loop.vector_arithmetic,
                          loop.scalar_arithmetic, loop.fused);
    }
    text += fmt::format("; {} loads, {} stores", loop.loads, loop.stores);
    if (loop.spills > 0) text += fmt::format("; {} SPILLS to the stack", loop.spills);
    if (loop.gathers > 0) text += fmt::format("; {} gathers", loop.gathers);
    if (loop.divisions > 0) text += fmt::format("; {} divisions or square roots", loop.divisions);
    if (!loop.calls.empty()) text += fmt::format("; CALLS {}", fmt::join(loop.calls, ", "));
    if (loop.cycles) text += fmt::format("; {:.1f} cycles a turn without waiting for memory", *loop.cycles);
    if (!loop.busiest.empty()) text += fmt::format("; busiest: {}", loop.busiest);
    text += "\n";
  }
  if (code.loops.size() > most_loops)
    text += fmt::format("... and {} more innermost loops\n", code.loops.size() - most_loops);
  if (!code.missing.empty()) text += code.missing + "\n";
  return text;
}

std::string as_json(const MachineCode& code) {
  Json loops = Json::array();
  for (const Loop& loop : code.loops) loops.push_back(json_of(loop));
  return Json{{"loops", std::move(loops)}, {"missing", code.missing}}.dump();
}

}  // namespace kw::cpu
