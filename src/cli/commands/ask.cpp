// kw ask: one question to a language model, to see that it can be reached and what it costs.
#include <ostream>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_flags.h"
#include "command_line/numbers.h"

namespace kw::cli::commands {
namespace {

Json as_json(const llm::Answer& answer, const std::string& model) {
  Json json = {{"model", model},
               {"text", answer.text},
               {"whole", answer.whole},
               {"trouble", nullptr},
               {"usage",
                {{"input_tokens", answer.usage.input_tokens},
                 {"cached_tokens", answer.usage.cached_tokens},
                 {"output_tokens", answer.usage.output_tokens},
                 {"guessed", answer.usage.guessed}}},
               {"tries", answer.tries},
               {"spent_s", answer.spent_s},
               {"cost_usd", answer.cost_usd}};
  if (answer.trouble) json["trouble"] = {{"kind", name_of(answer.trouble->kind)}, {"message", answer.trouble->message}};
  return json;
}

Result<int> run_ask(const Arguments& arguments, std::ostream& out) {
  KW_TRY(llm::Client client, client_of(arguments));
  llm::Request request;
  if (arguments.has("--system")) request.messages.push_back({llm::Role::system, arguments.text("--system")});
  request.messages.push_back({llm::Role::user, arguments.text("QUESTION")});
  KW_TRY(const auto most, whole_number(arguments, "--most-tokens", 1, 1'000'000));
  if (most) request.most_tokens = static_cast<int>(*most);
  const llm::Answer answer = client.ask(request);
  using Kind = llm::Trouble::Kind;
  const bool declined =
      answer.trouble && (answer.trouble->kind == Kind::refused || answer.trouble->kind == Kind::cut_off);
  if (arguments.has("--json")) {
    out << as_json(answer, client.name()).dump(1) << "\n";
    return answer.ok() ? kYes : declined ? kNo : kBroken;
  }
  if (answer.trouble && !declined) return fail("{}", answer.trouble->message);
  out << (declined ? answer.trouble->message : answer.text);
  if (!answer.text.ends_with('\n')) out << "\n";
  return declined ? kNo : kYes;
}

}  // namespace

Command ask() {
  std::vector<Option> options = {
      {.name = "QUESTION", .help = "what is asked", .required = true},
      {.name = "--system", .value = "TEXT", .help = "system message for the model"},
      {.name = "--most-tokens", .value = "N", .help = "the longest answer (8192)"},
      {.name = "--json", .help = "one JSON object: model, text, whole, trouble, usage, tries, spent_s, cost_usd"}};
  for (Option& option : model_options()) options.push_back(std::move(option));
  return {
      .name = "ask",
      .topic = Topic::language_models,
      .summary = "asks a language model one question: can it be reached, what does it cost",
      .description =
          "MODEL is PROVIDER:NAME. openai:NAME takes its address from OPENAI_BASE_URL and its key from OPENAI_API_KEY "
          "and serves everything that speaks chat completions; anthropic:NAME likewise (ANTHROPIC_BASE_URL, "
          "ANTHROPIC_API_KEY); command:PROGRAM runs a program with the request as JSON on its standard input. "
          "Or a table [model.NAME] in kw.toml with provider, model, url, key_variable, stream, input_price, "
          "output_price (US dollars for a million tokens), connect_s, first_byte_s, whole_s, tries. Exit code 1: the "
          "model declined.",
      .options = std::move(options),
      .examples = {"kw ask --model command:cat Hello", "kw ask --model command:cat Hello --json"},
      .run = run_ask};
}

}  // namespace kw::cli::commands
