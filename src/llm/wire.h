// What the HTTP protocols of models have in common: a JSON request goes out, and one JSON object or a stream of events
// comes back, whichever the server chose. A provider says what a whole answer and what an event mean.
#pragma once

#include <stop_token>
#include <string>

#include "base/json.h"
#include "llm/events.h"
#include "llm/http.h"

namespace kw::llm {

// What has been heard of an answer so far.
struct Heard {
  std::string text;
  std::vector<ToolCall> calls;
  std::string refusal;             // the model's words, or the reason why it declined
  bool cut = false;                // at the limit of tokens
  bool finished = false;           // the model said that it is done
  bool closed = false;             // the stream said its last word
  Usage usage;                     // zero where nothing was said
  std::string served_by;           // the model's version, and the server's, in its own words
  std::optional<Trouble> trouble;  // an error inside of the answer
};

// Both may throw a JsonError where something is of the wrong type.
struct Protocol {
  void (*whole)(const Json& answer, Heard& heard);
  void (*event)(const Event& event, Heard& heard);
};

// What comes back, piece by piece; it may be anything.
class Hearing {
 public:
  explicit Hearing(const Protocol& protocol) : protocol_(protocol) {}
  // True: all was said, and nothing more need come.
  bool take(const Response& response, std::string_view piece);
  // When all has come.
  Answer answer(const Posted& posted, const Endpoint& endpoint, const Request& request);

 private:
  const Protocol protocol_;
  Heard heard_;
  EventReader events_;
  std::string broken_;  // the beginning of an event that is none
  bool is_broken_ = false;
};

Answer exchange(const Post& what, const Protocol& protocol, const Endpoint& endpoint, const Request& request,
                const std::stop_token& stop);

// Takes over what an answer, or an event, says of the model that wrote it.
void take_server(const Json& object, Heard& heard);

// The call at this place of an answer, made where it is new; null for more calls than an answer may have.
ToolCall* call_at(Heard& heard, std::size_t place);

// A number that may be missing or null.
std::int64_t count_in(const Json& object, const char* name);

// What an error inside of a stream means.
Trouble trouble_in_stream(const Json& error, const std::string& busy_types);

}  // namespace kw::llm
