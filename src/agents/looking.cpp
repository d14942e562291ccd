#include "agents/looking.h"

#include <algorithm>

#include "base/json.h"

namespace kw::agents {
namespace {

std::string text_in(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != nullptr && found->is_string() ? found->text() : std::string();
}

// A line's number; 0 where it is none.
int line_in(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == nullptr || !found->is_number_integer()) return 0;
  return static_cast<int>(std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, 100'000'000));
}

}  // namespace

const std::vector<llm::Tool>& tools_to_look() {
  static const std::vector<llm::Tool> tools = {
      {"list_files", "Lists the files and folders of a folder of the repository.",
       R"({"type": "object", "properties": {"folder": {"type": "string", "description": "empty: the repository itself"}}})"},
      {"find_text", "Finds where a text stands in the sources of the repository.",
       R"({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})"},
      {"read_file", "Shows a file of the repository: some lines, or one function or type.",
       R"({"type": "object", "properties": {"file": {"type": "string"}, "function": {"type": "string", "description": )"
       R"("the function or type to show; else lines"}, "first": {"type": "integer"}, "last": {"type": "integer"}}, )"
       R"("required": ["file"]})"}};
  return tools;
}

Result<inspect::Look> look_of_call(const llm::ToolCall& call) {
  using Verb = inspect::Look::Verb;
  // Of a tool that needs nothing, some models say nothing.
  const Json given = Json::parse_quietly(call.arguments.empty() ? "{}" : call.arguments);
  if (!given.is_object()) return fail("the arguments of {} are no JSON object", call.name.substr(0, 60));
  if (call.name == "list_files") return inspect::Look{Verb::list, text_in(given, "folder")};
  if (call.name == "find_text") {
    const std::string text = text_in(given, "text");
    if (text.empty()) return fail("find_text needs a text");
    return inspect::Look{Verb::find, text};
  }
  if (call.name != "read_file")
    return fail("there is no tool {}; there are list_files, find_text and read_file", call.name.substr(0, 60));
  const std::string file = text_in(given, "file");
  if (file.empty()) return fail("read_file needs a file");
  return inspect::Look{Verb::read, file, text_in(given, "function"), std::max(1, line_in(given, "first")),
                       line_in(given, "last")};
}

}  // namespace kw::agents
