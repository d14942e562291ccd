#include "runs/order.h"

#include <algorithm>

#include <cmath>
#include <cstdlib>

#include "base/files.h"
#include "base/json.h"
#include "base/terminal.h"
#include "runs/case_record.h"
#include "runs/kernel_file.h"
#include "suites/task_snapshot.h"
#include "targets/target.h"

namespace kw::runs {
namespace {

// Version 1 kept the words of the command line.
std::optional<double> number_at(const Json& json, const char* name) {
  if (!json.contains(name)) return std::nullopt;
  if (json[name].is_string()) return std::strtod(json[name].text().c_str(), nullptr);
  return json[name].get<double>();
}

int whole_at(const Json& json, const char* name, int otherwise) {
  const double value = number_at(json, name).value_or(otherwise);
  if (!(std::abs(value) < 1e9)) throw JsonError(fmt::format("{} is out of its range", name));
  return static_cast<int>(value);
}

Json json_of(const SearchTerms& terms) {
  Json json = {{"budget", terms.budget}};
  if (terms.within_s > 0) json["within_s"] = terms.within_s;
  if (!terms.shares.empty()) json["shares"] = terms.shares;
  return json;
}

Json json_of(const AuthorTerms& terms) {
  Json json = {{"author", terms.author},
               {"model", terms.model},
               {"asked", terms.asked},
               {"rounds", terms.rounds},
               {"in_flight", terms.in_flight},
               {"start", terms.start},
               {"prompts_version", terms.prompts_version},
               {"temperature", terms.temperature ? Json(*terms.temperature) : Json()},
               {"seed", terms.seed ? Json(*terms.seed) : Json()}};
  if (!terms.prompts.empty()) json["prompts"] = terms.prompts;
  if (!terms.repository.empty()) json["repo"] = terms.repository;
  if (terms.tokens) json["tokens"] = *terms.tokens;
  if (terms.usd) json["usd"] = *terms.usd;
  if (terms.seconds) json["seconds"] = *terms.seconds;
  if (terms.no_stream) json["no_stream"] = true;
  return json;
}

AuthorTerms author_terms(const Json& json) {
  AuthorTerms terms;
  terms.author = json.at("author").text();
  terms.model = json.at("model").text();
  terms.asked = json.value("asked", "");
  terms.rounds = whole_at(json, "rounds", 0);
  terms.in_flight = whole_at(json, "in_flight", 1);
  // Before there was a choice, authors began with the plain kernel.
  terms.start = json.value("start", json.contains("kernel") ? "own" : "plain");
  terms.prompts_version = json.value("prompts_version", "");
  if (json.contains("temperature") && json["temperature"].is_number())
    terms.temperature = json["temperature"].get<double>();
  if (json.contains("seed") && json["seed"].is_number()) terms.seed = json["seed"].get<std::int64_t>();
  terms.prompts = json.value("prompts", "");
  terms.repository = json.value("repo", "");
  terms.tokens = number_at(json, "tokens");
  terms.usd = number_at(json, "usd");
  terms.seconds = number_at(json, "seconds");
  terms.no_stream = json.contains("no_stream");
  return terms;
}

Json json_of(const Order& order) {
  const judge::Case& rules = order.rules;
  Json json = {{"version", kOrderVersion},   {"kind", store::name_of(order.kind)},
               {"threads", rules.threads},   {"cold", rules.cold},
               {"budget_s", rules.budget_s}, {"pairs", rules.pairs ? Json(*rules.pairs) : Json(nullptr)},
               {"timed", rules.timed},       {"rivals", order.rivals},
               {"fresh", order.fresh}};
  if (rules.device != targets::usual_device()) json["device"] = rules.device;
  if (order.kind == store::RunKind::batch) return json;
  Json& terms = order.kind == store::RunKind::search ? json["search"] : json["agents"];
  terms = order.kind == store::RunKind::search ? json_of(order.search) : json_of(order.author);
  if (order.kernel) terms["kernel"] = {{"file", as_utf8(order.kernel->name)}, {"source", order.kernel->text}};
  if (!order.out.empty()) json["out"] = as_utf8(order.out);
  Json tasks = Json::array();
  for (const Task& task : order.tasks) {
    const store::TaskSnapshot one = snapshot(task);
    tasks.push_back({{"name", one.name}, {"category", one.category}, {"text", one.text}});
  }
  json["tasks"] = std::move(tasks);
  return json;
}

// A record may have come from anywhere: numbers that no command would have written are damage.
Status check_numbers(const Order& order) {
  const judge::Case& rules = order.rules;
  const bool right = rules.threads >= 1 && rules.threads <= 4096 && rules.budget_s > 0 && rules.budget_s <= 1e6 &&
                     (!rules.pairs || (*rules.pairs >= 1 && *rules.pairs <= 10'000'000)) && order.author.rounds >= 0 &&
                     order.author.in_flight >= 1 && order.author.in_flight <= 1024 && order.search.within_s >= 0 &&
                     order.search.within_s <= 1e9 &&
                     (order.search.shares.empty() || order.search.shares.size() == order.tasks.size()) &&
                     std::ranges::all_of(order.search.shares, [](double share) { return share > 0 && share <= 1e9; });
  if (!right) return fail("the record of the run's rules is damaged: a number is out of its range");
  return {};
}

Status read_judging(const Json& json, Order& order) {
  order.rules.threads = json.at("threads");
  order.rules.cold = json.at("cold");
  order.rules.budget_s = json.at("budget_s");
  if (!json.at("pairs").is_null()) order.rules.pairs = json.at("pairs").get<int>();
  order.rules.timed = json.at("timed");
  order.fresh = json.at("fresh");
  order.rules.device = json.value("device", targets::usual_device());
  order.rivals = json.value("rivals", "none");
  return {};
}

Status read_tasks(const Json& json, Order& order) {
  for (const Json& task : json.at("tasks")) {
    KW_TRY(Task one, suites::task_of_snapshot(task.at("text")));
    order.tasks.push_back(std::move(one));
  }
  order.out = json.value("out", "");
  const Json& terms = json.at(order.kind == store::RunKind::search ? "search" : "agents");
  if (terms.contains("kernel")) {
    order.kernel = judge::Source{terms.at("kernel").at("file"), terms.at("kernel").at("source")};
  }
  if (order.kind == store::RunKind::rounds) {
    order.author = author_terms(terms);
  } else {
    order.search.budget = terms.at("budget").text();
    order.search.within_s = terms.value("within_s", 0.0);
    if (terms.contains("shares")) order.search.shares = terms.at("shares").get<std::vector<double>>();
  }
  return {};
}

}  // namespace

Status take_start(AuthorTerms& terms, Order& order) {
  if (terms.start != "nothing" && terms.start != "plain" && terms.start != "best") {
    if (!targets::is_source(terms.start))
      return fail("--start {}: say nothing, plain, best, or a source file", terms.start);
    if (order.kernel)
      return fail("--start {}: the kernel to begin with is {} already", terms.start, order.kernel->name);
    if (order.tasks.size() != 1)
      return fail("--start {}: a kernel belongs to one task, and there are {}", terms.start, order.tasks.size());
    KW_TRY(order.kernel, read_kernel(terms.start));
  }
  if (order.kernel) terms.start = "own";
  return {};
}

store::NewRun run_of(const Order& order, const std::string& command) {
  store::NewRun run{.command = command, .suite = as_utf8(order.suite), .rules = json_of(order).dump()};
  switch (order.kind) {
    case store::RunKind::batch:
      break;
    case store::RunKind::search:
      run.author = order.search.author;
      run.strategy = order.search.strategy;
      run.seed = order.search.seed;
      break;
    case store::RunKind::rounds:
      run.author = order.author.author + " with " + order.author.asked;
      run.strategy = store::name_of(order.kind);
      break;
  }
  for (const judge::Source& rival : order.rules.against) run.against.push_back({as_utf8(rival.name), rival.text});
  return run;
}

Result<Order> order_of(const store::RunSummary& run) {
  const Json json = Json::parse_quietly(run.about.rules);
  try {
    if (json.is_object() && json.value("version", 1) > kOrderVersion) {
      return fail("{} was begun by a newer kw, and this one does not know all that it is to do", run.name());
    }
    Order order{.kind = run.kind(), .suite = run.about.suite};
    KW_CHECK(read_judging(json, order));
    if (order.kind == store::RunKind::batch) {
      KW_CHECK(check_numbers(order));
      return order;
    }
    order.search.author = run.about.author;
    order.search.strategy = run.about.strategy;
    order.search.seed = run.about.seed.value_or(1);
    KW_CHECK(read_tasks(json, order));
    KW_CHECK(check_numbers(order));
    return order;
  } catch (const JsonError& error) {
    return fail("the record of the run's rules is damaged: {}", error.what());
  }
}

std::string command_line() {
  const auto words = read_file("/proc/self/cmdline");
  if (!words.ok() || words->empty()) return "kw";
  std::string line;
  std::size_t begin = 0;
  for (std::size_t end; (end = words->find('\0', begin)) != std::string::npos; begin = end + 1) {
    std::string word = words->substr(begin, end - begin);
    if (begin == 0) word = std::filesystem::path(word).filename().string();
    line += (line.empty() ? "" : " ") + shell_word(word);
  }
  return as_utf8(line);
}

}  // namespace kw::runs
