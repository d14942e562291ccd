#include "cli/describe.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace kw::cli {
namespace {

nlohmann::ordered_json tensor(const std::string& name, const TensorType& type) {
  return {{"name", name}, {"dtype", kw::name_of(type.dtype)}, {"shape", type.shape.lengths()}};
}

}  // namespace

std::string_view name_of(Role role) {
  switch (role) {
    case Role::input:
      return "input";
    case Role::weight:
      return "weight";
    case Role::constant:
      return "constant";
  }
  return "";
}

std::string with_unit(double value, std::string_view unit) {
  constexpr std::array<const char*, 5> kPrefixes{"", "k", "M", "G", "T"};
  std::size_t prefix = 0;
  while (value >= 1000 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{:.3g} {}{}", value, kPrefixes[prefix], unit);
}

std::string time_text(double time_ns) {
  if (time_ns < 1e3) return fmt::format("{:.3g} ns", time_ns);
  if (time_ns < 1e6) return fmt::format("{:.3g} us", time_ns / 1e3);
  if (time_ns < 1e9) return fmt::format("{:.3g} ms", time_ns / 1e6);
  return fmt::format("{:.3g} s", time_ns / 1e9);
}

nlohmann::ordered_json summary_of(const Task& task, const ops::Graph& graph) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const ops::GraphInput& input : graph.inputs) {
    nlohmann::ordered_json entry = tensor(input.name, input.type);
    entry["role"] = name_of(input.role);
    inputs.push_back(std::move(entry));
  }
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    outputs.push_back(tensor(graph.names[static_cast<std::size_t>(graph.outputs[i])], graph.output_type(i)));
  }
  const ops::Cost cost = ops::cost_of(graph);
  return {{"name", task.name},   {"category", task.category},   {"operator", task.operators()},
          {"suite", task.suite}, {"inputs", std::move(inputs)}, {"outputs", std::move(outputs)},
          {"flops", cost.flops}, {"bytes", cost.bytes}};
}

Result<Lengths> parse_dims(const std::vector<std::string>& texts) {
  Lengths dims;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    char* stop = nullptr;
    const long long value = equals == std::string::npos ? -1 : std::strtoll(text.c_str() + equals + 1, &stop, 10);
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size() || *stop != '\0' || value < 0) {
      return fail("--dim takes NAME=VALUE with a whole number, such as batch=1, not '{}'", text);
    }
    dims[text.substr(0, equals)] = value;
  }
  return dims;
}

}  // namespace kw::cli
