#include "suites/suite.h"

#define TOML_HEADER_ONLY 0

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/nearest.h"
#include "base/toml.h"
#include "ops/op.h"
#include "suites/notation.h"

namespace kw::suites {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  Result<Suite> read(const toml::table& root) {
    Suite suite;
    KW_CHECK(only_these_keys(root, {"suite", "about", "level", "task"}));
    KW_TRY(suite.name, required_text(root, "suite"));
    KW_TRY(suite.about, optional_text(root, "about"));
    KW_TRY(const int level, level_of(root));
    const toml::node* list = root.get("task");
    if (!list) return suite;
    const toml::array* tasks = list->as_array();
    if (!tasks) return error(*list, "'task' must be written as [[task]]");
    std::set<std::string> names;
    for (const toml::node& entry : *tasks) {
      const toml::table* table = entry.as_table();
      if (!table) return error(entry, "a task must be a table: [[task]]");
      KW_TRY(Task task, read_task(*table));
      task.suite = suite.name;
      task.level = level;
      if (!names.insert(task.name).second) return error(entry, "a task is called '{}' already", task.name);
      suite.tasks.push_back(std::move(task));
    }
    return suite;
  }

 private:
  std::string place(const toml::node& node) const { return place_in_toml(file_, node.source()); }

  template <class... Args>
  Error error(const toml::node& node, fmt::format_string<Args...> format, Args&&... args) const {
    return at(place(node), fail(format, std::forward<Args>(args)...));
  }

  Status only_these_keys(const toml::table& table, const std::vector<std::string>& known) const {
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      if (std::ranges::find(known, name) != known.end()) continue;
      return at(place_in_toml(file_, key.source()), fail("no key is called '{}'{}", name, nearest_hint(name, known)));
    }
    return {};
  }

  Result<std::string> optional_text(const toml::table& table, std::string_view key) const {
    const toml::node* node = table.get(key);
    if (!node) return std::string();
    const auto text = node->value_exact<std::string>();
    if (!text) return error(*node, "'{}' must be a text in quotes", key);
    return *text;
  }

  Result<std::string> required_text(const toml::table& table, std::string_view key) const {
    if (!table.get(key)) return error(table, "'{}' is missing", key);
    KW_TRY(std::string text, optional_text(table, key));
    if (text.empty()) return error(*table.get(key), "'{}' is empty", key);
    return text;
  }

  Result<int> level_of(const toml::table& root) const {
    const toml::node* node = root.get("level");
    if (!node) return 0;
    const auto value = node->value_exact<std::int64_t>();
    if (!value || *value < 1 || *value > 99) return error(*node, "'level' must be a whole number from 1 to 99");
    return static_cast<int>(*value);
  }

  // Calls parse(Piece) for every text of a list.
  template <class Parse>
  Status each_text(const toml::table& table, std::string_view key, Parse&& parse) const {
    const toml::node* node = table.get(key);
    if (!node) return {};
    const toml::array* list = node->as_array();
    if (!list) return error(*node, "'{}' must be a list of texts: {} = [\"...\"]", key, key);
    for (const toml::node& entry : *list) {
      const auto* text = entry.as_string();
      if (!text) return error(entry, "'{}' must hold texts in quotes", key);
      // The text begins behind its opening quote.
      const Piece piece{text->get(), file_, entry.source().begin.line, entry.source().begin.column + 1};
      KW_CHECK(parse(piece));
    }
    return {};
  }

  Result<Task> read_task(const toml::table& table) const {
    KW_CHECK(only_these_keys(table, {"name", "category", "inputs", "weights", "constants", "nodes", "outputs", "note",
                                     "degenerate", "tolerance", "opset", "precision"}));
    Task task;
    task.place = place(table);
    KW_TRY(task.name, required_text(table, "name"));
    if (task.name.find_first_of(" \t\n:/\\") != std::string::npos) {
      return error(*table.get("name"), "a task's name has no spaces, colons or slashes: '{}'", task.name);
    }
    KW_TRY(task.category, required_text(table, "category"));
    KW_TRY(task.note, optional_text(table, "note"));
    KW_TRY(task.degenerate, optional_text(table, "degenerate"));
    KW_CHECK(read_graph(table, task));
    for (const Node& node : task.nodes) {
      if (const ops::Op* op = ops::find_op(node.op)) task.opset = std::max(task.opset, op->since);
    }
    KW_CHECK(read_numbers(table, task));
    return task;
  }

  Status read_numbers(const toml::table& table, Task& task) const {
    if (const toml::node* node = table.get("tolerance")) {
      const auto value = node->value<double>();
      if (!value || !(*value >= 1) || !(*value <= 1e6)) {
        return error(*node, "'tolerance' multiplies the derived bound: a number from 1 to 1e6");
      }
      task.tolerance = *value;
    }
    if (const toml::node* node = table.get("precision")) {
      if (node->value<std::string>() != "tf32") return error(*node, "'precision' is \"tf32\", or that of the types");
      task.precision = Precision::tf32;
    }
    if (const toml::node* node = table.get("opset")) {
      const auto value = node->value_exact<std::int64_t>();
      if (!value || *value < 7 || *value > 99) return error(*node, "'opset' must be a whole number from 7 on");
      task.opset = static_cast<int>(*value);
    }
    return {};
  }

  Status read_graph(const toml::table& table, Task& task) const {
    const auto add_value = [&](Result<Value> value) -> Status {
      if (!value.ok()) return value.error();
      task.values.push_back(*std::move(value));
      return {};
    };
    KW_CHECK(each_text(table, "inputs",
                       [&](const Piece& piece) { return add_value(parse_tensor(piece, Role::input, task.lengths)); }));
    KW_CHECK(each_text(table, "weights",
                       [&](const Piece& piece) { return add_value(parse_tensor(piece, Role::weight, task.lengths)); }));
    KW_CHECK(each_text(table, "constants",
                       [&](const Piece& piece) { return add_value(parse_constant(piece, task.lengths)); }));
    // Outputs come first: they may name a length that a node uses.
    KW_CHECK(each_text(table, "outputs", [&](const Piece& piece) -> Status {
      KW_TRY(Output output, parse_output(piece, task.lengths));
      task.outputs.push_back(std::move(output));
      return {};
    }));
    KW_CHECK(each_text(table, "nodes", [&](const Piece& piece) -> Status {
      KW_TRY(Node node, parse_node(piece, task.lengths));
      task.nodes.push_back(std::move(node));
      return {};
    }));
    if (task.nodes.empty()) return error(table, "task '{}' has no nodes", task.name);
    if (task.outputs.empty()) {
      for (const std::string& name : task.nodes.back().outputs) {
        if (!name.empty()) task.outputs.push_back({name, std::nullopt, {}});
      }
    }
    return {};
  }

  std::string file_;
};

}  // namespace

Result<Suite> parse_suite(std::string_view text, const std::string& place) {
  try {
    const toml::table root = toml::parse(text, place);
    return Reader(place).read(root);
  } catch (const toml::parse_error& error) {
    return fail("{}: {}", place_in_toml(place, error.source()), error.description());
  }
}

Result<Suite> read_suite(const std::filesystem::path& path) {
  KW_TRY(const std::string text, read_file(path, kMostBytes));
  return parse_suite(text, path.string());
}

}  // namespace kw::suites
