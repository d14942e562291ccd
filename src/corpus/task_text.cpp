#include "corpus/task_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "ops/op.h"
#include "suites/notation.h"
#include "suites/task_snapshot.h"

namespace kw::corpus {
namespace {

constexpr std::size_t kMostTextBytes = std::size_t{1} << 16;
constexpr int kUsualOpset = 17;

int opset_of_nodes(const Task& task) {
  int opset = kUsualOpset;
  for (const Node& node : task.nodes) {
    if (const ops::Op* op = ops::find_op(node.op)) opset = std::max(opset, op->since);
  }
  return opset;
}

std::string word_of(Role role) { return role == Role::input ? "input" : role == Role::weight ? "weight" : "constant"; }

// Gives every named length its value where it is written for the first time.
class TaskWriter {
 public:
  explicit TaskWriter(const Task& task) : task_(task) {}

  std::string lengths(const std::vector<Length>& all) {
    std::string text;
    for (const Length& one : all) {
      text += text.empty() ? "" : ", ";
      if (one.name.empty()) {
        text += std::to_string(one.value);
      } else if (std::ranges::find(known_, one.name) != known_.end()) {
        text += one.name;
      } else {
        known_.push_back(one.name);
        const auto own = task_.lengths.find(one.name);
        text += fmt::format("{}={}", one.name, own == task_.lengths.end() ? one.value : own->second);
      }
    }
    return all.empty() ? "" : "[" + text + "]";
  }

  std::string value(const Value& one) {
    std::string text =
        fmt::format("{} {}: {}{}", word_of(one.role), one.name, name_of(one.dtype), lengths(one.lengths));
    if (one.role == Role::constant) return text + " = " + elements(one);
    return one.spread ? text + " " + suites::text_of(*one.spread) : text;
  }

  std::string output(const Output& one) {
    if (!one.dtype) return "output " + one.name;
    return fmt::format("output {}: {}{}", one.name, name_of(*one.dtype), lengths(one.lengths));
  }

  // Integers of attributes may be names of lengths.
  static std::string node(const Node& one) {
    Node plain = one;
    plain.attributes.clear();
    std::string attributes;
    for (const auto& [name, attribute] : one.attributes) {
      attributes += fmt::format("{}{}={}", attributes.empty() ? "" : ", ", name, attribute_text(attribute));
    }
    std::string text = suites::text_of(plain);
    if (!attributes.empty()) text.insert(text.find('('), "<" + attributes + ">");
    return "node " + text;
  }

 private:
  // A whole number that is a real one keeps its point: without it, it would come back as another attribute.
  static std::string plain_text(const Attribute& value) {
    const auto with_point = [](double real) {
      std::string text = kw::text_of(Attribute(real));
      return text.find_first_of(".eni") == std::string::npos ? text + ".0" : text;
    };
    if (const auto* real = std::get_if<double>(&value)) return with_point(*real);
    const auto* reals = std::get_if<std::vector<double>>(&value);
    if (reals == nullptr) return kw::text_of(value);
    std::string text;
    for (const double one : *reals) text += (text.empty() ? "" : ", ") + with_point(one);
    return "[" + text + "]";
  }

  static std::string attribute_text(const NodeAttribute& attribute) {
    const bool is_named = std::ranges::any_of(attribute.lengths, [](const Length& one) { return !one.name.empty(); });
    if (!is_named) return plain_text(attribute.value);
    std::string text;
    for (const Length& one : attribute.lengths) {
      text += (text.empty() ? "" : ", ") + (one.name.empty() ? std::to_string(one.value) : one.name);
    }
    return kind_of(attribute.value) == AttributeKind::integers ? "[" + text + "]" : text;
  }

  static std::string elements(const Value& one) {
    std::string text;
    for (std::int64_t i = 0; i < one.constant.count(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      text += i == 0 ? "" : ", ";
      if (at < one.elements.size() && !one.elements[at].name.empty()) {
        text += one.elements[at].name;
      } else if (is_float(one.dtype)) {
        text += one.dtype == DType::float64 ? fmt::format("{}", one.constant.real(i))
                                            : fmt::format("{}", static_cast<float>(one.constant.real(i)));
      } else {
        text += std::to_string(one.constant.integer(i));
      }
    }
    return one.lengths.empty() ? text : "[" + text + "]";
  }

  const Task& task_;
  std::vector<std::string> known_;
};

// What the text is about: without names and places.
std::string meaning_of(Task task) {
  task.name = task.suite = task.category = task.place = task.note = task.degenerate = "";
  task.level = 0;
  for (Node& node : task.nodes) node.place = node.name = "";
  settle_lengths(task);
  return suites::snapshot_of(task);
}

std::string written_text(const Task& task) {
  TaskWriter writer(task);
  std::string text;
  for (const Value& value : task.values) text += writer.value(value) + "\n";
  // Before the nodes: an output may name a length that a node uses.
  for (const Output& output : task.outputs) text += writer.output(output) + "\n";
  for (const Node& node : task.nodes) text += TaskWriter::node(node) + "\n";
  if (task.opset != opset_of_nodes(task)) text += fmt::format("opset {}\n", task.opset);
  if (task.precision == Precision::tf32) text += "precision tf32\n";
  if (task.tolerance != 1) text += fmt::format("tolerance {}\n", task.tolerance);
  return text;
}

Status take_task_line(const suites::Piece& piece, std::string_view word, Task& task) {
  const auto add = [&](Result<Value> value) -> Status {
    if (!value.ok()) return value.error();
    task.values.push_back(*std::move(value));
    return {};
  };
  if (word == "input") return add(suites::parse_tensor(piece, Role::input, task.lengths));
  if (word == "weight") return add(suites::parse_tensor(piece, Role::weight, task.lengths));
  if (word == "constant") return add(suites::parse_constant(piece, task.lengths));
  if (word == "output") {
    KW_TRY(Output output, suites::parse_output(piece, task.lengths));
    task.outputs.push_back(std::move(output));
    return {};
  }
  if (word == "node") {
    KW_TRY(Node node, suites::parse_node(piece, task.lengths));
    task.nodes.push_back(std::move(node));
    return {};
  }
  if (word == "precision" && piece.text == "tf32") {
    task.precision = Precision::tf32;
    return {};
  }
  if (word == "opset" || word == "tolerance") {
    const std::string digits(piece.text);
    char* end = nullptr;
    const double number = std::strtod(digits.c_str(), &end);
    const bool is_opset = word == "opset";
    if (digits.empty() || *end != '\0' || !(number >= (is_opset ? 7 : 1)) || !(number <= (is_opset ? 99 : 1e6)))
      return fail("{}: '{}' is no number for {}", piece.place(0), digits.substr(0, 40), word);
    if (is_opset) {
      task.opset = static_cast<int>(number);
    } else {
      task.tolerance = number;
    }
    return {};
  }
  return fail("{}: a line of a task begins with input, weight, constant, output, node, opset, tolerance or precision",
              piece.place(0));
}

}  // namespace

void settle_lengths(Task& task) {
  const auto take = [&](std::vector<Length>& lengths) {
    for (Length& one : lengths) {
      if (const auto found = task.lengths.find(one.name); found != task.lengths.end()) one.value = found->second;
    }
  };
  for (Value& value : task.values) {
    take(value.lengths);
    take(value.elements);
    for (std::size_t i = 0; i < value.elements.size(); ++i)
      value.constant.set_integer(static_cast<std::int64_t>(i), value.elements[i].value);
  }
  for (Output& output : task.outputs) take(output.lengths);
  for (Node& node : task.nodes) {
    for (auto& [name, attribute] : node.attributes) {
      take(attribute.lengths);
      if (attribute.lengths.empty()) continue;
      if (auto* one = std::get_if<std::int64_t>(&attribute.value)) *one = attribute.lengths[0].value;
      if (auto* many = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
        for (std::size_t i = 0; i < many->size(); ++i) (*many)[i] = attribute.lengths[i].value;
      }
    }
  }
}

std::string name_of_text(const Task& task, std::string_view text) {
  std::string name;
  for (const Node& node : task.nodes) {
    if (name.size() < 40) name += (name.empty() ? "" : "_") + node.op;
  }
  return fmt::format("{}_{:08x}", name, hash_of(text) & 0xffffffff);
}

Result<std::string> text_of(const Task& task) {
  const std::string text = written_text(task);
  const auto again = task_of_text(text);
  if (!again.ok()) return fail("{} cannot be told as text: {}", task.name, again.error().message);
  if (meaning_of(*again) != meaning_of(task)) return fail("{} cannot be told as text without a loss", task.name);
  return text;
}

Result<Task> task_of_text(std::string_view text) {
  if (text.size() > kMostTextBytes) return fail("a task's text has at most {} bytes", kMostTextBytes);
  Task task;
  bool says_opset = false;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, space);
    const std::size_t rest = std::min(space + 1, line.size());
    says_opset = says_opset || word == "opset";
    KW_CHECK(take_task_line({line.substr(rest), "task", number, rest + 1}, word, task));
  }
  if (task.nodes.empty()) return fail("a task's text has at least one line that begins with node");
  if (task.outputs.empty()) return fail("a task's text has at least one line that begins with output");
  if (!says_opset) task.opset = opset_of_nodes(task);
  task.name = name_of_text(task, text);
  return task;
}

}  // namespace kw::corpus
