// What kw-lm reads and does, as data for those who list it, and its progress as a line of text.
#pragma once

#include <string>

#include "base/json.h"

namespace kw::llm {

Json engine_formats();       // {"families": [...], ...}
Json compression_methods();  // {"svd": what it does, ...}
Json training_lines();       // one of each form that a corpus to train on may have

// "factors: 3 of 30, error 1.20 %, 12 s left", of what a line of kw-lm holds as `progress`.
std::string progress_text(const Json& progress);

}  // namespace kw::llm
