#include "inspect/outline.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace kw::inspect {
namespace {

bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

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

// Whether a quote or an R at `at` begins a text: behind a letter it does not (1'000), unless that is a prefix (u8"").
bool begins_text(std::string_view source, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && word_char(source[begin - 1])) --begin;
  const std::string_view before = source.substr(begin, at - begin);
  return before.empty() || before == "L" || before == "u" || before == "U" || before == "u8";
}

// A line such as #if or #else, and where the text behind it begins.
struct Directive {
  std::size_t at;
  std::size_t end;
  std::string words;
};

// Of the branches of an #if, all that have their braces in pairs stay; of others ("#if A void f() { #else void g() {")
// the first, or else a function would be opened twice and closed once.
void choose_branches(std::string& code, const std::vector<Directive>& directives) {
  struct If {
    std::vector<std::size_t> marks;  // of #if, #elif, #else
  };
  std::vector<If> open;
  const auto balanced = [&](std::size_t from, std::size_t to) {
    int depth = 0;
    for (std::size_t i = from; i < to; ++i) {
      if (code[i] == '{') ++depth;
      if (code[i] == '}' && --depth < 0) return false;
    }
    return depth == 0;
  };
  for (std::size_t k = 0; k < directives.size(); ++k) {
    const std::string& words = directives[k].words;
    if (words.starts_with("if")) open.push_back({{k}});
    if (open.empty()) continue;
    if (words.starts_with("el")) open.back().marks.push_back(k);
    if (!words.starts_with("endif")) continue;
    const std::vector<std::size_t> marks = open.back().marks;
    open.pop_back();
    const bool never = directives[marks[0]].words == "if 0";
    for (std::size_t b = 0; b < marks.size(); ++b) {
      const std::size_t from = directives[marks[b]].end;
      const std::size_t to = b + 1 < marks.size() ? directives[marks[b + 1]].at : directives[k].at;
      const bool stays = b == 0 ? !never : (never && b == 1) || balanced(from, to);
      for (std::size_t i = from; i < to && !stays; ++i) code[i] = code[i] == '\n' ? '\n' : ' ';
    }
  }
}

// The source with comments, texts and preprocessor lines as blanks, line ends kept.
std::string code_only(std::string_view source) {
  std::string code(source);
  std::vector<Directive> directives;
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
    } else if (c == 'R' && next == '"' && begins_text(source, i)) {
      const std::size_t open = source.find('(', i);
      const std::string close =
          ")" + std::string(source.substr(i + 2, open == std::string_view::npos ? 0 : open - i - 2)) + "\"";
      const std::size_t at = source.find(close, i);
      end = at == std::string_view::npos ? source.size() : at + close.size();
      blank(i, end);
    } else if (c == '"' || (c == '\'' && begins_text(source, i))) {
      while (end < source.size() && source[end] != c && source[end] != '\n') end += source[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, source.size());
      if (end > 0 && source[end - 1] == '\n') --end;
      blank(i, end);
      line_is_blank = false;
    } else if (c == '#' && line_is_blank) {
      while (end < source.size() && (source[end] != '\n' || source[end - 1] == '\\')) ++end;
      std::string words = one_line(source.substr(i + 1, end - i - 1));
      while (words.starts_with(' ')) words.erase(0, 1);
      directives.push_back({i, end, std::move(words)});
      blank(i, end);
    } else if (!std::isspace(static_cast<unsigned char>(c))) {
      line_is_blank = false;
    }
    i = std::max(end, i + 1);
  }
  choose_branches(code, directives);
  return code;
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
  // "operator<<", "Tile::operator bool": all from there on, with what qualifies it.
  const std::size_t op = text.rfind("operator", end);
  const bool is_operator = op != std::string::npos && op + 8 <= end && (op == 0 || !word_char(text[op - 1]));
  if (is_operator && text.substr(op + 8, end - op - 8).find_first_of(";,") == std::string::npos) {
    std::size_t begin = op;
    while (begin > 0 && (word_char(text[begin - 1]) || text[begin - 1] == ':')) --begin;
    return text.substr(begin, end - begin);
  }
  std::size_t begin = end;
  while (begin > 0) {
    if (word_char(text[begin - 1]) || text[begin - 1] == ':' || text[begin - 1] == '~') {
      --begin;
    } else if (text[begin - 1] == '>' && (begin == end || text.compare(begin, 2, "::") == 0)) {  // "Outer<A>::inner<B>"
      int angles = 0;
      do {
        --begin;
        angles += text[begin] == '>' ? 1 : text[begin] == '<' ? -1 : 0;
      } while (begin > 0 && angles > 0);
    } else {
      break;
    }
  }
  return text.substr(begin, end - begin);
}

// Where the bracket at `open` is closed; the end where it is not.
std::size_t closing(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if ((text[i] == ')' || text[i] == ']') && --depth == 0) return i;
  }
  return text.size();
}

// Without what may stand anywhere and says nothing of names: [[nodiscard]], alignas(64), __launch_bounds__(256).
std::string without_attributes(std::string head) {
  for (std::size_t at = head.find("[["); at != std::string::npos; at = head.find("[[", at)) {
    head.erase(at, closing(head, at) + 1 - at);
  }
  for (const char* word : {"alignas", "__attribute__", "__launch_bounds__", "__declspec", "explicit"}) {
    const std::size_t length = std::string_view(word).size();
    for (std::size_t at = head.find(word); at != std::string::npos; at = head.find(word, at)) {
      std::size_t open = at + length;
      if ((at > 0 && word_char(head[at - 1])) || (open < head.size() && word_char(head[open]))) {
        ++at;
        continue;
      }
      while (open < head.size() && head[open] == ' ') ++open;
      const bool called = open < head.size() && head[open] == '(';
      head.erase(at, (called ? closing(head, open) + 1 : at + length) - at);
    }
  }
  return one_line(head);
}

bool all_capitals(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return std::isupper(static_cast<unsigned char>(c)) || c == '_' || std::isdigit(static_cast<unsigned char>(c));
  });
}

// The bracket that opens a function's parameters: the first one at no depth of angle brackets that a name stands
// before.
std::size_t parameters_of(const std::string& head) {
  int angles = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head.compare(i, 8, "operator") == 0 && (i == 0 || !word_char(head[i - 1]))) {
      // Its sign may be brackets of any kind.
      std::size_t behind = i + 8;
      while (behind < head.size() && head[behind] == ' ') ++behind;
      if (head.compare(behind, 2, "()") == 0) behind += 2;
      return head.find('(', behind);
    }
    if (head[i] == '<') ++angles;
    if (head[i] == '>' && angles > 0 && (i == 0 || head[i - 1] != '-')) --angles;
    if (head[i] != '(' || angles > 0) continue;
    const std::string name = name_before(head, i);
    static const std::array<std::string_view, 4> other = {"decltype", "noexcept", "requires", "sizeof"};
    const std::size_t close = closing(head, i);
    if (name.empty() && i > 0 && head[i - 1] != ' ') continue;
    // A macro of its own before the function: "DEFINE_LAYER(Softmax) int f(int n)".
    const bool macro = all_capitals(name) && close + 2 < head.size() && word_char(head[close + 2]) &&
                       head.find('(', close) != std::string::npos;
    if (!name.empty() && !macro && std::ranges::find(other, name) == other.end()) return i;
    i = close;
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

// What is declared, without attributes and templates.
std::string declared_part(const std::string& whole) {
  std::string head = without_attributes(whole);
  for (std::string before; before != head;) {  // a template of a template has two of them
    before = head;
    head = without_template(head);
  }
  return head;
}

std::optional<Scope> scope_of(const std::string& whole) {
  Scope scope{.signature = whole};
  const std::string head = declared_part(whole);
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
      // What it is made from, or an enum's type.
      for (std::size_t colon = rest.find(':'); colon != std::string::npos; colon = rest.find(':', colon + 2)) {
        if (rest.compare(colon, 2, "::") == 0) continue;
        rest.resize(colon);
        break;
      }
      while (rest.ends_with(' ')) rest.pop_back();
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
  if (all_capitals(name)) scope.name = head.substr(0, head.find(')') + 1);
  return scope;
}

// Words before a function's name that say nothing of its type.
std::string without_specifiers(std::string text) {
  static const std::array<std::string_view, 8> specifiers = {"static", "inline",    "virtual", "constexpr",
                                                             "extern", "consteval", "friend",  "explicit"};
  for (bool found = true; found;) {
    text = one_line(text);
    while (text.starts_with(' ')) text.erase(0, 1);
    found = std::ranges::any_of(specifiers, [&](std::string_view word) {
      const bool first = text.starts_with(word) && (text.size() == word.size() || text[word.size()] == ' ');
      if (first) text.erase(0, word.size());
      return first;
    });
  }
  return text;
}

// Whether what stands between a name and its brackets are parameters and no values: "Tile tile(3, )" is a variable (the
// blank was a text).
bool are_parameters(const std::string& text) {
  static const std::array<std::string_view, 9> types = {"int",  "float",    "double", "bool", "char",
                                                        "long", "unsigned", "void",   "..."};
  const std::string all = without_specifiers(text);
  if (all.empty()) return true;
  const std::string first = one_line(all.substr(0, all.find(',')));
  if (first.empty() || std::isdigit(static_cast<unsigned char>(first[0])) || first[0] == '-') return false;
  const bool two_words = first.find(' ') != std::string::npos && first.find_first_of("+/|?(") == std::string::npos;
  return two_words || first.ends_with('&') || first.ends_with('*') || first.ends_with('>') || first.ends_with("_t") ||
         std::ranges::find(types, first) != types.end();
}

// A function that ends with a semicolon. `around`: the type that it stands in, if any.
std::optional<Scope> declaration_of(const std::string& whole, const Scope* around) {
  static const std::array<std::string_view, 5> others = {"using", "typedef", "static_assert", "return", "goto"};
  const std::string head = declared_part(whole);
  if (std::ranges::find(others, head.substr(0, head.find_first_of(" ("))) != others.end()) return std::nullopt;
  const std::size_t open = parameters_of(head);
  if (open == std::string::npos) return std::nullopt;
  auto scope = scope_of(whole);
  if (!scope || scope->kind != Scope::Kind::function) return std::nullopt;
  const std::string name = name_before(head, open);
  const std::string type = without_specifiers(head.substr(0, head.find(name)));
  const bool in_type = around != nullptr && around->kind == Scope::Kind::type;
  const bool makes = in_type && (name == around->name.substr(around->name.rfind(':') + 1) || name.starts_with('~'));
  if (name.empty() || (type.empty() && !makes && name.find("operator") == std::string::npos)) return std::nullopt;
  if (!in_type && !are_parameters(head.substr(open + 1, closing(head, open) - open - 1))) return std::nullopt;
  scope->name = name;
  scope->declared = true;
  return scope;
}

// Whether a brace behind this head initialises a member: "Tile(int n) : rows".
bool initialises_a_member(const std::string& whole) {
  const std::string head = declared_part(whole);
  const std::size_t open = parameters_of(head);
  if (open == std::string::npos || head.empty() || !(word_char(head.back()) || head.back() == '>')) return false;
  for (std::size_t at = head.find(':', closing(head, open)); at != std::string::npos; at = head.find(':', at + 2)) {
    if (head.compare(at, 2, "::") != 0) return true;
  }
  return false;
}

constexpr std::size_t kLongestValue = 4096;  // in braces; what is longer is no value of a parameter or member

// The brace that closes the one at `open`; the end of the code where it is not near.
std::size_t closing_brace(const std::string& code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < std::min(code.size(), open + kLongestValue); ++i) {
    if (code[i] == '{') ++depth;
    if (code[i] == '}' && --depth == 0) return i;
  }
  return code.size();
}

}  // namespace

std::vector<Scope> outline_of(std::string_view source, Listed listed) {
  const std::string code = code_only(source);
  std::vector<Scope> scopes;
  // Of each open brace, the scope that it opened; -1: a block, an initializer.
  std::vector<int> open;
  std::string head;
  int line = 1, head_line = 0, brackets = 0;
  bool head_in_first_column = false;
  const auto innermost = [&]() -> const Scope* {
    const auto found = std::ranges::find_if(open.rbegin(), open.rend(), [](int each) { return each >= 0; });
    return found == open.rend() ? nullptr : &scopes[static_cast<std::size_t>(*found)];
  };
  const auto inside_function = [&] {
    return std::ranges::any_of(open, [&](int each) {
      return each >= 0 && scopes[static_cast<std::size_t>(each)].kind == Scope::Kind::function;
    });
  };
  const auto depth = [&] { return static_cast<int>(std::ranges::count_if(open, [](int each) { return each >= 0; })); };
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
    // "int f(Lengths lengths = {})": a value among the parameters.
    const std::size_t value_end = c == '{' && brackets > 0 ? closing_brace(code, i) : code.size();
    const bool is_value =
        value_end < code.size() && std::string_view(code).substr(i, value_end - i).find(';') == std::string_view::npos;
    const bool initialises = c == '{' && brackets == 0 && initialises_a_member(one_line(head));
    if (const std::size_t close = is_value      ? value_end
                                  : initialises ? closing_brace(code, i)
                                                : code.size();
        close < code.size()) {
      line += static_cast<int>(std::count(code.begin() + static_cast<std::ptrdiff_t>(i),
                                          code.begin() + static_cast<std::ptrdiff_t>(close), '\n'));
      head += "()";
      i = close;
      continue;
    }
    if (c == '{') {
      int index = -1;
      auto scope = brackets > 0 ? std::nullopt : scope_of(one_line(head));
      if (scope && inside_function() && scope->kind == Scope::Kind::function) {
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
        scope->depth = depth();
        index = static_cast<int>(scopes.size());
        scopes.push_back(*scope);
      }
      open.push_back(index);
      head.clear();
      head_line = 0;
      continue;
    }
    if (c == '}' || (c == ';' && brackets <= 0)) {
      const bool listed_too = listed == Listed::declarations_too && c == ';' && head_line > 0 && !inside_function();
      if (auto scope = listed_too ? declaration_of(one_line(head), innermost()) : std::nullopt) {
        scope->first_line = head_line;
        scope->last_line = line;
        scope->depth = depth();
        scopes.push_back(std::move(*scope));
      }
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
    if (line < scope.first_line || line > scope.last_line || scope.declared) continue;
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
