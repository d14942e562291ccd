#include "cli/run_at_terminal.h"

#include <fmt/format.h>

#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "base/print.h"
#include "base/terminal.h"
#include "cli/author_flags.h"
#include "cli/interruption.h"
#include "cli/store_folder.h"
#include "judge/verdict_json.h"
#include "report/tables.h"
#include "report/verdict_text.h"
#include "runs/batch_run.h"
#include "runs/case_record.h"
#include "runs/search_run.h"
#include "runs/task_text.h"

namespace kw::cli {
namespace {

// "`kw resume r3`", with the store where it is not the usual one.
std::string how_to_resume(const store::Store& store, std::int64_t run) {
  const bool usual = store.folder() == store_folder({});
  return fmt::format("`kw resume r{}{}`", run, usual ? "" : " --store " + shell_word(store.folder().string()));
}

Status work(const Terminal& terminal, runs::Workplace& workplace, std::int64_t id, runs::Work& work) {
  runs::Stop stop;
  KW_TRY(const std::unique_ptr<runs::Run> run, runs::Run::open(workplace, id, stop));
  const std::string resume = how_to_resume(terminal.store, id);
  const Interruption interruption(
      stop, [&] { fmt::print(stderr, "kw: stopped, and all that was judged is recorded; to go on: {}\n", resume); });
  const auto ended = runs::work_on(*run, work, terminal.progress, terminal.is_resumed);
  if (!ended.ok()) return fail("{}; {} goes on", ended.error().message, resume);
  if (!ended->unfinished.empty()) fmt::print(stderr, "kw: {}; to go on: {}\n", ended->unfinished, resume);
  return {};
}

void print_tables(const report::RunFigures& figures, std::ostream& out) {
  for (const report::RivalFigures& rival : figures.overall.rivals) {
    out << "\n" << report::as_text(report::category_table(figures, rival.rival));
  }
  if (figures.overall.rivals.empty()) out << "\n" << report::as_text(report::category_table(figures));
  for (const std::string& remark : figures.remarks) print(out, "{}\n", remark);
}

// The table of a suite, or its object as JSON. Yes where every task got a right kernel.
Result<int> report_figures(const Terminal& terminal, std::int64_t run) {
  KW_TRY(const report::RunFigures figures, report::figures_of(terminal.store, run));
  if (terminal.json) {
    terminal.out << report::figures_as_json(figures) << "\n";
  } else {
    print_tables(figures, terminal.out);
    print(terminal.out, "\nrun {}: kw report {} shows all of it; --budget says how much to spend on each task\n",
          figures.run.name(), figures.run.name());
  }
  return figures.overall.accepted == figures.overall.tasks ? kYes : kNo;
}

// A line for each task of a suite as it ends.
void note_task(runs::Progress& progress, const runs::SearchedTask& task) {
  std::string beside;
  for (const Speedup& one : task.verdict.speedups) beside += fmt::format("  {} {:.2f}x", one.rival, one.median);
  progress.note(fmt::format(
      "{:<40} {:<10} {:<28} {:>3} tried{}", task.task,
      task.verdict.accepted() ? time_text(task.verdict.time_ns.value_or(0)) : std::string(name_of(task.verdict.stage)),
      task.technique, task.tried, beside));
}

// As a person would type it here.
std::string shown(const std::filesystem::path& file) {
  std::error_code failed;
  const auto from_here = file.lexically_proximate(std::filesystem::current_path(failed));
  return from_here.empty() || *from_here.begin() == ".." ? file.string() : from_here.string();
}

Json names_of(const std::vector<std::filesystem::path>& files) {
  Json names = Json::array();
  for (const auto& file : files) names.push_back(shown(file));
  return names;
}

// The one kernel of `kw optimize`.
int print_searched(const Terminal& terminal, std::int64_t run, const runs::SearchedTask& result) {
  const Verdict& verdict = result.verdict;
  if (terminal.json) {
    Json json = Json::parse(judge::verdict_as_json(verdict));
    json["run"] = "r" + std::to_string(run);
    json["technique"] = result.technique;
    json["settings"] = result.settings;
    json["tried"] = result.tried;
    json["advice"] = runs::advice_on(result);
    json["files"] = names_of(result.files);
    terminal.out << json.dump() << "\n";
    return verdict.accepted() ? kYes : kNo;
  }
  report::print_verdict(verdict, terminal.out);
  print(terminal.out, "\n  technique      {}", result.technique);
  for (const auto& [name, value] : result.settings) print(terminal.out, "  {}={}", name, value);
  print(terminal.out, "\n  tried          {} candidates{}, run r{}\n", result.tried,
        result.exhausted ? " (there is nothing more that may be faster)" : "", run);
  for (const auto& file : result.files) print(terminal.out, "  wrote          {}\n", shown(file));
  if (const std::string advice = runs::advice_on(result); !advice.empty()) print(terminal.out, "\n  {}\n", advice);
  return verdict.accepted() ? kYes : kNo;
}

Json summary_json(const AuthorRun& run, const agents::AuthoredTask& task) {
  return Json({{"name", run.model},
               {"author", run.author},
               {"rounds", task.rounds},
               {"requests", run.spent.requests},
               {"input_tokens", run.spent.usage.input_tokens},
               {"output_tokens", run.spent.usage.output_tokens},
               {"usd", run.spent.usd},
               {"model_s", task.times.model_s},
               {"judge_s", task.times.judge_s},
               {"own_s", task.times.own_s()},
               {"over", task.over},
               {"troubles", task.troubles}});
}

void print_summary(const AuthorRun& run, const agents::AuthoredTask& task, std::ostream& out) {
  print(out, "\n  author         {} with {}, {} rounds, run r{}\n", run.author, run.model, task.rounds, run.run);
  print(out, "  tokens         {} in, {} out, {} requests, {:.4f} US dollars\n", run.spent.usage.input_tokens,
        run.spent.usage.output_tokens, run.spent.requests, run.spent.usd);
  print(out, "  time           {:.1f} s: the model {:.1f} s, the judge {:.1f} s, kw itself {:.0f} ms a round\n",
        task.times.whole_s, task.times.model_s, task.times.judge_s,
        task.rounds > 0 ? 1000 * task.times.own_s() / task.rounds : 0);
  if (!task.accepted()) print(out, "  no kernel of the model was right\n");
  if (!task.over.empty()) print(out, "  ended early    {}\n", task.over);
}

int print_authored(const Terminal& terminal, const AuthorRun& done) {
  const agents::AuthoredTask& result = done.tasks[0];
  if (terminal.json) {
    Json json = result.verdict ? Json::parse(judge::verdict_as_json(*result.verdict))
                               : Json{{"task", result.task}, {"accepted", false}};
    json["run"] = "r" + std::to_string(done.run);
    json["settings"] = result.settings;
    json["model"] = summary_json(done, result);
    json["files"] = names_of(result.files);
    terminal.out << json.dump() << "\n";
    return result.accepted() ? kYes : kNo;
  }
  if (result.verdict) report::print_verdict(*result.verdict, terminal.out);
  print_summary(done, result, terminal.out);
  for (const auto& file : result.files) print(terminal.out, "  wrote          {}\n", shown(file));
  return result.accepted() ? kYes : kNo;
}

}  // namespace

Result<int> work_on_batch(const Terminal& terminal, std::int64_t run, const runs::Rivals& rivals) {
  KW_TRY(const store::RunSummary summary, terminal.store.run(run));
  KW_TRY(const runs::Order order, runs::order_of(summary));
  runs::Workplace workplace(terminal.store, order.rules.device);
  runs::Batch batch(
      rivals, [&](const runs::LineAnswer& answer) { terminal.progress.print(terminal.out, answer.text() + "\n"); });
  KW_TRY(const std::int64_t problems, terminal.store.database().number(fmt::format(
                                          "SELECT count(*) FROM item WHERE problem <> '' AND run = {}", run)));
  KW_CHECK(work(terminal, workplace, run, batch));
  KW_TRY(const store::RunSummary now, terminal.store.run(run));
  if (now.done < now.planned || problems > 0) return kBroken;
  return now.accepted == now.planned ? kYes : kNo;
}

Result<std::vector<runs::SearchedTask>> searched(const Terminal& terminal, std::int64_t run,
                                                 const runs::Rivals& rivals) {
  KW_TRY(const store::RunSummary summary, terminal.store.run(run));
  KW_TRY(const runs::Order order, runs::order_of(summary));
  // Python and a framework's own import take seconds: meanwhile the first kernels are built.
  rivals.start();
  runs::Workplace workplace(terminal.store, order.rules.device);
  runs::SearchWork search(rivals, [&](const runs::SearchedTask& task) {
    if (order.out.empty()) note_task(terminal.progress, task);
  });
  KW_CHECK(work(terminal, workplace, run, search));
  if (!order.out.empty() && search.results().empty()) {
    return fail("the search ended without a kernel; `kw resume r{}` goes on with it", run);
  }
  return search.results();
}

Result<int> work_on_search(const Terminal& terminal, std::int64_t run, const runs::Rivals& rivals) {
  KW_TRY(const store::RunSummary summary, terminal.store.run(run));
  KW_TRY(const runs::Order order, runs::order_of(summary));
  KW_TRY(const std::vector<runs::SearchedTask> results, searched(terminal, run, rivals));
  return order.out.empty() ? report_figures(terminal, run) : print_searched(terminal, run, results[0]);
}

Result<int> begin_search(const Arguments& arguments, runs::Order order, const runs::Rivals& rivals, std::ostream& out) {
  order.rivals = rivals.names();
  KW_TRY(const auto progress, open_progress(arguments));
  KW_TRY(store::Store store, store::Store::open(store_folder(arguments)));
  const Terminal terminal{.store = store, .progress = *progress, .out = out, .json = arguments.has("--json")};
  if (wants_model(arguments)) {
    KW_TRY(const AuthorRun done, ask_author(arguments, terminal, std::move(order), rivals));
    return print_author_run(terminal, done);
  }
  KW_TRY(const std::int64_t run, store.begin_run(runs::run_of(order, command_line()), {}));
  return work_on_search(terminal, run, rivals);
}

Result<int> print_author_run(const Terminal& terminal, const AuthorRun& done) {
  KW_TRY(const store::RunSummary summary, terminal.store.run(done.run));
  KW_TRY(const runs::Order order, runs::order_of(summary));
  return order.out.empty() ? report_figures(terminal, done.run) : print_authored(terminal, done);
}

Result<AuthorRun> ask_author(const Arguments& arguments, const Terminal& terminal, runs::Order order,
                             const runs::Rivals& rivals, std::optional<std::int64_t> run) {
  KW_TRY(runs::AuthorTerms terms, author_terms(arguments, order.author));
  KW_TRY(llm::Client client, client_of(terms, arguments));
  KW_TRY(const agents::Prompts prompts, agents::Prompts::open(terms.prompts));
  std::unique_ptr<agents::Decisions> decisions;
  if (arguments.has("--record")) {
    KW_TRY(decisions, agents::Decisions::to_record(arguments.text("--record")));
  } else if (arguments.has("--replay")) {
    KW_TRY(decisions, agents::Decisions::to_replay(arguments.text("--replay")));
  }
  if (!run) {
    constexpr double kRound_s = 0.4;  // of timing, for each round
    order.kind = store::RunKind::rounds;
    order.rules.budget_s = kRound_s;
    order.rivals = rivals.names();
    KW_CHECK(runs::take_start(terms, order));
    terms.prompts_version = prompts.version();
    order.author = terms;
    order.author.asked = client.name();
    order.author.model = client.without_secrets(terms.model);
    KW_TRY(run, terminal.store.begin_run(runs::run_of(order, client.without_secrets(command_line())), {}));
  }
  runs::Workplace workplace(terminal.store, order.rules.device);
  agents::AuthorWork author(terms, rivals, client, prompts, decisions.get());
  KW_CHECK(work(terminal, workplace, *run, author));
  return AuthorRun{.run = *run,
                   .author = terms.author,
                   .model = client.name(),
                   .spent = client.spent(),
                   .timings = workplace.judges().timings(),
                   .tasks = author.results()};
}

}  // namespace kw::cli
