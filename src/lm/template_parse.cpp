// Words and expressions of chat templates, read.
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>

#include "lm/template_expression.h"

namespace kw::lm {
namespace {

using Kind = TemplateExpression::Kind;
using Made = std::unique_ptr<TemplateExpression>;

constexpr std::size_t kMostWords = 2000;  // of one expression

bool is_name_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

TemplateWord read_text(std::string_view text, std::size_t& at) {
  const char quote = text[at++];
  std::string made;
  for (; at < text.size() && text[at] != quote; ++at) {
    if (text[at] != '\\' || at + 1 >= text.size()) {
      made += text[at];
      continue;
    }
    switch (text[++at]) {
      case 'n':
        made += '\n';
        break;
      case 't':
        made += '\t';
        break;
      case 'r':
        made += '\r';
        break;
      case '\\':
      case '\'':
      case '"':
        made += text[at];
        break;
      default:
        throw TemplateError(fmt::format("the escape \\{} is not supported", text[at]));
    }
  }
  if (at >= text.size()) throw TemplateError("a text without its end");
  ++at;
  return {TemplateWord::Kind::text, made, Json(made)};
}

TemplateWord read_number(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]))) ++at;
  const bool real = at + 1 < text.size() && text[at] == '.' && std::isdigit(static_cast<unsigned char>(text[at + 1]));
  if (real) {
    ++at;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]))) ++at;
  }
  const std::string digits(text.substr(begin, at - begin));
  std::int64_t whole = 0;
  double number = 0;
  if (real) {
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return {TemplateWord::Kind::number, digits, Json(number)};
  }
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
  if (error != std::errc()) throw TemplateError(fmt::format("the number {} is too large", digits));
  return {TemplateWord::Kind::number, digits, Json(whole)};
}

class Parser {
 public:
  Parser(const std::vector<TemplateWord>& words, std::size_t& at) : words_(words), at_(at) {}

  Made choice(bool with_choice = true) {
    const Depth depth(*this);
    Made value = any_of();
    if (!with_choice || !take_name("if")) return value;
    Made condition = any_of();
    Made otherwise = take_name("else") ? choice() : literal(undefined());
    return made(Kind::choice, "", std::move(condition), std::move(value), std::move(otherwise));
  }

 private:
  static constexpr int kMostDepth = 60;
  struct Depth {
    explicit Depth(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMostDepth) throw TemplateError("an expression is nested too deeply");
    }
    ~Depth() { --parser_.depth_; }
    Parser& parser_;
  };

  const TemplateWord& word() const { return words_[at_]; }
  bool is_sign(const char* sign) const { return word().kind == TemplateWord::Kind::sign && word().text == sign; }
  bool is_name(const char* name) const { return word().kind == TemplateWord::Kind::name && word().text == name; }
  bool take_sign(const char* sign) { return is_sign(sign) ? ++at_, true : false; }
  bool take_name(const char* name) { return is_name(name) ? ++at_, true : false; }
  void expect(const char* sign) {
    if (!take_sign(sign)) throw TemplateError(fmt::format("expected '{}', not '{}'", sign, word().text));
  }

  template <class... Parts>
  static Made made(Kind kind, std::string text, Parts... parts) {
    auto one = std::make_unique<TemplateExpression>();
    one->kind = kind;
    one->text = std::move(text);
    (one->parts.push_back(std::move(parts)), ...);
    return one;
  }
  static Made literal(Json value) {
    Made one = made(Kind::literal, "");
    one->value = std::move(value);
    return one;
  }

  Made any_of() {
    Made left = all_of();
    while (take_name("or")) left = made(Kind::binary, "or", std::move(left), all_of());
    return left;
  }
  Made all_of() {
    Made left = negation();
    while (take_name("and")) left = made(Kind::binary, "and", std::move(left), negation());
    return left;
  }
  Made negation() {
    const Depth depth(*this);
    if (take_name("not")) return made(Kind::unary, "not", negation());
    return comparison();
  }
  Made comparison() {
    Made left = sum();
    for (;;) {
      static constexpr std::array kSigns = {"==", "!=", "<=", ">=", "<", ">"};
      bool found = false;
      for (const char* sign : kSigns) {
        if (!take_sign(sign)) continue;
        left = made(Kind::binary, sign, std::move(left), sum());
        found = true;
        break;
      }
      if (found) continue;
      if (take_name("in")) {
        left = made(Kind::binary, "in", std::move(left), sum());
      } else if (is_name("not") && at_ + 1 < words_.size() && words_[at_ + 1].text == "in") {
        at_ += 2;
        left = made(Kind::unary, "not", made(Kind::binary, "in", std::move(left), sum()));
      } else {
        return left;
      }
    }
  }
  Made sum() {
    Made left = product();
    for (;;) {
      if (take_sign("+"))
        left = made(Kind::binary, "+", std::move(left), product());
      else if (take_sign("-"))
        left = made(Kind::binary, "-", std::move(left), product());
      else if (take_sign("~"))
        left = made(Kind::binary, "~", std::move(left), product());
      else
        return left;
    }
  }
  Made product() {
    Made left = unary();
    for (;;) {
      if (take_sign("*"))
        left = made(Kind::binary, "*", std::move(left), unary());
      else if (take_sign("//"))
        left = made(Kind::binary, "//", std::move(left), unary());
      else if (take_sign("/"))
        left = made(Kind::binary, "/", std::move(left), unary());
      else if (take_sign("%"))
        left = made(Kind::binary, "%", std::move(left), unary());
      else
        return left;
    }
  }
  Made unary() {
    const Depth depth(*this);
    if (take_sign("-")) return made(Kind::unary, "-", unary());
    return tested();
  }
  Made tested() {
    Made value = postfix(primary());
    for (;;) {
      if (take_sign("|")) {
        Made filter = made(Kind::filter, name(), std::move(value));
        if (take_sign("(")) arguments(*filter);
        value = std::move(filter);
      } else if (take_name("is")) {
        const bool negated = take_name("not");
        Made test = made(Kind::test, name(), std::move(value));
        value = negated ? made(Kind::unary, "not", std::move(test)) : std::move(test);
      } else {
        return value;
      }
    }
  }
  std::string name() {
    if (word().kind != TemplateWord::Kind::name)
      throw TemplateError(fmt::format("expected a name, not '{}'", word().text));
    return words_[at_++].text;
  }
  void arguments(TemplateExpression& call) {
    if (take_sign(")")) return;
    do {
      if (word().kind == TemplateWord::Kind::name && words_[at_ + 1].text == "=" &&
          words_[at_ + 1].kind == TemplateWord::Kind::sign) {
        call.names.push_back(name());
        ++at_;
      } else if (!call.names.empty()) {
        throw TemplateError("an argument without a name after one with a name");
      }
      call.parts.push_back(choice());
    } while (take_sign(","));
    expect(")");
  }
  Made postfix(Made value) {
    for (;;) {
      if (take_sign(".")) {
        value = made(Kind::member, "", std::move(value), literal(Json(name())));
      } else if (take_sign("(")) {
        Made call = made(Kind::call, "", std::move(value));
        arguments(*call);
        value = std::move(call);
      } else if (take_sign("[")) {
        value = subscript(std::move(value));
      } else {
        return value;
      }
    }
  }
  Made subscript(Made value) {
    Made slice = made(Kind::slice, "", std::move(value));
    bool is_slice = false;
    for (int bound = 0; bound < 3; ++bound) {
      slice->parts.push_back(is_sign(":") || is_sign("]") ? nullptr : choice());
      if (!take_sign(":")) break;
      is_slice = true;
    }
    expect("]");
    if (is_slice) {
      slice->parts.resize(4);
      return slice;
    }
    if (!slice->parts[1]) throw TemplateError("an empty subscript");
    slice->kind = Kind::member;
    return slice;
  }
  Made primary() {
    const TemplateWord& here = word();
    if (here.kind == TemplateWord::Kind::number || here.kind == TemplateWord::Kind::text) {
      ++at_;
      std::string text = here.text;
      if (here.kind == TemplateWord::Kind::number) return literal(here.value);
      while (word().kind == TemplateWord::Kind::text) text += words_[at_++].text;  // neighbours are one text
      return literal(Json(text));
    }
    if (take_sign("(")) {
      Made inside = choice();
      if (is_sign(",")) throw TemplateError("tuples are not supported");
      expect(")");
      return inside;
    }
    if (take_sign("[")) {
      Made list = made(Kind::list, "");
      while (!take_sign("]")) {
        list->parts.push_back(choice());
        if (!take_sign(",") && !is_sign("]")) throw TemplateError("expected ',' in a list");
      }
      return list;
    }
    if (take_sign("{")) {
      Made dictionary = made(Kind::dictionary, "");
      while (!take_sign("}")) {
        dictionary->parts.push_back(choice());
        expect(":");
        dictionary->parts.push_back(choice());
        if (!take_sign(",") && !is_sign("}")) throw TemplateError("expected ',' in a dictionary");
      }
      return dictionary;
    }
    const std::string known = name();
    if (known == "true" || known == "True") return literal(Json(true));
    if (known == "false" || known == "False") return literal(Json(false));
    if (known == "none" || known == "None") return literal(Json());
    return made(Kind::name, known);
  }

  const std::vector<TemplateWord>& words_;
  std::size_t& at_;
  int depth_ = 0;
};

}  // namespace

std::vector<TemplateWord> template_words(std::string_view text) {
  std::vector<TemplateWord> words;
  for (std::size_t at = 0; at < text.size();) {
    if (words.size() > kMostWords) throw TemplateError("an expression has too many words");
    const char c = text[at];
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
    } else if (c == '\'' || c == '"') {
      words.push_back(read_text(text, at));
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      words.push_back(read_number(text, at));
    } else if (is_name_letter(c)) {
      const std::size_t begin = at;
      while (at < text.size() && is_name_letter(text[at])) ++at;
      words.push_back({TemplateWord::Kind::name, std::string(text.substr(begin, at - begin)), Json()});
    } else {
      static constexpr std::array kDouble = {"==", "!=", "<=", ">=", "//"};
      std::string_view sign = text.substr(at, 1);
      for (const char* two : kDouble) {
        if (text.substr(at, 2) == two) sign = text.substr(at, 2);
      }
      if (sign.size() == 1 && std::string_view("+-*/%~()[]{}|.,:=<>").find(c) == std::string_view::npos) {
        throw TemplateError(fmt::format("unexpected '{}'", c));
      }
      at += sign.size();
      words.push_back({TemplateWord::Kind::sign, std::string(sign), Json()});
    }
  }
  words.emplace_back();  // the end
  return words;
}

std::unique_ptr<TemplateExpression> parse_expression(const std::vector<TemplateWord>& words, std::size_t& at,
                                                     bool with_choice) {
  return Parser(words, at).choice(with_choice);
}

}  // namespace kw::lm
