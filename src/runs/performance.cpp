#include "runs/performance.h"

#include <fmt/format.h>

#include <algorithm>

#include "runs/task_text.h"

namespace kw::runs {

std::string counted_form(const ops::Graph& graph) {
  for (const ops::GraphNode& node : graph.nodes) {
    const std::string& op = node.call.op->name;
    // Minimal filtering and transforms of convolutions, Strassen's product and its kin, fast Fourier transforms.
    for (const char* one : {"Conv", "ConvTranspose", "ConvInteger", "QLinearConv"}) {
      if (op == one) return "direct form of the convolution";
    }
    for (const char* one : {"MatMul", "Gemm", "Einsum", "MatMulInteger", "QLinearMatMul", "Attention"}) {
      if (op == one) return "direct form of the product";
    }
    for (const char* one : {"DFT", "STFT"}) {
      if (op == one) return "direct form of the transform";
    }
  }
  return "usual algorithm";
}

namespace {

constexpr double kWideInterval = 2;  // its upper end, as times its lower one

// Pairs of calls that were taken side by side differ so much that the time alone says little.
bool is_disturbed(const Verdict& verdict) {
  return std::ranges::any_of(verdict.speedups, [](const Speedup& one) { return one.high > kWideInterval * one.low; });
}

}  // namespace

std::string time_of_call(const Verdict& verdict) {
  return time_text(*verdict.time_ns) +
         (is_disturbed(verdict) ? " (other work ran beside it: a quiet call may take far less)" : "");
}

std::optional<double> error_for_author(const Verdict& verdict) {
  if (!verdict.accepted()) return std::nullopt;
  for (const double step : {0.0, 0.1, 0.2, 0.5}) {
    if (verdict.max_error <= step) return step;
  }
  return 1;
}

std::string code_for_author(const Result<targets::CodeNotes>& notes) {
  std::string text = notes.ok() ? notes->text : notes.error().message;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string performance_text(const ops::Graph& graph, const Verdict& verdict, const targets::LeastTime* least,
                             const std::string& code, Mark mark) {
  const auto said = [&](const std::string& fact) { return mark != nullptr ? mark(fact) : fact; };
  std::string text;
  if (verdict.time_ns) {
    text += fmt::format("time: {} a call, {} caches\n", said(time_of_call(verdict)), verdict.caches);
  }
  if (const auto error = error_for_author(verdict); error && *error > 0)
    text += fmt::format("largest error: {} of what is allowed\n", said(fmt::format("at most {}", *error)));
  for (const Speedup& one : verdict.speedups) {
    text += fmt::format("against {}: {} times as fast{}\n", one.rival,
                        said(fmt::format("{:.2f} [{:.2f}, {:.2f}]", one.median, one.low, one.high)),
                        one.claimed ? "" : said(" (too close to call)"));
  }
  const Cost cost = ops::cost_of(graph);
  text += fmt::format("work: {:.3g} flop, at least {:.3g} bytes moved, {:.2g} flop a byte\n", cost.flops, cost.bytes(),
                      cost.bytes() > 0 ? cost.flops / cost.bytes() : 0);
  if (least != nullptr) {
    // A bound by arithmetic is one of the form whose operations were counted; moving bytes bounds every kernel.
    const std::string form = least->by_moving() ? "" : counted_form(graph);
    text +=
        fmt::format("roof: {} takes at least {}; the limit is {}{}\n", form.empty() ? "a kernel" : "the " + form,
                    said(time_text(least->ns())), least->by_moving() ? "moving bytes (caches, memory)" : "arithmetic",
                    form.empty() ? ""
                                 : fmt::format(". Another algorithm, with fewer operations, may be faster; moving the "
                                               "bytes alone takes {}",
                                               said(time_text(least->moving_ns))));
    if (verdict.time_ns && least->ns() > 0) {
      const double share = least->ns() / *verdict.time_ns;
      text += fmt::format("this kernel reaches {} of {}{}\n", said(fmt::format("{:.1f} %", 100 * share)),
                          form.empty() ? "the roof" : "the roof of the " + form,
                          share > 0.7 && form.empty() ? said(": little is left to gain") : "");
    }
  }
  text += code;
  return text;
}

}  // namespace kw::runs
