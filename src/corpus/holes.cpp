#include "corpus/holes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "corpus/code_text.h"
#include "inspect/outline.h"

namespace kw::corpus {
namespace {

int line_of(std::string_view source, std::size_t offset) {
  return 1 + static_cast<int>(std::ranges::count(source.substr(0, offset), '\n'));
}

Hole hole_at(HoleKind kind, std::string name, std::string_view source, std::size_t begin, std::size_t end) {
  return {.kind = kind,
          .name = std::move(name),
          .begin = begin,
          .end = end,
          .first_line = line_of(source, begin),
          .last_line = line_of(source, end == begin ? end : end - 1)};
}

std::vector<Hole> bodies_in(const std::string& source, const std::string& code) {
  std::vector<Hole> all;
  const std::vector<Braces> braces = braces_of(code);
  for (const inspect::Scope& scope : inspect::outline_of(source)) {
    if (scope.kind != inspect::Scope::Kind::function || scope.declared) continue;
    // The outermost pair that closes where the function does.
    const auto found = std::ranges::find_if(braces, [&](const Braces& one) {
      return line_of(code, one.open) >= scope.first_line && line_of(code, one.close) == scope.last_line;
    });
    if (found == braces.end()) continue;
    const HoleKind kind = scope.name.starts_with("KW_PLAN") ? HoleKind::plan : HoleKind::function;
    all.push_back(hole_at(kind, scope.name, source, found->open + 1, found->close));
  }
  return all;
}

std::vector<Hole> loops_in(const std::string& source, const std::string& code, const std::vector<Hole>& bodies) {
  std::vector<Hole> all;
  for (const char* word : {"for", "while"}) {
    for (const std::size_t at : places_of_word(code, word)) {
      const auto body = std::ranges::find_if(bodies, [&](const Hole& one) { return one.begin <= at && at < one.end; });
      if (body == bodies.end()) continue;
      const std::size_t end = end_of_statement(code, at);
      if (end == std::string::npos || end > body->end) continue;
      // `while` at the end of a do loop has no body.
      const std::size_t behind = code.find_first_not_of(" \t\n", code.find(')', at) + 1);
      if (behind == end - 1 && code[behind] == ';') continue;
      all.push_back(hole_at(HoleKind::loop, body->name, source, at, end));
    }
  }
  std::ranges::sort(all, {}, &Hole::begin);
  for (std::size_t i = all.size(); i-- > 0;) {
    all[i].nesting = 1;
    for (std::size_t k = i + 1; k < all.size() && all[k].begin < all[i].end; ++k)
      all[i].nesting = std::max(all[i].nesting, all[k].nesting + 1);
  }
  return all;
}

// Runs of lines with tunables.
std::vector<Hole> tunables_in(const std::string& source, const std::string& code) {
  std::vector<Hole> all;
  std::size_t begin = std::string::npos;
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t end = std::min(code.find('\n', at), code.size());
    const std::string_view line = std::string_view(code).substr(at, end - at);
    const bool is_part = line.starts_with("KW_TUNE(") || line.starts_with("KW_REQUIRE(");
    if (is_part && begin == std::string::npos) begin = at;
    const bool is_last = end >= code.size();
    if (begin != std::string::npos && (!is_part || is_last)) {
      all.push_back(hole_at(HoleKind::plan, "tunables", source, begin, is_part ? end : at));
      begin = std::string::npos;
    }
    at = end + 1;
  }
  return all;
}

// A backslash at a line's end joins it with the next, also where blanks follow it: what looks like "/" and "*" on two
// lines may be a comment's beginning. At the text's end it would join what comes after the hole.
bool joins_lines(std::string_view text) {
  for (std::size_t at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at + 1)) {
    const std::size_t behind = text.find_first_not_of(" \t\v\f\r", at + 1);
    if (behind == std::string_view::npos || text[behind] == '\n') return true;
  }
  return false;
}

// A carriage return alone ends lines for compilers, comments and directives among them, and for nothing else here.
bool has_hidden_lines(std::string_view text) {
  for (std::size_t at = text.find('\r'); at != std::string_view::npos; at = text.find('\r', at + 1)) {
    if (at + 1 == text.size() || text[at + 1] != '\n') return true;
  }
  return false;
}

// The assembler has macros and symbols of its own, for the whole file: a directive is what begins with a point.
bool has_directives_of_assembly(std::string_view middle, std::string_view code) {
  const bool has_assembly = std::ranges::any_of(std::array{"asm", "__asm", "__asm__"},
                                                [&](const char* word) { return !places_of_word(code, word).empty(); });
  bool begins = false;  // an instruction
  for (std::size_t i = 0; has_assembly && i + 1 < middle.size(); ++i) {
    const char c = middle[i];
    if (c == '.' && begins && std::isalpha(static_cast<unsigned char>(middle[i + 1]))) return true;
    if (c == '\\') {
      begins = middle[++i] == 'n' || (begins && middle[i] == 't');
    } else {
      begins = c == '"' || c == ';' || c == ':' || c == '\n' || (begins && c == ' ');
    }
  }
  return false;
}

// What begins where a statement does ends where one does, or it would take the next one in: `if (false)`.
bool takes_the_next_in(std::string_view code_before, std::string_view code) {
  const auto last_of = [](std::string_view text) {
    const std::size_t at = text.find_last_not_of(" \t\n\v\f\r");
    return at == std::string_view::npos ? ';' : text[at];
  };
  const auto ends = [](char c) { return c == ';' || c == '}'; };
  const char before = last_of(code_before);
  return (ends(before) || before == '{') && !ends(last_of(code));
}

// Why text is not whole in itself; empty: it is.
std::string reaches_out(std::string_view middle, bool suffix_begins_a_line) {
  const CodeText code = code_text(middle);
  if (code.end == CodeText::End::comment) return "it leaves a comment open";
  if (code.end == CodeText::End::quotes) return "it leaves quotes open";
  if (code.end == CodeText::End::line_comment && !suffix_begins_a_line) return "it turns what follows into a comment";
  if (joins_lines(middle)) return "it joins lines with a backslash";
  if (has_hidden_lines(middle)) return "it ends lines with a carriage return alone";
  if (!places_of_word(code.text, "_Pragma").empty()) return "it has a _Pragma, which may change what stands around it";
  if (has_directives_of_assembly(middle, code.text)) {
    return "it has directives of the assembler, which may change what stands around it";
  }
  // Second spellings of { } and #.
  for (const char* digraph : {"<%", "%>", "%:"}) {
    if (code.text.find(digraph) != std::string::npos) return fmt::format("it has the digraph {}", digraph);
  }
  std::string open;
  bool at_line_start = true;
  for (const char c : code.text) {
    if (c == '#' && at_line_start) return "it has preprocessor lines, which may change what stands around it";
    if (c == '\n') {
      at_line_start = true;
    } else if (!std::isspace(static_cast<unsigned char>(c))) {
      at_line_start = false;
    }
    if (c == '(' || c == '[' || c == '{') open += c;
    if (c == ')' || c == ']' || c == '}') {
      const char partner = c == ')' ? '(' : c == ']' ? '[' : '{';
      if (open.empty() || open.back() != partner) return fmt::format("its '{}' closes what was opened before it", c);
      open.pop_back();
    }
  }
  if (!open.empty()) return fmt::format("its '{}' is not closed", open.back());
  return "";
}

}  // namespace

std::string_view name_of(HoleKind kind) {
  switch (kind) {
    case HoleKind::function:
      return "function";
    case HoleKind::loop:
      return "loop";
    case HoleKind::plan:
      return "plan";
  }
  return "";
}

std::vector<Hole> holes_of(const std::string& source) {
  const std::string code = code_text(source).text;
  std::vector<Hole> all = bodies_in(source, code);
  const std::vector<Hole> loops = loops_in(source, code, all);
  const std::vector<Hole> plans = tunables_in(source, code);
  all.insert(all.end(), loops.begin(), loops.end());
  all.insert(all.end(), plans.begin(), plans.end());
  std::ranges::stable_sort(
      all, [](const Hole& a, const Hole& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
  return all;
}

Result<std::string> filled(std::string_view prefix, std::string_view middle, std::string_view suffix) {
  // The hole itself must be in code: in a comment or in quotes anything would be confined.
  const CodeText before = code_text(prefix);
  if (before.end != CodeText::End::code) return fail("the hole lies in a comment or in quotes");
  // A name that goes on in the suffix would be another one.
  std::string problem = reaches_out(middle, suffix.empty() || suffix.front() == '\n');
  if (problem.empty() && takes_the_next_in(before.text, code_text(middle).text)) {
    problem = "its last statement has no end";
  }
  if (!problem.empty()) return fail("what was filled in is not confined to its hole: {}", problem);
  return std::string(prefix) + std::string(middle) + std::string(suffix);
}

Result<std::string> middle_of(std::string_view whole, std::string_view prefix, std::string_view suffix) {
  if (!whole.starts_with(prefix)) return fail("what stands before the hole did not survive");
  if (whole.size() < prefix.size() + suffix.size() || !whole.ends_with(suffix))
    return fail("what stands after the hole did not survive");
  return std::string(whole.substr(prefix.size(), whole.size() - prefix.size() - suffix.size()));
}

}  // namespace kw::corpus
