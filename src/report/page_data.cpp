#include "report/page_data.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "base/json.h"
#include "report/comparison.h"
#include "report/figures.h"
#include "report/json_parts.h"
#include "report/kernel_words.h"
#include "report/published.h"
#include "report/tables.h"
#include "report/task_words.h"

namespace kw::report {
namespace {

constexpr std::size_t kMostEvents = 50;
constexpr int kMostErrors = 3;  // of one candidate
constexpr std::size_t kMostAroundBytes = 800;
constexpr int kOpen = -1;
constexpr int kNeverJudged = -2;

Json parsed(const std::string& text) {
  Json json = Json::parse_quietly(text);
  return json.is_discarded() ? Json(nullptr) : json;
}

// What is not there, or is no text, is an empty one: what was imported may hold anything.
std::string text_at(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}

double number_at(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_number() ? json[key].get<double>() : 0;
}

Json list_at(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_array() ? json[key] : Json::array();
}

// Four digits are more than any picture shows.
Json rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return std::strtod(text, nullptr);
}

std::string cut(const std::string& text, std::size_t most_bytes) {
  return text.size() <= most_bytes ? text : text.substr(0, most_bytes) + " …";
}

// Texts that many rows share, by number.
class Strings {
 public:
  int number(const std::string& text) {
    const auto [found, is_new] = numbers_.try_emplace(text, static_cast<int>(all_.size()));
    if (is_new) all_.push_back(text);
    return found->second;
  }
  Json take() { return std::move(all_); }

 private:
  Json all_ = Json::array();
  std::map<std::string, int> numbers_;
};

// Null where they were not measured.
Json roofs_of(const Json& facts) {
  double peak = 0;
  std::vector<std::pair<std::string, std::pair<double, double>>> levels;  // name, size, speed
  const auto add_level = [&](const std::string& name, double size_bytes, double gbps) {
    if (levels.empty() || levels.back().first != name) levels.push_back({name, {size_bytes, 0}});
    levels.back().second.second = std::max(levels.back().second.second, gbps);
  };
  const Json roofs = object_at(facts, "roofs");
  for (const Json& figure : list_at(roofs, "figures")) {
    const double best = number_at(figure, "best");
    if (text_at(figure, "kind") == "arithmetic") {
      if (peak == 0) peak = best;  // the first: those of other types follow
    } else {
      add_level(text_at(figure, "of"), number_at(figure, "holds_bytes"), best);
    }
  }
  // As records had them before roofs were rows: a name ends in what is counted.
  if (roofs.is_object()) {
    for (const auto& [name, figure] : roofs.items()) {
      if (name.ends_with("_gflops")) peak = std::max(peak, number_at(figure, "best"));
    }
  }
  for (const Json& level : list_at(roofs, "levels")) {
    if (!level.is_object()) continue;
    for (const auto& [name, figure] : level.items()) {
      if (!name.ends_with("_gbps")) continue;
      add_level(text_at(level, "name"), number_at(level, "size_bytes"), number_at(figure, "best"));
    }
  }
  Json shown = Json::array();
  for (const auto& [name, level] : levels) {
    if (level.second <= 0) return nullptr;
    shown.push_back({{"name", name},
                     {"size_bytes", level.first > 0 ? Json(level.first) : Json(nullptr)},
                     {"gbps", rounded(level.second)}});
  }
  // The last one holds anything.
  if (!(peak > 0) || shown.empty() || !shown.back()["size_bytes"].is_null()) return nullptr;
  return {{"peak_gflops", rounded(peak)}, {"levels", std::move(shown)}};
}

std::string size_text(double bytes) {
  return bytes < 1048576 ? fmt::format("{:.0f} KiB", bytes / 1024) : fmt::format("{:.3g} MiB", bytes / 1048576);
}

// Rows for a reader.
Json facts_of(const Json& facts) {
  Json rows = Json::array();
  for (const Json& row : list_at(facts, "rows")) {
    rows.push_back({{"name", text_at(row, "name")}, {"text", text_at(row, "text")}});
  }
  if (!rows.empty()) return rows;
  // As records had them before facts were rows.
  for (const auto& [target, own] : facts.items()) {
    if (list_at(own, "caches").empty()) continue;
    std::string caches;
    for (const Json& cache : list_at(own, "caches")) {
      caches += fmt::format("{}{} {}", caches.empty() ? "" : ", ", text_at(cache, "name"),
                            size_text(number_at(cache, "size_bytes")));
    }
    rows.push_back({{"name", "caches"}, {"text", caches}});
    rows.push_back({{"name", "vectors"}, {"text", text_at(own, "vector")}});
  }
  return rows;
}

Json machine_of(const store::Machine& machine) {
  const Json facts = parsed(machine.facts), versions = object_at(facts, "compilers");
  Json compilers = Json::object();
  for (const auto& [name, version] : versions.items()) {
    if (version.is_string()) compilers[name] = version;
  }
  return {{"name", machine.name},
          {"identity", machine.identity},
          {"facts", facts_of(facts)},
          {"compilers", std::move(compilers)},
          {"kernel", text_at(facts, "kernel")},
          {"sandbox", text_at(facts, "sandbox")},
          {"roofs", roofs_of(facts)}};
}

// The rules that are a word or a number. The others hold whole tasks with their weights and whole kernels, which a page
// that is handed on must not carry.
Json plain_rules(const std::string& text) {
  Json plain = Json::object();
  const Json rules = parsed(text);
  if (!rules.is_object()) return plain;
  for (const auto& [name, value] : rules.items()) {
    if (!value.is_object() && !value.is_array()) plain[name] = value;
  }
  return plain;
}

// One run's part of the data.
class RunData {
 public:
  RunData(const store::Store& store, const RunFigures& figures, const PageLimits& limits, Strings& strings,
          std::map<std::string, int>& tasks, KernelWords& kernels, Allowance& errors)
      : store_(store),
        figures_(figures),
        limits_(limits),
        strings_(strings),
        tasks_(tasks),
        kernels_(kernels),
        errors_(errors) {
    for (const RivalFigures& rival : figures.overall.rivals) {
      if (rival.rival != kBest) rivals_.push_back(rival.rival);
    }
    for (const Outcome& one : figures.outcomes) chosen_.insert(one.item);
  }

  Result<Json> make() {
    KW_CHECK(read_rows());
    const store::RunSummary& run = figures_.run;
    Json json = {{"name", run.name()},
                 {"state", name_of(run.is_done() ? store::RunState::done : run.state)},
                 {"began_at", run.began_at},
                 {"command", run.about.command},
                 {"suite", run.about.suite},
                 {"author", run.about.author},
                 {"strategy", run.about.strategy},
                 {"seed", run.about.seed ? Json(*run.about.seed) : Json(nullptr)},
                 {"planned", run.planned},
                 {"done", run.done},
                 {"rules", plain_rules(run.about.rules)},
                 {"figures", parsed(figures_as_json(figures_))},
                 {"rivals", rivals_},
                 {"machine", figures_.machines.empty() ? Json(nullptr) : machine_of(most_used_machine())}};
    KW_CHECK(add_events(json));
    json["candidates"] = columns();
    json["errors"] = errors_of_rows();
    json["parts"] = Json::array();
    for (const Outcome& one : figures_.outcomes) {
      KW_TRY(Json part, part_of(one));
      json["parts"].push_back(std::move(part));
    }
    return json;
  }

 private:
  struct Row {
    int task = 0;
    std::int64_t position = 0;
    int stage = kOpen;
    bool accepted = false;
    bool again = false;
    std::string at;
    double spent_s = 0;
    int reason = -1;
    int file = -1;
    int author = -1;
    int candidate = -1;  // equal for rows of one candidate
    std::vector<std::optional<double>> ratios;
    Json errors = nullptr;
  };

  Status read_rows() {
    KW_CHECK(store_.each_recorded(figures_.run.id, [&](const store::Recorded& one) -> Status {
      const auto task = tasks_.find(one.task_hash);
      if (task == tasks_.end()) return {};  // names no task: counted in a remark
      Row& row = rows_.emplace_back();
      row.task = task->second;
      row.position = one.position;
      row.again = one.purpose == store::Purpose::confirm;
      row.at = one.at;
      row.spent_s = one.spent_s;
      row.file = strings_.number(one.file);
      row.author = strings_.number(one.author);
      if (!one.candidate_hash.empty()) {
        row.candidate = candidates_.try_emplace(one.candidate_hash, static_cast<int>(candidates_.size())).first->second;
      }
      row.ratios.resize(rivals_.size());
      if (!one.problem.empty()) {
        row.stage = kNeverJudged;
        row.reason = strings_.number(cut(one.problem, limits_.reason_bytes));
      }
      if (one.judged) add_verdict(row, one);
      return {};
    }));
    std::ranges::stable_sort(rows_, [](const Row& a, const Row& b) {
      if (a.at.empty() != b.at.empty()) return b.at.empty();
      return a.at < b.at;
    });
    return {};
  }

  void add_verdict(Row& row, const store::Recorded& one) {
    row.stage = static_cast<int>(stage_named(one.stage).value_or(VerdictStage::build));
    row.accepted = one.accepted;
    for (const store::Recorded::Against& each : one.speedups) {
      const auto found = std::ranges::find(rivals_, each.rival);
      if (found != rivals_.end()) row.ratios[static_cast<std::size_t>(found - rivals_.begin())] = each.median;
    }
    judged_.try_emplace(one.candidate_hash, judged_words(one));
    if (chosen_.contains(one.item)) recorded_[one.item] = one;
    if (one.accepted) return;
    const Json verdict = parsed(one.json);
    if (!verdict.is_object()) return;
    row.reason = strings_.number(cut(text_at(verdict, "reason"), limits_.reason_bytes));
    row.errors = errors_in(verdict, row);
  }

  static std::string judged_words(const store::Recorded& one) {
    if (!one.accepted) return fmt::format("line {}: rejected at {}", one.position, one.stage);
    if (one.speedups.empty()) return fmt::format("line {}: accepted", one.position);
    return fmt::format("line {}: {:.2f} times as fast as {}", one.position, one.speedups[0].median,
                       one.speedups[0].rival);
  }

  // The messages of the first candidates of a task, each text once: many candidates make one mistake.
  Json errors_in(const Json& verdict, const Row& row) {
    const Json errors = list_at(verdict, "errors");
    auto& seen = errors_seen_[row.task];
    if (errors.empty() || static_cast<int>(seen.size()) >= limits_.errors_of_task) return nullptr;
    if (!seen.insert(row.reason).second) return nullptr;
    Json shown = Json::array();
    for (const Json& error : errors) {
      if (static_cast<int>(shown.size()) == kMostErrors) break;
      shown.push_back({{"line", number_at(error, "line")},
                       {"message", cut(text_at(error, "message"), limits_.reason_bytes)},
                       {"around", cut(text_at(error, "around"), kMostAroundBytes)}});
    }
    if (!errors_.spend(shown.dump().size())) return nullptr;
    return shown;
  }

  Json columns() const {
    Json json;
    for (const char* name :
         {"task", "candidate", "position", "stage", "spent_s", "again", "reason", "file", "author", "ratios"}) {
      json[name] = Json::array();
    }
    for (const Row& row : rows_) {
      json["task"].push_back(row.task);
      json["candidate"].push_back(row.candidate);
      json["position"].push_back(row.position);
      json["stage"].push_back(row.stage);
      json["spent_s"].push_back(rounded(row.spent_s));
      json["again"].push_back(row.again ? 1 : 0);
      json["reason"].push_back(row.reason);
      json["file"].push_back(row.file);
      json["author"].push_back(row.author);
    }
    for (std::size_t i = 0; i < rivals_.size(); ++i) {
      Json medians = Json::array();
      for (const Row& row : rows_) medians.push_back(row.ratios[i] ? rounded(*row.ratios[i]) : Json(nullptr));
      json["ratios"].push_back(std::move(medians));
    }
    return json;
  }

  Json errors_of_rows() const {
    Json json = Json::object();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!rows_[i].errors.is_null()) json[std::to_string(i)] = rows_[i].errors;
    }
    return json;
  }

  Status add_events(Json& json) const {
    KW_TRY(const auto events, store_.events(figures_.run.id));
    json["events"] = Json::array();
    const std::size_t begin = events.size() - std::min(events.size(), kMostEvents);
    for (std::size_t i = begin; i < events.size(); ++i) {
      json["events"].push_back({{"at", events[i].at},
                                {"kind", name_of(events[i].kind)},
                                {"text", cut(events[i].text, limits_.reason_bytes)}});
    }
    json["more_events"] = begin;
    return {};
  }

  const store::Machine& most_used_machine() const {
    std::map<std::int64_t, int> uses;
    for (const Outcome& one : figures_.outcomes) ++uses[one.machine];
    const auto most = std::ranges::max_element(figures_.machines, {}, [&](const auto& one) { return uses[one.first]; });
    return most->second;
  }

  Result<Json> part_of(const Outcome& one) {
    const auto found = tasks_.find(one.task_hash.empty() ? one.task : one.task_hash);
    std::set<int> accepted, passed;
    for (const Row& row : rows_) {
      if (row.task != found->second) continue;
      if (row.accepted) accepted.insert(row.candidate);
      if (row.stage == static_cast<int>(VerdictStage::quick_check)) passed.insert(row.candidate);
    }
    Json part = {{"task", found->second},
                 {"candidates", one.candidates},
                 {"accepted", accepted.size()},
                 {"passed", passed.size()},
                 {"spent_s", rounded(one.spent_s)},
                 {"furthest", one.stage ? static_cast<int>(*one.stage) : kOpen},
                 {"best", nullptr}};
    if (one.is_accepted()) {
      KW_TRY(part["best"], kernels_.words_of(one, recorded_.at(one.item), judged_));
    }
    return part;
  }

  const store::Store& store_;
  const RunFigures& figures_;
  const PageLimits& limits_;
  Strings& strings_;
  std::map<std::string, int>& tasks_;
  KernelWords& kernels_;
  Allowance& errors_;
  std::vector<std::string> rivals_;
  std::set<std::int64_t> chosen_;          // items
  std::map<std::string, int> candidates_;  // numbers, by hash
  std::vector<Row> rows_;
  std::map<int, std::set<int>> errors_seen_;   // of each task: reasons
  std::map<std::string, std::string> judged_;  // by candidate's hash: what became of it
  std::map<std::int64_t, store::Recorded> recorded_;
};

Json json_of(const Change& one, const std::map<std::string, int>& tasks) {
  return {{"task", tasks.at(one.task_hash.empty() ? one.task : one.task_hash)},
          {"kind", name_of(one.kind)},
          {"ratio", one.ratio ? rounded(one.ratio->median) : Json(nullptr)},
          {"low", one.ratio ? rounded(one.ratio->low) : Json(nullptr)},
          {"high", one.ratio ? rounded(one.ratio->high) : Json(nullptr)},
          {"rival", one.rival},
          {"why", one.why}};
}

Json published() {
  Json all = Json::array();
  for (const Published& one : kPublished) {
    Json fast;
    for (std::size_t i = 0; i < kSpeeds.size(); ++i) fast[name_of_speed(kSpeeds[i])] = or_null(one.fast[i]);
    all.push_back({{"who", one.who},
                   {"source", one.source},
                   {"setting", one.setting},
                   {"rival", one.rival},
                   {"tasks", one.tasks},
                   {"csr", one.csr},
                   {"fcr", one.fcr},
                   {"fast", std::move(fast)}});
  }
  return all;
}

// What MoKA reached in each category, for runs of the same tasks.
Json published_categories() {
  const Published& moka = kPublished[0];
  Json categories = Json::object();
  for (const PublishedCategory& one : kMokaByCategory) {
    categories[one.category] = {{"csr", one.csr}, {"fcr", one.fcr}, {"fast1", one.fast1}};
  }
  return {{"who", "MoKA"},         {"suite", kPublishedSuite}, {"rival", moka.rival},
          {"source", moka.source}, {"setting", moka.setting},  {"categories", std::move(categories)}};
}

}  // namespace

Result<std::string> page_data(const store::Store& store, std::span<const std::int64_t> runs, const std::string& version,
                              const std::string& licence, const PageLimits& limits) {
  Json json = {{"kw", version},
               {"made_at", store::time_now()},
               {"licence", licence},
               {"published", published()},
               {"published_categories", published_categories()},
               {"remarks", Json::array()}};
  json["stages"] = Json::array();
  for (int i = 0; i <= static_cast<int>(VerdictStage::accepted); ++i)
    json["stages"].push_back(name_of(static_cast<VerdictStage>(i)));

  std::vector<RunFigures> figures;
  for (const std::int64_t run : runs) {
    KW_TRY(RunFigures one, figures_of(store, run));
    figures.push_back(std::move(one));
  }
  // By hash; those of which nothing was planned have a name alone.
  std::map<std::string, int> tasks;
  json["tasks"] = Json::array();
  for (const RunFigures& run : figures) {
    for (const Outcome& one : run.outcomes) {
      if (!tasks.try_emplace(one.task_hash.empty() ? one.task : one.task_hash, static_cast<int>(tasks.size())).second)
        continue;
      if (one.task_hash.empty()) {
        json["tasks"].push_back(words_of(store::TaskSnapshot{.name = one.task, .category = one.category}));
        json["tasks"].back()["problem"] = "Nothing of this task was planned yet.";
        continue;
      }
      KW_TRY(const store::TaskSnapshot snapshot, store.task(one.task_hash));
      json["tasks"].push_back(words_of(snapshot));
    }
  }
  Strings strings;
  KernelWords kernels(store, limits.kernels);
  Allowance errors(limits.all_errors_bytes);
  json["runs"] = Json::array();
  for (const RunFigures& one : figures) {
    KW_TRY(Json run, RunData(store, one, limits, strings, tasks, kernels, errors).make());
    json["runs"].push_back(std::move(run));
  }
  json["changes"] = Json::array();
  for (std::size_t i = 1; i < figures.size(); ++i) {
    Json changes = Json::array();
    for (const Change& one : changes_between(figures[0], figures[i])) changes.push_back(json_of(one, tasks));
    json["changes"].push_back({{"from", 0}, {"to", i}, {"tasks", std::move(changes)}});
  }
  const Table devices = device_table(figures);
  json["devices"] = {{"heads", Json::array()}, {"rows", devices.rows}, {"notes", devices.notes}};
  for (const Table::Column& column : devices.columns) json["devices"]["heads"].push_back(column.name);
  json["strings"] = strings.take();
  return json.dump();
}

}  // namespace kw::report
