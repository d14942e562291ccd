#include "targets/cpu/control_flow.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string_view>

namespace kw::cpu {
namespace {

constexpr int kDeepest = 8;  // of calls in loops: a recursion must not go on for ever

// "kernel.cpp:12" or "kernel.cpp:12 (discriminator 3)": the line, where the file is no header.
int source_line(const std::string& line) {
  std::string place = line.substr(0, line.find(" (discriminator"));
  const std::size_t colon = place.rfind(':');
  if (colon == std::string::npos || colon + 1 == place.size()) return -1;
  if (place.find_first_not_of("0123456789", colon + 1) != std::string::npos) return -1;
  const std::string file = place.substr(0, colon);
  const bool own = file.ends_with(".cpp") || file.ends_with(".cc") || file.ends_with(".cxx") || file.ends_with(".c");
  return own ? std::atoi(place.c_str() + colon + 1) : 0;
}

bool jumps(const Instruction& one) { return one.flow == Flow::branch || one.flow == Flow::jump; }

// On aarch64 an address is made of two instructions: adrp x0, PAGE, and add x0, x0, #REST.
class PageRegisters {
 public:
  void note(Instruction& one) {
    const std::string to = one.operands.substr(0, one.operands.find(','));
    if (one.name == "adrp") {
      of_[to] = std::strtoull(one.operands.c_str() + std::min(to.size() + 1, one.operands.size()), nullptr, 16);
    } else if (one.name == "add") {
      const std::size_t number = one.operands.find('#'), from = one.operands.find(", ");
      if (number == std::string::npos || from == std::string::npos) return;
      const std::size_t begin = from + 2;
      const auto page = of_.find(one.operands.substr(begin, one.operands.find(',', begin) - begin));
      if (page != of_.end()) one.refers = page->second + std::strtoull(one.operands.c_str() + number + 1, nullptr, 0);
    }
  }

 private:
  std::map<std::string, std::uint64_t> of_;  // registers
};

struct Block {
  std::size_t begin, end;  // instructions, without the end
  std::vector<std::size_t> next, before;
};

std::vector<Block> blocks_of(const Function& function) {
  const auto& all = function.instructions;
  const auto place_of = [&](std::uint64_t address) -> std::size_t {
    const auto found = std::ranges::lower_bound(all, address, {}, &Instruction::address);
    return found != all.end() && found->address == address ? static_cast<std::size_t>(found - all.begin()) : all.size();
  };
  std::vector<char> begins(all.size() + 1, 0);
  begins[0] = 1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (jumps(all[i])) begins[place_of(all[i].target)] = 1;
    if (jumps(all[i]) || all[i].flow == Flow::end) begins[i + 1] = 1;
  }
  std::vector<Block> blocks;
  std::vector<std::size_t> block_of(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (begins[i] != 0) blocks.push_back({i, i, {}, {}});
    blocks.back().end = i + 1;
    block_of[i] = blocks.size() - 1;
  }
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Instruction& last = all[blocks[b].end - 1];
    if (jumps(last)) {
      if (const std::size_t to = place_of(last.target); to < all.size()) blocks[b].next.push_back(block_of[to]);
    }
    const bool goes_on = last.flow != Flow::end && last.flow != Flow::jump;
    if (goes_on && b + 1 < blocks.size()) blocks[b].next.push_back(b + 1);
    for (const std::size_t to : blocks[b].next) blocks[to].before.push_back(b);
  }
  return blocks;
}

// The immediate dominator of each block that control reaches, itself of the first; `none` of the others.
std::vector<std::size_t> dominators(const std::vector<Block>& blocks) {
  const std::size_t none = blocks.size();
  std::vector<std::size_t> order;  // in which blocks are left for good, depth first
  std::vector<std::size_t> number(blocks.size(), none);
  std::vector<std::pair<std::size_t, std::size_t>> path = {{0, 0}};
  std::vector<char> seen(blocks.size(), 0);
  seen[0] = 1;
  while (!path.empty()) {
    auto& [block, at] = path.back();
    if (at < blocks[block].next.size()) {
      const std::size_t to = blocks[block].next[at++];
      if (seen[to] == 0) {
        seen[to] = 1;
        path.push_back({to, 0});
      }
    } else {
      number[block] = order.size();
      order.push_back(block);
      path.pop_back();
    }
  }
  std::vector<std::size_t> over(blocks.size(), none);
  over[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto each = order.rbegin(); each != order.rend(); ++each) {
      if (*each == 0) continue;
      std::size_t common = none;
      for (std::size_t other : blocks[*each].before) {
        if (over[other] == none) continue;
        if (common == none) {
          common = other;
          continue;
        }
        while (other != common) {
          while (number[other] < number[common]) other = over[other];
          while (number[common] < number[other]) common = over[common];
        }
      }
      if (common != over[*each]) {
        over[*each] = common;
        changed = true;
      }
    }
  }
  return over;
}

}  // namespace

std::vector<Function> functions_in(const std::string& disassembly) {
  std::vector<Function> functions;
  const std::optional<InstructionSet> set = instruction_set_of(disassembly);
  if (!set) return functions;
  std::istringstream stream(disassembly);
  int at_line = 0;
  PageRegisters pages;
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with(">:")) {
      const std::size_t open = line.find('<');
      functions.push_back({line.substr(open + 1, line.size() - open - 3), {}});
      at_line = 0;
      pages = {};
      continue;
    }
    const std::size_t tab = line.find(":\t");
    if (tab == std::string::npos) {
      if (const int number = source_line(line); number >= 0) at_line = number;
      continue;
    }
    if (functions.empty()) continue;
    Instruction one = read_instruction(*set, line.substr(tab + 2));
    if (one.name.empty()) continue;
    one.address = std::strtoull(line.c_str(), nullptr, 16);
    one.line = at_line;
    if (*set == InstructionSet::aarch64) pages.note(one);
    functions.back().instructions.push_back(std::move(one));
  }
  return functions;
}

std::vector<NaturalLoop> natural_loops(const Function& function) {
  if (function.instructions.empty()) return {};
  const std::vector<Block> blocks = blocks_of(function);
  const std::vector<std::size_t> over = dominators(blocks);
  const std::size_t none = blocks.size();
  const auto dominates = [&](std::size_t a, std::size_t b) {
    if (over[b] == none) return false;
    while (b != a && b != 0) b = over[b];
    return b == a;
  };
  std::map<std::size_t, std::vector<char>> bodies;  // by the block that a loop begins with
  for (std::size_t from = 0; from < blocks.size(); ++from) {
    for (const std::size_t head : blocks[from].next) {
      if (!dominates(head, from)) continue;
      std::vector<char>& body = bodies.try_emplace(head, blocks.size(), 0).first->second;
      body[head] = 1;
      std::vector<std::size_t> left = {from};
      while (!left.empty()) {
        const std::size_t block = left.back();
        left.pop_back();
        if (body[block] != 0 || over[block] == none) continue;
        body[block] = 1;
        left.insert(left.end(), blocks[block].before.begin(), blocks[block].before.end());
      }
    }
  }
  std::vector<NaturalLoop> loops;
  for (const auto& [head, body] : bodies) {
    NaturalLoop loop{.depth = 0, .innermost = true};
    for (const auto& [other, theirs] : bodies) {
      loop.depth += theirs[head];
      if (other != head && body[other] != 0) loop.innermost = false;
    }
    loop.straight = std::ranges::count(body, 1) == 1;
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      if (body[block] == 0) continue;
      for (std::size_t i = blocks[block].begin; i < blocks[block].end; ++i) loop.instructions.push_back(i);
    }
    loops.push_back(std::move(loop));
  }
  return loops;
}

std::vector<TimedFunction> timed_functions(const std::vector<Function>& functions) {
  std::map<std::uint64_t, std::size_t> by_address;
  std::size_t root = functions.size();
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].instructions.empty()) continue;
    by_address[functions[i].instructions.front().address] = i;
    if (functions[i].name == "kw_run") root = i;
  }
  std::vector<int> depth(functions.size(), -1);
  std::vector<std::size_t> left;
  const auto reach = [&](std::size_t index, int at) {
    at = std::min(at, kDeepest);
    if (depth[index] >= at) return;
    depth[index] = at;
    left.push_back(index);
  };
  if (root < functions.size()) reach(root, 0);
  while (!left.empty()) {
    const std::size_t index = left.back();
    left.pop_back();
    const Function& function = functions[index];
    std::vector<int> inside(function.instructions.size(), 0);
    for (const NaturalLoop& loop : natural_loops(function)) {
      for (const std::size_t i : loop.instructions) inside[i] = std::max(inside[i], loop.depth);
    }
    for (std::size_t i = 0; i < function.instructions.size(); ++i) {
      for (const std::uint64_t address : {function.instructions[i].target, function.instructions[i].refers}) {
        const auto found = by_address.find(address);
        if (address != 0 && found != by_address.end() && found->second != index)
          reach(found->second, depth[index] + inside[i]);
      }
    }
  }
  std::vector<TimedFunction> timed;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].name.ends_with(".cold") || functions[i].name.ends_with("[clone .cold]")) continue;
    if (root == functions.size()) timed.push_back({&functions[i], 0});
    if (depth[i] >= 0) timed.push_back({&functions[i], depth[i]});
  }
  return timed;
}

}  // namespace kw::cpu
