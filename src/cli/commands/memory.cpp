// kw memory: what searches learned on this machine.

#include <algorithm>
#include <map>
#include <ostream>

#include "base/json.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/store_folder.h"
#include "cli/target_flag.h"
#include "runs/machine.h"
#include "store/lessons.h"

namespace kw::cli::commands {
namespace {

Result<int> run_memory(const Arguments& arguments, std::ostream& out) {
  const std::string family = arguments.text("FAMILY");
  if (arguments.has("--forget")) {
    KW_TRY(const store::Store store, store::Store::open_existing(store_folder(arguments)));
    KW_TRY(const int forgotten, store::forget_lessons(store, family));
    print(out, "forgot {} lessons{}\n", forgotten, family.empty() ? "" : " on " + family);
    return kYes;
  }
  KW_TRY(const auto store, look_into_store(arguments, out));
  if (!store) return kNo;
  KW_TRY(const std::string device, device_of(arguments));
  KW_TRY(const auto lessons, store::lessons_of(*store, runs::machine_identity(device), family));
  if (arguments.has("--json")) {
    Json list = Json::array();
    for (const store::Lesson& one : lessons) {
      list.push_back({{"family", one.family},
                      {"task", one.task},
                      {"technique", one.technique},
                      {"settings", Json::parse_quietly(one.settings)},
                      {"time", one.time},
                      {"at", one.at}});
    }
    out << list.dump() << "\n";
    return kYes;
  }
  // For each family, what won on its tasks.
  std::string shown;
  std::map<std::string, int> of_task;
  for (const store::Lesson& one : lessons) {
    if (of_task[one.task]++ >= 3) continue;
    if (one.family != shown) {
      print(out, "{}{}\n", shown.empty() ? "" : "\n", one.family);
      shown = one.family;
    }
    print(out, "  {:<40} {:<24} {:.3f} of its defaults' time  {}\n", one.task, one.technique, one.time,
          one.settings == "{}" ? "defaults" : one.settings);
  }
  if (lessons.empty()) {
    print(out, "nothing is remembered{} yet: kw optimize and kw bench learn\n", family.empty() ? "" : " of " + family);
  }
  return kYes;
}

}  // namespace

Command memory() {
  return {
      .name = "memory",
      .topic = Topic::record,
      .summary = "what searches learned on this machine, for like tasks",
      .description =
          "Searches keep how each technique did with which settings; later searches of tasks with the same operators "
          "try "
          "first what won. Shows the three best of each task; --json prints all: [{family, task, technique, settings, "
          "time, at}], where time is against the technique's defaults.",
      .options = {{.name = "FAMILY", .help = "only of these operators: Conv"},
                  target_option(),
                  {.name = "--forget", .help = "erases it: all, or one family's"},
                  store_option(),
                  {.name = "--json", .help = "a list"}},
      .examples = {"kw memory", "kw memory Conv --json"},
      .run = run_memory};
}

}  // namespace kw::cli::commands
