// kw eval: judges a kernel.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/config.h"
#include "cli/describe.h"
#include "cli/guests.h"
#include "cli/kernel_file.h"
#include "cli/recorded_run.h"
#include "cli/store_folder.h"
#include "cli/verdict_text.h"
#include "judge/batch.h"
#include "judge/judge.h"
#include "judge/kept_verdicts.h"
#include "judge/verdict_json.h"
#include "runs/case_record.h"
#include "suites/catalog.h"

namespace kw::cli::commands {
namespace {

// What the flag says, or the setting of its name.
Result<double> number_of(const Arguments& arguments, const std::string& name, double otherwise, double least,
                         double most) {
  const std::string flag = "--" + name, text = setting(arguments, name);
  if (text.empty() && !arguments.has(flag)) return otherwise;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= least && value <= most)) {
    return fail("{} {}: say a number from {} to {}", arguments.has(flag) ? flag : name, text, least, most);
  }
  return value;
}

// What holds for all that one command judges.
Result<judge::Case> rules_of(const Arguments& arguments) {
  judge::Case rules;
  for (const std::string& file : arguments.texts("--against")) {
    KW_TRY(judge::Source rival, read_kernel(file));
    rules.against.push_back(std::move(rival));
  }
  KW_TRY(rules.settings, parse_settings(arguments.texts("--set")));
  KW_TRY(const double threads, number_of(arguments, "threads", 1, 1, 64));
  rules.threads = static_cast<int>(threads);
  KW_TRY(rules.budget_s,
         number_of(arguments, "budget", arguments.has("--batch") ? judge::kBatchBudget_s : rules.budget_s, 0.05, 600));
  if (arguments.has("--pairs")) {
    KW_TRY(const double pairs, number_of(arguments, "pairs", 0, kFewestPairs, 100000));
    rules.pairs = static_cast<int>(pairs);
  }
  rules.cold = arguments.has("--cold");
  rules.timed = !arguments.has("--untimed");
  return rules;
}

// A single verdict goes into a record that is there already, or that was asked for.
bool is_recorded(const Arguments& arguments) {
  if (arguments.has("--no-store")) return false;
  return arguments.has("--store") || store::Store::is_in(store_folder(arguments));
}

Result<int> judge_one(const Arguments& arguments, judge::Case one, std::ostream& out) {
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  KW_TRY(const Task task, suites::find_task(arguments.text("TASK"), dims));
  one.task = &task;
  KW_TRY(one.source, read_kernel(arguments.text("FILE")));
  KW_TRY(const Guests guests, Guests::chosen(arguments));
  if (one.timed) {
    KW_TRY(one.guests, guests.of(task, one.threads));
  }
  const std::string key = judge::key_of(one);
  std::optional<Verdict> verdict;
  if (!arguments.has("--fresh")) verdict = judge::kept_verdict(key);
  if (!verdict) {
    if (one.timed) guests.start();
    const auto begin = std::chrono::steady_clock::now();
    std::string tier;
    for (int tries = 1; !verdict; ++tries) {
      KW_TRY(judge::Judge judge, judge::Judge::open());
      tier = judge.tier().name();
      auto judged = judge.judge(one);
      const bool last = tries == runs::kMostKills;
      if (!judged.ok() && (last || runs::lives(judge))) return judged.error();
      if (judged.ok() && (last || !runs::may_be_somebody_elses_doing(*judged))) verdict = *std::move(judged);
    }
    const double spent_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (is_recorded(arguments)) {
      KW_TRY(store::Store store, store::Store::open(store_folder(arguments)));
      KW_CHECK(record_one(store, one, *verdict, spent_s, tier));
    }
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
// {"TILE": 8}, "id", which comes back with the verdict, "author", "notes", and "parents", the ids of earlier lines that
// it was made from, may be there.
struct Line {
  std::int64_t number = 0;
  std::string id = "null";  // JSON
  std::string author;
  std::string notes;
  std::vector<std::string> parents;  // ids, as JSON
  std::string problem;               // why it cannot be judged
  std::optional<judge::Case> wanted;
};

Result<judge::Case> case_of(const Json& json, judge::Case rules, std::map<std::string, Task>& tasks) {
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
    KW_TRY(rules.source, read_kernel(text_at("file")));
  } else {
    rules.source = {text_at("name").empty() ? "kernel.cpp" : text_at("name"), text_at("source")};
  }
  if (json.contains("set")) {
    if (!json["set"].is_object()) return fail("\"set\" is an object: {{\"TILE\": 8}}");
    for (const auto& [key, value] : json["set"].items()) {
      rules.settings[key] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  // What was set from outside is not the candidate's fault.
  if (const auto tunables = read_tunables(rules.source.text); tunables.ok() && !rules.settings.empty()) {
    KW_TRY([[maybe_unused]] const Choice choice, choose(*tunables, rules.settings));
  }
  return rules;
}

Line parse_line(const std::string& text, const judge::Case& rules, std::map<std::string, Task>& tasks) {
  Line line;
  const Json json = Json::parse_quietly(text);
  if (!json.is_object()) {
    line.problem = "not a JSON object";
    return line;
  }
  if (json.contains("id")) line.id = json["id"].dump();
  if (json.contains("author") && json["author"].is_string()) line.author = json["author"];
  if (json.contains("notes") && json["notes"].is_string()) line.notes = json["notes"];
  if (json.contains("parents")) {
    if (!json["parents"].is_array()) {
      line.problem = "\"parents\" is a list of the ids of earlier lines";
      return line;
    }
    for (const Json& parent : json["parents"]) line.parents.push_back(parent.dump());
  }
  auto wanted = case_of(json, rules, tasks);
  if (wanted.ok()) {
    line.wanted = *std::move(wanted);
  } else {
    line.problem = wanted.error().message;
  }
  return line;
}

Result<std::vector<Line>> parse_batch(const std::string& file, const judge::Case& rules,
                                      std::map<std::string, Task>& tasks) {
  KW_TRY(const std::string text, read_file(file));
  std::vector<Line> lines;
  std::istringstream stream(text);
  std::int64_t number = 0;
  for (std::string one; std::getline(stream, one);) {
    ++number;
    if (one.find_first_not_of(" \t\r") == std::string::npos) continue;
    lines.push_back(parse_line(one, rules, tasks));
    lines.back().number = number;
  }
  if (lines.empty()) return fail("{}: there is nothing to judge in it", file);
  return lines;
}

// "a, b" of the suites that the lines' tasks come from.
std::string suites_of(const std::vector<Line>& lines) {
  std::set<std::string> names;
  for (const Line& line : lines) {
    if (line.wanted && !line.wanted->task->suite.empty()) names.insert(line.wanted->task->suite);
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// What the record is to hold. A line whose parents are not known gets a problem.
std::vector<store::NewItem> items_of(std::vector<Line>& lines, const std::string& author) {
  std::vector<store::NewItem> items;
  std::map<std::string, std::string> candidate_of;  // by the line's id
  for (Line& line : lines) {
    store::NewItem item{.position = line.number, .label = line.id};
    if (line.wanted) {
      item = runs::planned(line.number, *line.wanted, line.id);
      item.candidate->author = line.author.empty() ? author : line.author;
      item.candidate->notes = line.notes;
      for (const std::string& parent : line.parents) {
        const auto found = candidate_of.find(parent);
        if (found == candidate_of.end()) {
          line.problem = fmt::format("its parent {} is no earlier line's id", parent);
          break;
        }
        item.candidate->parents.push_back(found->second);
      }
    }
    if (!line.problem.empty()) {
      item = {.position = line.number, .label = line.id, .problem = line.problem};
    } else if (line.id != "null") {
      candidate_of[line.id] = store::hash_of(*item.candidate);
    }
    items.push_back(std::move(item));
  }
  return items;
}

Result<int> judge_file_as_run(const Arguments& arguments, const judge::Case& rules, std::ostream& out) {
  std::map<std::string, Task> tasks;  // a map does not move what it holds
  KW_TRY(std::vector<Line> lines, parse_batch(arguments.text("--batch"), rules, tasks));
  auto store = store::Store::open(store_folder(arguments));
  if (!store.ok()) return fail("{}; --no-store judges without a record", store.error().message);
  const std::vector<store::NewItem> items = items_of(lines, setting(arguments, "author"));
  KW_TRY(const Guests guests, Guests::chosen(arguments));
  store::NewRun run{.command = command_line(),
                    .suite = suites_of(lines),
                    .author = setting(arguments, "author"),
                    .rules = rules_as_json(rules, arguments.has("--fresh"), guests.names())};
  for (const judge::Source& rival : rules.against) run.against.push_back({rival.name, rival.text});
  KW_TRY(const auto progress, Progress::open(arguments));
  KW_TRY(const std::int64_t id, store->begin_run(run, items));
  if (!progress->is_quiet()) fmt::print(stderr, "kw: this is run r{} of {}\n", id, store->folder().string());
  for (const Line& line : lines) {
    if (line.problem.empty()) continue;
    progress->print(out, answer_line(line.number, line.id, "", line.problem) + "\n");
    progress->error("problem", line.problem);
  }
  return work_on(*store, id, false, *progress, out);
}

Result<int> judge_file_unrecorded(const Arguments& arguments, const judge::Case& rules, std::ostream& out) {
  std::map<std::string, Task> tasks;  // a map does not move what it holds
  KW_TRY(const std::vector<Line> lines, parse_batch(arguments.text("--batch"), rules, tasks));
  KW_TRY(const Guests guests, Guests::chosen(arguments));
  KW_TRY(const auto progress, Progress::open(arguments));
  progress->plan({.total = std::ssize(lines)});
  std::vector<const Line*> line_of;  // of each case
  std::vector<judge::Case> cases;
  bool broken = false, all = true;
  const auto answer = [&](const Line& line, const Result<Verdict>& verdict) {
    broken = broken || !verdict.ok();
    all = all && verdict.ok() && verdict->accepted();
    progress->print(out, answer_line(line.number, line.id, verdict.ok() ? judge::verdict_as_json(*verdict) : "",
                                     verdict.ok() ? "" : verdict.error().message) +
                             "\n");
    if (verdict.ok()) {
      progress->finish(line.number, line.wanted->task->name, line.wanted->source.name, *verdict);
    } else {
      progress->drop(line.number);
      progress->error("problem", verdict.error().message);
    }
    progress->advance();
  };
  for (const Line& line : lines) {
    if (!line.wanted) {
      answer(line, Error{line.problem});
      continue;
    }
    judge::Case one = *line.wanted;
    KW_TRY(one.guests, guests.of(*one.task, one.threads));
    if (const auto kept = arguments.has("--fresh") ? std::nullopt : judge::kept_verdict(judge::key_of(one))) {
      answer(line, *kept);
    } else {
      line_of.push_back(&line);
      cases.push_back(std::move(one));
    }
  }
  if (!cases.empty()) {
    KW_TRY(judge::Judge judge, judge::Judge::open());
    const auto judged = [&](std::size_t index, const Result<Verdict>& verdict) {
      if (verdict.ok()) judge::keep_verdict(judge::key_of(cases[index]), *verdict);
      answer(*line_of[index], verdict);
    };
    judge::judge_batch(judge, cases, judged, [&](std::size_t index, const char* doing) {
      progress->start(line_of[index]->number, cases[index].task->name, cases[index].source.name, doing);
    });
  }
  progress->end("done");
  return broken ? kBroken : all ? kYes : kNo;
}

Result<int> run(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const judge::Case rules, rules_of(arguments));
  if (arguments.has("--batch")) {
    if (arguments.has("TASK")) return fail("--batch takes its tasks and files from its own file");
    return arguments.has("--no-store") ? judge_file_unrecorded(arguments, rules, out)
                                       : judge_file_as_run(arguments, rules, out);
  }
  if (!arguments.has("FILE")) return fail("kw eval takes a task and a file: kw eval Relu relu.cpp");
  if (is_source(arguments.text("TASK")) && !is_source(arguments.text("FILE"))) {
    return fail("the task comes first: kw eval {} {}", arguments.text("FILE"), arguments.text("TASK"));
  }
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
          "saw, and times it against the task's plain kernel, installed frameworks and other files, side by side. Exit "
          "code 0: accepted; 1: "
          "rejected; 2: wrong use or a broken machine.\n\n"
          "--json prints one object: task, target, accepted, stage (where it stopped: build, load, verify, hidden, "
          "guard, "
          "precision, behaviour, time; or accepted), reason, errors (file, line, message, around), max_error (in parts "
          "of "
          "what is allowed), time_ns, caches, speedup (by rival: median, low, high, pairs, claimed; of a framework, "
          "less "
          "the cost of calling it, and in called as called: version, median, low, high, time_ns, overhead_ns, "
          "overhead_decides), left_out (by rival whose time does not count: version, why), roof_fraction, noise, "
          "tier, varies, kept.\n\n"
          "--batch judges every line of a file of JSON objects: task, and file or source (the text itself), and if "
          "need be set "
          "(an object), id, author, notes and parents (ids of earlier lines). It prints one such object a line, in the "
          "order of completion, with line "
          "and id; a line that cannot be judged gives line, id and error. A batch is a run of the record in .kw: what "
          "is printed is on the disk, `kw resume` goes on after Ctrl-C, a crash or a full disk, and `kw runs` lists "
          "it. A single verdict is recorded where there is a record already, or with --store.\n\n" +
          Progress::description(),
      .options = with_progress_options(
          {{.name = "TASK", .help = "which task", .completes = Completes::task},
           {.name = "FILE", .help = "the kernel's source, C++ or C (.c)", .completes = Completes::file},
           Guests::option(),
           {.name = "--against",
            .value = "FILE",
            .help = "a rival besides the plain kernel",
            .repeated = true,
            .completes = Completes::file},
           {.name = "--set", .value = "NAME=VALUE", .help = "sets a tunable, `compiler` or `flags`", .repeated = true},
           {.name = "--threads", .value = "N", .help = "how many threads the kernel may use (1)"},
           {.name = "--cold", .help = "time with cold caches instead of warm ones"},
           {.name = "--budget", .value = "S", .help = "seconds that timing may take (2, in a batch 0.06)"},
           {.name = "--pairs", .value = "N", .help = "time exactly so many pairs"},
           {.name = "--untimed", .help = "stop when the kernel is known to be right"},
           {.name = "--fresh", .help = "judge again what was judged before"},
           {.name = "--batch",
            .value = "FILE",
            .help = "judges many: a JSON object a line, see above",
            .completes = Completes::file},
           {.name = "--author", .value = "NAME", .help = "who wrote the batch's kernels, for the record"},
           store_option(),
           {.name = "--no-store", .help = "judge without a record"},
           {.name = "--dim", .value = "NAME=VALUE", .help = "gives an open length a value", .repeated = true},
           {.name = "--json", .help = "one JSON object instead of text"}}),
      .examples = {"kw eval Relu relu.cpp", "kw eval Relu relu.cpp --set flags=-O2 --budget 0.2 --json"},
      .run = run};
}

}  // namespace kw::cli::commands
