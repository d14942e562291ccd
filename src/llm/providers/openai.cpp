// OpenAI's chat completions, which vLLM, llama.cpp's server, Ollama and many others speak too.

#include "base/json.h"
#include "llm/providers.h"
#include "llm/wire.h"

namespace kw::llm::providers {
namespace {

void take_usage(const Json& object, Heard& heard) {
  const auto usage = object.find("usage");
  if (usage == nullptr || !usage->is_object()) return;
  heard.usage.input_tokens = count_in(*usage, "prompt_tokens");
  heard.usage.output_tokens = count_in(*usage, "completion_tokens");
  if (const auto details = usage->find("prompt_tokens_details"); details != nullptr) {
    heard.usage.cached_tokens = count_in(*details, "cached_tokens");
  }
}

// Whole, or a piece of a stream: name and arguments come bit by bit, each with the call's place.
void take_calls(const Json& calls, Heard& heard) {
  if (!calls.is_array()) return;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Json& piece = calls[i];
    const bool placed = piece.contains("index") && piece["index"].is_number();
    const auto place = static_cast<std::size_t>(placed ? count_in(piece, "index") : static_cast<std::int64_t>(i));
    ToolCall* call = call_at(heard, place);
    if (call == nullptr) continue;
    if (const auto id = piece.find("id"); id != nullptr && id->is_string() && call->id.empty()) call->id = id->text();
    const auto function = piece.find("function");
    if (function == nullptr || !function->is_object()) continue;
    if (const auto name = function->find("name"); name != nullptr && name->is_string()) call->name += name->text();
    if (const auto said = function->find("arguments"); said != nullptr && said->is_string())
      call->arguments += said->text();
  }
}

Json message_of(const Message& message) {
  Json json = {{"role", name_of(message.role)}, {"content", message.text}};
  if (message.role == Role::tool) json["tool_call_id"] = message.call;
  if (!message.calls.empty()) {
    json["tool_calls"] = Json::array();
    for (const ToolCall& call : message.calls) {
      json["tool_calls"].push_back(
          {{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    }
  }
  return json;
}

// "content" is a text, null, or a list of parts.
void take_message(const Json& message, Heard& heard) {
  if (!message.is_object()) return;
  if (const auto content = message.find("content"); content != nullptr) {
    if (content->is_string()) heard.text += content->get<std::string>();
    if (content->is_array()) {
      for (const Json& part : *content) {
        if (part.value("type", "") == "text") heard.text += part.at("text").get<std::string>();
      }
    }
  }
  if (const auto calls = message.find("tool_calls"); calls != nullptr) take_calls(*calls, heard);
  if (const auto refusal = message.find("refusal"); refusal != nullptr && refusal->is_string()) {
    heard.refusal += refusal->get<std::string>();
  }
}

void take_reason(const Json& choice, Heard& heard) {
  const auto reason = choice.find("finish_reason");
  if (reason == nullptr || !reason->is_string()) return;
  heard.finished = true;
  heard.cut = *reason == "length";
  if (*reason == "content_filter") heard.refusal = "its filter of contents took the answer away";
}

void whole(const Json& answer, Heard& heard) {
  if (answer.contains("error") && !answer["error"].is_null()) {
    heard.trouble = trouble_in_stream(answer["error"], "server_error");
    return;
  }
  const Json& choice = answer.at("choices").at(0);
  take_message(choice.at("message"), heard);
  take_reason(choice, heard);
  take_usage(answer, heard);
  take_server(answer, heard);
}

void event(const Event& event, Heard& heard) {
  if (event.data == "[DONE]") {
    heard.closed = true;
    return;
  }
  const Json json = Json::parse(event.data);
  if (json.contains("error") && !json["error"].is_null()) {
    heard.trouble = trouble_in_stream(json["error"], "server_error rate_limit_exceeded overloaded");
    return;
  }
  take_usage(json, heard);
  take_server(json, heard);
  const Json& choices = json.at("choices");
  if (choices.empty()) return;  // the last piece, with the usage
  if (const auto delta = choices[0].find("delta"); delta != nullptr) take_message(*delta, heard);
  take_reason(choices[0], heard);
}

constexpr Protocol kProtocol{whole, event};

Answer ask_openai(const Endpoint& endpoint, const Request& request, const std::stop_token& stop) {
  Json body = {{"model", endpoint.model}, {"messages", Json::array()}, {"stream", endpoint.stream}};
  for (const Message& message : request.messages) body["messages"].push_back(message_of(message));
  for (const Tool& tool : request.tools) {
    if (!body.contains("tools")) body["tools"] = Json::array();
    body["tools"].push_back({{"type", "function"},
                             {"function",
                              {{"name", tool.name},
                               {"description", tool.description},
                               {"parameters", Json::parse_quietly(tool.parameters)}}}});
  }
  if (endpoint.stream) body["stream_options"] = {{"include_usage", true}};
  if (request.temperature) body["temperature"] = *request.temperature;
  if (request.seed) body["seed"] = *request.seed;
  body["max_tokens"] = request.most_tokens;

  Post what{.url = endpoint.url + "/chat/completions", .body = body.dump()};
  if (!endpoint.key.empty()) what.headers.push_back("Authorization: Bearer " + endpoint.key);
  Answer answer = exchange(what, kProtocol, endpoint, request, stop);
  // OpenAI's newer models know the limit under another name, which other servers do not know.
  if (answer.trouble && answer.trouble->kind == Trouble::Kind::request &&
      answer.trouble->message.find("max_completion_tokens") != std::string::npos) {
    body.erase("max_tokens");
    body["max_completion_tokens"] = request.most_tokens;
    what.body = body.dump();
    answer = exchange(what, kProtocol, endpoint, request, stop);
  }
  return answer;
}

}  // namespace

Provider openai() {
  return {.name = "openai",
          .about = "OpenAI's chat completions: OpenAI, vLLM, llama.cpp's server, Ollama and many more",
          .key_variables = {"OPENAI_API_KEY"},
          .url_variables = {"OPENAI_BASE_URL"},
          .usual_url = "https://api.openai.com/v1",
          .needs_key = true,
          .protocol = &kProtocol,
          .takes_tools = true,
          .ask = ask_openai};
}

}  // namespace kw::llm::providers
