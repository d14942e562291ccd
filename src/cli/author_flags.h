// The flags of authors that ask a language model.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "llm/client.h"
#include "runs/order.h"

namespace kw::cli {

Option author_option();
Option in_flight_option();
// --rounds, --in-flight, --prompts, --repo, and those of the model.
std::vector<Option> agent_options();
// Fails where --author names no author.
Status check_author(const Arguments& arguments);
bool wants_model(const Arguments& arguments);

// What the flags say; what they do not say is as `terms` has it.
Result<runs::AuthorTerms> author_terms(const Arguments& arguments, runs::AuthorTerms terms = {});
// The model of the terms; --record and --replay are the arguments'.
Result<llm::Client> client_of(const runs::AuthorTerms& terms, const Arguments& arguments);

}  // namespace kw::cli
