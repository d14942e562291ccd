#include "mcp/schema.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/json.h"
#include "base/nearest.h"

namespace kw::mcp {
namespace {

constexpr const char* kWords[] = {
    "type",      "properties", "required", "additionalProperties", "enum",  "items",  "minimum", "maximum",
    "minLength", "maxLength",  "maxItems", "description",          "title", "default"};

bool is_of(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  // 3.0 is an integer to JSON Schema.
  if (type == "integer") {
    return value.is_number_integer() ||
           (value.is_number_float() && std::floor(value.get<double>()) == value.get<double>());
  }
  return false;
}

std::string type_problem(const Json& value, const Json& type) {
  if (type.is_string()) return is_of(value, type) ? "" : fmt::format("must be of type {}", type.get<std::string>());
  std::string names;
  for (const Json& one : type) {
    if (is_of(value, one)) return "";
    names += (names.empty() ? "" : " or ") + one.get<std::string>();
  }
  return "must be of type " + names;
}

// Characters, not bytes.
std::size_t length_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string enum_problem(const Json& value, const Json& allowed) {
  std::string names;
  for (const Json& one : allowed) {
    if (one == value) return "";
    names += (names.empty() ? "" : ", ") + one.dump();
  }
  return "must be one of " + names;
}

std::string within(const std::string& place, const std::string& name) {
  return place.empty() ? name : place + "." + name;
}

std::string object_problem(const Json& value, const Json& schema, const std::string& place) {
  if (const auto required = schema.find("required"); required != nullptr) {
    for (const Json& name : *required) {
      if (!value.contains(name.text())) return within(place, name) + ": is missing";
    }
  }
  static const Json nothing = Json::object();
  const auto found = schema.find("properties");
  const Json& properties = found == nullptr ? nothing : *found;
  const auto others = schema.find("additionalProperties");
  for (const auto& [name, one] : value.items()) {
    if (const auto known = properties.find(name); known != nullptr) {
      if (std::string problem = problem_with(one, *known, within(place, name)); !problem.empty()) return problem;
    } else if (others != nullptr && others->is_object()) {
      if (std::string problem = problem_with(one, *others, within(place, name)); !problem.empty()) return problem;
    } else if (others != nullptr && *others == false) {
      std::vector<std::string> names;
      for (const auto& [known_name, unused] : properties.items()) names.push_back(known_name);
      return within(place, name.substr(0, 64)) + ": is not known here" + nearest_hint(name.substr(0, 64), names);
    }
  }
  return "";
}

}  // namespace

std::string problem_with(const Json& value, const Json& schema, const std::string& place) {
  const auto wrong = [&](const std::string& what) { return (place.empty() ? "the value" : place) + ": " + what; };
  if (const auto type = schema.find("type"); type != nullptr) {
    if (const std::string problem = type_problem(value, *type); !problem.empty()) return wrong(problem);
  }
  if (const auto allowed = schema.find("enum"); allowed != nullptr) {
    if (const std::string problem = enum_problem(value, *allowed); !problem.empty()) return wrong(problem);
  }
  if (value.is_object()) return object_problem(value, schema, place);
  if (value.is_array()) {
    if (schema.contains("maxItems") && value.size() > schema["maxItems"].get<std::size_t>())
      return wrong(fmt::format("has more than {} entries", schema["maxItems"].get<std::size_t>()));
    if (!schema.contains("items")) return "";
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (std::string problem = problem_with(value[i], schema["items"], fmt::format("{}[{}]", place, i));
          !problem.empty())
        return problem;
    }
    return "";
  }
  if (value.is_string()) {
    const std::size_t length = length_of(value.text());
    if (schema.contains("minLength") && length < schema["minLength"].get<std::size_t>()) return wrong("is too short");
    if (schema.contains("maxLength") && length > schema["maxLength"].get<std::size_t>())
      return wrong(fmt::format("is longer than {} characters", schema["maxLength"].get<std::size_t>()));
  }
  if (value.is_number()) {
    const double number = value.get<double>();
    if (schema.contains("minimum") && !(number >= schema["minimum"].get<double>()))
      return wrong(fmt::format("{} is below {}", number, schema["minimum"].get<double>()));
    if (schema.contains("maximum") && !(number <= schema["maximum"].get<double>()))
      return wrong(fmt::format("{} is above {}", number, schema["maximum"].get<double>()));
  }
  return "";
}

std::string unknown_word_in(const Json& schema) {
  for (const auto& [word, value] : schema.items()) {
    if (std::ranges::find(kWords, word) == std::end(kWords)) return word;
    if (word == "properties") {
      for (const auto& [name, one] : value.items()) {
        if (std::string unknown = unknown_word_in(one); !unknown.empty()) return unknown;
      }
    } else if (word == "items" || (word == "additionalProperties" && value.is_object())) {
      if (std::string unknown = unknown_word_in(value); !unknown.empty()) return unknown;
    }
  }
  return "";
}

}  // namespace kw::mcp
