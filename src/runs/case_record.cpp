#include "runs/case_record.h"

#include <algorithm>

#include "base/json.h"
#include "core/settings_json.h"
#include "judge/plain_source.h"
#include "ops/graph.h"
#include "store/sha256.h"
#include "suites/task_snapshot.h"

namespace kw::runs {
namespace {

constexpr char kColdCaches[] = "cold caches";

std::string short_hash(const std::string& text) { return store::sha256(text).substr(0, 12); }

}  // namespace

std::string as_utf8(const std::string& text) { return Json::parse(Json(text).dump()).text(); }

std::string names_of(const std::vector<judge::FrameworkRival*>& frameworks) {
  std::string names;
  for (const judge::FrameworkRival* framework : frameworks) names += (names.empty() ? "" : ",") + framework->name();
  return names.empty() ? "none" : names;
}

std::string terms_of(const judge::Case& one) {
  return fmt::format("{}, {} thread{}", one.cold ? kColdCaches : "warm caches", one.threads,
                     one.threads == 1 ? "" : "s");
}

bool are_cold(const std::string& terms) { return terms.starts_with(kColdCaches); }

store::TaskSnapshot snapshot(const Task& task) {
  return {as_utf8(task.name), as_utf8(task.suite), as_utf8(task.category), suites::snapshot_of(task)};
}

store::NewItem planned(std::int64_t position, const judge::Case& one, const std::string& label) {
  store::NewItem item{.position = position, .task = snapshot(*one.task), .label = label};
  item.candidate = store::Candidate{
      .file = as_utf8(one.source.name), .source = one.source.text, .settings = settings_as_json(one.settings)};
  const auto tunables = read_tunables(one.source.text);
  const auto choice =
      tunables.ok() ? choose(*tunables, one.settings, targets::build_options(one.device)) : tunables.error();
  if (choice.ok()) {
    item.build = Json({{"compiler", choice->compiler}, {"flags", choice->flags}, {"values", choice->values}}).dump();
  }
  return item;
}

struct RivalVersions::Known {
  Json compilers;
  std::map<const Task*, std::string> plain;  // hashes

  const std::string& plain_hash(const std::string& device, const Task& task) {
    std::string& hash = plain[&task];
    if (hash.empty()) {
      const auto graph = ops::resolve(task);
      const auto source = graph.ok() ? judge::plain_source(device, *graph) : graph.error();
      hash = source.ok() ? short_hash(source->text) : "none";
    }
    return hash;
  }
};

RivalVersions::RivalVersions(const store::Machine& machine) : known_(std::make_unique<Known>()) {
  known_->compilers = Json::parse(machine.facts)["compilers"];
}

RivalVersions::~RivalVersions() = default;

std::map<std::string, std::string> RivalVersions::of(const judge::Case& one) {
  std::map<std::string, std::string> versions;
  for (const judge::Source& rival : one.against) versions[rival.name] = "source " + short_hash(rival.text);
  for (const judge::FrameworkRival* framework : one.frameworks) versions[framework->name()] = framework->version();
  Settings level;
  for (const char* name : {"compiler", "flags"}) {
    if (const auto set = one.settings.find(name); set != one.settings.end()) level.insert(*set);
  }
  if (const auto choice = choose({}, level, targets::build_options(one.device)); choice.ok()) {
    std::string text = fmt::format("{} {}", choice->compiler, known_->compilers.value(choice->compiler, "?"));
    for (const std::string& flag : choice->flags) text += " " + flag;
    versions["plain"] = store::version_with_source(text, known_->plain_hash(one.device, *one.task));
  }
  return versions;
}

}  // namespace kw::runs
