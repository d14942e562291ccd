// kw rivals: the frameworks that a kernel can be compared with.
#include "base/json.h"
#include "base/print.h"
#include "rivals/catalog.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <ostream>

#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/settings.h"
#include "rivals/check.h"
#include "rivals/overview.h"
#include "suites/catalog.h"

namespace kw::cli::commands {
namespace {
using rivals::Checked;
using rivals::RivalFile;
using rivals::SettingTrial;

constexpr char kSuite[] = "mobilekernelbench";
constexpr std::chrono::seconds kSilence{5};  // between two words about how far a check is

Result<int> list(const Arguments& arguments, const std::string& suite, std::ostream& out) {
  KW_TRY(const std::vector<RivalFile> all, rivals::all_rivals(setting("python")));
  KW_TRY(const suites::Suite tasks, suites::find_suite(suite));
  std::vector<rivals::State> states;
  for (const RivalFile& rival : all) states.push_back(rivals::state_of(rival, suite));
  const std::size_t count = tasks.tasks.size();
  out << (arguments.has("--json") ? rivals::overview_json(states, suite, count).dump() + "\n"
                                  : rivals::overview_text(states, suite, count));
  return kYes;
}

Result<int> install(const Arguments& arguments, std::ostream& out) {
  if (!arguments.has("NAME")) return fail("say which: kw rivals install mnn");
  KW_TRY(RivalFile rival, rivals::find_rival(arguments.text("NAME"), setting("python")));
  if (rival.installed() && !arguments.has("--fresh")) {
    print(out, "{} {} is {}; --fresh installs {}\n", rival.name, rival.version(),
          rival.own ? "in your own " + rival.own->program.string() : "installed",
          rival.own ? "one beside it" : "it anew");
    return kYes;
  }
  rival.own.reset();
  if (arguments.has("--fresh")) KW_CHECK(rivals::remove(rival));
  print(out, "installing {} {} into an environment of its own{}\n", rival.name, rival.version(),
        rival.only_asked.empty() ? "" : fmt::format("; it takes {}, and a while", rival.only_asked));
  out << std::flush;
  KW_CHECK(rivals::install(rival));
  KW_TRY(const double overhead_ns, rivals::measure_overhead(rival));
  print(out, "{} is ready, a call of it costs {}; kw rivals check {} shows which tasks it runs right\n", rival.name,
        time_text(overhead_ns), rival.name);
  return kYes;
}

Result<int> remove(const Arguments& arguments, std::ostream& out) {
  if (!arguments.has("NAME")) return fail("say which: kw rivals remove mnn");
  KW_TRY(const RivalFile rival, rivals::find_rival(arguments.text("NAME"), setting("python")));
  KW_CHECK(rivals::remove(rival));
  print(out, "{} is removed, with all that was kept for it\n", rival.name);
  return kYes;
}

Result<int> check(const Arguments& arguments, const std::string& suite, std::ostream& out) {
  std::vector<RivalFile> wanted;
  if (arguments.has("NAME")) {
    KW_TRY(RivalFile rival, rivals::find_rival(arguments.text("NAME"), setting("python")));
    if (!rival.installed()) return fail("{} is not installed: kw rivals install {}", rival.name, rival.name);
    wanted.push_back(std::move(rival));
  } else {
    KW_TRY(wanted, rivals::all_rivals(setting("python")));
    std::erase_if(wanted, [](const RivalFile& rival) { return !rival.installed(); });
    if (wanted.empty()) return fail("no rival is installed; kw rivals lists them, kw rivals install mnn installs one");
  }
  KW_TRY(const suites::Suite found, suites::find_suite(suite));
  std::vector<Task> tasks = found.tasks;
  if (arguments.has("--task")) {
    const std::vector<std::string> names = arguments.texts("--task");
    std::erase_if(tasks, [&](const Task& task) { return std::ranges::find(names, task.name) == names.end(); });
    if (tasks.empty()) return fail("{} has none of these tasks; `kw tasks {}` lists them", suite, suite);
  }
  Json json = Json::object();
  for (const RivalFile& rival : wanted) {
    const bool prints = !arguments.has("--json");
    fmt::print(stderr, "kw: checking {} {} on {} tasks; what is not right is printed as it comes\n", rival.name,
               rival.version(), tasks.size());
    auto said_at = std::chrono::steady_clock::now();
    std::size_t tried = 0;
    const auto checked = rivals::check(rival, suite, tasks, [&](const Task& task, const SettingTrial& trial) {
      ++tried;
      if (const auto now = std::chrono::steady_clock::now(); now - said_at > kSilence) {
        said_at = now;
        fmt::print(stderr, "kw: {}: {} of {} tasks\n", rival.name, tried, tasks.size());
      }
      if (!prints) {
        json[rival.name]["tasks"][task.name] = Json::parse(rivals::trial_as_json(trial));
      } else if (!trial.right()) {
        print(out, "{:<13} {:<34} {}: {}\n", rival.name, task.name, name_of(trial.state), trial.why);
        out << std::flush;
      }
    });
    if (!checked.ok()) return checked.error();
    int right = 0, wrong = 0;
    for (const Task& task : tasks) {
      right += checked->tasks.at(task.name).right();
      wrong += checked->tasks.at(task.name).state == SettingTrial::State::wrong;
    }
    const auto others = static_cast<int>(tasks.size()) - right - wrong;
    if (prints) {
      print(out, "{} {}: {} of {} right, {} wrong, {} not supported or failed; a call costs {}\n", rival.name,
            rival.version(), right, tasks.size(), wrong, others, time_text(checked->overhead_ns));
    } else {
      json[rival.name]["version"] = rival.version();
      json[rival.name]["right"] = right;
      json[rival.name]["overhead_ns"] = checked->overhead_ns;
    }
  }
  if (arguments.has("--json")) out << json.dump() << "\n";
  return kYes;
}

Result<int> run_rivals(const Arguments& arguments, std::ostream& out) {
  const std::string action = arguments.text("ACTION");
  const std::string suite = arguments.has("--suite") ? arguments.text("--suite") : kSuite;
  if (action.empty() || action == "list") return list(arguments, suite, out);
  if (action == "install") return install(arguments, out);
  if (action == "remove") return remove(arguments, out);
  if (action == "check") return check(arguments, suite, out);
  return fail("kw rivals {}: say list, install, check or remove{}", action,
              nearest_hint(action, {"list", "install", "check", "remove"}));
}

}  // namespace

Command rivals() {
  return {
      .name = "rivals",
      .topic = Topic::machine,
      .summary = "lists, installs and checks the frameworks that kernels are compared with",
      .description =
          "A rival is a framework's native operator, run on the same inputs and the same core as a kernel. kw rivals "
          "lists them: which are installed, what a call costs beyond the operator, and how many tasks each runs "
          "right. kw rivals install NAME makes a Python environment of its own for one, in the cache; torch, which "
          "takes several GB, is never installed otherwise, and used where your own Python has it (the setting "
          "python). kw rivals "
          "check [NAME] runs every task of a suite, holds the outputs against our reference and keeps what it "
          "found: right, wrong or not supported, each with the reason. kw rivals remove NAME takes it away.",
      .options = {{.name = "ACTION", .help = "list, install, check or remove; none: list"},
                  {.name = "NAME", .help = "which rival"},
                  {.name = "--suite",
                   .value = "SUITE",
                   .help = "suite of the tasks to check (default: mobilekernelbench)",
                   .completes = Completes::suite},
                  {.name = "--task", .value = "TASK", .help = "check only these", .repeated = true},
                  {.name = "--fresh", .help = "install anew what is installed"},
                  {.name = "--json", .help = "one object"}},
      .examples = {"kw rivals", "kw rivals --json"},
      .run = run_rivals};
}

}  // namespace kw::cli::commands
