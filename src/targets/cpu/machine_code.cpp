#include "targets/cpu/machine_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/filter.h"
#include "base/json.h"
#include "targets/cpu/control_flow.h"
#include "targets/cpu/cycle_model.h"

namespace kw::cpu {
namespace {

bool starts_with_any(const std::string& name, std::initializer_list<const char*> prefixes) {
  return std::ranges::any_of(prefixes, [&](const char* prefix) { return name.starts_with(prefix); });
}

// Whether it computes on vectors or floats: comparisons, maxima, selections and integers in vectors among them.
bool computes(const std::string& name, const std::string& operands) {
  if (starts_with_any(name, {"xorp", "pxor"})) {
    // Of a register with itself it is a zero.
    const std::size_t comma = operands.find(',');
    if (operands.substr(0, comma) == operands.substr(comma + 1, comma)) return false;
  }
  return starts_with_any(
      name,
      {"add",     "sub",    "mul",   "div",    "sqrt",   "max",   "min",   "fma",      "fmsub",    "fnm",    "padd",
       "pmul",    "pmadd",  "psub",  "pmax",   "pmin",   "rcp",   "rsqrt", "round",    "rndscale", "pabs",   "dpb",
       "psll",    "psra",   "psrl",  "cmp",    "ucomis", "comis", "pcmp",  "ptest",    "blendv",   "blendm", "pblendv",
       "pblendm", "and",    "or",    "xor",    "pand",   "por",   "pxor",  "pternlog", "cvt",      "getexp", "getmant",
       "scalef",  "reduce", "range", "plzcnt", "ph",     "pavg",  "psad"});
}

void count(const Instruction& one, Loop& loop) {
  ++loop.instructions;
  const std::string name = one.name.starts_with('v') ? one.name.substr(1) : one.name;
  const std::string& operands = one.operands;
  const bool memory = operands.find('(') != std::string::npos;
  const bool stack = operands.find("(%rsp") != std::string::npos || operands.find("(%rbp)") != std::string::npos;
  const bool moves = name.starts_with("mov");
  const bool stores = memory && moves && (operands.ends_with(')') || operands.find("){") != std::string::npos);
  const int bits = operands.find("%zmm") != std::string::npos   ? 512
                   : operands.find("%ymm") != std::string::npos ? 256
                   : operands.find("%xmm") != std::string::npos ? 128
                                                                : 0;
  const bool scalar = !name.starts_with('p') && (name.ends_with("ss") || name.ends_with("sd"));
  if (memory && name != "lea" && !name.starts_with("nop") && !name.starts_with("prefetch")) {
    (stores ? loop.stores : loop.loads) += 1;
    // Scalars and addresses on the stack are cheap; vectors there are registers that were missing.
    if (stack && bits > 0) ++loop.spills;
    if (bits > 0 && !scalar) loop.moved_bits = std::max(loop.moved_bits, bits);
  }
  if (name.starts_with("gather") || name.starts_with("pgather")) ++loop.gathers;
  if (name.starts_with("call")) {
    const std::size_t open = operands.find('<');
    loop.calls.push_back(open == std::string::npos
                             ? operands
                             : operands.substr(open + 1, operands.find_first_of("@>+", open) - open - 1));
  }
  const bool packed = name.ends_with("ps") || name.ends_with("pd") || name.starts_with("p");
  if (bits > 0 && computes(name, operands)) {
    if (scalar) {
      ++loop.scalar_arithmetic;
    } else if (packed || one.name.starts_with('v')) {
      ++loop.vector_arithmetic;
      loop.vector_bits = std::max(loop.vector_bits, bits);
    }
  }
  if (starts_with_any(name, {"fmadd", "fmsub", "fnmadd", "fnmsub"})) ++loop.fused;
  if (starts_with_any(name, {"div", "sqrt"}) && (packed || scalar)) ++loop.divisions;
  if (one.line > 0) {
    loop.first_line = loop.first_line == 0 ? one.line : std::min(loop.first_line, one.line);
    loop.last_line = std::max(loop.last_line, one.line);
  }
}

// What llvm-mca reads: without addresses and names of functions; jumps go to the loop's own beginning.
std::string assembly_of(const std::vector<Instruction>& all, const std::vector<std::size_t>& places) {
  std::string text = "turn:\n";
  for (const std::size_t i : places) {
    const Instruction& one = all[i];
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

// How much a turn does, in lanes: what tells a main loop from the loop over its rest.
int lanes(const Loop& loop) {
  return loop.vector_arithmetic * loop.vector_bits / 32 + loop.scalar_arithmetic +
         (loop.loads + loop.stores) * std::max(1, loop.moved_bits / 32) / 4;
}

Json json_of(const Loop& loop) {
  return {{"function", loop.function},
          {"depth", loop.depth},
          {"first_line", loop.first_line},
          {"last_line", loop.last_line},
          {"straight", loop.straight},
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
  const std::vector<Function> functions = functions_in(disassembly);
  for (const TimedFunction& timed : timed_functions(functions)) {
    for (const NaturalLoop& found : natural_loops(*timed.function)) {
      if (!found.innermost) continue;
      Loop loop{.function = timed.function->name, .depth = timed.called_at_depth + found.depth};
      for (const std::size_t i : found.instructions) count(timed.function->instructions[i], loop);
      loop.code = assembly_of(timed.function->instructions, found.instructions);
      loop.straight = found.straight;
      code.loops.push_back(std::move(loop));
    }
  }
  // How often a turn runs is not measured: what lies deeper runs more often, and a main loop does more than its rest.
  std::ranges::stable_sort(code.loops, std::greater{},
                           [](const Loop& loop) { return std::tuple(loop.depth, lanes(loop)); });
  return code;
}

Result<MachineCode> machine_code_of(const std::filesystem::path& library) {
  const auto said =
      run_filter({"objdump", "-d", "-C", "-l", "--no-show-raw-insn", library.string()}, "", {.whole_s = 30});
  if (!said.ok()) return fail("objdump is not there; on Debian: apt-get install binutils");
  if (!said->well()) return fail("objdump cannot read {}: {}", library.string(), said->err.substr(0, 200));
  MachineCode code = loops_in(said->out);
  // Of a loop with branches inside no one knows which of its instructions a turn runs through.
  std::vector<Loop*> asked;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min<std::size_t>(code.loops.size(), 3); ++i) {
    if (!code.loops[i].straight || !code.loops[i].calls.empty()) continue;
    asked.push_back(&code.loops[i]);
    texts.push_back(code.loops[i].code);
  }
  const auto cycles = cycles_of(texts);
  if (!cycles.ok()) {
    code.missing = cycles.error().message;
    return code;
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!(*cycles)[i]) continue;
    asked[i]->cycles = (*cycles)[i]->of_a_turn;
    asked[i]->busiest = (*cycles)[i]->busiest;
  }
  return code;
}

namespace {

// Equal for copies of one loop.
std::string kind_of(const Loop& loop) {
  return fmt::format("{} {} {} {} {} {} {} {}", loop.first_line, loop.last_line, loop.depth, loop.vector_bits,
                     loop.vector_arithmetic, loop.scalar_arithmetic, loop.fused, loop.calls.size());
}

std::string lines_text(const Loop& loop) {
  if (loop.first_line == 0) return "";
  return loop.first_line == loop.last_line ? fmt::format(" (line {})", loop.first_line)
                                           : fmt::format(" (lines {} to {})", loop.first_line, loop.last_line);
}

}  // namespace

std::string as_text(const MachineCode& code, std::size_t most_loops) {
  if (code.loops.empty()) return "no loops in the machine code of a call\n";
  std::string text = "innermost loops of a call, the deepest first (how often each runs is not measured):\n";
  std::size_t shown = 0, told = 0;
  std::set<std::string> seen;
  for (const Loop& loop : code.loops) {
    // Compilers make several copies of one loop, for other lengths or callers: one of them says it all.
    const auto like = [&](const Loop& other) { return kind_of(other) == kind_of(loop); };
    if (!seen.insert(kind_of(loop)).second) continue;
    if (shown == most_loops) continue;
    const auto copies = std::ranges::count_if(code.loops, like);
    told += static_cast<std::size_t>(copies);
    text += fmt::format("loop {} in {}{}{}, {} deep: {} instructions{}; ", ++shown, loop.function.substr(0, 60),
                        lines_text(loop), copies > 1 ? fmt::format(", {} copies", copies) : "", loop.depth,
                        loop.instructions, loop.straight ? "" : " with branches, not all run in each turn");
    if (loop.vector_arithmetic + loop.scalar_arithmetic == 0) {
      text += loop.moved_bits > 0 ? fmt::format("moves vectors of {} bits", loop.moved_bits)
                                  : "no arithmetic on floats or vectors";
    } else {
      text += loop.vectorised()            ? fmt::format("vectorised, {} bits", loop.vector_bits)
              : loop.vector_arithmetic > 0 ? "partly vectorised"
                                           : "NOT vectorised";
      text += fmt::format("; {} vector and {} scalar operations, {} of them fused", loop.vector_arithmetic,
                          loop.scalar_arithmetic, loop.fused);
    }
    text += fmt::format("; {} loads, {} stores", loop.loads, loop.stores);
    if (loop.spills > 0) text += fmt::format("; {} vectors loaded from or stored to the stack (SPILLS)", loop.spills);
    if (loop.gathers > 0) text += fmt::format("; {} gathers", loop.gathers);
    if (loop.divisions > 0) text += fmt::format("; {} divisions or square roots", loop.divisions);
    if (!loop.calls.empty()) text += fmt::format("; CALLS {}", fmt::join(loop.calls, ", "));
    if (loop.cycles) text += fmt::format("; {:.1f} cycles a turn without waiting for memory", *loop.cycles);
    if (!loop.busiest.empty()) text += fmt::format("; busiest: {}", loop.busiest);
    text += "\n";
  }
  if (code.loops.size() > told) text += fmt::format("... and {} more innermost loops\n", code.loops.size() - told);
  if (!code.missing.empty()) text += code.missing + "\n";
  return text;
}

std::string as_json(const MachineCode& code) {
  Json loops = Json::array();
  for (const Loop& loop : code.loops) loops.push_back(json_of(loop));
  return Json{{"loops", std::move(loops)}, {"missing", code.missing}}.dump();
}

}  // namespace kw::cpu
