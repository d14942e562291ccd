#include "corpus/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "base/files.h"
#include "core/settings_json.h"
#include "core/tunable_defaults.h"
#include "corpus/likeness.h"
#include "corpus/prompt.h"
#include "corpus/task_text.h"
#include "store/seal.h"
#include "suites/task_snapshot.h"
#include "targets/target.h"

namespace kw::corpus {
namespace {

constexpr char kOwnLicence[] = "Apache-2.0";  // of what is made from kernels/

// A task as lines need it; without a text it has no lines.
struct KnownTask {
  Task task;
  std::string text;
  std::string prompt;
};

// Reads the record; each task is prepared once.
class Collector {
 public:
  Collector(const store::Store& store, const CollectRules& rules, Collected& out)
      : store_(store), rules_(rules), out_(out) {}

  Status take_run(const store::RunSummary& run) {
    return store_.each_recorded(run.id, [&](const store::Recorded& one) { return take(run, one); });
  }

 private:
  Status take(const store::RunSummary& run, const store::Recorded& one) {
    CollectCounts& counts = out_.counts;
    if (!one.judged) return {};
    ++counts.judged;
    if (!one.accepted || one.stage != name_of(VerdictStage::accepted)) return {};
    KW_TRY(const bool is_own, store::is_own_verdict(store_.database(), one.item));
    const Json verdict = Json::parse_quietly(one.json);
    if (!is_own || !verdict.is_object() || !is_of_target(verdict)) return {};
    ++counts.right;
    const auto speed = std::ranges::find(one.speedups, rules_.against, &store::Recorded::Against::rival);
    if (speed == one.speedups.end() || !one.time_ns) return {};
    ++counts.timed;
    KW_TRY(const KnownTask* const task, task_of(one.task_hash));
    if (task == nullptr) return {};
    ++counts.in_text;
    KW_TRY(const std::string source, store_.source(one.source_hash));
    KW_TRY(const Settings settings, settings_from_json(one.settings));
    // Settings given from outside are written into the source, so that one text is the kernel that was judged.
    auto answer = with_defaults(source, settings, targets::build_options(rules_.target));
    if (!answer.ok()) return {};
    if (!answer->ends_with("\n")) *answer += "\n";
    if (answer->size() > rules_.longest) return {};
    ++counts.short_enough;
    if (speed->low < rules_.faster) return {};
    ++counts.fast_enough;
    Line line{.prompt = task->prompt, .answer = *std::move(answer)};
    line.id = fmt::format("{}.{}", run.name(), one.position);
    take_origin(run, one, line);
    line.task = one.task;
    line.task_text = task->text;
    line.target = rules_.target;
    line.operators = operators_of(task->task);
    line.structure = structure_of(task->task);
    line.unseen = unseen_in(task->task, rules_.split);
    line.split = line.unseen.empty() ? "train" : "held_out";
    line.against = speed->rival;
    line.median = speed->median;
    line.low = speed->low;
    line.high = speed->high;
    line.pairs = speed->pairs;
    line.time_ns = *one.time_ns;
    KW_TRY(line.judged_on, machine_name(one.machine));
    line.judged_at = one.at;
    out_.lines.push_back(std::move(line));
    return {};
  }

  bool is_of_target(const Json& verdict) const {
    const Json* target = verdict.find("target");
    if (target == nullptr || !target->is_string()) return false;
    return target->text() == rules_.target || target->text().starts_with(rules_.target + ":");
  }

  // A kernel of ours says what it was made from; of anything else the record knows the author.
  void take_origin(const store::RunSummary& run, const store::Recorded& one, Line& line) const {
    const Json label = Json::parse_quietly(one.label);
    if (const Json* technique = label.find("technique"); technique != nullptr && technique->is_string()) {
      line.technique = technique->text();
      line.origin = fmt::format("techniques of kernels/{}: {}; task: {}", rules_.target, line.technique,
                                label.value("task", "of a suite"));
      line.licence = kOwnLicence;
      return;
    }
    // The seal of a verdict does not cover the author: only a run of this user's own is believed.
    const bool is_search = run.is_own && run.kind() == store::RunKind::search && run.about.author == "templates";
    const std::string author = !one.author.empty() ? one.author : run.about.author;
    line.origin = is_search ? fmt::format("techniques of kernels/{}, by a search", rules_.target)
                            : fmt::format("the record, by {}", author.empty() ? "an unknown author" : author);
    line.licence = is_search ? kOwnLicence : rules_.licence;
  }

  // Null: no text tells the task.
  Result<const KnownTask*> task_of(const std::string& hash) {
    const auto known = tasks_.find(hash);
    if (known != tasks_.end()) return known->second ? &*known->second : nullptr;
    std::optional<KnownTask>& one = tasks_[hash];
    KW_TRY(const store::TaskSnapshot snapshot, store_.task(hash));
    KW_TRY(Task task, suites::task_of_snapshot(snapshot.text));
    auto text = text_of(task);
    if (!text.ok() || !task.degenerate.empty()) return static_cast<const KnownTask*>(nullptr);
    KW_TRY(std::string prompt, prompt_of(task, rules_.target));
    one = KnownTask{std::move(task), *std::move(text), std::move(prompt)};
    return &*one;
  }

  Result<std::string> machine_name(std::int64_t id) {
    const auto known = machines_.find(id);
    if (known != machines_.end()) return known->second;
    KW_TRY(const store::Machine machine, store_.machine(id));
    return machines_[id] = machine.name;
  }

  const store::Store& store_;
  const CollectRules& rules_;
  Collected& out_;
  std::map<std::string, std::optional<KnownTask>> tasks_;
  std::map<std::int64_t, std::string> machines_;
};

// Of kernels that are nearly the same the fastest, and a few more where the task is another one. What the text of the
// task says counts as a part of the kernel: numbers do not.
std::vector<Line> distinct_lines(std::vector<Line> lines, const CollectRules& rules) {
  std::ranges::stable_sort(lines,
                           [](const Line& a, const Line& b) { return a.low != b.low ? a.low > b.low : a.id < b.id; });
  Likenesses likenesses(rules.alike);
  std::vector<std::set<std::string>> tasks;  // of each kind
  std::vector<Line> kept;
  for (Line& line : lines) {
    const Likenesses::Answer answer = likenesses.add(runs_of(line.task_text + line.answer));
    if (answer.is_new) tasks.emplace_back();
    std::set<std::string>& of_kind = tasks[answer.number];
    if (of_kind.size() >= rules.most_alike || !of_kind.insert(line.task_text).second) continue;
    kept.push_back(std::move(line));
  }
  std::ranges::stable_sort(kept, {}, [](const Line& line) { return line.split != "train"; });
  return kept;
}

}  // namespace

std::string label_of(const std::string& technique, const std::string& how) {
  return Json{{"technique", technique}, {"task", how}}.dump();
}

Json json_of(const CollectCounts& counts) {
  return {{"judged", counts.judged},
          {"right", counts.right},
          {"timed", counts.timed},
          {"in_text", counts.in_text},
          {"short_enough", counts.short_enough},
          {"fast_enough", counts.fast_enough},
          {"distinct", counts.distinct}};
}

std::string text_of(const Collected& collected, const CollectRules& rules) {
  const CollectCounts& counts = collected.counts;
  std::string text = fmt::format("judged         {}\nright          {}, by this user's judge, for {}\n", counts.judged,
                                 counts.right, rules.target);
  text += fmt::format("timed          {} against {}\ntold in text   {}\nshort enough   {}, at most {} bytes\n",
                      counts.timed, rules.against, counts.in_text, counts.short_enough, rules.longest);
  text += fmt::format("fast enough    {}, the lower end at least {}\n", counts.fast_enough, rules.faster);
  text += fmt::format("distinct       {}, of likeness below {}, or of at most {} tasks\n", counts.distinct, rules.alike,
                      rules.most_alike);
  std::map<std::string, std::int64_t> operators, splits, techniques;
  std::size_t bytes = 0;
  for (const Line& line : collected.lines) {
    ++splits[line.unseen.empty() ? line.split : "held out by " + line.unseen];
    ++techniques[line.technique.empty() ? "(none of ours)" : line.technique];
    for (const std::string& op : line.operators) ++operators[op];
    bytes += line.answer.size();
  }
  if (collected.lines.empty()) return text;
  text += fmt::format("splits         {}\noperators      {}: {}\ntechniques     {}: {}\n", counts_text(splits, 4),
                      operators.size(), counts_text(operators, 12), techniques.size(), counts_text(techniques, 8));
  return text + fmt::format("kernels        {} bytes in the mean\n", bytes / collected.lines.size());
}

Result<Collected> collect(const store::Store& store, const CollectRules& rules) {
  Collected collected;
  Collector collector(store, rules, collected);
  KW_TRY(const auto runs, store.runs());
  for (const store::RunSummary& run : runs) {
    if (!rules.runs.empty() && std::ranges::find(rules.runs, run.id) == rules.runs.end()) continue;
    KW_CHECK(collector.take_run(run));
  }
  collected.lines = distinct_lines(std::move(collected.lines), rules);
  collected.counts.distinct = std::ssize(collected.lines);
  return collected;
}

Result<Exported> export_to(const std::filesystem::path& folder, const Collected& collected, const CollectRules& rules,
                           const std::vector<LineForm>& forms) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return fail("{}: cannot be made: {}", folder.string(), failed.message());
  Exported exported;
  for (const LineForm form : forms) {
    for (const std::string split : {"train", "held_out"}) {
      const std::string name = fmt::format("{}.{}.jsonl", name_of(form), split);
      KW_TRY(Draft draft, Draft::begin(folder / name));
      std::int64_t& count = exported.lines[name];
      for (const Line& line : collected.lines) {
        if (line.split != split) continue;
        if (form != LineForm::infill) {
          draft.stream() << json_of(line, form).dump() << "\n";
          ++count;
          continue;
        }
        for (const Hole& hole : holes_for(line, {.seed = rules.split.seed})) {
          draft.stream() << json_of(line, hole).dump() << "\n";
          ++count;
        }
      }
      KW_CHECK(draft.finish());
      exported.files.push_back(folder / name);
    }
  }
  const Json about = {{"form", kPromptForm},
                      {"target", rules.target},
                      {"against", rules.against},
                      {"faster", rules.faster},
                      {"longest", rules.longest},
                      {"alike", rules.alike},
                      {"most_alike", rules.most_alike},
                      {"seed", rules.split.seed},
                      {"held_out_operators", rules.split.operators},
                      {"held_out_structures", rules.split.structures},
                      {"held_out_named", rules.split.named},
                      {"counts", json_of(collected.counts)},
                      {"lines", exported.lines}};
  KW_CHECK(write_file(folder / "corpus.json", about.dump(2) + "\n"));
  exported.files.push_back(folder / "corpus.json");
  return exported;
}

}  // namespace kw::corpus
