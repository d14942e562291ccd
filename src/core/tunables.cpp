#include "core/tunables.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

#include "base/nearest.h"
#include "core/tunable_defaults.h"

namespace kw {
namespace {

constexpr int kMostDepth = 200;
constexpr std::size_t kMostTunables = 256;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The source with comments blanked out, and literals too unless they are wanted; lines stay where they are.
std::string without_comments(std::string_view source) {
  std::string text(source);
  std::size_t i = 0;
  const auto blank_until = [&](std::size_t end) {
    for (; i < std::min(end, text.size()); ++i) {
      if (text[i] != '\n') text[i] = ' ';
    }
  };
  while (i < text.size()) {
    if (text.compare(i, 2, "//") == 0) {
      blank_until(text.find('\n', i));
    } else if (text.compare(i, 2, "/*") == 0) {
      const std::size_t end = text.find("*/", i + 2);
      blank_until(end == std::string::npos ? end : end + 2);
    } else if (text[i] == '"' || text[i] == '\'') {
      // A quote between digits separates them.
      if (text[i] == '\'' && i > 0 && is_word(text[i - 1])) {
        ++i;
        continue;
      }
      const char quote = text[i++];
      while (i < text.size() && text[i] != quote && text[i] != '\n') i += text[i] == '\\' ? 2 : 1;
      ++i;
    } else {
      ++i;
    }
  }
  return text;
}

struct Use {
  std::vector<std::string> arguments;  // trimmed
  int line = 0;
  std::size_t begin = 0, end = 0;  // from its name to behind its bracket
};

std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

// All uses of a macro, not its definition.
Result<std::vector<Use>> uses_of(const std::string& macro, const std::string& text) {
  std::vector<Use> uses;
  for (std::size_t at = text.find(macro); at != std::string::npos; at = text.find(macro, at + 1)) {
    if ((at > 0 && (is_word(text[at - 1]) || text[at - 1] == '"')) || is_word(text[at + macro.size()])) continue;
    const std::size_t line_begin = text.rfind('\n', at) + 1;
    if (trimmed(text.substr(line_begin, at - line_begin)).starts_with("#")) continue;
    const std::size_t open = text.find_first_not_of(" \t", at + macro.size());
    if (open == std::string::npos || text[open] != '(') continue;
    Use use;
    use.line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    int depth = 0;
    bool quoted = false;
    std::string argument;
    std::size_t i = open;
    for (; i < text.size(); ++i) {
      const char c = text[i];
      if (quoted) {
        argument += c;
        if (c == '\\' && i + 1 < text.size()) argument += text[++i];
        if (c == '"') quoted = false;
        continue;
      }
      if (c == '"') quoted = true;
      if (c == '(' && depth++ == 0) continue;
      if (c == ')' && --depth == 0) break;
      if (c == ',' && depth == 1) {
        use.arguments.push_back(trimmed(argument));
        argument.clear();
      } else {
        argument += c;
      }
    }
    if (i == text.size()) return fail("line {}: {} is not closed", use.line, macro);
    use.arguments.push_back(trimmed(argument));
    use.begin = at;
    use.end = i + 1;
    uses.push_back(std::move(use));
  }
  return uses;
}

Result<std::string> literal(const std::string& text, const std::string& macro, int line) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') {
    return fail("line {}: {} takes texts in quotes, not {}", line, macro, text);
  }
  return text.substr(1, text.size() - 2);
}

// Recursive descent, a function a level of precedence.
class Expression {
 public:
  Expression(std::string_view text, const std::map<std::string, std::int64_t>& values) : text_(text), values_(values) {}

  Result<std::int64_t> whole() {
    const std::int64_t value = choice();
    skip();
    if (problem_.empty() && at_ < text_.size()) problem_ = fmt::format("what is `{}`?", text_.substr(at_));
    if (!problem_.empty()) return fail("{}: {}", std::string(text_), problem_);
    return value;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  std::int64_t choice() {
    const std::int64_t condition = level(0);
    if (!problem_.empty() || !take("?")) return condition;
    const std::int64_t yes = choice();
    if (!take(":")) problem_ = "a ? has no :";
    const std::int64_t no = choice();
    return condition ? yes : no;
  }

  std::int64_t level(std::size_t depth) {
    static const std::vector<std::vector<std::string_view>> kLevels = {
        {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<=", ">=", "<", ">"},
        {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
    if (depth == kLevels.size()) return unary();
    std::int64_t left = level(depth + 1);
    for (;;) {
      const auto operation = std::ranges::find_if(kLevels[depth], [&](std::string_view token) { return takes(token); });
      if (operation == kLevels[depth].end()) return left;
      left = apply(*operation, left, level(depth + 1));
    }
  }

  // One-letter operators are not the beginning of a longer one.
  bool takes(std::string_view token) {
    skip();
    if (token.size() == 1 && at_ + 1 < text_.size()) {
      const std::string_view two = text_.substr(at_, 2);
      for (std::string_view longer : {"||", "&&", "<=", ">=", "<<", ">>"}) {
        if (two == longer) return false;
      }
    }
    return take(token);
  }

  std::int64_t apply(std::string_view operation, std::int64_t a, std::int64_t b) {
    // Wrapping arithmetic: nonsense settings must not be undefined behaviour here.
    const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
    if (operation == "||") return a || b;
    if (operation == "&&") return a && b;
    if (operation == "|") return a | b;
    if (operation == "^") return a ^ b;
    if (operation == "&") return a & b;
    if (operation == "==") return a == b;
    if (operation == "!=") return a != b;
    if (operation == "<=") return a <= b;
    if (operation == ">=") return a >= b;
    if (operation == "<") return a < b;
    if (operation == ">") return a > b;
    if (operation == "<<") return static_cast<std::int64_t>(ua << (ub & 63));
    if (operation == ">>") return a >> (ub & 63);
    if (operation == "+") return static_cast<std::int64_t>(ua + ub);
    if (operation == "-") return static_cast<std::int64_t>(ua - ub);
    if (operation == "*") return static_cast<std::int64_t>(ua * ub);
    if (b == 0 || (b == -1 && a == INT64_MIN)) {
      if (b == 0) problem_ = "division by zero";
      return 0;
    }
    return operation == "/" ? a / b : a % b;
  }

  std::int64_t unary() {
    if (++depth_ > kMostDepth) {
      problem_ = "too deep";
      at_ = text_.size();
      return 0;
    }
    const std::int64_t value = operand();
    --depth_;
    return value;
  }

  std::int64_t operand() {
    if (take("-")) return static_cast<std::int64_t>(-static_cast<std::uint64_t>(unary()));
    if (take("+")) return unary();
    if (take("!")) return !unary();
    if (take("~")) return ~unary();
    if (take("(")) {
      const std::int64_t value = choice();
      if (!take(")") && problem_.empty()) problem_ = "a bracket is not closed";
      return value;
    }
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string word(text_.substr(begin, at_ - begin));
    if (const auto found = values_.find(word); found != values_.end()) return found->second;
    std::int64_t number = 0;
    const bool hex = word.starts_with("0x") || word.starts_with("0X");
    const char* first = word.data() + (hex ? 2 : 0);
    const auto [end, error] = std::from_chars(first, word.data() + word.size(), number, hex ? 16 : 10);
    if (problem_.empty() && (word.empty() || error != std::errc() || end != word.data() + word.size())) {
      problem_ = word.empty() ? "a number or a name is missing" : fmt::format("{} is no tunable and no number", word);
      at_ = text_.size();
    }
    return number;
  }

  std::string_view text_;
  const std::map<std::string, std::int64_t>& values_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string problem_;
};

struct Change {
  std::size_t begin, end;
  std::string text;
};

std::string changed(std::string_view source, std::vector<Change> changes) {
  std::ranges::sort(changes, std::greater<>(), &Change::begin);
  std::string text(source);
  for (const Change& change : changes) text.replace(change.begin, change.end - change.begin, change.text);
  return text;
}

// Behind the semicolon of what ends here, and the rest of its line.
std::size_t with_its_line(std::string_view source, std::size_t end) {
  const std::size_t line_end = source.find('\n', end);
  return line_end == std::string_view::npos ? source.size() : line_end + 1;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

Result<std::int64_t> evaluate_expression(std::string_view text, const std::map<std::string, std::int64_t>& values) {
  return Expression(text, values).whole();
}

Result<Tunables> read_tunables(std::string_view source) {
  const std::string text = without_comments(source);
  Tunables tunables;
  KW_TRY(const std::vector<Use> tunes, uses_of("KW_TUNE", text));
  if (tunes.size() > kMostTunables) return fail("{} tunables: {} at most", tunes.size(), kMostTunables);
  for (const Use& use : tunes) {
    if (use.arguments.size() < 2 || use.arguments[0].empty()) {
      return fail("line {}: KW_TUNE takes a name, a default and values: KW_TUNE(TILE, 8, 4, 8, 16)", use.line);
    }
    Tunable tunable{.name = use.arguments[0], .line = use.line};
    if (!std::ranges::all_of(tunable.name, is_word)) return fail("line {}: {} is no name", use.line, tunable.name);
    for (std::size_t i = 1; i < use.arguments.size(); ++i) {
      const auto value = evaluate_expression(use.arguments[i], {});
      if (!value.ok()) return fail("line {}: {}", use.line, value.error().message);
      if (i == 1) tunable.fallback = *value;
      if (i > 1 || use.arguments.size() == 2) tunable.values.push_back(*value);
    }
    if (std::ranges::find(tunables.list, tunable.name, &Tunable::name) != tunables.list.end()) {
      return fail("line {}: {} is a tunable already", use.line, tunable.name);
    }
    tunables.list.push_back(std::move(tunable));
  }
  KW_TRY(const std::vector<Use> requires_, uses_of("KW_REQUIRE", text));
  for (const Use& use : requires_) {
    std::string joined;
    for (const std::string& argument : use.arguments) joined += (joined.empty() ? "" : ", ") + argument;
    tunables.requirements.push_back({joined, use.line});
  }
  for (auto [macro, to] : {std::pair{"KW_COMPILER", &tunables.compilers}, std::pair{"KW_FLAGS", &tunables.flags}}) {
    KW_TRY(const std::vector<Use> uses, uses_of(macro, text));
    for (const Use& use : uses) {
      for (const std::string& argument : use.arguments) {
        KW_TRY(std::string value, literal(argument, macro, use.line));
        to->push_back(std::move(value));
      }
    }
  }
  return tunables;
}

Result<std::string> with_tunables_fixed(std::string_view source, const Choice& choice) {
  const std::string text = without_comments(source);
  std::vector<Change> changes;
  KW_TRY(const std::vector<Use> tunes, uses_of("KW_TUNE", text));
  for (const Use& use : tunes) {
    const auto value = choice.values.find(use.arguments[0]);
    if (value == choice.values.end()) continue;
    changes.push_back({use.begin, use.end,
                       fmt::format("[[maybe_unused]] static constexpr int {} = {}", value->first, value->second)});
  }
  for (const char* macro : {"KW_COMPILER", "KW_FLAGS"}) {
    KW_TRY(const std::vector<Use> uses, uses_of(macro, text));
    for (const Use& use : uses) {
      changes.push_back({use.begin, with_its_line(source, use.end), ""});
    }
  }
  return changed(source, std::move(changes));
}

Result<std::string> with_defaults(std::string_view source, const Settings& settings, const BuildOptions& options) {
  const std::string text = without_comments(source);
  std::vector<Change> changes;
  KW_TRY(const std::vector<Use> tunes, uses_of("KW_TUNE", text));
  for (const Use& use : tunes) {
    const auto set = settings.find(use.arguments[0]);
    if (set == settings.end()) continue;
    std::vector<std::string> words = {set->first, set->second};
    // With nothing but a default, that default is the one value worth trying.
    words.insert(words.end(), use.arguments.begin() + (use.arguments.size() == 2 ? 1 : 2), use.arguments.end());
    changes.push_back({use.begin, use.end, fmt::format("KW_TUNE({})", fmt::join(words, ", "))});
  }
  std::string added;
  for (const auto& [name, macro, usual] :
       {std::tuple{"compiler", "KW_COMPILER", &options.compilers}, std::tuple{"flags", "KW_FLAGS", &options.flags}}) {
    const auto set = settings.find(name);
    if (set == settings.end()) continue;
    KW_TRY(const std::vector<Use> uses, uses_of(macro, text));
    std::vector<std::string> words = {'"' + set->second + '"'};
    const auto add = [&](const std::string& word) {
      if (std::ranges::find(words, word) == words.end()) words.push_back(word);
    };
    for (const Use& use : uses) {
      for (const std::string& word : use.arguments) add(word);
    }
    if (uses.empty()) {
      for (const std::string& word : *usual) add('"' + word + '"');
      added += fmt::format("{}({});\n", macro, fmt::join(words, ", "));
      continue;
    }
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (i == 0) changes.push_back({uses[i].begin, uses[i].end, fmt::format("{}({})", macro, fmt::join(words, ", "))});
      if (i > 0) changes.push_back({uses[i].begin, with_its_line(source, uses[i].end), ""});
    }
  }
  if (!added.empty()) {
    const std::size_t include = source.find("#include <kernelwright.h>");
    const std::size_t at = include == std::string_view::npos ? 0 : with_its_line(source, include);
    changes.push_back({at, at, added});
  }
  return changed(source, std::move(changes));
}

Result<Settings> parse_settings(const std::vector<std::string>& texts) {
  Settings settings;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) return fail("--set {}: say NAME=VALUE", text);
    settings[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return settings;
}

Result<Choice> choose(const Tunables& tunables, const Settings& settings, const BuildOptions& options) {
  const auto first_of = [](const std::vector<std::string>& own, const std::vector<std::string>& usual) {
    return !own.empty() ? own.front() : !usual.empty() ? usual.front() : std::string();
  };
  Choice choice;
  choice.compiler = first_of(tunables.compilers, options.compilers);
  std::string flags = first_of(tunables.flags, options.flags);
  for (const Tunable& tunable : tunables.list) choice.values[tunable.name] = tunable.fallback;
  for (const auto& [name, value] : settings) {
    if (name == "compiler") {
      choice.compiler = value;
    } else if (name == "flags") {
      flags = value;
    } else if (const auto found = choice.values.find(name); found != choice.values.end()) {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), found->second);
      if (error != std::errc() || end != value.data() + value.size()) {
        return fail("{}={}: a tunable is an integer", name, value);
      }
    } else {
      std::vector<std::string> names = {"compiler", "flags"};
      for (const Tunable& tunable : tunables.list) names.push_back(tunable.name);
      return fail("{}: the kernel has no such tunable{}", name, nearest_hint(name, names));
    }
  }
  if (!choice.compiler.empty() && std::ranges::find(options.compilers, choice.compiler) == options.compilers.end()) {
    return fail("{}: no such compiler here; there are {}", choice.compiler, fmt::join(options.compilers, " and "));
  }
  choice.flags = words_of(flags);
  for (const std::string& flag : choice.flags) {
    KW_CHECK(options.check_flag ? options.check_flag(flag) : Status(fail("{}: kernels choose no flags here", flag)));
  }
  for (const Requirement& requirement : tunables.requirements) {
    const auto holds = evaluate_expression(requirement.text, choice.values);
    if (!holds.ok()) return fail("line {}: KW_REQUIRE({})", requirement.line, holds.error().message);
    if (*holds == 0) return fail("line {}: these settings break KW_REQUIRE({})", requirement.line, requirement.text);
  }
  return choice;
}

}  // namespace kw
