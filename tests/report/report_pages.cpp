// Writes the reports that browser_test.py opens: kw_report_pages FOLDER
//
//   empty.html     a run of which nothing was judged
//   one.html       one task, one candidate
//   many.html      190 tasks
//   failures.html  every candidate rejected, or never judged
//   hostile.html   names, sources, notes and messages that would be scripts if anything took them for markup
//   two.html       two runs side by side
//   search.html    a search: its candidates pass a quick check, the best of each task is judged in full, some above the
//                  roof
//   compression.html  made-up compressions of a model, with names that would be scripts
//   training.html  made-up trainings, from examples and from rewards, with texts that would be scripts
#include <fmt/core.h>

#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "judge/verdict_json.h"
#include "report/compression_page.h"
#include "report/made_up_run.h"
#include "report/page.h"
#include "report/training_page.h"

namespace kw::report {
namespace {

namespace fs = std::filesystem;

// Every way out of an element, an attribute, a comment or a script that comes to mind. Where one works, `executed` is
// set.
constexpr const char* kHostile =
    "</script><script>window.executed=1</script><img src=x onerror=\"window.executed=2\">'\"><svg "
    "onload=window.executed=3>"
    "<!--<script>--><a "
    "href=\"javascript:window.executed=4\">&lt;b&gt;</textarea></title></"
    "style>${window.executed=5}\\u003cscript>\xe2\x80\xa8"
    "__proto__ {{data}} %s \xff\xfe";

store::Machine hostile_machine() {
  store::Machine machine = made_up_machine();
  machine.name = kHostile;
  const std::size_t place = machine.facts.find("Linux 6.1");
  machine.facts.replace(place, 9, "<script>window.executed=6</script>");
  return machine;
}

Result<std::int64_t> add_hostile_run(store::Store& store, const store::TaskSnapshot& real) {
  const std::string evil = kHostile;
  store::TaskSnapshot task = real;
  task.name = "Relu" + evil;
  task.category = evil;
  task.suite = evil;
  const store::TaskSnapshot unreadable{.name = "__proto__", .suite = evil, .category = "constructor", .text = evil};
  store::Candidate first{.file = evil,
                         .source = "// " + evil + "\nint x;\n",
                         .settings = R"({"<img src=x onerror=window.executed=7>":"</script>"})",
                         .author = evil,
                         .notes = evil};
  store::Candidate second = first;
  second.source = "/* " + evil + "\n*/ R\"(" + evil + ")\" \"" + evil + "\n" + evil;
  second.parents = {store::hash_of(first)};
  Verdict accepted{.task = task.name,
                   .target = "cpu",
                   .stage = VerdictStage::accepted,
                   .max_error = 0.5,
                   .time_ns = 1e4,
                   .caches = "warm",
                   .roof_fraction = 0.3,
                   .noise = 0.01,
                   .isolation = evil};
  accepted.speedups.push_back({.rival = evil,
                               .median = 2,
                               .low = 1.9,
                               .high = 2.1,
                               .pairs = 8,
                               .claimed = true,
                               .times = std::vector<Pair>(8, Pair{1e4, 2e4})});
  accepted.left_out.push_back({.rival = evil + "2", .version = evil, .why = evil});
  Verdict rejected{.task = task.name,
                   .target = "cpu",
                   .stage = VerdictStage::build,
                   .reason = {ReasonCode::other, {{"text", evil}}}};
  rejected.errors.push_back({.file = evil, .line = 3, .message = evil, .around = evil});

  const std::string build =
      R"({"compiler":"</script><script>window.executed=8</script>","flags":["<b>"],"values":{"__proto__":1,"TILE":"<img src=x onerror=window.executed=9>"}})";
  std::vector<store::NewItem> items = {{.position = 1, .task = task, .candidate = first, .build = build},
                                       {.position = 2, .task = task, .candidate = second, .build = build},
                                       {.position = 3, .task = unreadable, .candidate = first},
                                       {.position = 4, .problem = evil}};
  KW_TRY(const std::int64_t machine, store.add_machine(hostile_machine()));
  KW_TRY(const std::int64_t run, store.begin_run({.command = evil,
                                                  .suite = evil,
                                                  .author = evil,
                                                  .strategy = evil,
                                                  .rules = R"({"<script>window.executed=10</script>":"</script>"})"},
                                                 items));
  KW_TRY(const auto open, store.open_items(run));
  const Verdict* verdicts[] = {&rejected, &accepted, &rejected};
  for (std::size_t i = 0; i < open.size(); ++i) {
    KW_CHECK(store.record(open[i].id, *verdicts[i], judge::verdict_as_json(*verdicts[i]),
                          {.machine = machine, .spent_s = 1, .terms = evil, .versions = {{evil, evil}}}));
  }
  KW_CHECK(store.note(run, store::EventKind::other, evil));
  return run;
}

// Nothing but failures: rejected at every stage, never judged, still open.
Result<std::int64_t> add_failures(store::Store& store, std::span<const store::TaskSnapshot> tasks) {
  KW_TRY(const std::int64_t run, add_made_up_run(store, tasks, {.seed = 4, .candidates = 9, .failing = 1}));
  for (int i = 0; i < 5; ++i) {
    store::NewItem item{.position = 1000 + i,
                        .task = tasks[0],
                        .candidate = store::Candidate{.file = "late.cpp", .source = fmt::format("// {}", i)}};
    if (i < 2) item.problem = "late.cpp: cannot be read";
    KW_TRY([[maybe_unused]] const std::int64_t id, store.add_item(run, item));
  }
  return run;
}

// Four compressions of two layers: two methods at two ratios.
Status write_compressions(const fs::path& folder) {
  std::vector<fs::path> runs;
  for (const char* method : {"ressvd", kHostile}) {
    for (const double ratio : {0.2, 0.4}) {
      Json about = Json::parse(R"({"switches": ["pivot"], "saved": 0.2, "seconds": 3, "ranks": [[4, 6], [0, 2]],
        "full_ranks": [[8, 8], [8, 8]], "spectra": [[[1, 0.5, 0], [1, 0.2, 0]], [[1, 0.25, 0], [1, 0.5, 0]]]})");
      about["model"] = kHostile;
      about["method"] = method;
      about["ratio"] = ratio;
      about["errors"] = Json::array({Json::array({ratio, 0.1}), Json::array({0.0, ratio})});
      about["perplexity"][kHostile] = {{"original", 20.0}, {"compressed", 20 + 100 * ratio}};
      runs.push_back(folder / fmt::format("compression_{}.json", runs.size()));
      KW_CHECK(write_file(runs.back(), about.dump()));
    }
  }
  KW_TRY(const std::string page, compression_page(runs, "test"));
  return write_file(folder / "compression.html", page);
}

Status write_trainings(const fs::path& folder) {
  Json examples = Json::parse(R"({"steps": 300, "of": 1000, "seconds": 90, "held_out": [{"step": 100, "loss": 3},
    {"step": 200, "loss": 2.5}]})");
  Json rewards = Json::parse(R"({"steps": 2, "seconds": 5, "curve": [{"reward": 0.1, "rewarded": 0.25, "loss": -0.5},
    {"reward": 0.3, "rewarded": 0.5, "loss": 0.25}]})");
  for (int step = 0; step < 300; ++step) examples["losses"].push_back(4 - step / 100.0);
  for (Json* const one : {&examples, &rewards}) {
    (*one)["out"] = kHostile;
    (*one)["samples"] = Json::array({{{"prompt", kHostile}, {"text", kHostile}}});
  }
  examples["samples"][0]["expected"] = kHostile;
  rewards["samples"][0]["reward"] = 1.5;
  const std::vector<ShownTraining> both = {{"examples", examples}, {"rewards", rewards}};
  KW_TRY(const std::string page, training_page(both, false, "test"));
  return write_file(folder / "training.html", page);
}

Status write_pages(const fs::path& folder) {
  fs::remove_all(folder / "store");
  fs::create_directories(folder);
  KW_TRY(store::Store store, store::Store::open(folder / "store"));
  KW_CHECK(store.database().execute("PRAGMA synchronous = OFF"));  // only to be quick
  KW_TRY(const auto tasks, snapshots_of_suite("mobilekernelbench"));
  const std::span all(tasks);
  const auto write = [&](const std::string& name, std::vector<std::int64_t> runs) -> Status {
    KW_TRY(const std::string page, html_report(store, runs, "test"));
    return write_file(folder / (name + ".html"), page);
  };
  KW_TRY(const std::int64_t empty, store.begin_run({.command = "kw eval --batch nothing.jsonl"}, {}));
  KW_TRY(const std::int64_t one,
         add_made_up_run(store, all.subspan(10, 1), {.seed = 2, .rejected = 0, .failing = 0, .rivals = {"plain"}}));
  KW_TRY(const std::int64_t many, add_made_up_run(store, all, {.seed = 3, .candidates = 8}));
  KW_TRY(const std::int64_t failures, add_failures(store, all.subspan(0, 12)));
  KW_TRY(const std::int64_t hostile, add_hostile_run(store, tasks[10]));
  KW_TRY(const std::int64_t before, add_made_up_run(store, all.subspan(0, 30), {.seed = 5, .candidates = 6}));
  KW_TRY(const std::int64_t after,
         add_made_up_run(store, all.subspan(5, 30), {.seed = 5, .candidates = 6, .strength = 1.6}));
  KW_TRY(const std::int64_t search, add_made_up_run(store, all.subspan(0, 60),
                                                    {.seed = 6,
                                                     .candidates = 5,
                                                     .strength = 20,
                                                     .rivals = {"plain", "mnn"},
                                                     .quick_checks = true,
                                                     .most_of_roof = 1.4}));
  KW_CHECK(write_compressions(folder));
  KW_CHECK(write_trainings(folder));
  KW_CHECK(write("search", {search}));
  KW_CHECK(write("empty", {empty}));
  KW_CHECK(write("one", {one}));
  KW_CHECK(write("many", {many}));
  KW_CHECK(write("failures", {failures}));
  KW_CHECK(write("hostile", {hostile}));
  return write("two", {before, after});
}

}  // namespace
}  // namespace kw::report

int main(int argc, char** argv) {
  if (argc != 2) return fmt::print(stderr, "kw_report_pages FOLDER\n"), 2;
  const kw::Status status = kw::report::write_pages(argv[1]);
  if (!status.ok()) return fmt::print(stderr, "{}\n", status.error().message), 1;
  return 0;
}
