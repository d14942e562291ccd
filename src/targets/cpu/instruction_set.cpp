#include "targets/cpu/instruction_set.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace kw::cpu {
namespace {

bool starts_with_any(const std::string& name, std::initializer_list<const char*> prefixes) {
  return std::ranges::any_of(prefixes, [&](const char* prefix) { return name.starts_with(prefix); });
}

bool is_any(const std::string& name, std::initializer_list<const char*> names) {
  return std::ranges::find(names, name) != names.end();
}

// Functions that do not come back.
bool never_returns(const std::string& operands) {
  for (const char* never : {"<abort@", "<__stack_chk_fail@", "<_Unwind_Resume@", "<__cxa_throw@", "<_ZSt9terminate",
                            "<std::terminate", "<__assert_fail@"}) {
    if (operands.find(never) != std::string::npos) return true;
  }
  return false;
}

// "1030 <expf@plt>": expf.
std::string called_name(const std::string& operands) {
  const std::size_t open = operands.find('<');
  if (open == std::string::npos) return operands;
  return operands.substr(open + 1, operands.find_first_of("@>+", open) - open - 1);
}

// --- x86, in AT&T syntax ---

Flow x86_flow(const Instruction& one) {
  if (one.name.starts_with("ret") || one.name == "ud2" || one.name == "hlt") return Flow::end;
  if (one.name.starts_with("call")) return never_returns(one.operands) ? Flow::end : Flow::call;
  if (one.name.starts_with("jmp")) return Flow::jump;
  return one.name.starts_with('j') ? Flow::branch : Flow::on;
}

bool x86_computes(const std::string& name, const std::string& operands) {
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

Effect x86_effect(const Instruction& one) {
  Effect effect;
  const std::string name = one.name.starts_with('v') ? one.name.substr(1) : one.name;
  const std::string& operands = one.operands;
  const int bits = operands.find("%zmm") != std::string::npos   ? 512
                   : operands.find("%ymm") != std::string::npos ? 256
                   : operands.find("%xmm") != std::string::npos ? 128
                                                                : 0;
  const bool scalar = !name.starts_with('p') && (name.ends_with("ss") || name.ends_with("sd"));
  const bool packed = name.ends_with("ps") || name.ends_with("pd") || name.starts_with("p");
  const bool memory = operands.find('(') != std::string::npos;
  if (memory && name != "lea" && !name.starts_with("nop") && !name.starts_with("prefetch")) {
    effect.stores = name.starts_with("mov") && (operands.ends_with(')') || operands.find("){") != std::string::npos);
    effect.loads = !effect.stores;
    effect.on_stack = operands.find("(%rsp") != std::string::npos || operands.find("(%rbp)") != std::string::npos;
    if (bits > 0 && !scalar) effect.moved_bits = bits;
    if (bits > 0) effect.moved_bytes = !scalar ? bits / 8 : name.ends_with("ss") ? 4 : 8;
  }
  effect.gathers = name.starts_with("gather") || name.starts_with("pgather");
  if (name.starts_with("call")) effect.calls = called_name(operands);
  effect.computes = bits > 0 && x86_computes(name, operands) && (scalar || packed || one.name.starts_with('v'));
  if (effect.computes && !scalar) effect.vector_bits = bits;
  if (starts_with_any(name, {"fmadd", "fmsub", "fnmadd", "fnmsub"})) {
    effect.products = scalar ? 1 : bits / (name.ends_with("pd") ? 64 : 32);
  }
  effect.divides = starts_with_any(name, {"div", "sqrt"}) && (packed || scalar);
  return effect;
}

// --- aarch64 ---

Flow arm_flow(const Instruction& one) {
  const std::string& name = one.name;
  if (is_any(name, {"ret", "br", "brk", "udf", "eret"})) return Flow::end;
  if (name == "bl") return never_returns(one.operands) ? Flow::end : Flow::call;
  if (name == "blr") return Flow::call;
  if (name == "b") return Flow::jump;
  return name.starts_with("b.") || is_any(name, {"cbz", "cbnz", "tbz", "tbnz"}) ? Flow::branch : Flow::on;
}

// The operand that names an address: the last, "cbz x0, 4003a8 <kw_run+0x58>".
std::uint64_t arm_address(const std::string& operands) {
  const std::size_t comma = operands.rfind(", ", operands.find('<'));
  return std::strtoull(operands.c_str() + (comma == std::string::npos ? 0 : comma + 2), nullptr, 16);
}

// A register or an arrangement of one, by how an operand begins: "q0", "v1.4s", "{v0.4s, v1.4s}".
struct ArmOperand {
  int bits = 0;          // of the vector or float register; 0: neither
  int element_bits = 0;  // of a vector's elements
  bool vector = false;
};

ArmOperand arm_operand(std::string_view text) {
  while (text.starts_with('{') || text.starts_with(' ')) text.remove_prefix(1);
  if (text.size() < 2 || text[1] < '0' || text[1] > '9') return {};
  const std::size_t kind = std::string_view("bhsdq").find(text[0]);
  if (kind != std::string_view::npos) {
    const int bits = 8 << kind;
    return {.bits = bits, .element_bits = bits, .vector = kind == 4};
  }
  if (text[0] != 'v') return {};
  std::size_t at = text.find('.');
  if (at == std::string_view::npos) return {};
  int count = 0;
  for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) count = count * 10 + (text[at] - '0');
  const std::size_t width = at < text.size() ? std::string_view("bhsd").find(text[at]) : std::string_view::npos;
  if (width == std::string_view::npos) return {};
  const int element = 8 << width;
  // One element of a vector, "v0.s[1]", is as good as a scalar.
  return {.bits = element * std::max(count, 1), .element_bits = element, .vector = count > 0};
}

// How many registers a load or store has: "{v0.4s-v3.4s}" or "{v0.4s, v1.4s}" or "q0, q1".
int arm_registers(const std::string& name, const std::string& operands) {
  if (name.starts_with("ldp") || name.starts_with("stp") || name.starts_with("ldnp") || name.starts_with("stnp"))
    return 2;
  const std::string list = operands.substr(0, operands.find('}'));
  if (!list.starts_with('{')) return 1;
  if (const std::size_t dash = list.find('-'); dash != std::string::npos) {
    const int first = std::atoi(list.c_str() + 2), last = std::atoi(list.c_str() + dash + 2);
    return std::clamp((last - first + 32) % 32 + 1, 1, 4);
  }
  return static_cast<int>(std::ranges::count(list, ',')) + 1;
}

bool arm_moves_only(const std::string& name) {
  return is_any(name, {"mov", "movi", "mvni", "fmov", "dup", "ins", "umov", "smov", "ext", "tbl", "tbx", "rev16",
                       "rev32", "rev64", "xtn", "xtn2"}) ||
         starts_with_any(name, {"zip", "uzp", "trn", "ld", "st", "prf"});
}

Effect arm_effect(const Instruction& one) {
  Effect effect;
  const std::string& name = one.name;
  const std::string& operands = one.operands;
  const ArmOperand first = arm_operand(operands);
  if (name == "bl" || name == "blr") effect.calls = called_name(operands);
  const bool memory = operands.find('[') != std::string::npos;
  if (memory && starts_with_any(name, {"ld", "st"})) {
    effect.stores = name.starts_with("st");
    effect.loads = !effect.stores;
    effect.on_stack = operands.find("[sp") != std::string::npos;
    if (first.vector) effect.moved_bits = first.bits;
    // ld1r reads one element for all.
    const int bits = name.ends_with("r") && name.starts_with("ld1") ? first.element_bits : first.bits;
    effect.moved_bytes = bits / 8 * arm_registers(name, operands);
    return effect;
  }
  if (first.bits == 0 || arm_moves_only(name)) {
    // A comparison of floats has no result among them.
    effect.computes = starts_with_any(name, {"fcmp", "fccmp", "fcvt"}) && !arm_moves_only(name);
    return effect;
  }
  // A sum over a vector (faddp, addv) has a scalar result; what it works on is a vector.
  const std::size_t comma = operands.find(", ");
  const ArmOperand second = comma == std::string::npos ? ArmOperand{} : arm_operand(operands.substr(comma + 2));
  effect.computes = true;
  if (first.vector || second.vector) effect.vector_bits = std::max(first.bits, second.bits);
  const int lanes = first.vector ? first.bits / first.element_bits : 1;
  if (is_any(name, {"fmla", "fmls", "fmadd", "fmsub", "fnmadd", "fnmsub", "mla", "mls"}) ||
      starts_with_any(name, {"smlal", "umlal", "fmlal"})) {
    effect.products = lanes;
  }
  if (is_any(name, {"sdot", "udot", "usdot", "sudot"})) effect.products = 4 * lanes;
  if (is_any(name, {"smmla", "ummla", "usmmla"})) effect.products = 32;
  effect.divides = is_any(name, {"fdiv", "fsqrt"});
  return effect;
}

// --- RISC-V of 64 bits, without vectors: what compilers make for a device whose processor has them or not ---

Flow riscv_flow(const Instruction& one) {
  const std::string& name = one.name;
  if (is_any(name, {"ret", "jr", "ebreak", "unimp", "mret", "sret"})) return Flow::end;
  if (name == "jal") return never_returns(one.operands) ? Flow::end : Flow::call;
  if (name == "jalr") return Flow::call;
  if (name == "j") return Flow::jump;
  return is_any(name, {"beq", "bne", "blt", "bge", "bltu", "bgeu", "bgt", "ble", "bgtu", "bleu", "beqz", "bnez", "blez",
                       "bgez", "bltz", "bgtz"})
             ? Flow::branch
             : Flow::on;
}

// The last operand: "beq a0,a1,101f4 <kw_run+0x10>", "jal ra,10202 <expf>".
std::uint64_t riscv_address(const std::string& operands) {
  const std::size_t comma = operands.rfind(',', operands.find('<'));
  return std::strtoull(operands.c_str() + (comma == std::string::npos ? 0 : comma + 1), nullptr, 16);
}

Effect riscv_effect(const Instruction& one) {
  Effect effect;
  const std::string& name = one.name;
  if (is_any(name, {"jal", "jalr"})) effect.calls = called_name(one.operands);
  if (one.operands.ends_with(')') && starts_with_any(name, {"l", "s", "fl", "fs"})) {
    effect.stores = name.starts_with('s') || name.starts_with("fs");
    effect.loads = !effect.stores;
    effect.on_stack = one.operands.ends_with("(sp)");
    if (name.starts_with('f')) effect.moved_bytes = name.ends_with('d') ? 8 : 4;
    return effect;
  }
  effect.computes = name.starts_with('f') && !starts_with_any(name, {"fmv", "fence", "fr", "fs.", "fscsr", "fsrm"});
  if (starts_with_any(name, {"fmadd", "fmsub", "fnmadd", "fnmsub"})) effect.products = 1;
  effect.divides = starts_with_any(name, {"fdiv", "fsqrt"});
  return effect;
}

}  // namespace

std::optional<InstructionSet> instruction_set_of(const std::string& disassembly) {
  constexpr std::string_view kFormat = "file format ";
  const std::size_t at = disassembly.find(kFormat);
  if (at == std::string::npos) return InstructionSet::x86;
  const std::string format = disassembly.substr(at + kFormat.size(), 32);
  if (format.starts_with("elf64-x86-64")) return InstructionSet::x86;
  if (format.starts_with("elf64-littleaarch64")) return InstructionSet::aarch64;
  if (format.starts_with("elf64-littleriscv")) return InstructionSet::riscv64;
  return std::nullopt;
}

Instruction read_instruction(InstructionSet set, std::string words) {
  Instruction one;
  const bool x86 = set == InstructionSet::x86;
  const bool arm = set == InstructionSet::aarch64;
  const std::size_t comment = arm ? words.find("//") : words.find('#');
  if (!arm && comment != std::string::npos) one.refers = std::strtoull(words.c_str() + comment + 1, nullptr, 16);
  words = words.substr(0, comment);
  if (x86) {
    for (const char* prefix : {"bnd ", "notrack ", "rep ", "lock ", "data16 ", "cs "}) {
      if (words.starts_with(prefix)) words.erase(0, std::string_view(prefix).size());
    }
  }
  const std::size_t space = words.find_first_of(" \t");
  one.name = words.substr(0, space);
  if (space != std::string::npos) {
    const std::size_t begin = words.find_first_not_of(" \t", space);
    if (begin != std::string::npos) one.operands = words.substr(begin);
  }
  while (one.operands.ends_with(' ') || one.operands.ends_with('\t')) one.operands.pop_back();
  one.flow = x86 ? x86_flow(one) : arm ? arm_flow(one) : riscv_flow(one);
  if (one.flow != Flow::on && !one.operands.empty()) {
    one.target = x86   ? std::strtoull(one.operands.c_str(), nullptr, 16)
                 : arm ? arm_address(one.operands)
                       : riscv_address(one.operands);
  }
  return one;
}

Effect effect_of(InstructionSet set, const Instruction& one) {
  switch (set) {
    case InstructionSet::x86:
      return x86_effect(one);
    case InstructionSet::aarch64:
      return arm_effect(one);
    case InstructionSet::riscv64:
      return riscv_effect(one);
  }
  return {};
}

std::string assembly_of(const Instruction& one) {
  if (one.flow == Flow::call || one.flow == Flow::end) return {};
  if (one.flow == Flow::on) return one.name + " " + one.operands.substr(0, one.operands.find(" <"));
  // Of "cbz x0, 4003a8 <kw_run+0x58>" the register stays, of "beq a0,a1,101f4 <kw_run+0x10>" both.
  const std::size_t name = one.operands.find('<');
  const std::size_t comma = name == std::string::npos ? name : one.operands.rfind(',', name);
  if (comma == std::string::npos) return one.name + " turn";
  return one.name + " " + one.operands.substr(0, comma) + ", turn";
}

}  // namespace kw::cpu
