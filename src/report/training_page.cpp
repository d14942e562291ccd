#include "report/training_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/files.h"
#include "report/page.h"

namespace kw::report {
namespace {

constexpr std::array kTrainingScripts = {"text.js", "theme.js", "plots.js", "lines_plot.js", "training.js"};
constexpr std::size_t kMostTrainings = 50, kMostPoints = 400, kMostSamples = 20, kMostTextBytes = 4000;

Result<double> real_in(const Json& value, const char* name) {
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    return fail("{} holds something that is no number", name);
  return value.get<double>();
}

Result<double> real_of(const Json& object, const char* name) {
  const Json* given = object.is_object() ? object.find(name) : nullptr;
  if (given == nullptr) return fail("{} is missing", name);
  return real_in(*given, name);
}

struct CurvePoint {
  double step = 0, value = 0;
};

// [[step, value]]: of many points the means of as many in a row, at the last one's step.
Json thinned(const std::vector<CurvePoint>& points) {
  Json made = Json::array();
  const std::size_t each = std::max<std::size_t>(1, (points.size() + kMostPoints - 1) / kMostPoints);
  for (std::size_t begin = 0; begin < points.size(); begin += each) {
    const std::size_t end = std::min(begin + each, points.size());
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += points[i].value;
    made.push_back(Json::array({points[end - 1].step, sum / static_cast<double>(end - begin)}));
  }
  return made;
}

// A list of numbers, one a step; or of objects, whose `member` is taken.
Result<Json> curve_of(const Json& about, const char* list, const char* member) {
  std::vector<CurvePoint> points;
  const Json* given = about.find(list);
  if (given == nullptr) return Json::array();
  if (!given->is_array()) return fail("{} is no list", list);
  for (const Json& one : *given) {
    CurvePoint point{.step = static_cast<double>(points.size()) + 1};
    if (member == nullptr) {
      KW_TRY(point.value, real_in(one, list));
    } else {
      KW_TRY(point.value, real_of(one, member));
      if (one.contains("step")) {
        KW_TRY(point.step, real_of(one, "step"));
      }
    }
    points.push_back(point);
  }
  return thinned(points);
}

Result<std::string> text_in(const Json& object, const char* name) {
  const Json* given = object.is_object() ? object.find(name) : nullptr;
  if (given == nullptr || !given->is_string()) return fail("{} is missing", name);
  std::string words = given->text();
  if (words.size() <= kMostTextBytes) return words;
  std::size_t end = kMostTextBytes;
  while (end > 0 && (static_cast<unsigned char>(words[end]) & 0xC0) == 0x80) --end;  // not within a character
  return words.substr(0, end) + " …";
}

Result<Json> samples_of(const Json& about) {
  Json samples = Json::array();
  const Json* given = about.find("samples");
  if (given == nullptr) return samples;
  if (!given->is_array()) return fail("samples is no list");
  for (const Json& one : *given) {
    if (samples.size() == kMostSamples) break;
    Json kept = Json::object();
    for (const char* name : {"prompt", "text"}) {
      KW_TRY(kept[name], text_in(one, name));
    }
    if (one.contains("expected")) {
      KW_TRY(kept["expected"], text_in(one, "expected"));
    }
    if (one.contains("reward")) {
      KW_TRY(kept["reward"], real_of(one, "reward"));
    }
    samples.push_back(kept);
  }
  return samples;
}

}  // namespace

Result<Json> shown_of_training(const Json& about) {
  if (!about.is_object()) return fail("it holds no JSON object");
  Json shown = Json::object();
  KW_TRY(shown["out"], text_in(about, "out"));
  for (const char* name : {"steps", "seconds"}) {
    KW_TRY(shown[name], real_of(about, name));
  }
  shown["of"] = shown["steps"];
  if (about.contains("of")) {
    KW_TRY(shown["of"], real_of(about, "of"));
  }
  const bool rewards = about.contains("curve");
  if (!rewards && !about.contains("losses")) return fail("it has neither losses nor a curve of rewards");
  KW_TRY(shown["loss"], curve_of(about, rewards ? "curve" : "losses", rewards ? "loss" : nullptr));
  KW_TRY(shown["held_out"], curve_of(about, "held_out", "loss"));
  KW_TRY(shown["reward"], curve_of(about, "curve", "reward"));
  KW_TRY(shown["accepted"], curve_of(about, "curve", "rewarded"));
  KW_TRY(shown["samples"], samples_of(about));
  return shown;
}

Result<std::string> training_page(std::span<const ShownTraining> trainings, bool live, const std::string& version) {
  if (trainings.empty()) return fail("say of which trainings: --run DIR, several times");
  if (trainings.size() > kMostTrainings) {
    return fail("{} trainings are too many for a page; at most {}", trainings.size(), kMostTrainings);
  }
  KW_TRY(const PageParts parts, read_page_parts("training.html", kTrainingScripts));
  Json all = Json::array();
  for (const ShownTraining& one : trainings) {
    auto shown = shown_of_training(one.about);
    if (!shown.ok()) return at(one.where, shown.error());
    all.push_back(*std::move(shown));
  }
  return page_of(
      parts,
      Json{{"version", version}, {"licence", parts.licence}, {"live", live}, {"trainings", std::move(all)}}.dump());
}

Result<std::string> training_page_of_runs(std::span<const std::filesystem::path> runs, const std::string& version) {
  std::vector<ShownTraining> trainings;
  for (const std::filesystem::path& run : runs) {
    std::error_code ignored;
    const auto file = std::filesystem::is_directory(run, ignored) ? run / "training.json" : run;
    KW_TRY(const std::string text, read_file(file));
    trainings.push_back({file.string(), Json::parse_quietly(text)});
  }
  return training_page(trainings, false, version);
}

Status LiveTrainingPage::show(const Json& checkpoint) {
  last_ = {{"this training", checkpoint}};
  return write(true);
}

Status LiveTrainingPage::end() { return write(false); }

Status LiveTrainingPage::write(bool live) {
  if (file_.empty() || last_.empty() || failed_) return {};
  failed_ = true;
  KW_TRY(const std::string page, training_page(last_, live, version_));
  KW_CHECK(write_file(file_, page));
  failed_ = false;
  return {};
}

}  // namespace kw::report
