#include "cli/author_flags.h"

#include <algorithm>
#include <filesystem>

#include "agents/author.h"
#include "cli/model_flags.h"
#include "cli/search_flags.h"
#include "command_line/numbers.h"

namespace kw::cli {
namespace {

constexpr int kMostRounds = 1000;
constexpr int kMostInFlight = 256;

std::string names_of_authors() {
  std::string names;
  for (const agents::AuthorKind& kind : agents::all_authors()) names += (names.empty() ? "" : ", ") + kind.name;
  return names;
}

}  // namespace

Option author_option() {
  return {
      .name = "--author",
      .value = "NAME",
      .help = "the author of the candidates: templates, " + names_of_authors() + " (all but the first with --model)"};
}

Option in_flight_option() {
  return {.name = "--in-flight",
          .value = "N",
          .help = "with a model: the number of requests at once, each for another task (default: 1)"};
}

std::vector<Option> agent_options() {
  std::vector<Option> options = {
      {.name = "--rounds", .value = "N", .help = "with a model: the number of rounds (default: 10; 1 for oneshot)"},
      in_flight_option(),
      {.name = "--start",
       .value = "WHAT",
       .help = "with a model: the kernel to begin with: nothing, plain, best (of the record) or a FILE (default: "
               "nothing)",
       .completes = Completes::file},
      {.name = "--prompts",
       .value = "DIR",
       .help = "with a model: prompts of your own, by the names in prompts/",
       .completes = Completes::file},
      {.name = "--repo",
       .value = "DIR",
       .help = "with a model: sources that it is shown a map of and may look into",
       .completes = Completes::file}};
  for (Option& option : model_options()) options.push_back(std::move(option));
  return options;
}

bool wants_model(const Arguments& arguments) {
  return arguments.has("--author") && arguments.text("--author") != "templates";
}

Status check_author(const Arguments& arguments) {
  if (!wants_model(arguments)) {
    if (arguments.has("--model")) return fail("--model needs an author that asks it: --author {}", names_of_authors());
    return {};
  }
  const auto found = agents::find_author(arguments.text("--author"));
  if (!found.ok())
    return fail("{}; there are templates, and with a model {}", found.error().message, names_of_authors());
  return {};
}

Result<runs::AuthorTerms> author_terms(const Arguments& arguments, runs::AuthorTerms terms) {
  if (arguments.has("--author")) terms.author = arguments.text("--author");
  if (arguments.has("--model") || terms.model.empty()) terms.model = model_named(arguments);
  KW_TRY(const agents::AuthorKind author, agents::find_author(terms.author));
  if (terms.model.empty()) terms.model = agents::own_model_of(author);
  KW_TRY(const std::int64_t rounds,
         whole_number(arguments, "--rounds", terms.rounds > 0 ? terms.rounds : author.usual_rounds, 1, kMostRounds));
  KW_TRY(const std::int64_t in_flight, whole_number(arguments, "--in-flight", terms.in_flight, 1, kMostInFlight));
  terms.rounds = static_cast<int>(rounds);
  terms.in_flight = static_cast<int>(in_flight);
  if (arguments.has("--prompts")) terms.prompts = std::filesystem::absolute(arguments.text("--prompts")).string();
  if (arguments.has("--repo")) terms.repository = std::filesystem::absolute(arguments.text("--repo")).string();
  if (arguments.has("--start")) terms.start = arguments.text("--start");
  if (!terms.temperature) terms.temperature = author.temperature;
  if (arguments.has("--seed")) {
    KW_TRY(terms.seed, seed_of(arguments));
  }
  const auto overrule = [&](const char* flag, std::optional<double>& term) -> Status {
    KW_TRY(const auto given, amount(arguments, flag));
    if (given) term = given;
    return {};
  };
  KW_CHECK(overrule("--model-tokens", terms.tokens));
  KW_CHECK(overrule("--model-usd", terms.usd));
  KW_CHECK(overrule("--model-time", terms.seconds));
  terms.no_stream = terms.no_stream || arguments.has("--no-stream");
  return terms;
}

Result<llm::Client> client_of(const runs::AuthorTerms& terms, const Arguments& arguments) {
  llm::ClientOptions options;
  options.at_once = terms.in_flight;
  if (terms.tokens) options.budget.tokens = static_cast<std::int64_t>(*terms.tokens);
  options.budget.usd = terms.usd;
  options.budget.seconds = terms.seconds;
  options.record = arguments.text("--record");
  options.replay = arguments.text("--replay");
  return client_named(terms.model, terms.no_stream, std::move(options));
}

}  // namespace kw::cli
