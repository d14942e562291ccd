#include "lm/chat_template.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace kw::lm {
namespace {

std::string rendered(const std::string& text, const Json& variables = Json::object()) {
  const auto parsed = ChatTemplate::parse(text);
  if (!parsed.ok()) return parsed.error().message;
  const auto made = parsed->render(variables);
  return made.ok() ? *made : made.error().message;
}

// tests/lm/make_text_cases.py recorded what jinja2 makes of them, with Hugging Face's settings.
TEST(ChatTemplate, RendersAsJinjaDoes) {
  const Json recorded = Json::parse(*read_file(KW_SOURCE_DIR "/tests/lm/chat_templates.json"));
  EXPECT_EQ(recorded["cases"].size(), 12u);
  for (const Json& one : recorded["cases"]) {
    EXPECT_EQ(rendered(one["template"].get<std::string>(), recorded["variables"]), one["text"].get<std::string>())
        << one["template"];
  }
}

TEST(ChatTemplate, NamesWhatItCannotDo) {
  EXPECT_EQ(rendered("a\n{% macro f() %}x{% endmacro %}"),
            "the chat template: line 2: the statement macro is not supported");
  EXPECT_EQ(rendered("{{ x | dictsort }}"), "the chat template: line 1: the filter dictsort is not supported");
  EXPECT_EQ(rendered("{{ 'a'.title() }}"), "the chat template: line 1: the method title is not supported here");
  EXPECT_EQ(rendered("{{ now() }}"), "the chat template: line 1: the function now is not supported");
  EXPECT_EQ(rendered("{{ 1 is odd }}"), "the chat template: line 1: the test odd is not supported");
  EXPECT_EQ(rendered("{{ x.y }}"), "the chat template: line 1: a member y of something undefined");
  EXPECT_EQ(rendered("{% if a %}b"), "the chat template: line 1: endif is missing");
  EXPECT_EQ(rendered("{{ 'a }}"), "the chat template: line 1: a tag without its end");
  EXPECT_EQ(rendered("{{ 1 / 0 }}"), "the chat template: line 1: a division by zero");
  EXPECT_EQ(rendered("{{ (1, 2) }}"), "the chat template: line 1: tuples are not supported");
  EXPECT_EQ(rendered("\n\n{{ raise_exception('roles must alternate') }}"),
            "the chat template: line 3: roles must alternate");
}

TEST(ChatTemplate, StopsWhatNeverEnds) {
  EXPECT_EQ(rendered("{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}"),
            "the chat template: line 1: it loops for too long");
  const std::string deep = "{{ " + std::string(500, '(') + "1" + std::string(500, ')') + " }}";
  EXPECT_EQ(rendered(deep), "the chat template: line 1: an expression is nested too deeply");
  std::string blocks;
  for (int i = 0; i < 200; ++i) blocks += "{% if 1 %}";
  EXPECT_EQ(rendered(blocks), "the chat template: line 1: blocks are nested too deeply");
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// A sum or a chain of filters is a tree as deep as it is long: with 300,000 parts the stack ended.
TEST(ChatTemplate, StopsExpressionsThatAreTooLong) {
  for (const std::string& part : {std::string("+1"), std::string("|string"), std::string("[0]"), std::string(".x")}) {
    EXPECT_EQ(rendered("{{ 1" + repeated(part, 300'000) + " }}"),
              "the chat template: line 1: an expression has too many words");
  }
  EXPECT_EQ(rendered("{{ 1" + repeated("+1", 900) + " }}"), "901");
}

// Each of these took all memory there was, or days.
TEST(SlowChatTemplate, StopsValuesThatGrowWithoutEnd) {
  const auto grown = [](const std::string& first, const std::string& step, int times) {
    return fmt::format("{{% set n = namespace(x={}) %}}{{% for i in range({}) %}}{{% set n.x = {} %}}{{% endfor %}}",
                       first, times, step);
  };
  const std::string line = "the chat template: line 1: ", large = line + "a value became too large";
  EXPECT_EQ(rendered(grown("'0123456789abcdef'", "n.x ~ n.x", 40)), large);
  EXPECT_EQ(rendered(grown("[1]", "n.x + n.x", 40)), large);
  EXPECT_EQ(rendered(grown("[1]", "[n.x, n.x]", 40)), large);
  EXPECT_EQ(rendered(grown("[1]", "[n.x]", 90'000)), line + "a value is nested too deeply");
  EXPECT_EQ(rendered("{% for i in range(-9000000000000000, 9223372036854775807) %}x{% endfor %}"),
            line + "a range is too long");
  const std::string text = grown("'0123456789abcdef'", "n.x + n.x", 20);  // 16 MiB
  EXPECT_EQ(rendered(text + "{{ range(90000)|join(n.x) }}"), line + "a text became too long");
  EXPECT_EQ(rendered(text + "{{ n.x.split('a') }}"), line + "a text has too many parts");
  EXPECT_EQ(rendered(text + "{% for i in range(90000) %}{% if n.x == 'b' %}{% endif %}{% endfor %}"),
            line + "it computes for too long");
}

}  // namespace
}  // namespace kw::lm
