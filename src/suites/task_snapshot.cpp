#include "suites/task_snapshot.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/json.h"

namespace kw::suites {
namespace {

constexpr int kFormat = 1;
constexpr char kDigits[] = "0123456789abcdef";

// JSON has no such numbers.
Json json_of(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json json_of(const std::vector<Length>& lengths) {
  Json list = Json::array();
  for (const Length& one : lengths)
    list.push_back(one.name.empty() ? Json(one.value) : Json::array({one.name, one.value}));
  return list;
}

Json json_of(const Tensor& tensor) {
  std::string digits;
  digits.reserve(2 * tensor.bytes().size());
  for (const std::byte byte : tensor.bytes()) {
    digits += kDigits[std::to_integer<unsigned>(byte) >> 4];
    digits += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return {{"dtype", name_of(tensor.dtype())}, {"shape", tensor.shape().lengths()}, {"bytes", std::move(digits)}};
}

Json json_of(const Attribute& attribute) {
  Json json = {{"kind", name_of(kind_of(attribute))}};
  Json& value = json["value"];
  switch (kind_of(attribute)) {
    case AttributeKind::integer:
      value = std::get<std::int64_t>(attribute);
      break;
    case AttributeKind::real:
      value = json_of(std::get<double>(attribute));
      break;
    case AttributeKind::text:
      value = std::get<std::string>(attribute);
      break;
    case AttributeKind::integers:
      value = std::get<std::vector<std::int64_t>>(attribute);
      break;
    case AttributeKind::reals:
      value = Json::array();
      for (const double one : std::get<std::vector<double>>(attribute)) value.push_back(json_of(one));
      break;
    case AttributeKind::texts:
      value = std::get<std::vector<std::string>>(attribute);
      break;
    case AttributeKind::tensor:
      value = json_of(std::get<Tensor>(attribute));
      break;
  }
  return json;
}

Json json_of(const Value& value) {
  Json json = {{"name", value.name},
               {"role", static_cast<int>(value.role)},
               {"dtype", name_of(value.dtype)},
               {"lengths", json_of(value.lengths)}};
  if (value.spread) {
    const Spread& spread = *value.spread;
    json["spread"] = {{"kind", static_cast<int>(spread.kind)},
                      {"low", json_of(spread.low)},
                      {"high", json_of(spread.high)},
                      {"mean", json_of(spread.mean)},
                      {"deviation", json_of(spread.deviation)}};
  }
  json["constant"] = json_of(value.constant);
  json["elements"] = json_of(value.elements);
  return json;
}

Json json_of(const Node& node) {
  Json attributes = Json::object();
  for (const auto& [name, attribute] : node.attributes) {
    attributes[name] = json_of(attribute.value);
    attributes[name]["lengths"] = json_of(attribute.lengths);
  }
  return {{"name", node.name},     {"place", node.place},    {"op", node.op}, {"attributes", std::move(attributes)},
          {"inputs", node.inputs}, {"outputs", node.outputs}};
}

// The readers below throw JSON's exception where a key is missing or of another type; what makes no sense otherwise is
// thrown as an Error. task_of_snapshot catches both.
double real_of(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  return json == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

std::vector<Length> lengths_of(const Json& json) {
  std::vector<Length> lengths;
  for (const Json& one : json) {
    lengths.push_back(one.is_array() ? Length{one.at(1), one.at(0)} : Length{one.get<std::int64_t>(), ""});
  }
  return lengths;
}

DType dtype_of(const Json& json) {
  const auto known = dtype_named(json.get<std::string>());
  if (!known) throw fail("no type is called {}", json.dump());
  return *known;
}

Tensor tensor_of(const Json& json) {
  Shape shape;
  for (const Json& length : json.at("shape")) shape.append(length);
  if (const Status fine = check_shape(shape); !fine.ok()) throw fine.error();
  const std::string digits = json.at("bytes");
  const DType dtype = dtype_of(json.at("dtype"));
  if (digits.size() != 2 * static_cast<std::size_t>(shape.count()) * size_bytes(dtype)) {
    throw fail("a tensor of shape {} does not have its bytes", shape.text());
  }
  Tensor tensor(dtype, shape);
  const auto digit = [&](char c) -> unsigned {
    const char* found = std::strchr(kDigits, c);
    if (!found || c == '\0') throw fail("'{}' is not hexadecimal", c);
    return static_cast<unsigned>(found - kDigits);
  };
  for (std::size_t i = 0; i < tensor.bytes().size(); ++i) {
    tensor.bytes()[i] = static_cast<std::byte>(digit(digits[2 * i]) << 4 | digit(digits[2 * i + 1]));
  }
  return tensor;
}

Attribute attribute_of(const Json& json) {
  const std::string kind = json.at("kind");
  const Json& value = json.at("value");
  if (kind == name_of(AttributeKind::integer)) return value.get<std::int64_t>();
  if (kind == name_of(AttributeKind::real)) return real_of(value);
  if (kind == name_of(AttributeKind::text)) return value.get<std::string>();
  if (kind == name_of(AttributeKind::integers)) return value.get<std::vector<std::int64_t>>();
  if (kind == name_of(AttributeKind::texts)) return value.get<std::vector<std::string>>();
  if (kind == name_of(AttributeKind::tensor)) return tensor_of(value);
  if (kind != name_of(AttributeKind::reals)) throw fail("no kind of attribute is called {}", kind);
  std::vector<double> reals;
  for (const Json& one : value) reals.push_back(real_of(one));
  return reals;
}

template <class Enum>
Enum enum_of(const Json& json, Enum last) {
  const int value = json;
  if (value < 0 || value > static_cast<int>(last)) throw fail("{} is out of its range", value);
  return static_cast<Enum>(value);
}

Value value_of(const Json& json) {
  Value value;
  value.name = json.at("name");
  value.role = enum_of(json.at("role"), Role::constant);
  value.dtype = dtype_of(json.at("dtype"));
  value.lengths = lengths_of(json.at("lengths"));
  if (json.contains("spread")) {
    const Json& spread = json["spread"];
    value.spread = Spread{enum_of(spread.at("kind"), Spread::Kind::uniform), real_of(spread.at("low")),
                          real_of(spread.at("high")), real_of(spread.at("mean")), real_of(spread.at("deviation"))};
  }
  value.constant = tensor_of(json.at("constant"));
  value.elements = lengths_of(json.at("elements"));
  return value;
}

Node node_of(const Json& json) {
  Node node;
  node.name = json.at("name");
  node.place = json.at("place");
  node.op = json.at("op");
  for (const auto& [name, attribute] : json.at("attributes").items()) {
    node.attributes[name] = {attribute_of(attribute), lengths_of(attribute.at("lengths"))};
  }
  node.inputs = json.at("inputs").get<std::vector<std::string>>();
  node.outputs = json.at("outputs").get<std::vector<std::string>>();
  return node;
}

Task task_of(const Json& json) {
  if (const int format = json.at("format"); format != kFormat) {
    throw fail("format {}, and this kw knows {}", format, kFormat);
  }
  Task task;
  task.name = json.at("name");
  task.suite = json.at("suite");
  task.category = json.at("category");
  if (json.contains("level")) task.level = json["level"];
  task.place = json.at("place");
  task.note = json.at("note");
  task.degenerate = json.at("degenerate");
  task.opset = json.at("opset");
  task.tolerance = real_of(json.at("tolerance"));
  if (json.contains("precision")) task.precision = Precision::tf32;
  for (const auto& [name, value] : json.at("lengths").items()) task.lengths[name] = value;
  for (const Json& value : json.at("values")) task.values.push_back(value_of(value));
  for (const Json& node : json.at("nodes")) task.nodes.push_back(node_of(node));
  for (const Json& output : json.at("outputs")) {
    Output one{.name = output.at("name"), .lengths = lengths_of(output.at("lengths"))};
    if (output.contains("dtype")) one.dtype = dtype_of(output["dtype"]);
    task.outputs.push_back(std::move(one));
  }
  return task;
}

}  // namespace

std::string snapshot_of(const Task& task) {
  Json json = {{"format", kFormat},
               {"name", task.name},
               {"suite", task.suite},
               {"category", task.category},
               {"place", task.place},
               {"note", task.note},
               {"degenerate", task.degenerate},
               {"opset", task.opset},
               {"tolerance", json_of(task.tolerance)},
               {"lengths", Json::object()},
               {"values", Json::array()},
               {"nodes", Json::array()},
               {"outputs", Json::array()}};
  // Others have the snapshots that they always had.
  if (task.level != 0) json["level"] = task.level;
  if (task.precision == Precision::tf32) json["precision"] = "tf32";
  for (const auto& [name, value] : task.lengths) json["lengths"][name] = value;
  for (const Value& value : task.values) json["values"].push_back(json_of(value));
  for (const Node& node : task.nodes) json["nodes"].push_back(json_of(node));
  for (const Output& output : task.outputs) {
    Json one = {{"name", output.name}, {"lengths", json_of(output.lengths)}};
    if (output.dtype) one["dtype"] = name_of(*output.dtype);
    json["outputs"].push_back(std::move(one));
  }
  return json.dump();
}

Result<Task> task_of_snapshot(const std::string& text) {
  try {
    return task_of(Json::parse(text));
  } catch (const JsonError& error) {
    return fail("the record of a task is damaged: {}", error.what());
  } catch (const Error& error) {
    return fail("the record of a task is damaged: {}", error.message);
  }
}

}  // namespace kw::suites
