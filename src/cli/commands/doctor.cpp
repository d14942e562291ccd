// kw doctor: what this machine has, how fast it can be, and what is missing.
#include <ostream>

#include "cli/commands.h"
#include "cli/target_flag.h"
#include "runs/device_report.h"

namespace kw::cli::commands {
namespace {

Result<int> run_doctor(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const std::string device, device_of(arguments));
  KW_TRY(const runs::DeviceReport report, runs::report_on(device, arguments.has("--measure")));
  if (arguments.has("--json")) {
    out << runs::as_json(report) << "\n";
  } else {
    out << runs::as_text(report);
  }
  if (report.broken()) return kBroken;
  return report.tools.ready() ? kYes : kNo;
}

}  // namespace

Command doctor() {
  return {
      .name = "doctor",
      .topic = Topic::machine,
      .summary = "shows what this machine has, how fast it can be, and what is missing",
      .description =
          "Shows the processor, its caches, the compilers, and the roofs of one core: the most float32 multiply-adds "
          "and the most bytes from each cache and from memory in a second, measured. Measuring takes a few "
          "seconds and is done once; the figures are kept in machine.json of the cache folder. A roof is the best of "
          "the last ten measurings; its spread says how far the usual round or the worst measuring lies below it, and "
          "above 5 % it is called not stable.\n"
          "\n"
          "The sandbox is full, filtered or weak, by what this machine lets us lock candidates up with.\n"
          "\n"
          "copy is a = b and triad is a = b + s * c; every byte read or written counts.\n"
          "\n"
          "--json prints one object: ready, the facts of the target by its name: cpu {model, logical_cores, "
          "usable_cores, vector {extension, width_bits}, "
          "memory_bytes, caches [{name, level, kind, size_bytes, shared_by}]}, roofs {measured_at, spread, stable, "
          "levels [{name, size_bytes, working_set_bytes, read_gbps, write_gbps, copy_gbps, triad_gbps}], and the "
          "arithmetic} where a figure is {best, spread, stable, runs}, measured_now, sandbox {isolation, parts [{name, "
          "there, "
          "needs}]}, "
          "tools [{name, required, use, package, path, "
          "version}], missing [names], install (a command or null), notes [sentences].\n"
          "\n"
          "Exits 0 where all that kw needs is there, 1 where something needed is missing, 2 where nothing could be "
          "measured.",
      .options = {target_option(),
                  {.name = "--measure", .help = "measure the roofs again"},
                  {.name = "--json", .help = "print one JSON object"}},
      .examples = {"kw doctor", "kw doctor --json"},
      .run = run_doctor,
  };
}

}  // namespace kw::cli::commands
