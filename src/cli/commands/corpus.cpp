// kw corpus: pairs of tasks and kernels that were judged right, to train models with.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/json.h"
#include "base/nearest.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/rival_flags.h"
#include "cli/run_at_terminal.h"
#include "cli/store_folder.h"
#include "cli/target_flag.h"
#include "command_line/numbers.h"
#include "corpus/collect.h"
#include "corpus/draw.h"
#include "corpus/line.h"
#include "judge/batch.h"
#include "targets/target.h"

namespace kw::cli::commands {
namespace {

std::string rival_of(const Arguments& arguments) {
  return arguments.has("--against") ? arguments.text("--against") : "plain";
}

Result<corpus::DrawRules> draw_rules(const Arguments& arguments) {
  corpus::DrawRules rules;
  KW_TRY(rules.device, device_of(arguments));
  KW_TRY(const std::int64_t seed, whole_number(arguments, "--seed", 1, 0, std::int64_t{1} << 53));
  KW_TRY(const std::int64_t count, whole_number(arguments, "--count", 200, 1, 1'000'000));
  KW_TRY(const std::int64_t points, whole_number(arguments, "--points", 2, 1, 64));
  KW_TRY(const std::int64_t longest, whole_number(arguments, "--longest", 6000, 200, 1 << 20));
  rules.seed = static_cast<std::uint64_t>(seed);
  rules.count = static_cast<std::size_t>(count);
  rules.points = static_cast<std::size_t>(points);
  rules.longest = static_cast<std::size_t>(longest);
  rules.only = corpus::names_in(arguments.text("--only"));
  rules.holes = arguments.text("--form").find("infill") != std::string::npos ? 1 : 0;
  return rules;
}

Result<corpus::CollectRules> collect_rules(const Arguments& arguments, const store::Store& store) {
  corpus::CollectRules rules;
  for (const std::string& name : arguments.texts("NAME")) {
    KW_TRY(const store::RunSummary run, store.find_run(name));
    rules.runs.push_back(run.id);
  }
  KW_TRY(const std::string device, device_of(arguments));
  KW_TRY(const targets::Target target, targets::target_of(device));
  rules.target = target.name;
  rules.against = rival_of(arguments);
  if (arguments.has("--faster")) {
    KW_TRY(rules.faster, number_in("--faster", arguments.text("--faster"), 0, 1000));
  }
  if (arguments.has("--alike")) {
    KW_TRY(rules.alike, number_in("--alike", arguments.text("--alike"), 0.05, 1));
  }
  KW_TRY(const std::int64_t most_alike, whole_number(arguments, "--most-alike", 2, 1, 100'000));
  KW_TRY(const std::int64_t longest, whole_number(arguments, "--longest", 6000, 200, 1 << 20));
  KW_TRY(const std::int64_t seed, whole_number(arguments, "--seed", 1, 0, std::int64_t{1} << 53));
  rules.most_alike = static_cast<std::size_t>(most_alike);
  rules.longest = static_cast<std::size_t>(longest);
  rules.split.seed = static_cast<std::uint64_t>(seed);
  if (arguments.has("--held-out")) {
    KW_TRY(rules.split.operators, number_in("--held-out", arguments.text("--held-out"), 0, 0.9));
    rules.split.structures = rules.split.operators;
  }
  rules.split.named = corpus::names_in(arguments.text("--hold-out"));
  if (arguments.has("--licence")) rules.licence = arguments.text("--licence");
  return rules;
}

Result<int> build_corpus(const Arguments& arguments, std::ostream& out) {
  if (arguments.has("NAME")) return fail("kw corpus build takes no {}", arguments.text("NAME"));
  KW_TRY(const corpus::DrawRules rules, draw_rules(arguments));
  KW_TRY(const corpus::DrawnKernels drawn, corpus::draw_kernels(rules));
  if (arguments.has("--plan")) {
    const bool as_lines = arguments.has("--json");
    KW_TRY(const std::string plan, as_lines ? corpus::json_lines_of(drawn, rules) : corpus::text_of(drawn));
    out << plan;
    return kYes;
  }
  judge::Case judging;
  judging.device = rules.device;
  judging.budget_s = judge::kBatchBudget_s;
  if (arguments.has("--budget")) {
    KW_TRY(judging.budget_s, number_in("--budget", arguments.text("--budget"), 0.01, 60));
  }
  const std::string against = rival_of(arguments);
  KW_TRY(const runs::Rivals rivals, rivals_named(against == "plain" ? "none" : against));
  const std::vector<store::NewItem> items = corpus::items_of(drawn, judging);
  KW_TRY(store::Store store, store::Store::open(store_folder(arguments)));
  // What an earlier build judged is taken over: a corpus grows by asking for more.
  const runs::Order order{.suite = "drawn", .rules = judging, .fresh = false, .rivals = rivals.names()};
  store::NewRun run = runs::run_of(order, command_line());
  run.author = corpus::kCorpusAuthor;
  run.seed = static_cast<std::int64_t>(rules.seed);
  KW_TRY(const auto progress, open_progress(arguments));
  KW_TRY(const std::int64_t id, store.begin_run(run, items));
  if (!progress->is_quiet()) {
    fmt::print(stderr, "kw: {} kernels of {} tasks, {} left out for their length; this is run r{} of {}\n",
               drawn.kernels.size(), drawn.tasks.size(), drawn.too_long, id, store.folder().string());
  }
  std::ostream nowhere(nullptr);  // verdicts are in the record
  KW_TRY(const int code, work_on_batch({.store = store, .progress = *progress, .out = nowhere}, id, rivals));
  KW_TRY(const store::RunSummary now, store.run(id));
  if (arguments.has("--json")) {
    out << Json{{"run", now.name()}, {"planned", now.planned}, {"judged", now.done}, {"right", now.accepted}}.dump()
        << "\n";
  } else {
    print(out, "{}: {} of {} judged, {} right; kw corpus show {} shows more, kw corpus export writes lines\n",
          now.name(), now.done, now.planned, now.accepted, now.name());
  }
  return code == kBroken ? kBroken : kYes;
}

Result<int> show_files(const Arguments& arguments, std::ostream& out) {
  for (const std::string& file : arguments.texts("NAME")) {
    KW_TRY(const corpus::FileFacts facts, corpus::check_file(file));
    if (!arguments.has("--json")) {
      print(out, "{}: {}", file, corpus::text_of(facts));
      continue;
    }
    Json json = corpus::json_of(facts);
    json["file"] = file;
    out << json.dump() << "\n";
  }
  return kYes;
}

Result<int> show_corpus(const Arguments& arguments, std::ostream& out) {
  const std::vector<std::string> names = arguments.texts("NAME");
  if (std::ranges::any_of(names, [](const std::string& name) { return name.ends_with(".jsonl"); }))
    return show_files(arguments, out);
  KW_TRY(const auto store, look_into_store(arguments, out, "{}"));
  if (!store) return kNo;
  KW_TRY(const corpus::CollectRules rules, collect_rules(arguments, *store));
  KW_TRY(const corpus::Collected collected, corpus::collect(*store, rules));
  out << (arguments.has("--json") ? corpus::json_of(collected.counts).dump() + "\n"
                                  : corpus::text_of(collected, rules));
  return collected.lines.empty() ? kNo : kYes;
}

Result<int> export_corpus(const Arguments& arguments, std::ostream& out) {
  if (!arguments.has("--out")) return fail("kw corpus export: say into which folder: --out DIR");
  KW_TRY(const std::vector<corpus::LineForm> forms, corpus::forms_named(arguments.text("--form")));
  KW_TRY(const store::Store store, store::Store::open_existing(store_folder(arguments)));
  KW_TRY(const corpus::CollectRules rules, collect_rules(arguments, store));
  KW_TRY(const corpus::Collected collected, corpus::collect(store, rules));
  if (collected.lines.empty()) {
    out << corpus::text_of(collected, rules);
    return fail(
        "there is no line to write; `kw corpus build` judges kernels, --faster and --longest choose among them");
  }
  KW_TRY(const corpus::Exported exported, corpus::export_to(arguments.text("--out"), collected, rules, forms));
  if (arguments.has("--json")) {
    out << Json{{"counts", corpus::json_of(collected.counts)}, {"lines", exported.lines}}.dump() << "\n";
    return kYes;
  }
  out << corpus::text_of(collected, rules);
  for (const auto& [name, count] : exported.lines) print(out, "{:>6} lines  {}\n", count, name);
  return kYes;
}

Result<int> run_corpus(const Arguments& arguments, std::ostream& out) {
  const std::string action = arguments.text("ACTION");
  if (action == "build") return build_corpus(arguments, out);
  if (action == "show") return show_corpus(arguments, out);
  if (action == "export") return export_corpus(arguments, out);
  return fail("kw corpus {}: say build, show or export{}", action, nearest_hint(action, {"build", "show", "export"}));
}

}  // namespace

Command corpus() {
  return {
      .name = "corpus",
      .topic = Topic::language_models,
      .summary = "makes pairs of tasks and right, fast kernels, to train models with",
      .description =
          "kw corpus build draws tasks from the suites' operators (other lengths, attributes, chains), makes kernels "
          "of them with the target's techniques and drawn tunables, and judges each as a run of the record: `kw "
          "resume` goes on with it after a kill. What is judged follows from --seed. kw corpus show [RUN...] tells "
          "what "
          "the record, of these runs or all, amounts to; with FILE.jsonl it checks an exported file, line by line. kw "
          "corpus export --out DIR [RUN...] writes FORM.train.jsonl and FORM.held_out.jsonl, where FORM is sft "
          "(prompt, "
          "answer), infill (prompt, prefix, answer, suffix) and chat (messages), and corpus.json with rules and "
          "counts.\n\n"
          "A line needs a verdict of this user's own judge that accepted the kernel and timed it. It stays where the "
          "lower end of the interval against the rival is at least --faster, and of kernels that are nearly the same "
          "(tokens in runs of five, numbers alike; --alike) the fastest stays, with up to --most-alike tasks. An "
          "operator, or a chain of operators, is either for training or held out, by the seed and its own name. Every "
          "line says where it comes from and under which licence.",
      .options = with_progress_options(
          {{.name = "ACTION", .help = "build, show or export", .required = true},
           {.name = "NAME",
            .help = "runs, such as r3; of show also files",
            .repeated = true,
            .completes = Completes::run},
           {.name = "--out", .value = "DIR", .help = "of export: the folder", .completes = Completes::file},
           {.name = "--form",
            .value = "FORMS",
            .help = "of export: sft, infill, chat, with commas (all); infill also of a plan"},
           {.name = "--count", .value = "N", .help = "of build: how many kernels (200)"},
           {.name = "--points", .value = "N", .help = "of build: settings of a kernel's tunables (2)"},
           {.name = "--only", .value = "OPERATORS", .help = "of build: tasks with these operators, with commas"},
           {.name = "--plan", .help = "of build: list what would be judged, and end"},
           {.name = "--budget", .value = "S", .help = "of build: seconds that timing a kernel may take (0.06)"},
           {.name = "--seed", .value = "N", .help = "of what is drawn, and of the split (1)"},
           {.name = "--against", .value = "RIVAL", .help = "whose time counts: plain, mnn, onnxruntime (plain)"},
           {.name = "--faster", .value = "N", .help = "the least lower end of the speed-up (1)"},
           {.name = "--longest", .value = "N", .help = "bytes of a kernel at most (6000)"},
           {.name = "--alike", .value = "N", .help = "the likeness from which on two kernels count as one (0.85)"},
           {.name = "--most-alike",
            .value = "N",
            .help = "of kernels that are nearly the same, keep those of at most N tasks (2)"},
           {.name = "--held-out", .value = "N", .help = "share of operators and of structures held out (0.08)"},
           {.name = "--hold-out", .value = "OPERATORS", .help = "operators that are held out besides, with commas"},
           {.name = "--licence", .value = "TEXT", .help = "licence of kernels from other authors (NOASSERTION)"},
           target_option(),
           store_option(),
           {.name = "--json", .help = "objects instead of text"}}),
      .examples = {"kw corpus build --count 6 --plan", "kw corpus show r1"},
      .run = run_corpus};
}

}  // namespace kw::cli::commands
