#include "targets/cpu/machine_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/files.h"
#include "base/filter.h"
#include "base/json.h"
#include "targets/cpu/control_flow.h"

namespace kw::cpu {
namespace {

constexpr std::size_t kFewestSamples = 50;  // below, shares would be mostly chance
constexpr double kLeastShown = 0.01;        // of the time, for a loop to be told of

void count(const Instruction& one, const Effect& effect, Loop& loop) {
  ++loop.instructions;
  loop.loads += effect.loads;
  loop.stores += effect.stores;
  // Scalars and addresses on the stack are cheap; vectors there are registers that were missing.
  if (effect.on_stack && effect.moved_bits > 0) ++loop.spills;
  loop.moved_bits = std::max(loop.moved_bits, effect.moved_bits);
  (effect.stores ? loop.written_bytes : loop.read_bytes) += effect.on_stack ? 0 : effect.moved_bytes;
  loop.gathers += effect.gathers;
  if (!effect.calls.empty()) loop.calls.push_back(effect.calls);
  (effect.computes_on_vectors() ? loop.vector_arithmetic : loop.scalar_arithmetic) += effect.computes;
  loop.vector_bits = std::max(loop.vector_bits, effect.vector_bits);
  loop.fused += effect.products > 0;
  loop.products += effect.products;
  loop.divisions += effect.divides;
  if (one.line > 0) {
    loop.first_line = loop.first_line == 0 ? one.line : std::min(loop.first_line, one.line);
    loop.last_line = std::max(loop.last_line, one.line);
  }
}

std::string assembly_of(const std::vector<Instruction>& all, const std::vector<std::size_t>& places) {
  std::string text = "turn:\n";
  for (const std::size_t i : places) {
    if (const std::string line = assembly_of(all[i]); !line.empty()) text += line + "\n";
  }
  return text;
}

// How much a turn does, in lanes: what tells a main loop from the loop over its rest.
int lanes(const Loop& loop) {
  return loop.vector_arithmetic * loop.vector_bits / 32 + loop.scalar_arithmetic +
         (loop.loads + loop.stores) * std::max(1, loop.moved_bits / 32) / 4;
}

Json json_of(const Loop& loop) {
  const Work work = work_of(loop);
  return {{"function", loop.function},
          {"depth", loop.depth},
          {"share", loop.share ? Json(*loop.share) : Json()},
          {"first_line", loop.first_line},
          {"last_line", loop.last_line},
          {"straight", loop.straight},
          {"instructions", loop.instructions},
          {"vectorised", loop.vectorised()},
          {"vector_bits", loop.vector_bits},
          {"moved_bits", loop.moved_bits},
          {"vector_arithmetic", loop.vector_arithmetic},
          {"scalar_arithmetic", loop.scalar_arithmetic},
          {"fused", loop.fused},
          {"products", loop.products},
          {"read_bytes", loop.read_bytes},
          {"written_bytes", loop.written_bytes},
          {"divisions", loop.divisions},
          {"loads", loop.loads},
          {"stores", loop.stores},
          {"spills", loop.spills},
          {"gathers", loop.gathers},
          {"calls", loop.calls},
          {"cycles", loop.cycles ? Json(*loop.cycles) : Json()},
          {"work", work.amount},
          {"unit", work.unit},
          {"busiest", loop.busiest},
          {"code", loop.code}};
}

}  // namespace

MachineCode loops_in(const std::string& disassembly, std::span<const std::uint64_t> samples) {
  MachineCode code;
  std::vector<std::vector<std::uint64_t>> addresses;  // of each loop's instructions, ascending
  const std::optional<InstructionSet> set = instruction_set_of(disassembly);
  if (!set) {
    code.missing = "machine code of this processor is not read";
    return code;
  }
  const std::vector<Function> functions = functions_in(disassembly);
  for (const TimedFunction& timed : timed_functions(functions)) {
    for (const NaturalLoop& found : natural_loops(*timed.function)) {
      if (!found.innermost) continue;
      Loop loop{.function = timed.function->name, .depth = timed.called_at_depth + found.depth};
      for (const std::size_t i : found.instructions) {
        const Instruction& one = timed.function->instructions[i];
        count(one, effect_of(*set, one), loop);
      }
      loop.code = assembly_of(timed.function->instructions, found.instructions);
      loop.straight = found.straight;
      addresses.emplace_back();
      for (const std::size_t i : found.instructions)
        addresses.back().push_back(timed.function->instructions[i].address);
      code.loops.push_back(std::move(loop));
    }
  }
  if (samples.size() >= kFewestSamples) {
    code.samples = static_cast<int>(samples.size());
    const auto all = static_cast<double>(samples.size());
    for (std::size_t i = 0; i < code.loops.size(); ++i) {
      const auto inside = [&](std::uint64_t at) { return std::ranges::binary_search(addresses[i], at); };
      code.loops[i].share = static_cast<double>(std::ranges::count_if(samples, inside)) / all;
    }
    const auto outside = [&](std::uint64_t at) {
      return std::ranges::none_of(functions, [&](const Function& function) {
        return !function.instructions.empty() && at >= function.instructions.front().address &&
               at <= function.instructions.back().address;
      });
    };
    code.outside = static_cast<double>(std::ranges::count_if(samples, outside)) / all;
  }
  // Without samples, what lies deeper runs more often, and a main loop does more than its rest.
  std::ranges::stable_sort(code.loops, std::greater{}, [](const Loop& loop) {
    return std::tuple(loop.share.value_or(0), loop.depth, lanes(loop));
  });
  return code;
}

std::vector<std::size_t> loops_to_model(const MachineCode& code) {
  constexpr std::size_t kFirst = 3;
  std::vector<std::size_t> chosen;
  std::size_t busiest = code.loops.size();
  for (std::size_t i = 0; i < code.loops.size(); ++i) {
    const Loop& loop = code.loops[i];
    // Of a loop with branches inside no one knows which of its instructions a turn runs through.
    if (!loop.straight || !loop.calls.empty()) continue;
    if (i < kFirst) chosen.push_back(i);
    if (loop.products > (busiest < code.loops.size() ? code.loops[busiest].products : 0)) busiest = i;
  }
  if (busiest >= kFirst && busiest < code.loops.size()) chosen.push_back(busiest);
  return chosen;
}

Result<MachineCode> machine_code_of(const std::filesystem::path& file, const CodeReader& reader) {
  const auto said =
      run_filter({reader.objdump, "-d", "-C", "-l", "--no-show-raw-insn", file.string()}, "", {.whole_s = 30});
  if (!said.ok()) return fail("{} is not there; on Debian: apt-get install {}", reader.objdump, reader.package);
  if (!said->well()) return fail("{} cannot read {}: {}", reader.objdump, file.string(), said->err.substr(0, 200));
  MachineCode code = loops_in(said->out, reader.samples);
  if (!code.missing.empty()) return code;
  std::vector<std::string> texts;
  const std::vector<std::size_t> asked = loops_to_model(code);
  for (const std::size_t i : asked) texts.push_back(code.loops[i].code);
  const auto cycles = cycles_of(texts, reader.model);
  if (!cycles.ok()) {
    code.missing = cycles.error().message;
    return code;
  }
  code.model = cycles->model;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!cycles->loops[i]) continue;
    code.loops[asked[i]].cycles = cycles->loops[i]->of_a_turn;
    code.loops[asked[i]].busiest = cycles->loops[i]->busiest;
  }
  return code;
}

Work work_of(const Loop& loop) {
  constexpr int kFloatBytes = 4;
  if (loop.products > 0) return {static_cast<double>(loop.products), "multiply-add"};
  if (loop.written_bytes > 0) return {static_cast<double>(loop.written_bytes) / kFloatBytes, "float written"};
  return {static_cast<double>(loop.read_bytes) / kFloatBytes, "float read"};
}

namespace {

// Equal for copies of one loop.
std::string kind_of(const Loop& loop) {
  return fmt::format("{} {} {} {} {} {} {} {}", loop.first_line, loop.last_line, loop.depth, loop.vector_bits,
                     loop.vector_arithmetic, loop.scalar_arithmetic, loop.fused, loop.calls.size());
}

// Nothing for the kernel's own body, which the compiler calls by a name of ours; of others what an author wrote.
std::string place_text(std::string function) {
  function = function.substr(0, function.find('('));
  function = function.substr(0, function.find(" [clone"));
  return function == "kw_run_body" || function.empty() ? "" : " in " + function.substr(0, 60);
}

std::string lines_text(const Loop& loop) {
  if (loop.first_line == 0) return "";
  return loop.first_line == loop.last_line ? fmt::format(" (line {})", loop.first_line)
                                           : fmt::format(" (lines {} to {})", loop.first_line, loop.last_line);
}

}  // namespace

std::string as_text(const MachineCode& code, std::size_t most_loops) {
  if (code.loops.empty()) return code.missing.empty() ? "no loops in the machine code of a call\n" : "";
  std::string text =
      code.samples > 0
          ? fmt::format("innermost loops of a call by their share of its time, from {} samples:\n", code.samples)
          : "innermost loops of a call, the deepest first (how often each runs is not measured):\n";
  std::size_t shown = 0, told = 0;
  double told_share = 0, all_shares = 0;
  for (const Loop& loop : code.loops) all_shares += loop.share.value_or(0);
  std::set<std::string> seen;
  for (const Loop& loop : code.loops) {
    // Compilers make several copies of one loop, for other lengths or callers: one of them says it all.
    const auto like = [&](const Loop& other) { return kind_of(other) == kind_of(loop); };
    if (!seen.insert(kind_of(loop)).second) continue;
    const auto copies = std::ranges::count_if(code.loops, like);
    double share = 0;
    for (const Loop& other : code.loops) share += like(other) ? other.share.value_or(0) : 0;
    if (shown == most_loops || (code.samples > 0 && share < kLeastShown)) continue;
    told += static_cast<std::size_t>(copies);
    told_share += share;
    text += fmt::format("loop {}{}{}{}{}, {} deep: {} instructions{}; ", ++shown, place_text(loop.function),
                        lines_text(loop), copies > 1 ? fmt::format(", {} copies", copies) : "",
                        code.samples > 0 ? fmt::format(", {:.0f} % of the time", 100 * share) : "", loop.depth,
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
    if (loop.cycles) {
      text += fmt::format("; {:.1f} cycles a turn without waiting for memory", *loop.cycles);
      if (const Work work = work_of(loop); work.amount > 0)
        text += fmt::format(", {:.2f} for each {}", *loop.cycles / work.amount, work.unit);
    }
    if (!loop.busiest.empty()) text += fmt::format("; busiest: {}", loop.busiest);
    text += "\n";
  }
  if (code.loops.size() > told) {
    text += fmt::format("... and {} more innermost loops{}\n", code.loops.size() - told,
                        code.samples > 0 ? fmt::format(", {:.0f} % of the time", 100 * (all_shares - told_share)) : "");
  }
  if (code.samples > 0) {
    const double between = std::max(0.0, 1 - all_shares - code.outside);
    if (between >= kLeastShown)
      text += fmt::format("outside of innermost loops: {:.0f} % of the time\n", 100 * between);
    if (code.outside >= kLeastShown) {
      text +=
          fmt::format("in functions of libraries (the C library's, say): {:.0f} % of the time\n", 100 * code.outside);
    }
  }
  if (!code.model.empty()) text += code.model + "\n";
  return text;
}

std::string as_json(const MachineCode& code) {
  Json loops = Json::array();
  for (const Loop& loop : code.loops) loops.push_back(json_of(loop));
  return Json{{"loops", std::move(loops)},
              {"samples", code.samples},
              {"outside", code.outside},
              {"model", code.model},
              {"missing", code.missing}}
      .dump();
}

// The tools that read machine code want a file.
Result<targets::CodeNotes> notes_on(const std::string& content, const CodeReader& reader) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("kw_code_{}_{}.so", ::getpid(), ::gettid());
  KW_CHECK(write_file(file, content));
  const auto code = machine_code_of(file, reader);
  std::error_code error;
  std::filesystem::remove(file, error);
  if (!code.ok()) return code.error();
  return targets::CodeNotes{.text = as_text(*code), .missing = code->missing, .json = as_json(*code)};
}

}  // namespace kw::cpu
