#include "cli/model_flags.h"

#include <cmath>
#include <cstdlib>

#include "cli/config.h"

namespace kw::cli {
namespace {

Result<std::optional<double>> amount(const Arguments& arguments, const std::string& name) {
  if (!arguments.has(name)) return std::optional<double>();
  const std::string text = arguments.text(name);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value) || value <= 0) {
    return fail("{} takes a number above 0, not '{}'", name, text);
  }
  return std::optional(value);
}

}  // namespace

std::vector<Option> model_options() {
  return {{.name = "--model",
           .value = "MODEL",
           .help = "PROVIDER:NAME (openai:..., anthropic:..., command:...) or a model of kw.toml; else $KW_MODEL"},
          {.name = "--model-tokens", .value = "N", .help = "stop when so many tokens are spent"},
          {.name = "--model-usd", .value = "N", .help = "stop when so many US dollars are spent"},
          {.name = "--model-time", .value = "SECONDS", .help = "stop asking when so much time has passed"},
          {.name = "--record", .value = "DIR", .help = "keeps each exchange with the model in DIR"},
          {.name = "--replay", .value = "DIR", .help = "answers from what --record kept, without the model"},
          {.name = "--no-stream", .help = "asks for whole answers instead of streams"}};
}

std::string model_named(const Arguments& arguments) {
  if (arguments.has("--model")) return arguments.text("--model");
  const char* usual = std::getenv("KW_MODEL");
  return usual != nullptr ? usual : "";
}

Result<llm::Client> client_of(const Arguments& arguments, int at_once) {
  const std::string name = model_named(arguments);
  if (name.empty()) return fail("which model? --model openai:NAME, anthropic:NAME, command:PROGRAM, or one of kw.toml");
  KW_TRY(llm::Endpoint endpoint, llm::endpoint_named(name, config_with("model", name)));
  if (arguments.has("--no-stream")) endpoint.stream = false;
  llm::ClientOptions options;
  options.at_once = at_once;
  KW_TRY(const auto tokens, amount(arguments, "--model-tokens"));
  if (tokens) options.budget.tokens = static_cast<std::int64_t>(std::min(*tokens, 1e18));
  KW_TRY(options.budget.usd, amount(arguments, "--model-usd"));
  KW_TRY(options.budget.seconds, amount(arguments, "--model-time"));
  options.record = arguments.text("--record");
  options.replay = arguments.text("--replay");
  return llm::Client::open(std::move(endpoint), std::move(options));
}

}  // namespace kw::cli
