// A model from its own files, run by kw-lm: "lm:PATH". Nothing leaves this machine, and nothing has a price.
#include "base/clock.h"
#include "llm/engine.h"
#include "llm/providers.h"

namespace kw::llm::providers {
namespace {

Answer ask_lm(const Endpoint& endpoint, const Request& request, const std::stop_token& stop) {
  static KeptEngines engines;
  const std::string model = path_for_engine(endpoint.model);
  Json body = {{"do", "generate"},
               {"model", model},
               {"most_tokens", request.most_tokens},
               {"temperature", request.temperature.value_or(0)},
               {"messages", Json::array()}};
  if (request.seed) body["seed"] = *request.seed;
  for (const Message& message : request.messages) {
    body["messages"].push_back({{"role", name_of(message.role)}, {"content", message.text}});
  }
  const auto begin = Clock::now();
  const auto done = engines.ask(model, body, stop, endpoint.patience.whole_s);
  if (!done.ok()) {
    using Kind = Trouble::Kind;
    const bool late = seconds_since(begin) >= endpoint.patience.whole_s;
    return troubled(stop.stop_requested() ? Kind::cancelled
                    : late                ? Kind::slow
                                          : Kind::program,
                    endpoint.name() + ": " + done.error().message);
  }
  Answer answer{.text = (*done)["texts"][0].get<std::string>(),
                .usage = {.input_tokens = (*done)["prompt_tokens"], .output_tokens = (*done)["tokens"]},
                .whole = (*done)["ended"][0].get<bool>()};
  if (answer.text.empty()) return troubled(Trouble::Kind::program, endpoint.name() + " wrote nothing");
  return answer;
}

}  // namespace

Provider lm() {
  return {.name = "lm", .about = "a model from its own files: lm:FOLDER or lm:FILE.gguf", .ask = ask_lm};
}

}  // namespace kw::llm::providers
