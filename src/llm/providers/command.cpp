// Any program as the model: how a person, a script or another tool plays one.
//
// The program is run by the shell for each request. On its standard input stands one JSON object: {"model": the
// command, "most_tokens": 8192, "messages": [{"role": "system", "content": "..."}, ...]}. What it prints is the answer;
// where that is a JSON object with a "text" and at most a "usage" ({"input_tokens": 1, "output_tokens": 2}) beside it,
// the answer is the text. An exit code other than 0 is a failure, and the last line of its standard error says why.

#include "base/filter.h"
#include "base/json.h"
#include "llm/providers.h"
#include "llm/wire.h"

namespace kw::llm::providers {
namespace {

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return {};
  const std::size_t begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

Answer of_output(const std::string& out, const Endpoint& endpoint, const Request& request) {
  Answer answer;
  answer.text = out;
  answer.usage.guessed = true;
  for (const Message& message : request.messages) answer.usage.input_tokens += guessed_tokens(message.text);
  const Json json = Json::parse_quietly(out);
  if (json.is_object() && json.contains("text") && json["text"].is_string() &&
      json.size() == (json.contains("usage") ? 2 : 1)) {
    answer.text = json["text"].get<std::string>();
    if (json.contains("usage") && json["usage"].is_object()) {
      answer.usage = {.input_tokens = count_in(json["usage"], "input_tokens"),
                      .output_tokens = count_in(json["usage"], "output_tokens")};
    }
  }
  if (answer.usage.guessed) answer.usage.output_tokens = guessed_tokens(answer.text);
  if (answer.text.find_first_not_of(" \t\r\n") == std::string::npos) {
    answer.trouble = Trouble{.kind = Trouble::Kind::program, .message = endpoint.name() + " printed nothing"};
  }
  return answer;
}

Answer ask_command(const Endpoint& endpoint, const Request& request, const std::stop_token& stop) {
  Json body = {{"model", endpoint.model}, {"most_tokens", request.most_tokens}, {"messages", Json::array()}};
  for (const Message& message : request.messages) {
    body["messages"].push_back({{"role", name_of(message.role)}, {"content", message.text}});
  }
  const Patience& patience = endpoint.patience;
  const auto filtered = run_filter(
      {"/bin/sh", "-c", endpoint.model}, body.dump() + "\n",
      {.first_byte_s = patience.first_byte_s, .whole_s = patience.whole_s, .most_bytes = endpoint.most_bytes}, stop,
      Surroundings::users);
  if (!filtered.ok()) return troubled(Trouble::Kind::program, filtered.error().message);
  switch (filtered->end) {
    case Filtered::End::stopped:
      return troubled(Trouble::Kind::cancelled, "cancelled");
    case Filtered::End::silent:
      return troubled(Trouble::Kind::slow,
                      fmt::format("{}: nothing came for {} s", endpoint.name(), patience.first_byte_s));
    case Filtered::End::late:
      return troubled(Trouble::Kind::slow,
                      fmt::format("{}: no whole answer within {} s", endpoint.name(), patience.whole_s));
    case Filtered::End::too_large:
      return troubled(Trouble::Kind::too_large,
                      fmt::format("{} printed more than {} MB", endpoint.name(), endpoint.most_bytes >> 20));
    case Filtered::End::exited:
      break;
  }
  if (filtered->exit_code != 0) {
    return troubled(Trouble::Kind::program, fmt::format("{} ended with {}: {}", endpoint.name(), filtered->exit_code,
                                                        last_line(filtered->err)));
  }
  return of_output(filtered->out, endpoint, request);
}

}  // namespace

Provider command() {
  return {.name = "command",
          .about = "any program: request on standard input, answer on standard output",
          .ask = ask_command};
}

}  // namespace kw::llm::providers
