// Expressions of chat templates: `message['content'].split('</think>')[-1] if message.role == 'user' else ''`.
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace kw::lm {

// Thrown within the template's files alone; ChatTemplate makes Errors of it.
class TemplateError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Names in the order of their scopes, the innermost last.
class TemplateScopes {
 public:
  explicit TemplateScopes(std::map<std::string, Json> outermost) : scopes_{std::move(outermost)} {}
  void open() { scopes_.emplace_back(); }
  void close() { scopes_.pop_back(); }
  void set(const std::string& name, Json value) { scopes_.back()[name] = std::move(value); }
  Json* find(const std::string& name);
  // One more step of a loop; throws where a template takes too many.
  void count_step();
  // One more value that was computed; throws where it is too large, or all of them together are.
  void count_value(const Json& value);

 private:
  std::vector<std::map<std::string, Json>> scopes_;
  int steps_ = 0;
  std::size_t copied_ = 0;  // bytes of all values so far
};

struct TemplateExpression {
  enum class Kind { literal, name, list, dictionary, member, slice, call, filter, test, unary, binary, choice };
  Kind kind = Kind::literal;
  std::string text;                                        // the name, operator, filter, test or method
  Json value;                                              // of a literal
  std::vector<std::unique_ptr<TemplateExpression>> parts;  // an absent bound of a slice is null
  std::vector<std::string> names;                          // of a call's named arguments, which come last in `parts`

  Json evaluate(TemplateScopes& scopes) const;

 private:
  Json computed(TemplateScopes& scopes) const;
};

// What has no value: a name that was not set. It prints as nothing and is false.
Json undefined();
bool is_true(const Json& value);
std::string printed(const Json& value);

// The words of an expression or a tag, of which there are not too many: `1 + 1 + ...` is as deep as it is long.
struct TemplateWord {
  enum class Kind { end, name, number, text, sign };
  Kind kind = Kind::end;
  std::string text;
  Json value;
};
std::vector<TemplateWord> template_words(std::string_view text);

// Reads from `words` at `at`, which moves past it.
std::unique_ptr<TemplateExpression> parse_expression(const std::vector<TemplateWord>& words, std::size_t& at,
                                                     bool with_choice = true);

}  // namespace kw::lm
