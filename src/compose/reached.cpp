#include "compose/reached.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace kw::compose {
namespace {

bool is_in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool begins_number(char c) { return c >= '0' && c <= '9'; }

struct Token {
  enum class Kind { word, number, text, sign, directive } kind = Kind::sign;
  std::size_t begin = 0, end = 0;
  std::size_t lead = 0, trail = 0;  // with the comments before it, and the one behind it on its line
};

// None where the source is not understood.
class TokenReader {
 public:
  explicit TokenReader(std::string_view source) : source_(source) {}

  std::optional<std::vector<Token>> tokens() {
    std::vector<Token> all;
    bool line_begins = true;
    std::optional<std::size_t> lead;
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == '\n') line_begins = true;
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
        continue;
      }
      const std::size_t begin = at_;
      if (const std::string_view two = source_.substr(at_, 2); two == "//" || two == "/*") {
        if (!comment(two == "/*")) return std::nullopt;
        const bool is_behind = !all.empty() && !lead && count_lines(all.back().trail, begin) == 0;
        if (is_behind) all.back().trail = at_;
        if (!is_behind && !lead) lead = begin;
        continue;
      }
      Token::Kind kind = Token::Kind::sign;
      if (c == '#' && line_begins) {
        kind = Token::Kind::directive;
        to_line_end();
        if (source_.substr(begin, at_ - begin).find("##") != std::string_view::npos) return std::nullopt;
        if (source_.substr(begin, at_ - begin).find("/*") != std::string_view::npos) return std::nullopt;
      } else if (c == '"' || c == '\'') {
        kind = Token::Kind::text;
        if (!literal(begin)) return std::nullopt;
      } else if (begins_number(c)) {
        kind = Token::Kind::number;
        while (at_ < source_.size() && (is_in_word(source_[at_]) || source_[at_] == '\'' || source_[at_] == '.')) ++at_;
      } else if (is_in_word(c)) {
        kind = Token::Kind::word;
        while (at_ < source_.size() && is_in_word(source_[at_])) ++at_;
        const std::string_view word = source_.substr(begin, at_ - begin);
        if (at_ < source_.size() && source_[at_] == '"' && word.ends_with('R') && word.size() <= 3) return std::nullopt;
      } else if (static_cast<unsigned char>(c) >= 0x80 || c == '\\') {
        return std::nullopt;
      } else {
        ++at_;
        if (c == ':' && at_ < source_.size() && source_[at_] == ':') ++at_;
      }
      line_begins = false;
      all.push_back({kind, begin, at_, lead.value_or(begin), at_});
      lead.reset();
    }
    return all;
  }

 private:
  bool comment(bool is_block) {
    if (!is_block) {
      to_line_end();
      return true;
    }
    const std::size_t end = source_.find("*/", at_ + 2);
    at_ = end == std::string_view::npos ? source_.size() : end + 2;
    return end != std::string_view::npos;
  }

  std::ptrdiff_t count_lines(std::size_t from, std::size_t to) const {
    return std::ranges::count(source_.substr(from, to - from), '\n');
  }

  // A line that ends with a backslash goes on.
  void to_line_end() {
    while (at_ < source_.size() && source_[at_] != '\n') at_ += source_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_, source_.size());
  }

  bool literal(std::size_t begin) {
    const char quote = source_[begin];
    for (at_ = begin + 1; at_ < source_.size() && source_[at_] != quote; ++at_) {
      if (source_[at_] == '\n') return false;
      if (source_[at_] == '\\') ++at_;
    }
    if (at_ >= source_.size()) return false;
    ++at_;
    return true;
  }

  std::string_view source_;
  std::size_t at_ = 0;
};

// Something at the scope of a namespace.
struct Item {
  enum class Kind { definition, assertion, directive, opening, closing } kind = Kind::definition;
  std::size_t first = 0, last = 0;      // tokens
  std::vector<std::string_view> names;  // that it defines
  std::vector<std::string_view> uses;
  bool is_root = false;
  bool is_unnamed = false;     // of an opening: namespace {
  bool stays_outside = false;  // of a linker's concern: what must not get into an unnamed namespace
};

class ItemParser {
 public:
  ItemParser(std::string_view source, const std::vector<Token>& tokens) : source_(source), tokens_(tokens) {}

  // None where it is not understood.
  std::optional<std::vector<Item>> items() {
    while (at_ < tokens_.size()) {
      if (!next(at_)) return std::nullopt;
    }
    if (depth_ != 0) return std::nullopt;
    return std::move(items_);
  }

 private:
  Token::Kind kind(std::size_t i) const { return tokens_[i].kind; }
  std::string_view text(std::size_t i) const {
    return i < tokens_.size() ? source_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin)
                              : std::string_view();
  }

  bool next(std::size_t first) {
    Item item;
    item.first = first;
    if (kind(at_) == Token::Kind::directive) return directive(std::move(item));
    if (text(at_) == "}") {
      if (--depth_ < 0) return false;
      item.kind = Item::Kind::closing;
      item.last = at_++;
      items_.push_back(std::move(item));
      return true;
    }
    if (text(at_) == ";") {
      ++at_;
      return true;
    }
    if (const std::size_t brace = opened_by(at_); brace > 0) {
      ++depth_;
      item.kind = Item::Kind::opening;
      item.is_unnamed = text(at_) == "namespace" && brace == at_ + 1;
      item.stays_outside = text(at_) == "extern" || text(at_ + 1) == "std" || text(at_ + 1) == "kw";
      for (std::size_t i = at_ + 1; i < brace; ++i) item.names.push_back(text(i));
      item.last = brace;
      at_ = brace + 1;
      items_.push_back(std::move(item));
      return true;
    }
    return definition(std::move(item));
  }

  // Of a namespace, or of extern "C" { }: the token that opens it; 0: it is none.
  std::size_t opened_by(std::size_t i) const {
    if (text(i) == "inline" && text(i + 1) == "namespace") ++i;
    if (text(i) == "extern" && kind(std::min(i + 1, tokens_.size() - 1)) == Token::Kind::text && text(i + 2) == "{")
      return i + 2;
    if (text(i) != "namespace") return 0;
    for (++i; i < tokens_.size() && (kind(i) == Token::Kind::word || text(i) == "::"); ++i) {
    }
    return text(i) == "{" ? i : 0;
  }

  bool directive(Item item) {
    item.kind = Item::Kind::directive;
    item.last = at_;
    const std::string_view line = text(at_++);
    std::vector<std::string_view> words = words_of(line);
    if (words.size() >= 2 && words[0] == "define") {
      item.names = {words[1]};
      words.erase(words.begin(), words.begin() + 2);
    } else {
      item.is_root = true;
    }
    item.uses = std::move(words);
    items_.push_back(std::move(item));
    return true;
  }

  static std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    for (std::size_t i = 0; i < line.size();) {
      if (!is_in_word(line[i])) {
        ++i;
        continue;
      }
      const std::size_t begin = i;
      while (i < line.size() && is_in_word(line[i])) ++i;
      words.push_back(line.substr(begin, i - begin));
    }
    return words;
  }

  bool definition(Item item) {
    const std::size_t begin = at_;
    if (!find_end(begin)) return false;
    item.last = at_ - 1;
    for (std::size_t i = begin; i <= item.last; ++i) {
      // std::max is no function of this source.
      const bool is_std = i >= begin + 2 && text(i - 1) == "::" && text(i - 2) == "std";
      if (kind(i) == Token::Kind::word && !is_std) item.uses.push_back(text(i));
      if (kind(i) == Token::Kind::directive) {
        const auto words = words_of(text(i));
        item.uses.insert(item.uses.end(), words.begin(), words.end());
      }
    }
    name(item, begin);
    items_.push_back(std::move(item));
    return true;
  }

  // One behind the ";" that ends it, or behind the "}" of a function's body.
  bool find_end(std::size_t begin) {
    int round = 0, square = 0, curly = 0;
    bool has_round = false, has_value = false;
    const bool is_type = begins_type(begin);
    const std::size_t head = after_preface(begin);
    for (; at_ < tokens_.size(); ++at_) {
      if (kind(at_) != Token::Kind::sign) continue;
      const std::string_view sign = text(at_);
      if (sign == "(") has_round = ++round > 0;
      if (sign == ")") --round;
      if (sign == "[") ++square;
      if (sign == "]") --square;
      if (sign == "{") ++curly;
      if (sign == "}") --curly;
      if (round < 0 || square < 0 || curly < 0) return false;
      if (round != 0 || square != 0 || curly != 0) continue;
      if (sign == ";") {
        ++at_;
        return true;
      }
      // A variable's value ends with its ";", whatever braces are in it: `int64_t{1} << 18`.
      if (sign == "=" && at_ > head && text(at_ - 1) != "operator" && text(at_ - 2) != "operator") has_value = true;
      if (sign != "}" || has_value) continue;
      // What goes on behind a brace: an initialised variable, a type with variables, a lambda that is called.
      const std::string_view behind = text(at_ + 1);
      const bool is_indexed = behind == "[" && text(at_ + 2) != "[";
      static const std::set<std::string_view> kGoesOn = {";", ",", "(", ".", ")", "{", "="};
      if (kGoesOn.contains(behind) || is_indexed || (is_type && !has_round)) continue;
      ++at_;
      return true;
    }
    return false;
  }

  // The token after `template <...>`, attributes, and words that say nothing of what is defined.
  std::size_t after_preface(std::size_t i) const {
    static const std::set<std::string_view> kWords = {"static", "inline",   "constexpr", "const",       "typedef",
                                                      "extern", "volatile", "constinit", "thread_local"};
    for (;;) {
      if (kWords.contains(text(i)) || (kind(i) == Token::Kind::text && i > 0 && text(i - 1) == "extern")) {
        ++i;
      } else if (text(i) == "template" && text(i + 1) == "<") {
        i = after_angles(i + 1);
      } else if (text(i) == "[" && text(i + 1) == "[") {
        while (i + 1 < tokens_.size() && !(text(i) == "]" && text(i + 1) == "]")) ++i;
        i += 2;
      } else if (text(i) == "__attribute__" || text(i) == "alignas" || text(i) == "requires") {
        i = text(i + 1) == "(" ? after_round(i + 1) : i + 1;
      } else {
        return i;
      }
      if (i >= tokens_.size()) return tokens_.size() - 1;
    }
  }
  std::size_t after_angles(std::size_t i) const {
    int angles = 0, round = 0;
    for (; i < tokens_.size(); ++i) {
      if (text(i) == "(") ++round;
      if (text(i) == ")") --round;
      if (round > 0) continue;
      if (text(i) == "<") ++angles;
      if (text(i) == ">" && --angles == 0) return i + 1;
    }
    return i;
  }
  std::size_t after_round(std::size_t i) const {
    int round = 0;
    for (; i < tokens_.size(); ++i) {
      if (text(i) == "(") ++round;
      if (text(i) == ")" && --round == 0) return i + 1;
    }
    return i;
  }
  bool begins_type(std::size_t begin) const {
    const std::string_view word = text(after_preface(begin));
    return word == "struct" || word == "class" || word == "union" || word == "enum";
  }

  void name(Item& item, std::size_t begin) {
    const auto says = [&](std::string_view word) { return std::ranges::find(item.uses, word) != item.uses.end(); };
    const std::size_t head = after_preface(begin);
    const std::string_view first = text(head);
    if (first == "static_assert" || first == "KW_REQUIRE") {
      item.kind = Item::Kind::assertion;
      return;
    }
    item.stays_outside = says("KW_EXPORT") || first.starts_with("KW_");
    for (const char* entry : {"kw_run", "kw_prepare", "kw_varies"}) item.stays_outside |= defines(item, head, entry);
    for (std::size_t i = begin; i < head; ++i) item.stays_outside |= text(i) == "extern";
    if (first.starts_with("KW_") || first == "asm" || first == "__asm__" || says("KW_EXPORT") || says("operator") ||
        says("constructor") || says("used") || (first == "using" && text(head + 1) == "namespace") ||
        first == "template") {
      item.is_root = true;
    }
    if (item.stays_outside) item.is_root = true;
    if (first == "using") {
      // using A = B; using A::B;
      std::size_t i = head + 1;
      if (text(i + 1) == "=") {
        item.names = {text(i)};
      } else {
        for (; i <= item.last; ++i) {
          if (kind(i) == Token::Kind::word && (text(i + 1) == ";" || text(i + 1) == ",")) item.names.push_back(text(i));
        }
      }
      return;
    }
    if (first == "namespace") {
      item.names = {text(head + 1)};
      return;
    }
    if (begins_type(begin)) return name_type(item, head);
    name_object(item, begin, head);
  }

  // An entry point by its plain name, before any body.
  bool defines(const Item& item, std::size_t head, std::string_view entry) const {
    for (std::size_t i = head; i <= item.last && text(i) != "{"; ++i) {
      if (text(i) == entry) return true;
    }
    return false;
  }

  void name_type(Item& item, std::size_t head) {
    std::size_t i = head + 1;
    if (text(i) == "class" || text(i) == "struct") ++i;  // enum class
    i = after_preface(i);
    if (kind(i) == Token::Kind::word) {
      item.names.push_back(text(i));
      if (text(i + 1) == "::") item.is_root = true;
      // A function or a variable of that type, "struct A f() { ... }".
      for (std::size_t k = i + 1; k <= item.last && text(k) != "{" && text(k) != ";"; ++k) {
        if (text(k) == "(" || text(k) == "=" || text(k) == ":") {
          item.is_root |= text(k) != ":";
          break;
        }
      }
    }
    int depth = 0;
    for (std::size_t k = i; k <= item.last; ++k) {
      // Of an enum, what it lists; of any, the first variable behind it.
      const bool listed = text(head) == "enum" && kind(k) == Token::Kind::word;
      const bool behind = kind(k) == Token::Kind::word && depth == 0 && text(k - 1) == "}";
      if (listed || behind) item.names.push_back(text(k));
      if (behind && !is_typedef(item)) item.is_root = true;
      if (text(k) == "{") ++depth;
      if (text(k) == "}") --depth;
    }
  }

  bool is_typedef(const Item& item) const { return std::ranges::find(item.uses, "typedef") != item.uses.end(); }

  // A function or a variable: the word before the first bracket that says so.
  void name_object(Item& item, std::size_t begin, std::size_t head) {
    const bool alias = is_typedef(item);
    std::size_t i = head;
    for (; i <= item.last; ++i) {
      if (kind(i) != Token::Kind::word && kind(i) != Token::Kind::sign) continue;
      const std::string_view word = text(i);
      if (word == "decltype" || word == "alignas" || word == "__attribute__" || word == "noexcept" ||
          word == "requires") {
        if (text(i + 1) == "(") i = after_round(i + 1) - 1;
        continue;
      }
      if (word == "[" && text(i + 1) == "[") {
        while (i <= item.last && !(text(i) == "]" && text(i + 1) == "]")) ++i;
        ++i;
        continue;
      }
      if (word == "<" && kind(i - 1) == Token::Kind::word) {
        const std::size_t after = after_angles(i);
        if (after <= item.last) i = after - 1;
        continue;
      }
      if (word == "(" || word == "=" || word == ";" || word == "{" || word == "[") break;
    }
    const std::string_view stop = text(i);
    std::size_t last = i == 0 ? 0 : i - 1;
    if (text(last) == ">") {  // f<int>(...): back to the word before
      int angles = 0;
      for (; last > head; --last) {
        if (text(last) == ">") ++angles;
        if (text(last) == "<" && --angles == 0) break;
      }
      if (last > head) --last;
    }
    if (kind(last) == Token::Kind::word) item.names.push_back(text(last));
    for (std::size_t k = last; k >= head + 2 && text(k - 1) == "::"; k -= 2) item.names.push_back(text(k - 2));
    if (item.names.empty() || alias) {
      // An alias in the old form, or something strange: any of its words.
      for (std::size_t k = head; k <= item.last; ++k) {
        if (kind(k) == Token::Kind::word) item.names.push_back(text(k));
      }
      return;
    }
    if (stop == "(" && (text(i + 1) == "*" || text(i + 1) == "&")) {  // a pointer to a function
      item.is_root = true;
    } else if (stop == "(") {
      // A function, or a variable that a constructor makes: that one ends without a body.
      bool has_body = false, is_variable = false;
      const std::size_t after = after_round(i);
      for (std::size_t k = after; k <= item.last; ++k) has_body |= text(k) == "{";
      // f(int a); has types in it, v(3); has none: "strange" enough to stay.
      if (!has_body && kind(i + 1) != Token::Kind::word && text(i + 1) != ")") is_variable = true;
      if (is_variable) item.is_root = true;
    }
    if (stop == "(") return;
    // A variable. What is made at run time may do something that is wanted.
    bool is_constant = false, calls = false;
    for (std::size_t k = begin; k < i; ++k) is_constant |= text(k) == "constexpr" || text(k) == "const";
    bool is_constexpr = false;
    for (std::size_t k = begin; k < i; ++k) is_constexpr |= text(k) == "constexpr";
    for (std::size_t k = i; k <= item.last; ++k) calls |= text(k) == "(";
    if (!is_constexpr && (!is_constant || calls)) item.is_root = true;
    for (std::size_t k = i; k <= item.last; ++k) {  // a, b = 2;
      if (kind(k) == Token::Kind::word && text(k - 1) == ",") item.names.push_back(text(k));
    }
  }

  std::string_view source_;
  const std::vector<Token>& tokens_;
  std::vector<Item> items_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

// Which items stay.
std::vector<bool> reached(const std::vector<Item>& items) {
  std::multimap<std::string_view, std::size_t> defined;
  std::set<std::string_view> macros;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind == Item::Kind::opening) continue;
    for (const std::string_view name : items[i].names) {
      defined.emplace(name, i);
      if (items[i].kind == Item::Kind::directive) macros.insert(name);
    }
  }
  std::vector<bool> stays(items.size(), false);
  std::vector<std::size_t> open;
  const auto keep = [&](std::size_t i) {
    if (stays[i]) return;
    stays[i] = true;
    open.push_back(i);
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool by_macro = items[i].kind == Item::Kind::definition &&
                          std::ranges::any_of(items[i].names, [&](auto name) { return macros.contains(name); });
    if (items[i].is_root || by_macro) keep(i);
  }
  std::set<std::string_view> seen;
  while (!open.empty()) {
    const Item& item = items[open.back()];
    open.pop_back();
    for (const std::string_view word : item.uses) {
      if (!seen.insert(word).second) continue;
      const auto [begin, end] = defined.equal_range(word);
      for (auto found = begin; found != end; ++found) keep(found->second);
    }
  }
  // What is asserted of names that are gone is gone.
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind != Item::Kind::assertion) continue;
    stays[i] = std::ranges::all_of(
        items[i].uses, [&](std::string_view word) { return !defined.contains(word) || seen.contains(word); });
  }
  // A namespace stays while something is in it, or it is named somewhere.
  std::vector<std::size_t> scopes;
  std::vector<bool> filled;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind == Item::Kind::opening) {
      scopes.push_back(i);
      filled.push_back(std::ranges::any_of(items[i].names, [&](auto name) { return seen.contains(name); }));
    } else if (items[i].kind == Item::Kind::closing) {
      stays[scopes.back()] = stays[i] = filled.back();
      const bool was_filled = filled.back();
      scopes.pop_back();
      filled.pop_back();
      if (was_filled && !filled.empty()) filled.back() = true;
    } else if (stays[i] && !filled.empty() && items[i].kind != Item::Kind::directive) {
      filled.back() = true;
    }
  }
  return stays;
}

class ReducedWriter {
 public:
  ReducedWriter(std::string_view source, const std::vector<Token>& tokens, const std::vector<Item>& items,
                std::vector<bool> stays, bool own_names)
      : source_(source), tokens_(tokens), items_(items), stays_(std::move(stays)), own_names_(own_names) {}

  std::string text() {
    drop_empty_conditions();
    drop_what_silences();
    int depth = 0, conditions = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (!stays_[i]) continue;
      const Item& item = items_[i];
      const bool is_directive = item.kind == Item::Kind::directive;
      if (own_names_ && depth == 0 && conditions == 0) {
        if (!is_directive) wrap(!item.stays_outside && !item.is_unnamed);
        if (is_directive && is(item, "include")) wrap(false);
        if (is_directive && is(item, "if")) wrap(may_be_wrapped(i));
      }
      if (is_directive && is(item, "if")) ++conditions;
      if (is_directive && is(item, "endif")) --conditions;
      add(item);
      if (item.kind == Item::Kind::opening) ++depth;
      if (item.kind == Item::Kind::closing) --depth;
    }
    wrap(false);
    while (text_.ends_with("\n\n")) text_.pop_back();
    if (!text_.ends_with('\n')) text_ += '\n';
    return text_;
  }

 private:
  std::string_view line(const Item& item) const {
    const Token& token = tokens_[item.last];
    return source_.substr(token.begin, token.end - token.begin);
  }
  bool is(const Item& item, std::string_view word) const {
    std::string_view rest = line(item).substr(1);
    while (!rest.empty() && (rest[0] == ' ' || rest[0] == '\t')) rest.remove_prefix(1);
    return rest.starts_with(word);
  }

  // What an #if at this place encloses: definitions that may get into an unnamed namespace, and nothing else.
  bool may_be_wrapped(std::size_t i) const {
    bool any = false;
    for (int conditions = 0; i < items_.size(); ++i) {
      if (!stays_[i]) continue;
      const Item& item = items_[i];
      if (item.kind == Item::Kind::directive) {
        if (is(item, "include")) return false;
        if (is(item, "if")) ++conditions;
        if (is(item, "endif") && --conditions == 0) break;
      } else {
        if (item.stays_outside) return false;
        any = true;
      }
    }
    return any || is_wrapped_;
  }

  // #if ... #endif with nothing between them.
  void drop_empty_conditions() {
    struct Open {
      std::vector<std::size_t> lines;
      bool filled = false;
    };
    std::vector<Open> open;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (!stays_[i]) continue;
      if (items_[i].kind != Item::Kind::directive) {
        for (Open& one : open) one.filled = true;
      } else if (is(items_[i], "if")) {
        open.push_back({{i}});
      } else if (is(items_[i], "el") && !open.empty()) {
        open.back().lines.push_back(i);
      } else if (is(items_[i], "endif") && !open.empty()) {
        open.back().lines.push_back(i);
        if (!open.back().filled) {
          for (const std::size_t k : open.back().lines) stays_[k] = false;
        }
        open.pop_back();
      } else {
        for (Open& one : open) one.filled = true;
      }
    }
  }

  // Nothing is unused any more.
  void drop_what_silences() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].kind == Item::Kind::directive && is(items_[i], "pragma") &&
          line(items_[i]).find("ignored \"-Wunused-function\"") != std::string_view::npos) {
        stays_[i] = false;
      }
    }
  }

  void wrap(bool wanted) {
    if (wanted == is_wrapped_) return;
    while (text_.ends_with("\n\n")) text_.pop_back();
    text_ += wanted ? "\nnamespace {\n" : "\n}  // namespace\n";
    is_wrapped_ = wanted;
  }

  // With its comments and the empty lines before them, at most one.
  void add(const Item& item) {
    std::size_t begin = tokens_[item.first].lead;
    while (begin > 0 && (source_[begin - 1] == ' ' || source_[begin - 1] == '\t')) --begin;
    const bool starts_line = begin == 0 || source_[begin - 1] == '\n';
    const bool after_empty = begin >= 2 && source_[begin - 1] == '\n' && source_[begin - 2] == '\n';
    if (!text_.empty() && !text_.ends_with('\n')) text_ += starts_line ? "\n" : "";
    if (after_empty && !text_.empty() && !text_.ends_with("\n\n")) text_ += '\n';
    text_ += source_.substr(begin, tokens_[item.last].trail - begin);
  }

  std::string_view source_;
  const std::vector<Token>& tokens_;
  const std::vector<Item>& items_;
  std::vector<bool> stays_;
  bool own_names_;
  bool is_wrapped_ = false;
  std::string text_;
};

std::string reduced(std::string_view source, bool own_names) {
  const auto tokens = TokenReader(source).tokens();
  if (!tokens) return std::string(source);
  const auto items = ItemParser(source, *tokens).items();
  if (!items) return std::string(source);
  return ReducedWriter(source, *tokens, *items, reached(*items), own_names).text();
}

}  // namespace

std::string with_reached_only(std::string_view source) { return reduced(source, false); }

std::string with_own_names_only(std::string_view source) { return reduced(source, true); }

}  // namespace kw::compose
