// Whether a JSON value is what a JSON Schema asks for. It knows the words that the schemas of our tools use: type,
// properties, required, additionalProperties, enum, items, minimum, maximum, minLength, maxLength, maxItems; and
// description, title and default, which ask for nothing.
#pragma once

#include <string>

#include "base/json.h"

namespace kw::mcp {

// "source: is missing", "seconds: 99 is above 25"; empty where there is none. `place` is what the value is called.
std::string problem_with(const Json& value, const Json& schema, const std::string& place = "");

// The first word of a schema that problem_with would not look at; empty where there is none.
std::string unknown_word_in(const Json& schema);

}  // namespace kw::mcp
