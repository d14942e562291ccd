// A regular expression as tokenizers use it, over PCRE2 with Unicode classes: where a text is split before merging.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::lm {

// The usual patterns, by the model that introduced them.
extern const char* const kGpt2Pattern;
extern const char* const kLlama3Pattern;
extern const char* const kQwen2Pattern;

class Pattern {
 public:
  static Result<Pattern> compile(const std::string& text);
  // The text of a literal, which matches itself.
  static Result<Pattern> literal(const std::string& text);

  enum class Gaps { keep, drop };  // what lies between matches
  enum class Matches { keep, drop };
  // The parts of the text in order; together, where all are kept, they are the text. An Error where the pattern needs
  // more steps than any sensible one.
  Result<std::vector<std::string_view>> split(std::string_view text, Matches matches = Matches::keep,
                                              Gaps gaps = Gaps::keep) const;

 private:
  struct Compiled;
  explicit Pattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace kw::lm
