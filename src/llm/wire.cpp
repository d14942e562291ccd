#include "llm/wire.h"

#include <fmt/format.h>

#include "base/json.h"

namespace kw::llm {
namespace {

constexpr std::size_t kMostCalls = 32;  // of tools, in one answer

std::string beginning_of(const std::string& text) {
  std::string shown;
  for (const char c : text.substr(0, 80)) shown += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return shown + (text.size() > 80 ? "..." : "");
}

Answer garbled(const Endpoint& endpoint, const std::string& what, bool try_again) {
  Answer answer = troubled(Trouble::Kind::garbled, fmt::format("{} {}", endpoint.name(), what));
  answer.trouble->try_again = try_again;
  return answer;
}

bool is_stream(const Response& response) { return response.content_type.starts_with("text/event-stream"); }

Answer as_answer(Heard heard, const Endpoint& endpoint, const Request& request) {
  Answer answer;
  answer.usage = heard.usage;
  answer.served_by = heard.served_by;
  // Servers leave out either number, or both: no question takes no tokens.
  if (answer.usage.input_tokens == 0) {
    for (const Message& message : request.messages) answer.usage.input_tokens += guessed_tokens(message.text);
    answer.usage.guessed = true;
  }
  if (answer.usage.output_tokens == 0 && (!heard.text.empty() || !heard.calls.empty())) {
    answer.usage.output_tokens = guessed_tokens(heard.text);
    for (const ToolCall& call : heard.calls) answer.usage.output_tokens += guessed_tokens(call.name + call.arguments);
    answer.usage.guessed = true;
  }
  answer.whole = !heard.cut;
  // Arguments that break off are no call, nor is what has no name.
  std::erase_if(heard.calls, [&](const ToolCall& call) { return heard.cut || call.name.empty(); });
  const bool silent = heard.text.empty() && heard.calls.empty();
  if (heard.trouble) {
    answer.trouble = heard.trouble;
  } else if (!heard.refusal.empty()) {
    answer.trouble = Trouble{.kind = Trouble::Kind::refused,
                             .message = fmt::format("{} declined: {}", endpoint.name(), beginning_of(heard.refusal))};
  } else if (silent && heard.cut) {
    answer.trouble = Trouble{.kind = Trouble::Kind::cut_off,
                             .message = fmt::format("{} used all of its {} tokens before it said anything",
                                                    endpoint.name(), request.most_tokens)};
  } else if (silent) {
    answer.trouble = Trouble{.kind = Trouble::Kind::garbled,
                             .message = fmt::format("{} sent an empty answer", endpoint.name()),
                             .try_again = true};
  }
  answer.text = std::move(heard.text);
  answer.calls = std::move(heard.calls);
  return answer;
}

}  // namespace

std::int64_t count_in(const Json& object, const char* name) {
  if (!object.is_object()) return 0;
  const auto found = object.find(name);
  return found != nullptr && found->is_number() ? std::max<std::int64_t>(0, found->get<std::int64_t>()) : 0;
}

ToolCall* call_at(Heard& heard, std::size_t place) {
  if (place >= kMostCalls) return nullptr;
  if (place >= heard.calls.size()) heard.calls.resize(place + 1);
  return &heard.calls[place];
}

void take_server(const Json& object, Heard& heard) {
  if (!heard.served_by.empty() || !object.is_object()) return;
  for (const char* field : {"model", "system_fingerprint"}) {
    const auto found = object.find(field);
    if (found == nullptr || !found->is_string() || found->text().empty()) continue;
    heard.served_by += (heard.served_by.empty() ? "" : ", ") + found->text().substr(0, 200);
  }
}

Trouble trouble_in_stream(const Json& error, const std::string& busy_types) {
  std::string type, message;
  if (error.is_object()) {
    if (error.contains("type") && error["type"].is_string()) type = error["type"].get<std::string>();
    if (error.contains("message") && error["message"].is_string()) message = error["message"].get<std::string>();
  } else if (error.is_string()) {
    message = error.get<std::string>();
  }
  const bool busy = type.empty() || busy_types.find(type) != std::string::npos;
  return {.kind = busy ? Trouble::Kind::busy : Trouble::Kind::request,
          .message = fmt::format("the answer broke off with an error: {} {}", type, message.substr(0, 500)),
          .try_again = busy};
}

bool Hearing::take(const Response& response, std::string_view piece) {
  if (!is_stream(response)) return false;
  return events_.read(piece, [&](const Event& event) {
    try {
      protocol_.event(event, heard_);
    } catch (const JsonError&) {
      broken_ = beginning_of(event.data);
      is_broken_ = true;
    }
    return heard_.closed || heard_.trouble.has_value() || is_broken_;
  });
}

Answer Hearing::answer(const Posted& posted, const Endpoint& endpoint, const Request& request) {
  if (is_broken_) return garbled(endpoint, fmt::format("sent an event that is not its protocol: {}", broken_), true);
  const Response& response = posted.response;
  // A stream that said that it is done may be torn down as it likes.
  if (posted.trouble && !(heard_.finished && posted.trouble->kind == Trouble::Kind::garbled)) {
    Answer answer;
    answer.trouble = posted.trouble;
    return answer;
  }
  if (response.status < 200 || response.status > 299) {
    Answer answer;
    answer.trouble = trouble_of_status(response, endpoint);
    return answer;
  }
  if (is_stream(response)) {
    if (!heard_.finished && !heard_.trouble) return garbled(endpoint, "ended its answer in the middle", true);
    return as_answer(std::move(heard_), endpoint, request);
  }
  const Json json = Json::parse_quietly(response.body);
  if (json.is_discarded()) {
    const bool html = response.content_type.starts_with("text/html") || response.body.starts_with("<");
    return garbled(endpoint,
                   html ? fmt::format("at {} answered with a page of HTML; is the address right? {}", endpoint.url,
                                      beginning_of(response.body))
                        : fmt::format("sent JSON that breaks off or is none: {}", beginning_of(response.body)),
                   !html);
  }
  try {
    protocol_.whole(json, heard_);
  } catch (const JsonError&) {
    return garbled(endpoint, fmt::format("sent JSON that is not its protocol: {}", beginning_of(response.body)), false);
  }
  return as_answer(std::move(heard_), endpoint, request);
}

Answer exchange(const Post& what, const Protocol& protocol, const Endpoint& endpoint, const Request& request,
                const std::stop_token& stop) {
  Hearing hearing(protocol);
  const Posted posted = post(what, endpoint, stop, [&](const Response& response, std::string_view piece) {
    return hearing.take(response, piece);
  });
  return hearing.answer(posted, endpoint, request);
}

}  // namespace kw::llm
