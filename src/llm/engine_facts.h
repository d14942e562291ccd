// What kw-lm reads and does, as data for those who list it, and its progress as a line of text.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace kw::llm {

Json engine_formats();       // {"families": [...], ...}
Json compression_methods();  // {"svd": what it does, ...}
Json training_lines();       // one of each form that a corpus to train on may have

// What kw-lm says of formats, of a model, of a text's perplexity, of a model made smaller and of a training that is
// done, for a person.
std::string formats_text(const Json& formats);
std::string info_text(const Json& info);
std::string perplexity_text(const Json& done);
std::string compressed_text(const Json& done);
std::string trained_text(const Json& done);

// {"prefix", "suffix"} of a text with one hole, which the mark stands for; `path` is for the message.
Result<Json> cut_at_hole(const std::string& path, const std::string& text, const std::string& mark);

// "factors: 3 of 30, error 1.20 %, 12 s left", of what a line of kw-lm holds as `progress`.
std::string progress_text(const Json& progress);

}  // namespace kw::llm
