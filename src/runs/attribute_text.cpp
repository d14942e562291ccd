#include "runs/attribute_text.h"

#include <cmath>

#include "compose/outside_text.h"

namespace kw::runs {
namespace {

std::string real_literal(double value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  return fmt::format("{:.17g}", value);
}

}  // namespace

std::vector<AttributeText> attribute_texts(const ops::Graph& graph) {
  std::vector<AttributeText> all;
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    const int number = static_cast<int>(node);
    all.push_back({.name = "\"opset\"", .node = number, .integers = {std::to_string(graph.task->opset)}});
    for (const auto& [name, value] : graph.nodes[node].call.attributes) {
      AttributeText one{.name = compose::string_literal(name), .node = number};
      if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        one.integers = {std::to_string(*integer)};
      } else if (const auto* real = std::get_if<double>(&value)) {
        one.reals = {real_literal(*real)};
      } else if (const auto* text = std::get_if<std::string>(&value)) {
        one.texts = {compose::string_literal(*text)};
      } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
        for (const std::int64_t number_in : *integers) one.integers.push_back(std::to_string(number_in));
        one.list = true;
      } else if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
        for (const double number_in : *reals) one.reals.push_back(real_literal(number_in));
        one.list = true;
      } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
        for (const std::string& word : *texts) one.texts.push_back(compose::string_literal(word));
        one.list = true;
      } else {
        continue;
      }
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace kw::runs
