// Expressions of chat templates, evaluated: values are Json, what has none is `undefined`.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "lm/template_expression.h"
#include "lm/unicode.h"

namespace kw::lm {
namespace {

constexpr int kMostSteps = 100'000;
constexpr std::size_t kMostText = std::size_t{64} << 20;
// Values are copied when they are looked at: so this bounds the time and the memory that a template can take.
constexpr std::size_t kMostCopied = std::size_t{2} << 30;
constexpr std::size_t kBytesAValue = 64;  // that a number or an empty text takes

// About the bytes that a value takes.
std::size_t size_of(const Json& value, int depth = 0) {
  if (depth > Json::kMostDepth) throw TemplateError("a value is nested too deeply");
  std::size_t bytes = kBytesAValue + (value.is_string() ? value.text().size() : 0);
  if (value.is_array()) {
    for (const Json& one : value) bytes += size_of(one, depth + 1);
  } else if (value.is_object()) {
    for (const auto& [name, one] : value.items()) bytes += name.size() + size_of(one, depth + 1);
  }
  return bytes;
}

const std::string& text_in(const Json& value, const std::string& what) {
  if (!value.is_string()) throw TemplateError(fmt::format("{} needs a text", what));
  return value.text();
}

std::string stripped(const std::string& text, const std::string& letters, bool left, bool right) {
  std::size_t begin = 0, end = text.size();
  const auto is_cut = [&](char c) {
    return letters.empty() ? std::isspace(static_cast<unsigned char>(c)) != 0 : letters.find(c) != std::string::npos;
  };
  while (left && begin < end && is_cut(text[begin])) ++begin;
  while (right && end > begin && is_cut(text[end - 1])) --end;
  return text.substr(begin, end - begin);
}

Json split_text(const std::string& text, const std::vector<Json>& arguments) {
  Json parts = Json::array();
  if (arguments.empty() || !arguments[0].is_string() || arguments[0].text().empty()) {
    throw TemplateError("split needs a text to split at");
  }
  const std::string& mark = arguments[0].text();
  std::int64_t cuts = arguments.size() > 1 ? arguments[1].get<std::int64_t>() : -1;
  std::size_t begin = 0;
  for (std::size_t at = text.find(mark); at != std::string::npos && cuts != 0; at = text.find(mark, begin), --cuts) {
    parts.push_back(Json(text.substr(begin, at - begin)));
    begin = at + mark.size();
    if (parts.size() > kMostSteps) throw TemplateError("a text has too many parts");
  }
  parts.push_back(Json(text.substr(begin)));
  return parts;
}

std::string replaced(const std::string& text, const std::string& old, const std::string& by) {
  if (old.empty()) throw TemplateError("replace needs a text to look for");
  std::string made;
  std::size_t begin = 0;
  for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, begin)) {
    made += text.substr(begin, at - begin) + by;
    begin = at + old.size();
    if (made.size() > kMostText) throw TemplateError("a text became too long");
  }
  return made + text.substr(begin);
}

std::string in_case(std::string text, int (*change)(int)) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x80) c = static_cast<char>(change(c));
  }
  return text;
}

Json call_method(const Json& object, const std::string& name, const std::vector<Json>& arguments) {
  const auto text_argument = [&](std::size_t i) -> std::string {
    return i < arguments.size() ? text_in(arguments[i], name) : "";
  };
  if (object.is_object()) {
    if (name == "items") {
      Json pairs = Json::array();
      for (const auto& [key, value] : object.items()) pairs.push_back(Json::array({key, value}));
      return pairs;
    }
    if (name == "get" && !arguments.empty()) {
      const Json* found = object.find(text_in(arguments[0], name));
      return found != nullptr ? *found : arguments.size() > 1 ? arguments[1] : Json();
    }
    if (name == "keys") {
      Json keys = Json::array();
      for (const auto& [key, value] : object.items()) keys.push_back(key);
      return keys;
    }
  }
  if (object.is_string()) {
    const std::string& text = object.text();
    if (name == "strip") return Json(stripped(text, text_argument(0), true, true));
    if (name == "lstrip") return Json(stripped(text, text_argument(0), true, false));
    if (name == "rstrip") return Json(stripped(text, text_argument(0), false, true));
    if (name == "startswith") return Json(text.starts_with(text_argument(0)));
    if (name == "endswith") return Json(text.ends_with(text_argument(0)));
    if (name == "split") return split_text(text, arguments);
    if (name == "replace") return Json(replaced(text, text_argument(0), text_argument(1)));
    if (name == "upper") return Json(in_case(text, std::toupper));
    if (name == "lower") return Json(in_case(text, std::tolower));
  }
  throw TemplateError(fmt::format("the method {} is not supported here", name));
}

Json member_of(const Json& object, const Json& key) {
  if (object.is_discarded()) throw TemplateError(fmt::format("a member {} of something undefined", printed(key)));
  if (key.is_string()) {
    const Json* found = object.find(key.text());
    return found == nullptr ? undefined() : *found;
  }
  if (key.is_number_integer() && (object.is_array() || object.is_string())) {
    const auto size = static_cast<std::int64_t>(object.is_array() ? object.size() : object.text().size());
    std::int64_t index = key.get<std::int64_t>();
    if (index < 0) index += size;
    if (index < 0 || index >= size) return undefined();
    return object.is_array() ? object.at(index) : Json(std::string(1, object.text()[static_cast<std::size_t>(index)]));
  }
  throw TemplateError(fmt::format("{} cannot be a subscript here", printed(key)));
}

Json slice_of(const Json& list, const Json& first, const Json& last, const Json& step) {
  const auto by = step.is_null() ? std::int64_t{1} : step.get<std::int64_t>();
  if (by != 1 && by != -1) throw TemplateError("slices by steps other than 1 and -1 are not supported");
  if (!list.is_array() && !list.is_string()) throw TemplateError("only lists and texts have slices");
  const auto size = static_cast<std::int64_t>(list.is_array() ? list.size() : list.text().size());
  const auto bound = [&](const Json& given, std::int64_t otherwise) {
    if (given.is_null()) return otherwise;
    const auto index = given.get<std::int64_t>();
    return std::clamp<std::int64_t>(index < 0 ? index + size : index, 0, size);
  };
  if (by == -1 && (!first.is_null() || !last.is_null()))
    throw TemplateError("slices backwards with bounds are not supported");
  const std::int64_t begin = bound(first, 0), end = std::max(bound(last, size), begin);
  if (list.is_string()) {
    std::string text = list.text().substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    if (by == -1) std::ranges::reverse(text);
    return Json(text);
  }
  Json made = Json::array();
  for (std::int64_t i = begin; i < end; ++i) made.push_back(list.at(by == 1 ? i : size - 1 - i));
  return made;
}

bool contains(const Json& container, const Json& one) {
  if (container.is_string()) return container.text().find(text_in(one, "in")) != std::string::npos;
  if (container.is_object()) return one.is_string() && container.contains(one.text());
  if (container.is_array()) return std::ranges::any_of(container, [&](const Json& element) { return element == one; });
  throw TemplateError("'in' needs a text, a list or a dictionary");
}

// As Python's json.dumps writes it: a space after : and ,
std::string as_json_text(const Json& value) {
  std::string text;
  if (value.is_array() || value.is_object()) {
    bool first = true;
    text = value.is_array() ? "[" : "{";
    const auto between = [&] { text += std::exchange(first, false) ? "" : ", "; };
    if (value.is_array()) {
      for (const Json& one : value) between(), text += as_json_text(one);
    } else {
      for (const auto& [name, one] : value.items()) between(), text += Json(name).dump() + ": " + as_json_text(one);
    }
    return text + (value.is_array() ? "]" : "}");
  }
  return value.dump();
}

Json apply_filter(const std::string& name, const Json& value, const std::vector<Json>& arguments) {
  if (name == "trim") return Json(stripped(text_in(value, name), "", true, true));
  if (name == "upper" || name == "lower") return call_method(value, name, {});
  if (name == "length" || name == "count") {
    if (!value.is_string()) return Json(value.is_discarded() ? 0 : value.size());
    std::int64_t characters = 0;
    for (std::size_t at = 0; at < value.text().size(); ++characters) next_character(value.text(), at);
    return Json(characters);
  }
  if (name == "string") return Json(printed(value));
  if (name == "tojson") return Json(as_json_text(value));
  if (name == "first" || name == "last") return member_of(value, Json(name == "first" ? 0 : -1));
  if (name == "list") return value;
  if (name == "default") {
    return value.is_discarded() ? (arguments.empty() ? Json("") : arguments[0]) : value;
  }
  if (name == "join") {
    std::string made;
    const std::string between = arguments.empty() ? "" : text_in(arguments[0], name);
    for (std::size_t i = 0; i < value.size(); ++i) {
      made += (i > 0 ? between : "") + printed(value.at(i));
      if (made.size() > kMostText) throw TemplateError("a text became too long");
    }
    return Json(made);
  }
  if (name == "int") return Json(value.get<std::int64_t>());
  throw TemplateError(fmt::format("the filter {} is not supported", name));
}

bool passes_test(const std::string& name, const Json& value) {
  if (name == "defined") return !value.is_discarded();
  if (name == "undefined") return value.is_discarded();
  if (name == "none") return value.is_null();
  if (name == "string") return value.is_string();
  if (name == "number") return value.is_number();
  if (name == "boolean") return value.is_boolean();
  if (name == "mapping") return value.is_object();
  if (name == "sequence" || name == "iterable") return value.is_array() || value.is_string() || value.is_object();
  if (name == "true") return value.is_boolean() && value.get<bool>();
  if (name == "false") return value.is_boolean() && !value.get<bool>();
  throw TemplateError(fmt::format("the test {} is not supported", name));
}

Json compute(const std::string& sign, const Json& a, const Json& b) {
  if (sign == "~") return Json(printed(a) + printed(b));
  if (sign == "==") return Json(a == b);
  if (sign == "!=") return Json(!(a == b));
  if (sign == "in") return Json(contains(b, a));
  if (a.is_string() && b.is_string()) {
    if (sign == "+") {
      if (a.text().size() + b.text().size() > kMostText) throw TemplateError("a text became too long");
      return Json(a.text() + b.text());
    }
    if (sign == "<") return Json(a.text() < b.text());
    if (sign == ">") return Json(a.text() > b.text());
  }
  if (a.is_array() && b.is_array() && sign == "+") {
    Json made = a;
    for (const Json& one : b) made.push_back(one);
    return made;
  }
  if (!a.is_number() || !b.is_number()) throw TemplateError(fmt::format("'{}' of these values is not supported", sign));
  const double x = a.get<double>(), y = b.get<double>();
  if (sign == "<") return Json(x < y);
  if (sign == ">") return Json(x > y);
  if (sign == "<=") return Json(x <= y);
  if (sign == ">=") return Json(x >= y);
  if ((sign == "/" || sign == "//" || sign == "%") && y == 0) throw TemplateError("a division by zero");
  if (sign == "/") return Json(x / y);
  double result = 0;
  if (sign == "+")
    result = x + y;
  else if (sign == "-")
    result = x - y;
  else if (sign == "*")
    result = x * y;
  else if (sign == "//")
    result = std::floor(x / y);
  else
    result = x - std::floor(x / y) * y;
  if (a.is_number_integer() && b.is_number_integer() && std::fabs(result) < 9e15)
    return Json(static_cast<std::int64_t>(result));
  return Json(result);
}

Json call_function(const TemplateExpression& call, TemplateScopes& scopes) {
  const TemplateExpression& callee = *call.parts[0];
  std::vector<Json> arguments;
  const std::size_t unnamed = call.parts.size() - call.names.size();
  for (std::size_t i = 1; i < unnamed; ++i) arguments.push_back(call.parts[i]->evaluate(scopes));
  Json named = Json::object();
  for (std::size_t i = 0; i < call.names.size(); ++i) named[call.names[i]] = call.parts[unnamed + i]->evaluate(scopes);
  if (callee.kind == TemplateExpression::Kind::member && callee.parts[1]->value.is_string()) {
    if (!named.empty()) throw TemplateError("named arguments of a method are not supported");
    return call_method(callee.parts[0]->evaluate(scopes), callee.parts[1]->value.text(), arguments);
  }
  const std::string& name = callee.text;
  if (name == "namespace" && arguments.empty()) return named;
  if (name == "dict" && arguments.empty()) return named;
  if (name == "raise_exception")
    throw TemplateError(arguments.empty() ? "the template refuses" : printed(arguments[0]));
  if (name == "range" && !arguments.empty() && arguments.size() <= 2) {
    const auto begin = arguments.size() > 1 ? arguments[0].get<std::int64_t>() : 0,
               end = arguments.back().get<std::int64_t>();
    // In unsigned numbers, of which the difference is right whatever the bounds are.
    if (begin<end&& static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin)> kMostSteps) {
      throw TemplateError("a range is too long");
    }
    Json made = Json::array();
    for (std::int64_t i = begin; i < end; ++i) made.push_back(i);
    return made;
  }
  throw TemplateError(fmt::format("the function {} is not supported", name.empty() ? "called here" : name));
}

}  // namespace

Json* TemplateScopes::find(const std::string& name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->find(name); found != scope->end()) return &found->second;
  }
  return nullptr;
}

void TemplateScopes::count_step() {
  if (++steps_ > kMostSteps) throw TemplateError("it loops for too long");
}

void TemplateScopes::count_value(const Json& value) {
  const std::size_t bytes = size_of(value);
  if (bytes > kMostText) throw TemplateError("a value became too large");
  copied_ += bytes;
  if (copied_ > kMostCopied) throw TemplateError("it computes for too long");
}

Json undefined() { return Json::parse_quietly("?"); }

bool is_true(const Json& value) {
  if (value.is_discarded() || value.is_null()) return false;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0;
  if (value.is_string()) return !value.text().empty();
  return !value.empty();
}

std::string printed(const Json& value) {
  if (value.is_discarded()) return "";
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_string()) return value.text();
  if (value.is_array() || value.is_object()) throw TemplateError("a list or dictionary cannot be printed; use tojson");
  return value.dump();
}

Json TemplateExpression::evaluate(TemplateScopes& scopes) const {
  Json made = computed(scopes);
  scopes.count_value(made);
  return made;
}

Json TemplateExpression::computed(TemplateScopes& scopes) const {
  const auto part = [&](std::size_t i) { return i < parts.size() && parts[i] ? parts[i]->evaluate(scopes) : Json(); };
  switch (kind) {
    case Kind::literal:
      return value;
    case Kind::name: {
      const Json* found = scopes.find(text);
      return found == nullptr ? undefined() : *found;
    }
    case Kind::list: {
      Json made = Json::array();
      for (std::size_t i = 0; i < parts.size(); ++i) made.push_back(part(i));
      return made;
    }
    case Kind::dictionary: {
      Json made = Json::object();
      for (std::size_t i = 0; i + 1 < parts.size(); i += 2) made[text_in(part(i), "a key")] = part(i + 1);
      return made;
    }
    case Kind::member:
      return member_of(part(0), part(1));
    case Kind::slice:
      return slice_of(part(0), part(1), part(2), part(3));
    case Kind::call:
      return call_function(*this, scopes);
    case Kind::filter: {
      if (!names.empty()) throw TemplateError("named arguments of a filter are not supported");
      std::vector<Json> arguments;
      for (std::size_t i = 1; i < parts.size(); ++i) arguments.push_back(part(i));
      return apply_filter(text, part(0), arguments);
    }
    case Kind::test:
      return Json(passes_test(text, part(0)));
    case Kind::unary: {
      if (text == "not") return Json(!is_true(part(0)));
      return compute("-", Json(0), part(0));
    }
    case Kind::binary: {
      Json left = part(0);
      if (text == "and") return is_true(left) ? part(1) : left;
      if (text == "or") return is_true(left) ? left : part(1);
      return compute(text, left, part(1));
    }
    case Kind::choice:
      return is_true(part(0)) ? part(1) : part(2);
  }
  return undefined();
}

}  // namespace kw::lm
