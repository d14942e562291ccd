#include "corpus/code_text.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "inspect/outline.h"

namespace kw::corpus {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The quote between digits of 1'000, and no beginning of a character, as in 1'"'.
bool is_digit_separator(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size() || !is_word(text[at + 1])) return false;
  std::size_t begin = at;
  while (begin > 0 && (is_word(text[begin - 1]) || text[begin - 1] == '\'')) --begin;
  return begin < at && std::isdigit(static_cast<unsigned char>(text[begin]));
}

// Reads a source once, from its first byte to its last.
class Blanker {
 public:
  explicit Blanker(std::string_view source) : source_(source) { out_.text = source; }

  CodeText run() {
    while (at_ < source_.size()) {
      if (starts("//")) {
        line_comment();
      } else if (starts("/*")) {
        until("*/", 2, CodeText::End::comment, true);
      } else if (source_[at_] == '"') {
        is_raw() ? raw_quotes() : quotes('"');
      } else if (source_[at_] == '\'' && !is_digit_separator(source_, at_)) {
        quotes('\'');
      } else {
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  bool starts(std::string_view what) const { return source_.substr(at_).starts_with(what); }

  void blank(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (out_.text[i] != '\n') out_.text[i] = ' ';
    }
  }

  // R" as a word of its own, maybe with u8, u, U or L before it.
  bool is_raw() const {
    std::size_t begin = at_;
    while (begin > 0 && is_word(source_[begin - 1])) --begin;
    const std::string_view word = source_.substr(begin, at_ - begin);
    return word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R";
  }

  void line_comment() {
    const std::size_t begin = at_;
    for (; at_ < source_.size(); ++at_) {
      if (source_[at_] == '\n' && source_[at_ - 1] != '\\') break;
    }
    blank(begin, at_);
    if (at_ == source_.size()) out_.end = CodeText::End::line_comment;
  }

  void until(std::string_view closing, std::size_t skip, CodeText::End end, bool all) {
    const std::size_t found = source_.find(closing, at_ + skip);
    const bool is_open = found == std::string_view::npos;
    const std::size_t stop = is_open ? source_.size() : found + closing.size();
    blank(all ? at_ : at_ + 1, is_open || all ? stop : stop - 1);
    at_ = stop;
    if (is_open) out_.end = end;
  }

  void raw_quotes() {
    const std::size_t bracket = source_.find('(', at_);
    if (bracket == std::string_view::npos || bracket - at_ > 17) return quotes('"');
    const std::string closing = ")" + std::string(source_.substr(at_ + 1, bracket - at_ - 1)) + "\"";
    until(closing, bracket + 1 - at_, CodeText::End::quotes, false);
  }

  void quotes(char quote) {
    const std::size_t begin = ++at_;
    for (; at_ < source_.size() && source_[at_] != quote && source_[at_] != '\n'; ++at_) {
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) ++at_;
    }
    blank(begin, std::min(at_, source_.size()));
    if (at_ >= source_.size()) {
      at_ = source_.size();
      out_.end = CodeText::End::quotes;
    } else {
      ++at_;
    }
  }

  std::string_view source_;
  std::size_t at_ = 0;
  CodeText out_;
};

std::size_t skip_blanks(std::string_view code, std::size_t at) {
  while (at < code.size() && std::isspace(static_cast<unsigned char>(code[at]))) ++at;
  return at;
}

// The offset after the bracket that closes the one at `at`; npos where it is never closed.
std::size_t behind_brackets(std::string_view code, std::size_t at) {
  int depth = 0;
  for (; at < code.size(); ++at) {
    if (code[at] == '(' || code[at] == '{' || code[at] == '[') ++depth;
    if (code[at] == ')' || code[at] == '}' || code[at] == ']') {
      if (--depth == 0) return at + 1;
    }
  }
  return std::string_view::npos;
}

std::string_view word_at(std::string_view code, std::size_t at) {
  std::size_t end = at;
  while (end < code.size() && is_word(code[end])) ++end;
  return code.substr(at, end - at);
}

// --- leaving out what nothing uses ----------------------------------------------------------------------------------

struct Lines {
  std::vector<std::string> list;  // the first is line 1

  explicit Lines(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      list.emplace_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  std::string joined() const {
    std::string text;
    for (const std::string& line : list) text += line + "\n";
    return text;
  }
};

// Something at file or namespace scope that has a name, on lines of its own.
struct Definition {
  std::string name;
  int first = 0;
  int last = 0;
  bool is_requirement = false;  // it uses names, but is no reason to keep them
};

// "Tile" of "space::Tile<int>"
std::string last_name(std::string name) {
  name = name.substr(0, name.find('<'));
  const std::size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

// A definition on one line: a tunable, an alias, a constant.
Definition definition_on(const std::string& line, int number) {
  Definition one{.first = number, .last = number};
  if (line.starts_with("KW_REQUIRE(")) {
    one.is_requirement = true;
  } else if (line.starts_with("KW_TUNE(")) {
    one.name = std::string(word_at(line, 8));
  } else if (line.starts_with("using ") && line.ends_with(";")) {
    const std::size_t equals = line.find(" = ");
    if (equals != std::string::npos) one.name = std::string(word_at(line, 6));
    if (equals == std::string::npos && !line.starts_with("using namespace"))
      one.name = last_name(line.substr(6, line.size() - 7));
  } else if ((line.starts_with("constexpr ") || line.starts_with("inline constexpr ") ||
              line.starts_with("static constexpr ")) &&
             line.ends_with(";") && line.find(" = ") != std::string::npos) {
    std::size_t begin = line.find(" = ");
    const std::size_t end = begin;
    while (begin > 0 && is_word(line[begin - 1])) --begin;
    one.name = line.substr(begin, end - begin);
  }
  return one;
}

std::vector<Definition> definitions_of(const std::string& text, const Lines& lines) {
  std::vector<Definition> all;
  const std::vector<inspect::Scope> outline = inspect::outline_of(text);
  std::vector<bool> inside(lines.list.size() + 1, false);
  int outer_end = 0;  // of the last function or type at the top
  for (const inspect::Scope& scope : outline) {
    if (scope.kind == inspect::Scope::Kind::name_space || scope.declared) continue;
    const int last = std::min(scope.last_line, static_cast<int>(lines.list.size()));
    for (int line = scope.first_line; line <= last; ++line) inside[static_cast<std::size_t>(line)] = true;
    if (scope.first_line <= outer_end) continue;
    outer_end = last;
    if (scope.name.starts_with("KW_") || scope.name.find("operator") != std::string::npos) continue;
    // Called from outside, or launched by its name in quotes.
    if (lines.list[static_cast<std::size_t>(scope.first_line) - 1].starts_with("extern \"C\"")) continue;
    all.push_back({last_name(scope.name), scope.first_line, last});
  }
  for (std::size_t i = 0; i < lines.list.size(); ++i) {
    if (inside[i + 1]) continue;
    Definition one = definition_on(lines.list[i], static_cast<int>(i) + 1);
    // An alias with parameters has them on the line before.
    if (i > 0 && lines.list[i - 1].starts_with("template <") && !lines.list[i - 1].ends_with(";")) --one.first;
    if (one.is_requirement || !one.name.empty()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

CodeText code_text(std::string_view source) { return Blanker(source).run(); }

std::vector<Braces> braces_of(std::string_view code) {
  std::vector<Braces> all;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] == '{') open.push_back(i);
    if (code[i] == '}' && !open.empty()) {
      all.push_back({open.back(), i});
      open.pop_back();
    }
  }
  std::ranges::sort(all, {}, &Braces::open);
  return all;
}

std::size_t end_of_statement(std::string_view code, std::size_t at) {
  constexpr std::size_t kNone = std::string_view::npos;
  for (;;) {
    at = skip_blanks(code, at);
    if (at >= code.size()) return kNone;
    if (code[at] == '{') return behind_brackets(code, at);
    const std::string_view word = word_at(code, at);
    if (word == "KW_UNROLL" || word == "else") {
      at += word.size();
      continue;
    }
    if (word == "for" || word == "while" || word == "if") {
      std::size_t bracket = skip_blanks(code, at + word.size());
      if (word_at(code, bracket) == "constexpr") bracket = skip_blanks(code, bracket + 9);
      if (bracket >= code.size() || code[bracket] != '(') return kNone;
      const std::size_t body = behind_brackets(code, bracket);
      if (body == kNone || word != "if") {
        if (body == kNone) return kNone;
        at = body;
        continue;
      }
      const std::size_t end = end_of_statement(code, body);
      if (end == kNone) return kNone;
      const std::size_t next = skip_blanks(code, end);
      if (word_at(code, next) != "else") return end;
      at = next;
      continue;
    }
    for (; at < code.size() && code[at] != ';'; ++at) {
      if (code[at] == '(' || code[at] == '{' || code[at] == '[') {
        const std::size_t behind = behind_brackets(code, at);
        if (behind == kNone) return kNone;
        at = behind - 1;
      } else if (code[at] == '}') {
        return kNone;
      }
    }
    return at < code.size() ? at + 1 : kNone;
  }
}

std::vector<std::size_t> places_of_word(std::string_view code, std::string_view word) {
  std::vector<std::size_t> places;
  for (std::size_t at = code.find(word); at != std::string_view::npos; at = code.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(code[at - 1])) && (end == code.size() || !is_word(code[end]))) places.push_back(at);
  }
  return places;
}

std::string without_comments(std::string_view source) {
  const std::string code = code_text(source).text;
  // Of quoted text the source's own bytes; what is blank in the code alone is a comment.
  std::string text;
  bool in_quotes = false;
  char quote = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (!in_quotes && (code[i] == '"' || code[i] == '\'')) {
      in_quotes = !is_digit_separator(source, i) || code[i] == '"';
      quote = code[i];
      text += source[i];
    } else if (in_quotes) {
      text += source[i];
      if (code[i] == quote) in_quotes = false;
    } else {
      text += code[i];
    }
  }
  std::string result;
  for (std::string& line : Lines(text).list) {
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    if (line.empty() && (result.empty() || result.ends_with("\n\n"))) continue;
    result += line + "\n";
  }
  while (result.ends_with("\n\n")) result.pop_back();
  return result;
}

std::string shortened(std::string_view source) {
  std::string text = without_comments(source);
  std::set<std::string> dropped;
  for (bool changed = true; changed;) {
    changed = false;
    const Lines lines(text), code(code_text(text).text);
    const std::vector<Definition> definitions = definitions_of(text, lines);
    std::vector<bool> leave_out(lines.list.size() + 1, false);
    for (const Definition& one : definitions) {
      bool unused = false;
      if (one.is_requirement) {
        const std::string& line = code.list[static_cast<std::size_t>(one.first) - 1];
        unused =
            std::ranges::any_of(dropped, [&](const std::string& name) { return !places_of_word(line, name).empty(); });
      } else {
        // Where it is defined, all of its definitions, and requirements do not count.
        std::vector<bool> counts(lines.list.size(), true);
        for (const Definition& other : definitions) {
          if (other.name != one.name && !other.is_requirement) continue;
          for (int line = other.first; line <= other.last; ++line) counts[static_cast<std::size_t>(line) - 1] = false;
        }
        unused = true;
        for (std::size_t i = 0; unused && i < counts.size(); ++i)
          unused = !counts[i] || places_of_word(code.list[i], one.name).empty();
        if (unused) dropped.insert(one.name);
      }
      if (!unused) continue;
      changed = true;
      for (int line = one.first; line <= one.last; ++line) leave_out[static_cast<std::size_t>(line)] = true;
    }
    if (!changed) break;
    std::string kept;
    for (std::size_t i = 0; i < lines.list.size(); ++i) {
      if (!leave_out[i + 1]) kept += lines.list[i] + "\n";
    }
    text = without_comments(kept);
  }
  return text;
}

}  // namespace kw::corpus
