// kw devices: the phones, boards and emulators that kernels can be judged on.
#include <ostream>

#include "base/json.h"
#include "base/print.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "runs/device_report.h"
#include "settings/devices.h"
#include "settings/settings.h"
#include "targets/target.h"

namespace kw::cli::commands {
namespace {

Result<int> check_devices(const std::vector<std::string>& names, bool json, std::ostream& out) {
  bool all = true;
  Json list = Json::array();
  for (const std::string& name : names) {
    KW_TRY(const std::string device, settings::device_named(name));
    const runs::CheckedDevice checked = runs::check_device(name, device);
    all = all && checked.reachable;
    if (json) list.push_back(Json::parse(runs::as_json(checked)));
    if (!json) out << runs::as_text(checked);
  }
  if (json) out << list.dump(2) << "\n";
  return all ? kYes : kNo;
}

Result<int> clean_devices(const std::vector<std::string>& names, std::ostream& out) {
  if (names.empty()) return fail("say which: kw devices clean NAME");
  for (const std::string& name : names) {
    KW_TRY(const std::string device, settings::device_named(name));
    KW_TRY(const targets::Target target, targets::target_of(device));
    std::string folder;
    if (target.clean) {
      KW_TRY(folder, target.clean(device));
    }
    print(out, "{}: {}\n", fit_for_a_line(name),
          folder.empty() ? "keeps nothing" : "removed " + fit_for_a_line(folder));
  }
  return kYes;
}

Result<int> run_devices(const Arguments& arguments, std::ostream& out) {
  const std::string action = arguments.text("ACTION");
  const std::vector<std::string> names = arguments.texts("NAME");
  if (action == "clean") return clean_devices(names, out);
  std::vector<std::string> known = settings::tables_of("device");
  for (const targets::Target& target : targets::all_targets())
    known.insert(known.end(), target.offered.begin(), target.offered.end());
  if (action == "check") return check_devices(names.empty() ? known : names, arguments.has("--json"), out);
  if (!action.empty() && action != "list") return fail("kw devices list, check or clean; there is no '{}'", action);
  Json list = Json::array();
  for (const std::string& name : known) {
    KW_TRY(const std::string device, settings::device_named(name));
    const targets::DeviceFacts facts = targets::facts_of(device);
    list.push_back({{"name", name}, {"device", device}, {"facts", Json::parse(facts.json)}});
    std::string about = "not asked yet";
    for (const targets::Fact& fact : facts.rows) about = fact.name == "cores" ? fact.text : about;
    if (!arguments.has("--json")) print(out, "{:<18} {:<32} {}\n", name, fit_for_a_line(device), fit_for_a_line(about));
  }
  if (arguments.has("--json")) out << list.dump(2) << "\n";
  return kYes;
}

}  // namespace

Command devices() {
  return {.name = "devices",
          .topic = Topic::machine,
          .summary = "lists, checks and cleans the phones, boards and emulators that kernels can be judged on",
          .description =
              "A device is named wherever a command takes --on: emulated:aarch64 (an emulator here; no speed is "
              "claimed), ssh:USER@HOST[:PORT], adb or adb:SERIAL, \"command:PROGRAM WORDS\" (whatever gives a shell "
              "over standard input and output), each with #N at the end for the core that kernels are timed on. A "
              "table in kw.toml gives it a name of your own:\n"
              "\n"
              "  [device.phone]\n"
              "  on = \"adb:R58M123ABC\"\n"
              "  core = 7\n"
              "\n"
              "list shows those and what they said last. check connects and shows what each is, or why it cannot be "
              "used. clean removes what kw keeps on a device: its agent, and programs that a killed one left.\n"
              "\n"
              "--json prints a list of objects: name, device, facts {...}, and of check also reachable, problem, "
              "seconds, isolation, parts [{name, there}].\n"
              "\n"
              "check exits 1 where a device cannot be used.",
          .options = {{.name = "ACTION", .help = "list (default), check or clean"},
                      {.name = "NAME", .help = "which devices (check: default all)", .repeated = true},
                      {.name = "--json", .help = "print JSON"}},
          .examples = {"kw devices", "kw devices check emulated:aarch64"},
          .run = run_devices};
}

}  // namespace kw::cli::commands
