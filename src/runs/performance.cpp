#include "runs/performance.h"

#include <fmt/format.h>

namespace kw::inspect {
namespace {

std::string time_text(double time_ns) {
  if (time_ns < 1e3) return fmt::format("{:.3g} ns", time_ns);
  if (time_ns < 1e6) return fmt::format("{:.3g} us", time_ns / 1e3);
  return fmt::format("{:.3g} ms", time_ns / 1e6);
}

}  // namespace

Bound bound_of(const ops::Graph& graph, const targets::Roofs& roofs) {
  const Cost cost = ops::cost_of(graph);
  Bound bound{.flops = cost.flops, .bytes = cost.bytes()};
  bound.intensity = cost.bytes() > 0 ? cost.flops / cost.bytes() : 0;
  bound.arithmetic_ns = targets::least_time_ns(roofs, {.flops = cost.flops});
  bound.moving_ns = targets::least_time_ns(roofs, {0, cost.read_bytes, cost.written_bytes});
  return bound;
}

std::string performance_text(const ops::Graph& graph, const Verdict& verdict, const targets::Roofs* roofs,
                             const MachineCode* code, Mark mark) {
  const auto said = [&](const std::string& fact) { return mark != nullptr ? mark(fact) : fact; };
  std::string text;
  if (verdict.time_ns)
    text += fmt::format("time: {} a call, {} caches\n", said(time_text(*verdict.time_ns)), verdict.caches);
  for (const Speedup& one : verdict.speedups) {
    text += fmt::format("against {}: {} times as fast{}\n", one.rival,
                        said(fmt::format("{:.2f} [{:.2f}, {:.2f}]", one.median, one.low, one.high)),
                        one.claimed ? "" : said(" (too close to call)"));
  }
  if (roofs != nullptr) {
    const Bound bound = bound_of(graph, *roofs);
    text += fmt::format("work: {:.3g} flop, at least {:.3g} bytes moved, {:.2g} flop a byte\n", bound.flops,
                        bound.bytes, bound.intensity);
    text += fmt::format("roof: no kernel can be faster than {}; the limit is {}\n", said(time_text(bound.least_ns())),
                        bound.by_memory() ? "moving bytes (caches, memory)" : "arithmetic");
    if (verdict.time_ns && bound.least_ns() > 0) {
      const double share = bound.least_ns() / *verdict.time_ns;
      text += fmt::format("this kernel reaches {} of the roof{}\n", said(fmt::format("{:.1f} %", 100 * share)),
                          share > 0.7 ? said(": little is left to gain") : "");
    }
  }
  if (code != nullptr) text += as_text(*code);
  return text;
}

}  // namespace kw::inspect
