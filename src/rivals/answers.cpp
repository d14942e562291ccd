#include "rivals/answers.h"

#include <algorithm>

namespace kw::rivals {
namespace {

constexpr std::int64_t kMostLength = std::int64_t{1} << 40;
constexpr std::size_t kMostAxes = 64;
constexpr double kMostNs = 1e15;

bool is_time(double ns) { return ns >= 0 && ns <= kMostNs; }

Result<Shape> shape_in(const Json& json) {
  const auto lengths = json.get<std::vector<std::int64_t>>();
  const bool right = lengths.size() <= kMostAxes &&
                     std::ranges::all_of(lengths, [](std::int64_t n) { return n >= 0 && n <= kMostLength; });
  if (!right) return fail("answered with a shape that no tensor has");
  return Shape(lengths);
}

}  // namespace

Json type_of(const TensorType& type) {
  return {{"dtype", std::string(name_of(type.dtype))}, {"shape", type.shape.lengths()}};
}

std::string text_in(const Json& answer, const char* name) {
  const Json* found = answer.find(name);
  return found != nullptr && found->is_string() ? found->text() : std::string();
}

Result<Json> answer_in(const std::string& text) {
  Json answer = Json::parse_quietly(text);
  if (!answer.is_object()) return fail("answered with something else than an answer");
  if (!answer.contains("error")) return answer;
  const std::string error = text_in(answer, "error");
  return fail("{}", error.empty() ? "failed" : error);
}

About about_in(const Json& answer) {
  About about{.version = text_in(answer, "version")};
  const Json* settings = answer.find("settings");
  if (settings == nullptr || !settings->is_array()) return about;
  std::vector<std::string> names;
  for (const Json& one : *settings) {
    if (one.is_string()) names.push_back(one.text());
  }
  if (!names.empty()) about.settings = std::move(names);
  return about;
}

std::string folded_in(const Json& answer) { return text_in(answer, "folded"); }

Result<Times> times_in(const Json& answer, std::size_t count) {
  try {
    Times times{};
    times.each_ns = answer.at("times_ns").get<std::vector<double>>();
    if (times.each_ns.size() != count) return fail("did not run all calls");
    if (const Json* overhead = answer.find("overhead_ns")) times.overhead_ns = overhead->get<double>();
    if (const Json* own = answer.find("own_ns")) times.own_ns = own->get<double>();
    if (const Json* warm = answer.find("own_warm_ns")) times.own_warm_ns = warm->get<double>();
    if (!std::ranges::all_of(times.each_ns, is_time) || !is_time(times.overhead_ns.value_or(0)) ||
        !is_time(times.own_ns.value_or(0)) || !is_time(times.own_warm_ns.value_or(0))) {
      return fail("answered with a time that cannot be");
    }
    const Json& shapes = answer.at("shapes");
    if (!shapes.is_array() || shapes.size() > count) return fail("told of outputs of calls that were not made");
    times.shapes.resize(count);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (!shapes[i].is_array()) continue;
      for (const Json& one : shapes[i]) {
        KW_TRY(Shape shape, shape_in(one));
        times.shapes[i].push_back(std::move(shape));
      }
    }
    return times;
  } catch (const JsonError&) {
    return fail("answered with something else than times");
  }
}

Result<std::vector<Shape>> shapes_in(const Json& answer) {
  const Json* shapes = answer.find("shapes");
  if (shapes == nullptr || !shapes->is_array()) return fail("answered with something else than shapes");
  std::vector<Shape> found;
  for (const Json& one : *shapes) {
    KW_TRY(Shape shape, shape_in(one));
    found.push_back(std::move(shape));
  }
  return found;
}

}  // namespace kw::rivals
