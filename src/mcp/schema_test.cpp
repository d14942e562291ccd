#include "mcp/schema.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "base/json.h"
#include "mcp/tool.h"

namespace kw::mcp {
namespace {

const Json kSchema = Json::parse(R"({
  "type": "object", "additionalProperties": false, "required": ["name"],
  "properties": {
    "name": {"type": "string", "minLength": 1, "maxLength": 5},
    "count": {"type": ["integer", "null"], "minimum": 0, "maximum": 10},
    "kind": {"type": "string", "enum": ["a", "b"]},
    "list": {"type": "array", "maxItems": 2, "items": {"type": "boolean"}},
    "more": {"type": "object", "additionalProperties": {"type": ["string", "integer"]}}
  }
})");

TEST(Schema, SaysWhatIsWrongAndWhere) {
  const auto problem = [](const char* text) { return problem_with(Json::parse(text), kSchema); };
  EXPECT_EQ(problem(R"({"name": "ok", "count": 3, "kind": "a", "list": [true], "more": {"x": 1, "y": "z"}})"), "");
  EXPECT_EQ(problem(R"({"name": "ok", "count": null})"), "");
  EXPECT_EQ(problem(R"({"name": "ok", "count": 3.0})"), "");
  EXPECT_EQ(problem(R"([])"), "the value: must be of type object");
  EXPECT_EQ(problem(R"({})"), "name: is missing");
  EXPECT_EQ(problem(R"({"name": 3})"), "name: must be of type string");
  EXPECT_EQ(problem(R"({"name": ""})"), "name: is too short");
  EXPECT_EQ(problem(R"({"name": "äöüßé"})"), "");
  EXPECT_EQ(problem(R"({"name": "abcdef"})"), "name: is longer than 5 characters");
  EXPECT_EQ(problem(R"({"name": "ok", "count": 11})"), "count: 11 is above 10");
  EXPECT_EQ(problem(R"({"name": "ok", "count": -1})"), "count: -1 is below 0");
  EXPECT_EQ(problem(R"({"name": "ok", "count": 1.5})"), "count: must be of type integer or null");
  EXPECT_EQ(problem(R"({"name": "ok", "count": 1e300})"), "count: 1e+300 is above 10");
  EXPECT_EQ(problem(R"({"name": "ok", "kind": "c"})"), "kind: must be one of \"a\", \"b\"");
  EXPECT_EQ(problem(R"({"name": "ok", "list": [true, 1]})"), "list[1]: must be of type boolean");
  EXPECT_EQ(problem(R"({"name": "ok", "list": [true, true, true]})"), "list: has more than 2 entries");
  EXPECT_EQ(problem(R"({"name": "ok", "more": {"x": {}}})"), "more.x: must be of type string or integer");
  EXPECT_EQ(problem(R"({"name": "ok", "cuont": 1})"), "cuont: is not known here; nearest: count");
}

// Over every tool of the table, so that a new one is held to this with no edit.
TEST(EveryTool, HasANameAndSchemasThatWeCanHoldItTo) {
  static const std::regex name_form("[a-z][a-z_]*");
  std::set<std::string> names;
  for (const tools::Maker make : tools::table) {
    const Tool tool = make();
    EXPECT_TRUE(std::regex_match(tool.name, name_form)) << tool.name;
    EXPECT_TRUE(names.insert(tool.name).second) << tool.name;
    EXPECT_FALSE(tool.title.empty()) << tool.name;
    EXPECT_GT(tool.description.size(), 40u) << tool.name;
    ASSERT_NE(tool.run, nullptr) << tool.name;
    for (const std::string& text : {tool.input, tool.output}) {
      const Json schema = Json::parse_quietly(text);
      ASSERT_TRUE(schema.is_object()) << tool.name;
      EXPECT_EQ(schema.value("type", ""), "object") << tool.name;
      EXPECT_EQ(unknown_word_in(schema), "") << tool.name;
    }
    // A name that is spelled wrong must not pass for one that was left out.
    EXPECT_EQ(Json::parse(tool.input).value("additionalProperties", true), false) << tool.name;
  }
  EXPECT_GE(names.size(), 8u);
}

}  // namespace
}  // namespace kw::mcp
