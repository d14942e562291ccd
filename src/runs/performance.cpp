#include "runs/performance.h"

#include <fmt/format.h>

#include "runs/task_text.h"

namespace kw::runs {
std::string performance_text(const ops::Graph& graph, const Verdict& verdict, const targets::LeastTime* least,
                             const std::string& code, Mark mark) {
  const auto said = [&](const std::string& fact) { return mark != nullptr ? mark(fact) : fact; };
  std::string text;
  if (verdict.time_ns)
    text += fmt::format("time: {} a call, {} caches\n", said(time_text(*verdict.time_ns)), verdict.caches);
  for (const Speedup& one : verdict.speedups) {
    text += fmt::format("against {}: {} times as fast{}\n", one.rival,
                        said(fmt::format("{:.2f} [{:.2f}, {:.2f}]", one.median, one.low, one.high)),
                        one.claimed ? "" : said(" (too close to call)"));
  }
  if (least != nullptr) {
    const Cost cost = ops::cost_of(graph);
    text += fmt::format("work: {:.3g} flop, at least {:.3g} bytes moved, {:.2g} flop a byte\n", cost.flops,
                        cost.bytes(), cost.bytes() > 0 ? cost.flops / cost.bytes() : 0);
    text += fmt::format("roof: no kernel can be faster than {}; the limit is {}\n", said(time_text(least->ns())),
                        least->by_moving() ? "moving bytes (caches, memory)" : "arithmetic");
    if (verdict.time_ns && least->ns() > 0) {
      const double share = least->ns() / *verdict.time_ns;
      text += fmt::format("this kernel reaches {} of the roof{}\n", said(fmt::format("{:.1f} %", 100 * share)),
                          share > 0.7 ? said(": little is left to gain") : "");
    }
  }
  text += code;
  return text;
}

}  // namespace kw::runs
