#include "lm/pattern.h"

#include <array>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace kw::lm {

const char* const kGpt2Pattern = R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)re";
const char* const kLlama3Pattern =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
const char* const kQwen2Pattern =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";

struct Pattern::Compiled {
  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;
  ~Compiled() {
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
};

namespace {

constexpr std::uint32_t kMostSteps = 10'000'000;

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text = {};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

Result<Pattern> Pattern::compile(const std::string& text) {
  int error = 0;
  PCRE2_SIZE place = 0;
  auto compiled = std::make_shared<Compiled>();
  compiled->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                 PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &place, nullptr);
  if (compiled->code == nullptr) return fail("the pattern {} at {}: {}", text, place, message_of(error));
  pcre2_jit_compile(compiled->code, PCRE2_JIT_COMPLETE);  // where it cannot, matching goes on without
  compiled->context = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(compiled->context, kMostSteps);
  return Pattern(std::move(compiled));
}

Result<Pattern> Pattern::literal(const std::string& text) {
  if (text.find("\\E") != std::string::npos) return fail("the literal {} cannot be a pattern", text);
  return compile("\\Q" + text + "\\E");
}

Result<std::vector<std::string_view>> Pattern::split(std::string_view text, Matches matches, Gaps gaps) const {
  std::vector<std::string_view> parts;
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
      pcre2_match_data_create_from_pattern(compiled_->code, nullptr), pcre2_match_data_free);
  const PCRE2_SIZE* found = pcre2_get_ovector_pointer(data.get());
  const auto add_gap = [&](std::size_t begin, std::size_t end) {
    if (end > begin && gaps == Gaps::keep) parts.push_back(text.substr(begin, end - begin));
  };
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const int count = pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, 0,
                                  data.get(), compiled_->context);
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) return fail("a text could not be split: {}", message_of(count));
    const std::size_t begin = found[0], end = found[1];
    if (end <= begin) {  // an empty match, or one that look-behind turned around: past the next character
      at = std::max(end, at) + 1;
      while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
      continue;
    }
    add_gap(done, begin);
    if (matches == Matches::keep) parts.push_back(text.substr(begin, end - begin));
    at = done = end;
  }
  add_gap(done, text.size());
  return parts;
}

}  // namespace kw::lm
