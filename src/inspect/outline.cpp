#include "inspect/outline.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace kw::inspect {
namespace {

bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The source with comments, texts and preprocessor lines as blanks, line ends kept.
std::string code_only(std::string_view source) {
  std::string code(source);
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (std::size_t k = from; k < std::min(to, code.size()); ++k) {
      if (code[k] != '\n') code[k] = ' ';
    }
  };
  bool line_is_blank = true;
  for (std::size_t i = 0; i < source.size();) {
    const char c = source[i];
    const char next = i + 1 < source.size() ? source[i + 1] : '\0';
    std::size_t end = i + 1;
    if (c == '\n') {
      line_is_blank = true;
    } else if (c == '/' && next == '/') {
      end = std::min(source.find('\n', i), source.size());
      blank(i, end);
    } else if (c == '/' && next == '*') {
      const std::size_t close = source.find("*/", i + 2);
      end = close == std::string_view::npos ? source.size() : close + 2;
      blank(i, end);
    } else if (c == 'R' && next == '"' && (i == 0 || !word_char(source[i - 1]))) {
      const std::size_t open = source.find('(', i);
      const std::string close =
          ")" + std::string(source.substr(i + 2, open == std::string_view::npos ? 0 : open - i - 2)) + "\"";
      const std::size_t at = source.find(close, i);
      end = at == std::string_view::npos ? source.size() : at + close.size();
      blank(i, end);
    } else if (c == '"' || (c == '\'' && (i == 0 || !word_char(source[i - 1])))) {
      while (end < source.size() && source[end] != c && source[end] != '\n') end += source[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, source.size());
      if (end > 0 && source[end - 1] == '\n') --end;
      blank(i, end);
      line_is_blank = false;
    } else if (c == '#' && line_is_blank) {
      while (end < source.size() && (source[end] != '\n' || source[end - 1] == '\\')) ++end;
      blank(i, end);
    } else if (!std::isspace(static_cast<unsigned char>(c))) {
      line_is_blank = false;
    }
    i = std::max(end, i + 1);
  }
  return code;
}

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (!std::isspace(static_cast<unsigned char>(c))) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

bool has_word(const std::string& text, std::string_view word, std::size_t before = std::string::npos) {
  for (std::size_t at = text.find(word); at != std::string::npos && at < before; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !word_char(text[at - 1]);
    const bool ends = at + word.size() >= text.size() || !word_char(text[at + word.size()]);
    if (begins && ends) return true;
  }
  return false;
}

// The word that ends before `end`, with what qualifies it ("Tile::load", "operator()").
std::string name_before(const std::string& text, std::size_t end) {
  while (end > 0 && text[end - 1] == ' ') --end;
  const std::size_t op = text.rfind("operator", end);
  if (op != std::string::npos && end - op <= 12 && (op == 0 || !word_char(text[op - 1])))
    return text.substr(op, end - op);
  std::size_t begin = end;
  while (begin > 0 && (word_char(text[begin - 1]) || text[begin - 1] == ':' || text[begin - 1] == '~')) --begin;
  return text.substr(begin, end - begin);
}

// The bracket that opens a function's parameters: the first one at no depth of angle brackets that a name stands
// before.
std::size_t parameters_of(const std::string& head) {
  int angles = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '<') ++angles;
    if (head[i] == '>' && angles > 0 && (i == 0 || head[i - 1] != '-')) --angles;
    if (head[i] != '(' || angles > 0) continue;
    const std::string name = name_before(head, i);
    if (name.ends_with("operator") && head.substr(i, 2) == "()") return head.find('(', i + 2);
    static const std::array<std::string_view, 6> other = {"alignas",  "__attribute__", "decltype",
                                                          "noexcept", "requires",      "__launch_bounds__"};
    if (name.empty()) continue;
    if (std::ranges::find(other, name) == other.end()) return i;
    int depth = 0;
    for (; i < head.size(); ++i) {
      if (head[i] == '(') ++depth;
      if (head[i] == ')' && --depth == 0) break;
    }
  }
  return std::string::npos;
}

// What follows "template <...>".
std::string without_template(const std::string& head) {
  if (!head.starts_with("template")) return head;
  int angles = 0, brackets = 0;
  for (std::size_t i = 8; i < head.size(); ++i) {
    if (head[i] == '(') ++brackets;
    if (head[i] == ')') --brackets;
    if (brackets > 0) continue;
    if (head[i] == '<') ++angles;
    if (head[i] == '>' && --angles == 0) return head.substr(std::min(head.size(), i + 2));
  }
  return head;
}

std::optional<Scope> scope_of(const std::string& whole) {
  Scope scope{.signature = whole};
  const std::string head = without_template(whole);
  static const std::array<std::string_view, 8> blocks = {"if", "for", "while", "switch", "catch", "do", "else", "try"};
  const std::size_t open = parameters_of(head);
  const std::string first = head.substr(0, head.find_first_of(" (:<{"));
  if (std::ranges::find(blocks, first) != blocks.end()) return std::nullopt;
  if (has_word(head, "namespace")) {
    scope.kind = Scope::Kind::name_space;
    scope.name = name_before(head, head.size());
    if (scope.name == "namespace") scope.name = "";
    return scope;
  }
  if (open == std::string::npos && head.find('=') == std::string::npos) {
    // The last of these words: others are parameters of a template.
    std::size_t at = std::string::npos, behind = 0;
    for (const std::string_view kind : {"struct ", "class ", "union ", "enum "}) {
      const std::size_t found = head.rfind(kind);
      if (found == std::string::npos || (found > 0 && word_char(head[found - 1]))) continue;
      if (at == std::string::npos || found > at) at = found, behind = found + kind.size();
    }
    if (at != std::string::npos) {
      std::string rest = head.substr(behind);
      rest = rest.substr(0, rest.find(" :"));
      if (rest.ends_with(" final")) rest.resize(rest.size() - 6);
      scope.kind = Scope::Kind::type;
      scope.name = name_before(rest, std::min(rest.size(), rest.find('<')));
      return scope;
    }
  }
  if (open == std::string::npos) return std::nullopt;  // an initializer, a lambda, a bare block
  const std::string name = name_before(head, open);
  if (std::ranges::find(blocks, name) != blocks.end() || name == "return") return std::nullopt;
  const std::size_t equals = head.find(" = ");
  if (equals != std::string::npos && equals < open) return std::nullopt;
  if (head.find('[') < open && head.find('[') == 0 && !head.starts_with("[[")) return std::nullopt;  // a lambda
  scope.name = name;
  // A macro that defines a function.
  if (std::ranges::all_of(name, [](char c) {
        return std::isupper(static_cast<unsigned char>(c)) || c == '_' || std::isdigit(static_cast<unsigned char>(c));
      })) {
    scope.name = head.substr(0, head.find(')') + 1);
  }
  return scope;
}

}  // namespace

std::vector<Scope> outline_of(std::string_view source) {
  const std::string code = code_only(source);
  std::vector<Scope> scopes;
  // Of each open brace, the scope that it opened; -1: a block, an initializer.
  std::vector<int> open;
  std::string head;
  int line = 1, head_line = 0, brackets = 0;
  bool head_in_first_column = false;
  const auto close_all = [&](int at) {
    for (const int index : open) {
      if (index >= 0 && scopes[static_cast<std::size_t>(index)].kind != Scope::Kind::name_space) {
        scopes[static_cast<std::size_t>(index)].last_line = at;
      }
    }
  };
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    if (c == '\n') {
      ++line;
      if (!head.empty()) head += ' ';
      continue;
    }
    if (c == '{') {
      int index = -1;
      const bool inside_function = std::ranges::any_of(open, [&](int each) {
        return each >= 0 && scopes[static_cast<std::size_t>(each)].kind == Scope::Kind::function;
      });
      auto scope = brackets > 0 ? std::nullopt : scope_of(one_line(head));
      if (scope && inside_function && scope->kind == Scope::Kind::function) {
        if (head_in_first_column && scope->signature.find(' ') != std::string::npos) {
          // A definition in the first column while a function is open: a brace is missing above.
          close_all(head_line - 1);
          std::erase_if(open, [&](int each) {
            return each < 0 || scopes[static_cast<std::size_t>(each)].kind != Scope::Kind::name_space;
          });
        } else {
          scope.reset();  // a call with a braced argument, a local macro
        }
      }
      if (scope) {
        scope->first_line = head_line > 0 ? head_line : line;
        scope->last_line = 0;
        scope->depth = static_cast<int>(std::ranges::count_if(open, [](int each) { return each >= 0; }));
        index = static_cast<int>(scopes.size());
        scopes.push_back(*scope);
      }
      open.push_back(index);
      head.clear();
      head_line = 0;
      continue;
    }
    if (c == '}' || (c == ';' && brackets <= 0)) {
      if (c == '}' && !open.empty()) {
        if (open.back() >= 0) scopes[static_cast<std::size_t>(open.back())].last_line = line;
        open.pop_back();
      }
      head.clear();
      head_line = 0;
      brackets = 0;
      continue;
    }
    if (c == '(') ++brackets;
    if (c == ')') --brackets;
    if (c == ':' && (head.ends_with("public") || head.ends_with("private") || head.ends_with("protected"))) {
      head.clear();
      head_line = 0;
      continue;
    }
    if (!std::isspace(static_cast<unsigned char>(c)) && head_line == 0) {
      head_line = line;
      head_in_first_column = i == 0 || code[i - 1] == '\n';
    }
    if (head_line > 0) head += c;
  }
  for (Scope& scope : scopes) {
    if (scope.last_line == 0) scope.last_line = line;
  }
  return scopes;
}

const Scope* scope_at(const std::vector<Scope>& outline, int line) {
  const Scope* function = nullptr;
  const Scope* type = nullptr;
  for (const Scope& scope : outline) {
    if (line < scope.first_line || line > scope.last_line) continue;
    if (scope.kind == Scope::Kind::function) function = &scope;
    if (scope.kind == Scope::Kind::type) type = &scope;
  }
  return function != nullptr ? function : type;
}

int unclosed_brace(std::string_view source) {
  const std::string code = code_only(source);
  struct Open {
    int line;
    int indent;
  };
  std::vector<Open> open;
  int line = 1, indent = 0;
  bool blank_so_far = true;
  for (const char c : code) {
    if (c == '\n') {
      ++line;
      indent = 0;
      blank_so_far = true;
    } else if (c == ' ' && blank_so_far) {
      ++indent;
    } else if (c == '{') {
      open.push_back({line, indent});
      blank_so_far = false;
    } else if (c == '}') {
      if (open.empty()) return 0;
      if (blank_so_far && indent < open.back().indent) return open.back().line;
      open.pop_back();
      blank_so_far = false;
    } else {
      blank_so_far = false;
    }
  }
  return open.empty() ? 0 : open.back().line;
}

}  // namespace kw::inspect
