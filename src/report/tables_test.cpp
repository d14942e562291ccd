#include "report/tables.h"

#include <gtest/gtest.h>

#include "report/published.h"

namespace kw::report {
namespace {

Outcome accepted(const std::string& task, double plain, double mnn) {
  return {.task = task,
          .category = "Activation",
          .task_hash = task,
          .candidates = 1,
          .spent_s = 0.5,
          .stage = VerdictStage::accepted,
          .time_ns = 12'300,
          .against = {{.rival = "plain", .version = "g++ 12, source 1", .median = plain, .low = plain, .high = plain},
                      {.rival = "mnn", .version = "3.6.1", .median = mnn, .low = mnn * 0.9, .high = mnn * 1.1}}};
}

RunFigures run_of(std::int64_t id, std::vector<Outcome> outcomes) {
  store::RunSummary summary;
  summary.id = id;
  summary.about.suite = "mine";
  return figures_of(summary, std::move(outcomes));
}

RunFigures three_tasks() {
  RunFigures run =
      run_of(1, {accepted("Relu", 8, 1.6),
                 accepted("Tanh", 2, 0.9),
                 {.task = "<script>|", .category = "C", .stage = VerdictStage::build, .reason = "no\033[2J"}});
  run.stages = {{VerdictStage::build, 1}, {VerdictStage::accepted, 2}};
  return run;
}

Table first_rows(Table table, std::size_t count) {
  table.rows.resize(count);
  return table;
}

TEST(Tables, PutOurFiguresBesideThePublishedOnes) {
  const RunFigures run = three_tasks();
  EXPECT_EQ(headline_table({&run, 1}).rows.size(), 1 + std::size(kPublished));
  EXPECT_EQ(
      as_text(first_rows(headline_table({&run, 1}), 3)),
      "Right: shares of tasks, in percent\n"
      "  run                         suite  author  tasks   CSR   FCR  FCR on own shapes  roof  candidates  judging\n"
      "  r1                          mine               3  66.7  66.7               66.7     -           2    1.0 s\n"
      "  MoKA on MobileKernelBench                    190  93.7     -               75.3     -           -        -\n"
      "  Claude Sonnet 4.5, pass@10                   190  62.1     -               47.9     -           -        -\n"
      "  published rows: arXiv 2603.11935; another setting: the CPU of a Xiaomi 13 phone (Snapdragon 8 Gen 2), kernels "
      "inside MNN 3.2.2 against MNN's own operators, right within 1e-4 on the tasks' own shapes, the best kernel of a "
      "task counts; 36 and 40 tasks were held out of a training\n");
  EXPECT_EQ(speed_table({&run, 1}).rows.size(), 3 + std::size(kPublished));
  EXPECT_EQ(as_text(first_rows(speed_table({&run, 1}), 4)),
            "Fast: shares of the tasks that count against a rival, in percent\n"
            "  run                        against       tasks  left out  fast0.5  fast1  fast1.5  fast2  sure fast1  "
            "sure fast1.5  geomean  median\n"
            "  r1                         plain g++ 12      3         0     66.7   66.7     66.7   33.3        66.7    "
            "      66.7     4.00    5.00\n"
            "  r1                         mnn 3.6.1         3         0     66.7   33.3     33.3    0.0        33.3    "
            "       0.0     1.20    1.25\n"
            "  r1                         best              3         0     66.7   33.3     33.3    0.0        33.3    "
            "       0.0     1.20    1.25\n"
            "  MoKA on MobileKernelBench  mnn             190         -     62.6   46.8     27.4      -           -    "
            "         -        -       -\n"
            "  left out: tasks that the rival itself cannot run right; a task that failed counts as slow\n"
            "  best: the fastest right rival of each task; frameworks less the cost of calling them\n");
}

TEST(Tables, PutMokasCategoriesBesideThoseOfItsSuite) {
  RunFigures run = three_tasks();
  run.run.about.suite = kPublishedSuite;
  EXPECT_EQ(as_text(category_table(run, "mnn")),
            "r1 by category, against mnn 3.6.1\n"
            "  category    tasks    CSR    FCR  fast0.5  fast1  fast1.5  fast2  sure fast1  geomean  left out  MoKA "
            "CSR  MoKA FCR  MoKA fast1\n"
            "  Activation      2  100.0  100.0    100.0   50.0     50.0    0.0        50.0     1.20         0     "
            "100.0      91.7         8.3\n"
            "  C               1    0.0    0.0      0.0    0.0      0.0    0.0         0.0        -         0         "
            "-         -           -\n"
            "  all             3   66.7   66.7     66.7   33.3     33.3    0.0        33.3     1.20         0      "
            "93.7      75.3        46.8\n"
            "  MoKA: arXiv 2603.11935; another setting: the CPU of a Xiaomi 13 phone (Snapdragon 8 Gen 2), kernels "
            "inside MNN 3.2.2 against MNN's own operators, right within 1e-4 on the tasks' own shapes, the best kernel "
            "of a task counts; 36 and 40 tasks were held out of a training\n");
  EXPECT_TRUE(category_table(run, "best").notes.empty());
}

TEST(Published, SharesFallFromCompilingToFast) {
  for (const Published& one : kPublished) {
    double before = 1;
    for (const double share : {one.csr, one.fcr, *one.fast[0], *one.fast[1], *one.fast[2]}) {
      EXPECT_LE(share, before) << one.who;
      before = share;
    }
  }
}

TEST(Tables, ShowCategoriesAndTasksAgainstTheChosenRival) {
  EXPECT_EQ(as_text(category_table(three_tasks(), "mnn")),
            "r1 by category, against mnn 3.6.1\n"
            "  category    tasks    CSR    FCR  fast0.5  fast1  fast1.5  fast2  sure fast1  geomean  left out\n"
            "  Activation      2  100.0  100.0    100.0   50.0     50.0    0.0        50.0     1.20         0\n"
            "  C               1    0.0    0.0      0.0    0.0      0.0    0.0         0.0        -         0\n"
            "  all             3   66.7   66.7     66.7   33.3     33.3    0.0        33.3     1.20         0\n");
  EXPECT_EQ(
      as_text(task_table(three_tasks())),
      "r1 by task, against best\n"
      "  task       category    outcome      time  speed-up  interval, rival   roof  tried\n"
      "  Relu       Activation  accepted  12.3 us      1.60  [1.44, 1.76] mnn            1  no difference is claimed\n"
      "  Tanh       Activation  accepted  12.3 us      0.90  [0.81, 0.99] mnn            1  no difference is claimed\n"
      "  <script>|  C           build                                                    0  no [2J\n");
  EXPECT_EQ(as_text(stage_table(three_tasks())),
            "r1: where candidates ended\n"
            "  stage     candidates  tasks that got no further  for example\n"
            "  build              1                          1  <script>|: no [2J\n"
            "  accepted           2\n");
}

TEST(Tables, SayWhyAKernelStandsAboveTheRoof) {
  Outcome winograd = accepted("Conv", 2, 1);
  winograd.roof_fraction = 1.3;
  const Table table = task_table(run_of(1, {winograd, accepted("Relu", 2, 1)}));
  ASSERT_EQ(table.notes.size(), 1u);
  EXPECT_NE(table.notes[0].find("Winograd"), std::string::npos);
  EXPECT_TRUE(task_table(run_of(1, {accepted("Relu", 2, 1)})).notes.empty());
}

TEST(Tables, ShowOnlyChangesOutsideTheNoise) {
  const RunFigures before = run_of(1, {accepted("Relu", 2, 1), accepted("Tanh", 2, 1)});
  const RunFigures now = run_of(2, {accepted("Relu", 3, 1), accepted("Tanh", 2, 1), accepted("Abs", 1, 1)});
  EXPECT_EQ(as_text(change_table(before, now)),
            "From r1 to r2\n"
            "  task  category    change  times as fast  interval      against\n"
            "  Relu  Activation  better           1.50  [1.50, 1.50]  plain\n"
            "  1 faster, 0 slower, 0 newly right, 0 no longer right; 1 without a change outside the noise\n"
            "  1 task is in one of the two alone\n");
}

TEST(Tables, ShowDevicesSideBySide) {
  std::vector<RunFigures> runs = {run_of(1, {accepted("Relu", 2, 1.5), accepted("Tanh", 2, 1)}),
                                  run_of(2, {accepted("Relu", 3, 1.2), accepted("Abs", 2, 1)})};
  runs[0].outcomes[0].against[1].claimed = true;
  for (std::size_t i = 0; i < 2; ++i) {
    for (Outcome& one : runs[i].outcomes) one.machine = static_cast<std::int64_t>(i + 1);
    store::Machine& machine = runs[i].machines[static_cast<std::int64_t>(i + 1)];
    machine.name = i == 0 ? "host" : "phone";
    machine.identity = i == 0 ? "a" : "b";
  }
  const Table table = device_table(runs);
  ASSERT_EQ(table.columns.size(), 3u);
  EXPECT_EQ(table.columns[1].name, "r1 on host");
  EXPECT_EQ(table.columns[2].name, "r2 on phone");
  const std::vector<std::vector<std::string>> rows = {{"Relu", "1.50 [1.35, 1.65] mnn", "(1.20 [1.08, 1.32] mnn)"}};
  EXPECT_EQ(table.rows, rows) << "of tasks of both";
  runs[1].machines[2].identity = "a";
  EXPECT_TRUE(device_table(runs).rows.empty()) << "one machine";
}

TEST(Tables, AreMarkdownThatNamesCannotBreak) {
  EXPECT_EQ(as_markdown({.title = "A <b>",
                         .columns = {{"task"}, {"time", true}},
                         .rows = {{"a|b\nc", "`1`"}},
                         .notes = {"one *note*", "two"}}),
            "### A \\<b\\>\n\n| task | time |\n|---|--:|\n| a\\|b c | \\`1\\` |\n\n- one \\*note\\*\n- two\n");
}

TEST(Tables, KeepColumnsOfForeignLettersStraight) {
  EXPECT_EQ(as_text({.title = "", .columns = {{"a"}, {"b", true}}, .rows = {{"\xc3\xbc", "1"}, {"xy", "22"}}}),
            "  a    b\n  \xc3\xbc    1\n  xy  22\n");
}

TEST(Tables, OfAnEmptyRunAreThere) {
  const RunFigures run = run_of(1, {});
  EXPECT_GE(tables_of({&run, 1}).size(), 3u);
}

}  // namespace
}  // namespace kw::report
