#include "report/compression_page.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/files.h"
#include "report/page.h"

namespace kw::report {
namespace {

constexpr std::array kCompressionScripts = {"text.js", "theme.js", "plots.js", "lines_plot.js", "compression.js"};
constexpr std::size_t kMostRuns = 200, kMostLayers = 1000, kMostEntries = 64;

Result<double> number_of(const Json& value, const char* name) {
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    return fail("{} holds something that is no number", name);
  return value.get<double>();
}

// [layer][linear] of numbers, or of lists of numbers.
Result<Json> by_layer(const Json& about, const char* name, bool lists) {
  const Json* given = about.find(name);
  if (given == nullptr || !given->is_array() || given->size() > kMostLayers)
    return fail("{} is no list of layers", name);
  Json layers = Json::array();
  for (const Json& layer : *given) {
    if (!layer.is_array() || layer.size() > kMostEntries) return fail("{} has a layer that is no list", name);
    Json kept = Json::array();
    for (const Json& one : layer) {
      if (!lists) {
        KW_TRY(const double value, number_of(one, name));
        kept.push_back(value);
        continue;
      }
      if (!one.is_array() || one.size() < 2 || one.size() > kMostEntries)
        return fail("{} has a curve that is none", name);
      Json curve = Json::array();
      for (const Json& value : one) {
        KW_TRY(const double number, number_of(value, name));
        curve.push_back(number);
      }
      kept.push_back(curve);
    }
    layers.push_back(kept);
  }
  return layers;
}

Result<std::string> text_of_member(const Json& about, const char* name) {
  const Json* given = about.find(name);
  if (given == nullptr || !given->is_string()) return fail("{} is missing", name);
  return given->text();
}

Result<double> number_of_member(const Json& about, const char* name) {
  const Json* given = about.find(name);
  if (given == nullptr) return fail("{} is missing", name);
  return number_of(*given, name);
}

}  // namespace

Result<Json> shown_of_compression(const Json& about) {
  if (!about.is_object()) return fail("it holds no JSON object");
  Json shown = Json::object();
  for (const char* name : {"model", "method"}) {
    KW_TRY(shown[name], text_of_member(about, name));
  }
  for (const char* name : {"ratio", "saved", "seconds"}) {
    KW_TRY(shown[name], number_of_member(about, name));
  }
  shown["switches"] = Json::array();
  if (const Json* switches = about.find("switches"); switches != nullptr && switches->is_array()) {
    for (const Json& one : *switches) {
      if (!one.is_string()) return fail("switches holds something that is no word");
      shown["switches"].push_back(one.text());
    }
  }
  KW_TRY(shown["errors"], by_layer(about, "errors", false));
  KW_TRY(shown["ranks"], by_layer(about, "ranks", false));
  KW_TRY(shown["full_ranks"], by_layer(about, "full_ranks", false));
  KW_TRY(shown["spectra"], by_layer(about, "spectra", true));
  const std::size_t layers = shown["errors"].size();
  if (layers == 0) return fail("it has no layers");
  for (const char* name : {"ranks", "full_ranks", "spectra"}) {
    if (shown[name].size() != layers) return fail("errors and {} are of different numbers of layers", name);
    for (std::size_t i = 0; i < layers; ++i) {
      if (shown[name][i].size() != shown["errors"][i].size())
        return fail("errors and {} differ in layer {}", name, i + 1);
    }
  }
  shown["perplexity"] = Json::object();
  const Json* texts = about.find("perplexity");
  if (texts != nullptr && texts->is_object()) {
    for (const auto& [text, values] : texts->items()) {
      for (const char* name : {"original", "compressed"}) {
        KW_TRY(const double value, number_of_member(values, name));
        if (value <= 0) return fail("a perplexity of {}", value);
        shown["perplexity"][text][name] = value;
      }
    }
  }
  if (const Json* speed = about.find("tokens_a_second"); speed != nullptr && speed->is_object()) {
    for (const char* name : {"original", "compressed"}) {
      KW_TRY(shown["tokens_a_second"][name], number_of_member(*speed, name));
    }
  }
  return shown;
}

Result<std::string> compression_page(std::span<const std::filesystem::path> runs, const std::string& version) {
  if (runs.empty()) return fail("say of which compressions: --run DIR, several times");
  if (runs.size() > kMostRuns)
    return fail("{} compressions are too many for a page; at most {}", runs.size(), kMostRuns);
  KW_TRY(const PageParts parts, read_page_parts("compression.html", kCompressionScripts));
  Json all = Json::array();
  for (const std::filesystem::path& run : runs) {
    std::error_code ignored;
    const auto file = std::filesystem::is_directory(run, ignored) ? run / "compression.json" : run;
    KW_TRY(const std::string text, read_file(file));
    auto shown = shown_of_compression(Json::parse_quietly(text));
    if (!shown.ok()) return at(file.string(), shown.error());
    all.push_back(*std::move(shown));
  }
  return page_of(parts, Json{{"version", version}, {"licence", parts.licence}, {"runs", all}}.dump());
}

}  // namespace kw::report
