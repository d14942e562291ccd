#include "runs/without_timing.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <sstream>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"
#include "ops/draw.h"
#include "ops/lengths.h"
#include "report/verdict_text.h"

namespace kw::runs {
namespace {

using targets::ToolFindings;

// Tools make a kernel tens to hundreds of times slower.
constexpr ops::Allowance kLargest = {.elements = 4e6, .flops = 4e8};
constexpr ops::Allowance kSmall = {.elements = 5e4, .flops = 5e6};

Said rejected(const judge::Case& one, const targets::Built& built) {
  Verdict verdict{.task = one.task->name, .target = one.device, .stage = VerdictStage::build, .reason = built.reason};
  verdict.errors = built.errors;
  std::ostringstream text;
  report::print_verdict(verdict, text);
  return {.good = false, .text = text.str()};
}

Result<std::shared_ptr<const targets::Built>> build(judge::Judge& judge, const judge::Case& one) {
  KW_TRY(const Tunables tunables, read_tunables(one.source.text));
  KW_TRY(const Choice choice, choose(tunables, one.settings, targets::build_options(one.device)));
  KW_TRY(auto built, judge.device().build(one.source, choice));
  return std::shared_ptr<const targets::Built>(std::move(built));
}

std::string text_of(const Lengths& lengths) {
  std::vector<std::string> words;
  for (const auto& [name, value] : lengths) words.push_back(fmt::format("{}={}", name, value));
  return words.empty() ? "its only shape" : fmt::format("{}", fmt::join(words, " "));
}

std::string text_of(const ToolFindings& one) {
  if (one.count == 0 && one.errors.empty()) {
    return fmt::format("  {:<10} {}\n", one.tool, one.problem.empty() ? "nothing found" : fit_for_a_line(one.problem));
  }
  std::string text = fmt::format("  {:<10} {} error{}\n", one.tool, one.count, one.count == 1 ? "" : "s");
  for (const std::string& error : one.errors) {
    std::istringstream lines(error);
    for (std::string line; std::getline(lines, line);) text += "    " + fit_for_a_line(line) + "\n";
  }
  return text;
}

}  // namespace

Result<Said> built(const judge::Case& one) {
  KW_TRY(judge::Judge judge, judge::Judge::open(one.device));
  KW_TRY(const auto built, build(judge, one));
  if (!built->ok()) return rejected(one, *built);
  return Said{.good = true,
              .text = fmt::format("{} builds for {}, in {:.2f} s\n", one.source.name, one.device,
                                  static_cast<double>(built->build_ns) / 1e9)};
}

Result<Said> sanitized(const judge::Case& one, bool as_json) {
  KW_TRY(judge::Judge judge, judge::Judge::open(one.device));
  KW_TRY(const auto built, build(judge, one));
  if (!built->ok()) return rejected(one, *built);
  std::vector<Lengths> shapes;
  for (Lengths lengths : {ops::lengths_within(*one.task, kLargest), ops::lengths_within(*one.task, kSmall),
                          ops::tiny_lengths(*one.task)}) {
    if (std::ranges::find(shapes, lengths) == shapes.end()) shapes.push_back(std::move(lengths));
  }
  std::deque<targets::Instance> instances;  // a deque does not move what it holds
  std::vector<targets::SanitizedCall> calls;
  std::vector<std::string> names;
  for (const Lengths& lengths : shapes) {
    KW_TRY(targets::Instance instance, targets::make_instance(*one.task, lengths, one.threads));
    instances.push_back(std::move(instance));
    calls.push_back({.instance = &instances.back(),
                     .inputs = ops::draw_inputs(instances.back().graph, ops::InputClass::typical, 1)});
    names.push_back(text_of(lengths));
  }
  KW_TRY(const std::vector<ToolFindings> found, judge.device().sanitize(*built, calls));
  Said said{.good = true};
  Json tools = Json::array();
  for (const ToolFindings& tool : found) {
    said.good = said.good && tool.count == 0 && tool.errors.empty() && tool.problem.empty();
    said.text += text_of(tool);
    tools.push_back({{"tool", tool.tool}, {"count", tool.count}, {"errors", tool.errors}, {"problem", tool.problem}});
  }
  if (as_json) {
    said.text = Json{{"task", one.task->name},
                     {"target", one.device},
                     {"clean", said.good},
                     {"shapes", names},
                     {"tools", std::move(tools)}}
                    .dump() +
                "\n";
  } else {
    said.text = fmt::format("{}  {}\n\n  shapes     {}\n{}", one.task->name, said.good ? "clean" : "not clean",
                            fmt::join(names, "; "), said.text);
  }
  return said;
}

}  // namespace kw::runs
