// The flags by which commands choose a language model and say what it may cost.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "models/client.h"

namespace kw::cli {

// --model, --model-tokens, --model-usd, --model-time, --record, --replay, --no-stream
std::vector<Option> model_options();

// The model that the flags, or else KW_MODEL, name.
Result<models::Client> client_of(const Arguments& arguments);

}  // namespace kw::cli
