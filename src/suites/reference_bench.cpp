// How long the right answer takes: draws, evaluates and compares every task of a suite on one core and prints the
// slowest. The judge waits for this on every candidate.
//
//   kw_reference_bench [SUITE]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ops/compare.h"
#include "ops/draw.h"
#include "ops/graph.h"
#include "ops/lengths.h"
#include "suites/catalog.h"

namespace {

using kw::Clock;
using kw::seconds_since;

struct Row {
  std::string name;
  double draw_s;
  double evaluate_s;
  double compare_s;
  double total_s() const { return draw_s + evaluate_s + compare_s; }
};

kw::Result<Row> time_of(const kw::Task& task) {
  // Tasks of a GPU's size in lengths that a CPU can afford.
  const kw::Lengths lengths = kw::ops::lengths_within(task, {.elements = 5e7, .flops = 2e9});
  KW_TRY(const kw::ops::Graph graph, kw::ops::resolve(task, lengths));
  Row row{.name = task.name};
  Clock::time_point start = Clock::now();
  const std::vector<kw::Tensor> inputs = kw::ops::draw_inputs(graph, kw::ops::InputClass::typical, 1);
  row.draw_s = seconds_since(start);
  start = Clock::now();
  KW_TRY(const std::vector<kw::ops::WideTensor> expected, kw::ops::evaluate(graph, inputs));
  row.evaluate_s = seconds_since(start);
  std::vector<kw::Tensor> answers;
  for (const kw::ops::WideTensor& wide : expected) answers.push_back(kw::ops::narrow(wide));
  start = Clock::now();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!kw::ops::compare(expected[i], answers[i]).right()) return kw::fail("{}: its own answer is wrong", task.name);
  }
  row.compare_s = seconds_since(start);
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  const auto suite = kw::suites::find_suite(argc > 1 ? argv[1] : "mobilekernelbench");
  if (!suite.ok()) {
    fmt::print(stderr, "{}\n", suite.error().message);
    return 2;
  }
  std::vector<Row> rows;
  for (const kw::Task& task : suite->tasks) {
    const auto row = time_of(task);
    if (!row.ok()) {
      fmt::print(stderr, "{}\n", row.error().message);
      return 2;
    }
    rows.push_back(*row);
  }
  std::ranges::sort(rows, std::ranges::greater(), &Row::total_s);
  double total = 0;
  for (const Row& row : rows) total += row.total_s();
  fmt::print("{:<52} {:>8} {:>8} {:>8} {:>8}\n", "slowest tasks, seconds", "draw", "evaluate", "compare", "all");
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 12); ++i) {
    const Row& row = rows[i];
    fmt::print("{:<52} {:>8.3f} {:>8.3f} {:>8.3f} {:>8.3f}\n", row.name, row.draw_s, row.evaluate_s, row.compare_s,
               row.total_s());
  }
  fmt::print("{} tasks in {:.1f} s; the slowest {:.2f} s\n", rows.size(), total, rows.empty() ? 0 : rows[0].total_s());
  return 0;
}
