// Anthropic's messages.

#include "base/json.h"
#include "llm/providers.h"
#include "llm/wire.h"

namespace kw::llm::providers {
namespace {

// What was read from a cache and what was written to one is counted apart from the other input.
void take_usage(const Json& object, Heard& heard) {
  const auto usage = object.find("usage");
  if (usage == nullptr || !usage->is_object()) return;
  if (usage->contains("input_tokens")) {
    heard.usage.cached_tokens = count_in(*usage, "cache_read_input_tokens");
    heard.usage.input_tokens =
        count_in(*usage, "input_tokens") + heard.usage.cached_tokens + count_in(*usage, "cache_creation_input_tokens");
  }
  if (usage->contains("output_tokens")) heard.usage.output_tokens = count_in(*usage, "output_tokens");
}

// The content of a message. What a tool found is the user's; what several found stands in one message.
Json blocks_of(const Message& message) {
  Json blocks = Json::array();
  if (message.role == Role::tool) {
    blocks.push_back({{"type", "tool_result"}, {"tool_use_id", message.call}, {"content", message.text}});
    return blocks;
  }
  if (!message.text.empty()) blocks.push_back({{"type", "text"}, {"text", message.text}});
  for (const ToolCall& call : message.calls) {
    const Json given = Json::parse_quietly(call.arguments);
    blocks.push_back({{"type", "tool_use"},
                      {"id", call.id},
                      {"name", call.name},
                      {"input", given.is_object() ? given : Json::object()}});
  }
  return blocks;
}

Json messages_of(const std::vector<Message>& messages) {
  Json list = Json::array();
  const Message* before = nullptr;
  for (const Message& message : messages) {
    if (message.role == Role::system) continue;
    const bool plain = message.calls.empty() && message.role != Role::tool;
    if (message.role == Role::tool && before != nullptr && before->role == Role::tool) {
      list[list.size() - 1]["content"].push_back(blocks_of(message)[0]);
    } else {
      list.push_back({{"role", name_of(message.role == Role::tool ? Role::user : message.role)},
                      {"content", plain ? Json(message.text) : blocks_of(message)}});
    }
    before = &message;
  }
  return list;
}

void take_call(const Json& block, Heard& heard) {
  ToolCall* call = call_at(heard, heard.calls.size());
  if (call == nullptr) return;
  *call = {.id = block.value("id", ""), .name = block.value("name", ""), .arguments = {}};
}

void take_reason(const Json& object, Heard& heard) {
  const auto reason = object.find("stop_reason");
  if (reason == nullptr || !reason->is_string()) return;
  heard.finished = true;
  heard.cut = *reason == "max_tokens" || *reason == "model_context_window_exceeded";
  if (*reason == "refusal") heard.refusal = heard.text.empty() ? "no reason given" : heard.text;
}

void whole(const Json& answer, Heard& heard) {
  if (answer.value("type", "") == "error") {
    heard.trouble = trouble_in_stream(answer.at("error"), "overloaded_error api_error rate_limit_error timeout_error");
    return;
  }
  for (const Json& block : answer.at("content")) {
    const std::string type = block.value("type", "");
    if (type == "text") heard.text += block.at("text").get<std::string>();
    if (type == "tool_use") {
      take_call(block, heard);
      if (!heard.calls.empty() && block.contains("input")) heard.calls.back().arguments = block["input"].dump();
    }
  }
  take_reason(answer, heard);
  take_usage(answer, heard);
  take_server(answer, heard);
}

void event(const Event& event, Heard& heard) {
  const Json json = Json::parse(event.data);
  const std::string type = json.value("type", event.name);
  if (type == "message_start") {
    take_usage(json.at("message"), heard);
    take_server(json.at("message"), heard);
  } else if (type == "content_block_start") {
    const Json& block = json.at("content_block");
    if (block.value("type", "") == "text") heard.text += block.value("text", "");
    if (block.value("type", "") == "tool_use") take_call(block, heard);
  } else if (type == "content_block_delta") {
    const Json& delta = json.at("delta");
    if (delta.value("type", "") == "text_delta") heard.text += delta.at("text").get<std::string>();
    // Blocks come one after the other: pieces of arguments are the last call's.
    if (delta.value("type", "") == "input_json_delta" && !heard.calls.empty())
      heard.calls.back().arguments += delta.at("partial_json").get<std::string>();
  } else if (type == "message_delta") {
    take_reason(json.at("delta"), heard);
    take_usage(json, heard);
  } else if (type == "message_stop") {
    heard.closed = true;
  } else if (type == "error") {
    heard.trouble = trouble_in_stream(json.at("error"), "overloaded_error api_error rate_limit_error timeout_error");
  }
}

constexpr Protocol kProtocol{whole, event};

Answer ask_anthropic(const Endpoint& endpoint, const Request& request, const std::stop_token& stop) {
  Json body = {{"model", endpoint.model},
               {"max_tokens", request.most_tokens},
               {"messages", messages_of(request.messages)},
               {"stream", endpoint.stream}};
  std::string system;
  for (const Message& message : request.messages) {
    if (message.role == Role::system) system += (system.empty() ? "" : "\n\n") + message.text;
  }
  for (const Tool& tool : request.tools) {
    if (!body.contains("tools")) body["tools"] = Json::array();
    body["tools"].push_back({{"name", tool.name},
                             {"description", tool.description},
                             {"input_schema", Json::parse_quietly(tool.parameters)}});
  }
  if (!system.empty()) body["system"] = system;
  if (request.temperature) body["temperature"] = *request.temperature;
  Post what{.url = endpoint.url + "/v1/messages", .headers = {"anthropic-version: 2023-06-01"}, .body = body.dump()};
  if (!endpoint.key.empty()) what.headers.push_back("x-api-key: " + endpoint.key);
  return exchange(what, kProtocol, endpoint, request, stop);
}

}  // namespace

Provider anthropic() {
  return {.name = "anthropic",
          .about = "Anthropic's messages",
          .key_variables = {"ANTHROPIC_API_KEY"},
          .url_variables = {"ANTHROPIC_BASE_URL"},
          .usual_url = "https://api.anthropic.com",
          .needs_key = true,
          .protocol = &kProtocol,
          .takes_tools = true,
          .ask = ask_anthropic};
}

}  // namespace kw::llm::providers
