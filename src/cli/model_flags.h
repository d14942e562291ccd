// The flags by which commands choose a language model and say what it may cost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "llm/client.h"

namespace kw::cli {

// --model, --model-tokens, --model-usd, --model-time, --record, --replay, --no-stream
std::vector<Option> model_options();

// What the flags, or else KW_MODEL, call the model; empty: neither is set.
std::string model_named(const Arguments& arguments);
Result<llm::Client> client_of(const Arguments& arguments);

// What a flag of the budget says; none where it was not given.
Result<std::optional<double>> amount(const Arguments& arguments, const std::string& flag);
// A client of a model by its name.
Result<llm::Client> client_named(const std::string& model, bool no_stream, llm::ClientOptions options);

}  // namespace kw::cli
