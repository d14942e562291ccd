#include "report/verdict_text.h"

#include <fmt/format.h>

#include <ostream>

#include "base/print.h"
#include "base/units.h"
#include "core/emulation.h"

namespace kw::report {
namespace {

// A candidate's words must not steer the reader's terminal.
std::string without_controls(std::string text) {
  for (char& c : text) {
    if ((static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t') || c == 127) c = '?';
  }
  return text;
}

}  // namespace

void print_verdict(const Verdict& verdict, std::ostream& out) {
  print(out, "{}  {}{}\n", verdict.task,
        verdict.accepted() ? "accepted" : fmt::format("rejected at {}", name_of(verdict.stage)),
        verdict.kept ? "  (judged before; --fresh judges again)" : "");
  // The first error of a compiler or linker is the reason too: it is printed once, with its lines.
  const ReasonCode code = verdict.reason.code;
  const bool is_an_error =
      !verdict.errors.empty() && (code == ReasonCode::does_not_compile || code == ReasonCode::does_not_link);
  if (!verdict.reason.empty() && !is_an_error) print(out, "\n  {}\n", without_controls(text_of(verdict.reason)));
  for (const SourceError& error : verdict.errors) {
    print(out, "\n  {}:{}: {}\n", error.file, error.line, without_controls(error.message));
    out << without_controls(error.around);
  }
  if (!verdict.accepted()) {
    print(out, "\nsandbox {}\n", verdict.isolation);
    return;
  }
  print(out, "\n");
  print(out, "  largest error  {:.2g} of what is allowed{}\n", verdict.max_error,
        verdict.varies ? "; does not promise the same bits" : "");
  for (const std::string& line : text_of(verdict.coverage)) print(out, "  tried          {}\n", line);
  if (verdict.time_ns) {
    print(out, "  time           {} a call, {} caches{}\n", time_text(*verdict.time_ns), verdict.caches,
          verdict.roof_fraction
              ? fmt::format(", {} of the roof's speed{}", percent_text(*verdict.roof_fraction),
                            *verdict.roof_fraction > 1 ? " (it does fewer operations than are counted, or the roof "
                                                         "was measured at a slower moment)"
                                                       : "")
              : "");
    if (verdict.warm_time_ns) print(out, "                 {} with warm caches\n", time_text(*verdict.warm_time_ns));
  }
  if (verdict.time_ns && is_emulated(verdict.target)) {
    print(out, "                 under emulation: times say nothing of a real device, and no speed is claimed\n");
  }
  for (const Speedup& one : verdict.speedups) {
    print(out, "  against {:<12} {:.3f} times as fast  [{:.3f}, {:.3f}]  {} pairs{}\n", one.rival, one.median, one.low,
          one.high, one.pairs, one.claimed ? "" : "  no difference is claimed");
    if (one.warm) {
      print(out, "                       {:.3f} with warm caches  [{:.3f}, {:.3f}]\n", one.warm->median, one.warm->low,
            one.warm->high);
    }
    if (!one.called) continue;
    print(out, "          {:<12} {:.3f} as called; of its {}, calling takes {}{}\n", one.called->version,
          one.called->median, time_text(one.called->time_ns), time_text(one.called->overhead_ns),
          one.called->overhead_decides() ? ": that decides"
          : one.called->apart            ? ", which a graph does not"
                                         : "");
  }
  for (const LeftOut& one : verdict.left_out) {
    print(out, "  {} {} does not count: {}\n", one.rival, one.version, without_controls(one.why));
  }
  if (verdict.noise) {
    print(out, "  noise          two copies of one kernel differ by up to {} here\n", percent_text(*verdict.noise));
  }
  if (verdict.conditions) print(out, "  device         {}\n", text_of(*verdict.conditions));
  print(out, "  sandbox        {}\n", verdict.isolation);
}

}  // namespace kw::report
