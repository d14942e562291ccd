// kw eval: judges a kernel.
#include <fmt/ostream.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "judge/batch.h"
#include "judge/judge.h"
#include "judge/kept_verdicts.h"
#include "judge/verdict_json.h"
#include "suites/catalog.h"

namespace kw::cli::commands {
namespace {

using Json = nlohmann::ordered_json;

// Sources are written by people and models; what is longer than this is something else.
constexpr std::uint64_t kMostSourceBytes = std::uint64_t{4} << 20;

Result<judge::Source> read_source(const std::string& file) {
  KW_TRY(std::string text, read_file(file, kMostSourceBytes));
  if (text.find('\0') != std::string::npos) {
    return fail("{}: this is no source text: it has zero bytes in it; kw eval takes the C or C++ source of a kernel",
                file);
  }
  return judge::Source{std::filesystem::path(file).filename().string(), std::move(text)};
}

Result<double> number_of(const Arguments& arguments, const std::string& name, double otherwise, double least,
                         double most) {
  if (!arguments.has(name)) return otherwise;
  const std::string text = arguments.text(name);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= least && value <= most)) {
    return fail("{} {}: say a number from {} to {}", name, text, least, most);
  }
  return value;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

// A candidate's words must not steer the reader's terminal.
std::string harmless(std::string text) {
  for (char& c : text) {
    if ((static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t') || c == 127) c = '?';
  }
  return text;
}

void print_verdict(const Verdict& verdict, std::ostream& out) {
  fmt::print(out, "{}  {}{}\n", verdict.task,
             verdict.accepted() ? "accepted" : fmt::format("rejected at {}", name_of(verdict.stage)),
             verdict.kept ? "  (judged before; --fresh judges again)" : "");
  if (!verdict.reason.empty()) fmt::print(out, "\n  {}\n", harmless(verdict.reason));
  for (const SourceError& error : verdict.errors) {
    fmt::print(out, "\n  {}:{}: {}\n", error.file, error.line, harmless(error.message));
    out << harmless(error.around);
  }
  if (!verdict.accepted()) {
    fmt::print(out, "\nsandbox {}\n", verdict.tier);
    return;
  }
  fmt::print(out, "\n");
  fmt::print(out, "  largest error  {:.2g} of what is allowed{}\n", verdict.max_error,
             verdict.varies ? "; does not promise the same bits" : "");
  if (verdict.time_ns) {
    fmt::print(out, "  time           {} a call, {} caches{}\n", time_text(*verdict.time_ns), verdict.caches,
               verdict.roof_fraction ? fmt::format(", {} of the roof's speed", percent(*verdict.roof_fraction)) : "");
  }
  for (const Speedup& one : verdict.speedups) {
    fmt::print(out, "  against {:<8} {:.3f} times as fast  [{:.3f}, {:.3f}]  {} pairs{}\n", one.rival, one.median,
               one.low, one.high, one.pairs, one.claimed ? "" : "  no difference is claimed");
  }
  if (verdict.noise) {
    fmt::print(out, "  noise          two copies of one kernel differ by up to {} here\n", percent(*verdict.noise));
  }
  fmt::print(out, "  sandbox        {}\n", verdict.tier);
}

// What holds for all that one command judges.
Result<judge::Case> rules_of(const Arguments& arguments) {
  judge::Case rules;
  for (const std::string& file : arguments.texts("--against")) {
    KW_TRY(judge::Source rival, read_source(file));
    rules.against.push_back(std::move(rival));
  }
  KW_TRY(rules.settings, parse_settings(arguments.texts("--set")));
  KW_TRY(const double threads, number_of(arguments, "--threads", 1, 1, 64));
  rules.threads = static_cast<int>(threads);
  KW_TRY(rules.budget_s, number_of(arguments, "--budget",
                                   arguments.has("--batch") ? judge::kBatchBudget_s : rules.budget_s, 0.05, 600));
  if (arguments.has("--pairs")) {
    KW_TRY(const double pairs, number_of(arguments, "--pairs", 0, kFewestPairs, 100000));
    rules.pairs = static_cast<int>(pairs);
  }
  rules.cold = arguments.has("--cold");
  rules.timed = !arguments.has("--untimed");
  return rules;
}

Result<int> judge_one(const Arguments& arguments, judge::Case one, std::ostream& out) {
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  KW_TRY(const Task task, suites::find_task(arguments.text("TASK"), dims));
  one.task = &task;
  KW_TRY(one.source, read_source(arguments.text("FILE")));
  const std::string key = judge::key_of(one);
  std::optional<Verdict> verdict;
  if (!arguments.has("--fresh")) verdict = judge::kept_verdict(key);
  if (!verdict) {
    KW_TRY(judge::Judge judge, judge::Judge::open());
    KW_TRY(verdict, judge.judge(one));
    judge::keep_verdict(key, *verdict);
  }
  if (arguments.has("--json")) {
    out << judge::verdict_as_json(*verdict) << "\n";
  } else {
    print_verdict(*verdict, out);
  }
  return verdict->accepted() ? kYes : kNo;
}

// A line of a batch: {"task": "Relu", "file": "relu.cpp"}, or "source" with the text in place of a file; "set":
// {"TILE": 8} and "id", which comes back with the verdict, may be there.
struct Line {
  std::size_t number = 0;
  Json id;
  std::string problem;  // why it cannot be judged
};

Result<judge::Case> parse_line(const std::string& text, judge::Case rules, std::map<std::string, Task>& tasks,
                               Json& id) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return fail("not a JSON object");
  if (json.contains("id")) id = json["id"];
  const auto text_at = [&](const char* key) -> std::string {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
  };
  const std::string name = text_at("task");
  if (name.empty()) return fail("\"task\" is missing");
  if (!tasks.contains(name)) {
    KW_TRY(Task task, suites::find_task(name));
    tasks.emplace(name, std::move(task));
  }
  rules.task = &tasks.at(name);
  if (json.contains("source") == json.contains("file")) return fail("say either \"file\" or \"source\"");
  if (json.contains("file")) {
    KW_TRY(rules.source, read_source(text_at("file")));
  } else {
    rules.source = {text_at("name").empty() ? "kernel.cpp" : text_at("name"), text_at("source")};
  }
  if (json.contains("set")) {
    if (!json["set"].is_object()) return fail("\"set\" is an object: {{\"TILE\": 8}}");
    for (const auto& [key, value] : json["set"].items()) {
      rules.settings[key] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  return rules;
}

Result<int> judge_file(const Arguments& arguments, const judge::Case& rules, std::ostream& out) {
  KW_TRY(const std::string text, read_file(arguments.text("--batch")));
  std::map<std::string, Task> tasks;  // a map does not move what it holds
  std::vector<Line> lines;
  std::vector<std::size_t> line_of;  // of each case
  std::vector<judge::Case> cases;
  bool broken = false, all = true;
  const auto print = [&](const Line& line, const std::string& verdict) {
    Json json = verdict.empty() ? Json::object() : Json::parse(verdict);
    json["line"] = line.number;
    if (!line.id.is_null()) json["id"] = line.id;
    if (!line.problem.empty()) json["error"] = line.problem;
    out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n" << std::flush;
  };
  std::istringstream stream(text);
  std::size_t number = 0;
  for (std::string one; std::getline(stream, one);) {
    ++number;
    if (one.find_first_not_of(" \t\r") == std::string::npos) continue;
    Line& line = lines.emplace_back();
    line.number = number;
    auto parsed = parse_line(one, rules, tasks, line.id);
    if (!parsed.ok()) {
      line.problem = parsed.error().message;
      print(line, "");
      broken = true;
      continue;
    }
    const auto kept = arguments.has("--fresh") ? std::nullopt : judge::kept_verdict(judge::key_of(*parsed));
    if (kept) {
      print(line, judge::verdict_as_json(*kept));
      all = all && kept->accepted();
      continue;
    }
    line_of.push_back(lines.size() - 1);
    cases.push_back(*std::move(parsed));
  }
  if (lines.empty()) return fail("{}: there is nothing to judge in it", arguments.text("--batch"));
  if (!cases.empty()) {
    KW_TRY(judge::Judge judge, judge::Judge::open());
    judge::judge_batch(judge, cases, [&](std::size_t index, const Result<Verdict>& verdict) {
      Line& line = lines[line_of[index]];
      if (!verdict.ok()) {
        line.problem = verdict.error().message;
        print(line, "");
        broken = true;
        return;
      }
      judge::keep_verdict(judge::key_of(cases[index]), *verdict);
      all = all && verdict->accepted();
      print(line, judge::verdict_as_json(*verdict));
    });
  }
  return broken ? kBroken : all ? kYes : kNo;
}

Result<int> run(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const judge::Case rules, rules_of(arguments));
  if (arguments.has("--batch")) {
    if (arguments.has("TASK")) return fail("--batch takes its tasks and files from its own file");
    return judge_file(arguments, rules, out);
  }
  if (!arguments.has("FILE")) return fail("kw eval takes a task and a file: kw eval Relu relu.cpp");
  return judge_one(arguments, rules, out);
}

}  // namespace

Command eval() {
  return {
      .name = "eval",
      .summary = "judges a kernel: is it right, how fast is it, how sure is that",
      .description =
          "Builds the kernel in a sandbox, runs it on the task's own shape and on shapes and values that its author "
          "never "
          "saw, and times it against the task's plain kernel and other files, side by side. Exit code 0: accepted; 1: "
          "rejected; 2: wrong use or a broken machine.\n\n"
          "--json prints one object: task, target, accepted, stage (where it stopped: build, load, verify, hidden, "
          "guard, "
          "precision, behaviour, time; or accepted), reason, errors (file, line, message, around), max_error (in parts "
          "of "
          "what is allowed), time_ns, caches, speedup (by rival: median, low, high, pairs, claimed), roof_fraction, "
          "noise, "
          "tier, varies, kept.\n\n"
          "--batch judges every line of a file of JSON objects: task, and file or source (the text itself), and if "
          "need be set "
          "(an object) and id. It prints one such object a line, in the order of completion, with line and id; a line "
          "that "
          "cannot be judged gives line, id and error.",
      .options =
          {{.name = "TASK", .help = "which task", .completes = Completes::task},
           {.name = "FILE", .help = "the kernel's source, C++ or C (.c)", .completes = Completes::file},
           {.name = "--against",
            .value = "FILE",
            .help = "a rival besides the plain kernel",
            .repeated = true,
            .completes = Completes::file},
           {.name = "--set", .value = "NAME=VALUE", .help = "sets a tunable, `compiler` or `flags`", .repeated = true},
           {.name = "--threads", .value = "N", .help = "how many threads the kernel may use (1)"},
           {.name = "--cold", .help = "time with cold caches instead of warm ones"},
           {.name = "--budget", .value = "S", .help = "seconds that timing may take (2, in a batch 0.1)"},
           {.name = "--pairs", .value = "N", .help = "time exactly so many pairs"},
           {.name = "--untimed", .help = "stop when the kernel is known to be right"},
           {.name = "--fresh", .help = "judge again what was judged before"},
           {.name = "--batch",
            .value = "FILE",
            .help = "judges many: a JSON object a line, see above",
            .completes = Completes::file},
           {.name = "--dim", .value = "NAME=VALUE", .help = "gives an open length a value", .repeated = true},
           {.name = "--json", .help = "one JSON object instead of text"}},
      .examples = {"kw eval Relu relu.cpp", "kw eval Relu relu.cpp --set flags=-O2 --budget 0.2 --json"},
      .run = run};
}

}  // namespace kw::cli::commands
