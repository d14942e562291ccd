#include "cli/model_flags.h"

#include <cstdlib>

#include "cli/settings.h"
#include "command_line/numbers.h"

namespace kw::cli {
std::vector<Option> model_options() {
  return {{.name = "--model",
           .value = "MODEL",
           .help = "PROVIDER:NAME (openai:..., anthropic:..., command:...) or a model of kw.toml; else $KW_MODEL"},
          {.name = "--model-tokens", .value = "N", .help = "stop when N tokens are spent"},
          {.name = "--model-usd", .value = "N", .help = "stop when N US dollars are spent"},
          {.name = "--model-time", .value = "SECONDS", .help = "stop asking after this time"},
          {.name = "--record", .value = "DIR", .help = "keeps each exchange with the model in DIR"},
          {.name = "--replay", .value = "DIR", .help = "answers from what --record kept, without the model"},
          {.name = "--no-stream", .help = "asks for whole answers instead of streams"}};
}

std::string model_named(const Arguments& arguments) {
  if (arguments.has("--model")) return arguments.text("--model");
  const char* usual = std::getenv("KW_MODEL");
  return usual != nullptr ? usual : "";
}

Result<std::optional<double>> amount(const Arguments& arguments, const std::string& flag) {
  if (!arguments.has(flag)) return std::optional<double>();
  const std::string text = arguments.text(flag);
  const auto value = number_in(flag, text, 0, 1e18);
  if (!value.ok() || *value <= 0) return fail("{} takes a number above 0, not '{}'", flag, text);
  return std::optional(*value);
}

Result<llm::Client> client_named(const std::string& model, bool no_stream, llm::ClientOptions options) {
  if (model.empty() && !options.replay.empty()) {
    KW_TRY(const std::string recorded, llm::recorded_model(options.replay));
    return client_named(recorded, no_stream, std::move(options));
  }
  if (model.empty())
    return fail("which model? --model openai:NAME, anthropic:NAME, command:PROGRAM, or one of kw.toml");
  KW_TRY(llm::Endpoint endpoint, llm::endpoint_named(model, settings::config_with("model", model)));
  if (no_stream) endpoint.stream = false;
  return llm::Client::open(std::move(endpoint), std::move(options));
}

Result<llm::Client> client_of(const Arguments& arguments) {
  llm::ClientOptions options;
  KW_TRY(const auto tokens, amount(arguments, "--model-tokens"));
  if (tokens) options.budget.tokens = static_cast<std::int64_t>(*tokens);
  KW_TRY(options.budget.usd, amount(arguments, "--model-usd"));
  KW_TRY(options.budget.seconds, amount(arguments, "--model-time"));
  options.record = arguments.text("--record");
  options.replay = arguments.text("--replay");
  return client_named(model_named(arguments), arguments.has("--no-stream"), std::move(options));
}

}  // namespace kw::cli
