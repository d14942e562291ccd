// Lines of files that lie beside the record, each a JSON object: what authors learnt, answers of a round that has not
// ended. They may have come with a cloned folder as the record may, so each carries a seal of its own (seal.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace kw::store {

// With its line end. A line of one kind is none of another.
std::string sealed_line(std::string_view kind, Json line);
// Without the seal; none where this user's kw did not write the line so.
std::optional<Json> own_line(std::string_view kind, std::string_view text);

}  // namespace kw::store
