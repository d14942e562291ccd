// Parts of JSON that may not be there.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"

namespace kw::report {

inline Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

// An empty object where there is none.
inline Json object_at(const Json& json, const std::string& key) {
  return json.is_object() && json.contains(key) && json[key].is_object() ? json[key] : Json::object();
}

}  // namespace kw::report
