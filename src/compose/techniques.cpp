#include "compose/techniques.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <sstream>

#include "base/files.h"
#include "base/nearest.h"
#include "compose/chains.h"
#include "compose/plain.h"

namespace kw::compose {
namespace {

namespace fs = std::filesystem;

// Compositions of several nodes multiply; more than this are not offered.
constexpr std::size_t kMostDrafts = 24;

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Whether the name stands in the text, not only as the beginning of another.
bool has_name(const std::string& text, const std::string& name) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const char next = at + name.size() < text.size() ? text[at + name.size()] : ' ';
    if (next != '_' && !std::isalnum(static_cast<unsigned char>(next))) return true;
  }
  return false;
}

std::vector<std::string> items_of(const std::string& list) {
  std::vector<std::string> items;
  std::istringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');) {
    if (item = trimmed(item); !item.empty()) items.push_back(item);
  }
  return items;
}

// The node's types that a technique's `types` are about: the floats, or all where there is none.
std::set<DType> types_of(const ops::Graph& graph, const ops::GraphNode& node) {
  std::set<DType> all, floats;
  for (const std::vector<int>* slots : {&node.inputs, &node.outputs}) {
    for (int slot : *slots) {
      if (slot < 0) continue;
      const DType dtype = graph.types[static_cast<std::size_t>(slot)].dtype;
      all.insert(dtype);
      if (is_float(dtype)) floats.insert(dtype);
    }
  }
  return floats.empty() ? all : floats;
}

std::map<std::string, std::int64_t> facts_of(const ops::Graph& graph, const ops::GraphNode& node) {
  std::map<std::string, std::int64_t> facts{{"tf32", node.call.precision == Precision::tf32}};
  for (const auto& [name, value] : node.call.attributes) {
    if (const auto* one = std::get_if<std::int64_t>(&value)) facts[name] = *one;
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
      for (std::size_t i = 0; i < list->size(); ++i) facts[name + std::to_string(i)] = (*list)[i];
    }
  }
  facts["inputs"] = static_cast<std::int64_t>(node.inputs.size());
  facts["outputs"] = std::ranges::count_if(node.outputs, [](int slot) { return slot >= 0; });
  const std::size_t spoken_of = std::max<std::size_t>(node.inputs.size(), 4);
  for (std::size_t i = 0; i < spoken_of; ++i) {
    const int slot = i < node.inputs.size() ? node.inputs[i] : -1;
    const std::string place = std::to_string(i);
    if (slot < 0) {
      for (const char* fact : {"rank", "constant", "size", "last"}) facts[fact + place] = -1;
      for (int axis = 0; axis < 8; ++axis) facts[fmt::format("length{}_{}", i, axis)] = -1;
      continue;
    }
    const auto at = static_cast<std::size_t>(slot);
    facts["rank" + place] = graph.types[at].shape.rank();
    facts["size" + place] = graph.types[at].shape.count();
    const int rank = graph.types[at].shape.rank();
    for (int axis = 0; axis < 8; ++axis)
      facts[fmt::format("length{}_{}", i, axis)] = axis < rank ? graph.types[at].shape[axis] : -1;
    facts["last" + place] = rank == 0 ? 0 : graph.types[at].shape[rank - 1];
    facts["constant" + place] = at < graph.inputs.size() && graph.inputs[at].role != Role::input;
  }
  return facts;
}

// A line of an opening comment: "when: rank0 == 4" has a word and a value, prose has neither.
struct Line {
  int number = 0;
  std::string text;
  std::string word;
  std::string value;
};

const std::vector<std::string> kDirectives = {"serves", "types", "when", "order", "parts", "fuses"};

bool is_directive(const Line& line) { return std::ranges::find(kDirectives, line.word) != kDirectives.end(); }

Line line_of(int number, const std::string& comment) {
  Line line{.number = number, .text = trimmed(comment.substr(2)), .word = {}, .value = {}};
  std::size_t end = 0;
  while (end < line.text.size() && (std::isalnum(static_cast<unsigned char>(line.text[end])) || line.text[end] == '_'))
    ++end;
  const std::size_t colon = line.text.find_first_not_of(' ', end);
  if (end == 0 || colon == std::string::npos || line.text[colon] != ':') return line;
  line.word = line.text.substr(0, end);
  line.value = trimmed(line.text.substr(colon + 1));
  return line;
}

// The opening comment: its paragraphs, which empty lines separate.
std::vector<std::vector<Line>> paragraphs_of(const std::string& text) {
  std::vector<std::vector<Line>> paragraphs(1);
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line) && line.starts_with("//");) {
    Line read = line_of(++number, line);
    if (!read.text.empty()) {
      paragraphs.back().push_back(std::move(read));
    } else if (!paragraphs.back().empty()) {
      paragraphs.emplace_back();
    }
  }
  return paragraphs;
}

Status take_directive(Technique& technique, const Line& line) {
  if (line.value.empty()) return fail("{}: nothing follows", line.word);
  if (line.word == "serves") {
    for (std::string& item : items_of(line.value)) technique.serves.push_back(std::move(item));
  }
  if (line.word == "when") technique.when = line.value;
  if (line.word == "types") {
    for (const std::string& item : items_of(line.value)) {
      const std::optional<DType> dtype = dtype_named(item);
      if (!dtype) return fail("{}: no element type", item);
      technique.types.push_back(*dtype);
    }
  }
  if (line.word == "parts") {
    if (line.value != "any") return fail("parts: {}: only \"any\" is known", line.value);
    technique.any_part = true;
  }
  if (line.word == "fuses") {
    for (const std::string& item : items_of(line.value)) {
      if (item != "before" && item != "after") return fail("fuses: {}: \"before\" and \"after\" are known", item);
      (item == "before" ? technique.fuses_before : technique.fuses_after) = true;
    }
  }
  if (line.word == "order") {
    const char* end = line.value.data() + line.value.size();
    const auto read = std::from_chars(line.value.data(), end, technique.order);
    if (read.ec != std::errc() || read.ptr != end) return fail("order: {}: no number", line.value);
  }
  return {};
}

}  // namespace

// The first paragraph is the idea. In the others a line that begins with a word and a colon is a directive; one that is
// not known would otherwise be prose, and a condition with a spelling mistake would apply everywhere.
Result<Technique> read_technique(const fs::path& file) {
  KW_TRY(const std::string text, read_file(file));
  Technique technique;
  technique.name = file.stem().string();
  technique.file = file;
  std::set<std::string> given;
  bool first = true;
  for (const std::vector<Line>& paragraph : paragraphs_of(text)) {
    const bool directives = std::ranges::any_of(paragraph, is_directive);
    for (const Line& line : paragraph) {
      const auto wrong = [&](const std::string& problem) {
        return fail("{}:{}: {}", file.string(), line.number, problem);
      };
      if (first && !directives) {
        technique.idea += (technique.idea.empty() ? "" : " ") + line.text;
      } else if (is_directive(line)) {
        // A long list of operators has several lines.
        if (!given.insert(line.word).second && line.word != "serves") return wrong(line.word + " is given twice");
        if (const Status taken = take_directive(technique, line); !taken.ok()) return wrong(taken.error().message);
      } else if (!line.word.empty()) {
        return wrong(fmt::format("{}: no directive of techniques{}", line.word, nearest_hint(line.word, kDirectives)));
      } else if (directives) {
        return wrong(
            fmt::format("\"{}\" among directives: an empty comment line separates them from prose", line.text));
      }
    }
    first = false;
  }
  if (technique.serves.empty()) {
    return fail("{}: no technique: its opening comment has no line \"serves: OPERATOR, …\"", file.string());
  }
  for (const std::string& op : technique.serves) {
    if (has_name(text, "prepare_" + op)) technique.prepares.push_back(op);
  }
  return technique;
}

Result<std::vector<Technique>> read_techniques(const std::string& folder) {
  if (folder.empty()) return std::vector<Technique>();
  KW_TRY(const fs::path data, data_folder());
  const fs::path place = data / "kernels" / folder;
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(place, error)) {
    if (entry.path().extension() == ".h" || entry.path().extension() == ".cuh") files.push_back(entry.path());
  }
  if (error) return fail("{}: {}", place.string(), error.message());
  std::ranges::sort(files);
  std::vector<Technique> techniques;
  for (const fs::path& file : files) {
    KW_TRY(Technique technique, read_technique(file));
    techniques.push_back(std::move(technique));
  }
  std::ranges::stable_sort(techniques, {}, &Technique::order);
  return techniques;
}

Result<bool> applies(const Technique& technique, const ops::Graph& graph, const ops::GraphNode& node) {
  if (std::ranges::find(technique.serves, node.call.op->name) == technique.serves.end()) return false;
  if (!technique.types.empty()) {
    for (DType dtype : types_of(graph, node)) {
      if (std::ranges::find(technique.types, dtype) == technique.types.end()) return false;
    }
  }
  if (technique.when.empty()) return true;
  const auto value = evaluate_expression(technique.when, facts_of(graph, node));
  if (!value.ok()) return fail("{}: when: {}", technique.file.string(), value.error().message);
  return *value != 0;
}

Served served_by(const std::vector<Technique>& techniques) {
  return [&techniques](const ops::Graph& graph, const ops::GraphNode& node) {
    return std::ranges::any_of(techniques, [&](const Technique& one) {
      const auto fits = applies(one, graph, node);
      return fits.ok() && *fits;
    });
  };
}

namespace {

// A kernel for CPUs (compose/compose.h).
Result<std::string> composed_in_cpp(const ops::Graph& graph, const std::vector<const Technique*>& choice,
                                    const std::string& about, Parts parts) {
  std::vector<compose::Piece> pieces;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    const std::string& op = graph.nodes[i].call.op->name;
    if (choice[i] == nullptr) {
      if (!compose::is_there(op)) return fail("{}: there is no kernel of {}", graph.task->name, op);
      KW_TRY(fs::path file, compose::file_of(op));
      pieces.push_back({.file = std::move(file)});
      continue;
    }
    const bool prepares = std::ranges::find(choice[i]->prepares, op) != choice[i]->prepares.end();
    pieces.push_back(
        {.file = choice[i]->file, .space = choice[i]->name, .prepares = prepares, .any_part = choice[i]->any_part});
  }
  // Alone in a short source, a technique needs no namespace that keeps it apart.
  const auto is_first = [&](const Piece& piece) { return piece.file == pieces.front().file; };
  if (parts == Parts::by_name && std::ranges::all_of(pieces, is_first)) {
    for (Piece& piece : pieces) piece.space.clear();
  }
  return compose::compose(graph, pieces, about, parts);
}

}  // namespace

Result<Draft> draft_with(const ops::Graph& graph, const std::vector<const Technique*>& choice, Parts parts,
                         const Composer& composer) {
  Draft draft;
  for (const Technique* one : choice) {
    if (one == nullptr || ("+" + draft.technique + "+").find("+" + one->name + "+") != std::string::npos) continue;
    draft.technique += (draft.technique.empty() ? "" : "+") + one->name;
  }
  if (draft.technique.empty()) draft.technique = kPlain;
  KW_TRY(draft.source, composer ? composer(graph, choice, draft.technique, parts)
                                : composed_in_cpp(graph, choice, draft.technique, parts));
  KW_TRY(draft.tunables, read_tunables(draft.source));
  return draft;
}

namespace {

// Without the plain kernel; none where no technique serves any node.
Result<std::vector<Draft>> fast_drafts_of(const ops::Graph& graph, const std::vector<Technique>& techniques,
                                          Parts parts, const Composer& composer) {
  // What each node can be computed with; null is plain.
  std::vector<std::vector<const Technique*>> offers;
  for (const ops::GraphNode& node : graph.nodes) {
    std::vector<const Technique*> offer;
    for (const Technique& technique : techniques) {
      KW_TRY(const bool fits, applies(technique, graph, node));
      if (fits) offer.push_back(&technique);
    }
    if (offer.empty()) offer.push_back(nullptr);
    offers.push_back(std::move(offer));
  }

  // Each node's first, then every other offer of one node at a time: what differs in several nodes at once is left to
  // a search that goes from one to the next.
  std::vector<std::vector<const Technique*>> chosen;
  std::vector<const Technique*> first;
  for (const auto& offer : offers) first.push_back(offer.front());
  chosen.push_back(first);
  for (std::size_t i = 0; i < offers.size(); ++i) {
    for (std::size_t k = 1; k < offers[i].size() && chosen.size() < kMostDrafts; ++k) {
      auto other = first;
      // Nodes of one operator that had the same offer go together.
      for (std::size_t j = i; j < offers.size(); ++j) {
        if (offers[j] == offers[i]) other[j] = offers[i][k];
      }
      if (std::ranges::find(chosen, other) == chosen.end()) chosen.push_back(other);
    }
  }
  std::erase(chosen, std::vector<const Technique*>(graph.nodes.size(), nullptr));

  std::vector<Draft> drafts;
  for (const auto& choice : chosen) {
    KW_TRY(Draft draft, draft_with(graph, choice, parts, composer));
    drafts.push_back(std::move(draft));
  }
  return drafts;
}

}  // namespace

Result<std::vector<Draft>> drafts_of(const ops::Graph& graph, const std::vector<Technique>& techniques, Parts parts,
                                     const Composer& composer) {
  std::vector<Draft> drafts;
  KW_TRY(ops::Graph shorter, ops::resolve(*graph.task));
  if (join_chains(shorter) + join_quantized_products(shorter, served_by(techniques)) > 0) {
    KW_TRY(drafts, fast_drafts_of(shorter, techniques, parts, composer));
  }
  if (drafts.empty()) {
    KW_TRY(drafts, fast_drafts_of(graph, techniques, parts, composer));
  }
  KW_TRY(Draft plain, draft_with(graph, std::vector<const Technique*>(graph.nodes.size(), nullptr), parts, composer));
  drafts.push_back(std::move(plain));
  return drafts;
}

}  // namespace kw::compose
