// kw eval: judges a kernel.
#include <fmt/ostream.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "judge/judge.h"
#include "judge/kept_verdicts.h"
#include "judge/verdict_json.h"
#include "suites/catalog.h"

namespace kw::cli::commands {
namespace {

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

void print_verdict(const Verdict& verdict, std::ostream& out) {
  fmt::print(out, "{}  {}{}\n", verdict.task,
             verdict.accepted() ? "accepted" : fmt::format("rejected at {}", name_of(verdict.stage)),
             verdict.kept ? "  (judged before; --fresh judges again)" : "");
  if (!verdict.reason.empty()) fmt::print(out, "\n  {}\n", verdict.reason);
  for (const SourceError& error : verdict.errors) {
    fmt::print(out, "\n  {}:{}: {}\n", error.file, error.line, error.message);
    out << error.around;
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

Result<int> run(const Arguments& arguments, std::ostream& out) {
  if (!arguments.has("TASK") || !arguments.has("FILE"))
    return fail("kw eval takes a task and a file: kw eval Relu relu.cpp");
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  KW_TRY(const Task task, suites::find_task(arguments.text("TASK"), dims));
  judge::Case one;
  one.task = &task;
  KW_TRY(one.source, read_source(arguments.text("FILE")));
  for (const std::string& file : arguments.texts("--against")) {
    KW_TRY(judge::Source rival, read_source(file));
    one.against.push_back(std::move(rival));
  }
  KW_TRY(one.settings, parse_settings(arguments.texts("--set")));
  KW_TRY(const double threads, number_of(arguments, "--threads", 1, 1, 64));
  KW_TRY(one.budget_s, number_of(arguments, "--budget", one.budget_s, 0.05, 600));
  if (arguments.has("--pairs")) {
    KW_TRY(const double pairs, number_of(arguments, "--pairs", 0, 8, 100000));
    one.pairs = static_cast<int>(pairs);
  }
  one.threads = static_cast<int>(threads);
  one.cold = arguments.has("--cold");
  one.timed = !arguments.has("--untimed");

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
          "tier, varies, kept.",
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
           {.name = "--budget", .value = "S", .help = "seconds that timing may take (2)"},
           {.name = "--pairs", .value = "N", .help = "time exactly so many pairs"},
           {.name = "--untimed", .help = "stop when the kernel is known to be right"},
           {.name = "--fresh", .help = "judge again what was judged before"},
           {.name = "--dim", .value = "NAME=VALUE", .help = "gives an open length a value", .repeated = true},
           {.name = "--json", .help = "one JSON object instead of text"}},
      .examples = {"kw eval Relu relu.cpp", "kw eval Relu relu.cpp --set UNROLL=8 --budget 0.2 --json"},
      .run = run};
}

}  // namespace kw::cli::commands
