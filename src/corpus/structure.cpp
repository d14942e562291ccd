#include "corpus/structure.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/hash.h"
#include "base/random.h"

namespace kw::corpus {
namespace {

// They are in most chains: little would be left without them.
constexpr const char* kEverywhere[] = {"Add", "Sub", "Mul", "Div"};

bool is_drawn(const std::string& what, const std::string& name, std::uint64_t seed, double share) {
  return Random(hash_of(what + " " + name, hash_of(std::to_string(seed)))).unit() < share;
}

}  // namespace

std::vector<std::string> operators_of(const Task& task) {
  std::set<std::string> names;
  for (const Node& node : task.nodes) names.insert(node.op);
  return {names.begin(), names.end()};
}

std::string structure_of(const Task& task) {
  std::map<std::string, std::string> from;  // of every tensor
  for (const Value& value : task.values)
    from[value.name] = value.role == Role::input ? "i" : value.role == Role::weight ? "w" : "c";
  std::string text;
  for (std::size_t i = 0; i < task.nodes.size(); ++i) {
    const Node& node = task.nodes[i];
    std::string inputs;
    for (const std::string& name : node.inputs) {
      const auto found = from.find(name);
      inputs += (inputs.empty() ? "" : ",") + (found == from.end() ? "_" : found->second);
    }
    for (const std::string& name : node.outputs) from[name] = std::to_string(i);
    text += (text.empty() ? "" : ";") + node.op + "(" + inputs + ")";
  }
  return text;
}

std::string unseen_in(const Task& task, const SplitRules& rules) {
  for (const std::string& op : operators_of(task)) {
    if (std::ranges::find(rules.named, op) != rules.named.end()) return "operator";
    const bool is_free = std::ranges::find(kEverywhere, op) == std::end(kEverywhere);
    if (is_free && is_drawn("operator", op, rules.seed, rules.operators)) return "operator";
  }
  if (task.nodes.size() > 1 && is_drawn("structure", structure_of(task), rules.seed, rules.structures))
    return "structure";
  return "";
}

}  // namespace kw::corpus
