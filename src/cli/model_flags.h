// The flags by which commands choose a language model and say what it may cost.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "llm/client.h"

namespace kw::cli {

// --model, --model-tokens, --model-usd, --model-time, --record, --replay, --no-stream
std::vector<Option> model_options();

// What the flags, or else KW_MODEL, call the model; empty: nobody says.
std::string model_named(const Arguments& arguments);
// At most so many requests at once; 0: no limit.
Result<llm::Client> client_of(const Arguments& arguments, int at_once = 0);

}  // namespace kw::cli
