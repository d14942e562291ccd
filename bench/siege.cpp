// The judge under siege: how many wrong and cheating kernels does it accept?
//
//   kw_siege [--class NAMES] [--count N] [--tasks N] [--task NAME] [--seed N] [--log FILE] [--sum FILE] [--json]
//            [--show] [--reasons] [--draws] [--by-hand FILE]
//
// Right kernels of tasks drawn from the suites are made wrong only where a drawn trigger holds (siege_triggers.h), or
// cheat with drawn parameters (siege_attacks.h). Every run draws new ones unless --seed is given. For each class it
// prints how many were accepted, with a 95 % interval (Wilson), and how long judging took; classes with triggers by how
// often the trigger holds. --log appends every outcome to a file, a JSON object a line, so that thousands can be laid
// siege with in pieces and a run that was stopped loses nothing; --sum prints the table of such a file. --show prints
// each attack that was accepted, --reasons why others were not. --draws builds no kernels: triggers of lengths and
// values are held against what examinations draw, some thousand a minute (siege_attacks.h). --by-hand judges the
// attacks of a file that people wrote (siege_by_hand.txt), each --count times, and prints how often each was accepted.
// The machine should have nothing else to do for the classes that are timed.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>

#include "base/json.h"
#include "judge/batch.h"
#include "judge/judge.h"
#include "judge/secret.h"
#include "siege_attacks.h"
#include "siege_by_hand.h"
#include "suites/catalog.h"

namespace kw::siege {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string classes;  // with commas; empty: all
  int count = 0;        // of each class; 0: its usual number
  std::size_t tasks = 40;
  std::string task;  // this one alone
  std::uint64_t seed = 0;
  std::string log;  // outcomes are appended to it
  bool json = false;
  bool show = false;
  bool reasons = false;
  bool draws = false;   // no kernels: does what an examination draws meet the trigger?
  std::string by_hand;  // a file of attacks, instead of drawn ones
};

struct Tally {
  int accepted = 0, count = 0;

  // 95 %, after Wilson.
  std::pair<double, double> interval() const {
    if (count == 0) return {0, 1};
    constexpr double z = 1.96;
    const double n = count, p = accepted / n, middle = p + z * z / (2 * n);
    const double half = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n)), whole = 1 + z * z / n;
    return {std::max((middle - half) / whole, 0.0), std::min((middle + half) / whole, 1.0)};
  }
  std::string text() const {
    const auto [low, high] = interval();
    return fmt::format("{:4} of {:4} accepted, {:5.1f} % [{:.1f}, {:.1f}]", accepted, count,
                       count == 0 ? 0 : 100.0 * accepted / count, 100 * low, 100 * high);
  }
  Json data() const {
    const auto [low, high] = interval();
    return {{"accepted", accepted}, {"count", count}, {"low", low}, {"high", high}};
  }
};

constexpr double kMeasures[] = {0.2, 0.05, 0.01, 0.001, 0};

std::string measure_text(std::size_t bin) {
  return bin == 0 ? fmt::format("holds for >= {:g} %", 100 * kMeasures[0])
                  : fmt::format("holds for {:g} to {:g} %", 100 * kMeasures[bin], 100 * kMeasures[bin - 1]);
}

struct Outcome {
  Tally all;
  std::map<std::size_t, Tally> by_measure;
  double seconds = 0;
  int broken = 0;  // neither accepted nor rejected for what it is: it did not build
};

// Subjects are cheap to keep: attacks of all classes share them.
Result<std::vector<Subject>> draw_subjects(std::size_t count, const std::string& only, Random& random) {
  std::vector<Task> all;
  if (!only.empty()) {
    KW_TRY(const Task task, suites::find_task(only));
    KW_TRY(Subject subject, make_subject(task, random));
    std::vector<Subject> one;
    one.push_back(std::move(subject));
    return one;
  }
  KW_TRY(const std::vector<suites::Suite> suites, suites::installed_suites());
  for (const suites::Suite& suite : suites) all.insert(all.end(), suite.tasks.begin(), suite.tasks.end());
  random.shuffle(std::span(all));
  // Those that timing cheats need come along.
  std::ranges::stable_partition(all, [](const Task& task) { return task.name == "Erf" || task.name == "Tanh"; });
  std::vector<Subject> subjects;
  std::size_t with_weights = 0;
  for (const Task& task : all) {
    auto subject = make_subject(task, random);
    if (!subject.ok()) continue;  // no plain kernel
    // A quarter has weights: some classes need them.
    const bool weights = !subject->weights.empty();
    if (subjects.size() >= count && !(weights && with_weights < count / 4)) continue;
    with_weights += weights;
    subjects.push_back(*std::move(subject));
    if (subjects.size() >= count && with_weights >= count / 4) break;
  }
  return subjects;
}

bool succeeded(const Attack& attack, const Verdict& verdict) {
  if (!verdict.accepted()) return false;
  if (!attack.speed) return true;
  return !verdict.speedups.empty() && verdict.speedups[0].claimed && verdict.speedups[0].median > 1.05;
}

void note_outcome(Outcome& outcome, double measure, bool success) {
  const auto note = [&](Tally& tally) {
    ++tally.count;
    tally.accepted += success;
  };
  note(outcome.all);
  if (measure < 0) return;
  std::size_t bin = 0;
  while (measure < kMeasures[bin]) ++bin;
  note(outcome.by_measure[bin]);
}

void write_log(const std::string& file, const Json& line) {
  if (file.empty()) return;
  std::ofstream(file, std::ios::app) << line.dump() << "\n";
}

void print_outcome(const std::string& name, const std::string& about, const Outcome& outcome) {
  fmt::print("{:10}  {}  {:6.1f} s  {}{}\n", name, outcome.all.text(), outcome.seconds, about,
             outcome.broken > 0 ? fmt::format("; {} did not build", outcome.broken) : "");
  for (const auto& [bin, tally] : outcome.by_measure) {
    fmt::print("            {}  {}\n", tally.text(), measure_text(bin));
  }
}

// The table of what --log wrote, in one run or in many.
Status sum_up(const std::string& file) {
  std::ifstream lines(file);
  if (!lines) return fail("{} cannot be read", file);
  std::map<std::string, Outcome> outcomes;
  for (std::string line; std::getline(lines, line);) {
    const Json one = Json::parse_quietly(line);
    if (!one.is_object()) continue;  // the last one of a run that was stopped
    note_outcome(outcomes[one["class"].get<std::string>()], one["measure"].get<double>(), one["accepted"].get<bool>());
  }
  for (const Class& one : all_classes()) {
    if (outcomes.contains(one.name)) print_outcome(one.name, one.about, outcomes[one.name]);
  }
  return {};
}

Outcome lay_siege(judge::Judge& judge, const Class& one, const std::vector<Subject>& subjects, int count,
                  const Options& options, Random& random) {
  std::vector<Attack> attacks;
  std::vector<judge::Case> cases;
  std::vector<const Subject*> able;
  for (const Subject& subject : subjects) {
    if (one.draw(subject, random)) able.push_back(&subject);
  }
  for (int i = 0; i < count && !able.empty(); ++i) {
    const Subject& subject = *able[static_cast<std::size_t>(i) % able.size()];
    attacks.push_back(*one.draw(subject, random));
    const Attack& attack = attacks.back();
    judge::Case& each = cases.emplace_back();
    each.task = &subject.task;
    each.source = {"attack.cpp", attack.source};
    each.settings = {{"flags", attack.speed ? "-O2" : "-O1"}};
    each.threads = attack.threads;
    each.timed = attack.timed;
    each.budget_s = attack.budget_s;
  }
  Outcome outcome;
  const auto begin = Clock::now();
  judge::judge_batch(judge, cases, [&](std::size_t index, const Result<Verdict>& verdict) {
    const Attack& attack = attacks[index];
    if (!verdict.ok() || verdict->stage == VerdictStage::build || verdict->stage == VerdictStage::load) {
      ++outcome.broken;
      if (options.show) {
        fmt::print("  broken, {}: {}\n", cases[index].task->name,
                   verdict.ok() ? text_of(verdict->reason) : verdict.error().message);
      }
      return;
    }
    const bool success = succeeded(attack, *verdict);
    write_log(options.log, {{"class", one.name},
                            {"task", cases[index].task->name},
                            {"what", attack.what},
                            {"measure", attack.measure},
                            {"accepted", success},
                            {"reason", std::string(text_of(verdict->reason))}});
    note_outcome(outcome, attack.measure, success);
    if (success && options.show) {
      fmt::print("  accepted, {} ({:.2g} %): {}\n", cases[index].task->name, 100 * std::max(attack.measure, 0.0),
                 attack.what);
    } else if (!success && options.show && (options.reasons || one.name == "right")) {
      fmt::print("  rejected, {}: {} [{}]\n", cases[index].task->name, text_of(verdict->reason), attack.what);
    }
  });
  outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return outcome;
}

// Every attack by itself in the log, as if it had been judged.
Status run_by_draws(const Options& options, const std::vector<Subject>& subjects, Random& random) {
  constexpr int kAtOnce = 10;
  for (const Class& one : all_classes()) {
    const bool about_lengths = one.name == "lengths", binades = one.name == "binade";
    if (!(about_lengths || binades || one.name == "values")) continue;
    if (!options.classes.empty() && ("," + options.classes + ",").find("," + one.name + ",") == std::string::npos) {
      continue;
    }
    Outcome outcome;
    const auto begin = Clock::now();
    const int count = options.count > 0 ? options.count : 10 * one.usual_count;
    for (std::size_t i = 0; outcome.all.count < count && i < static_cast<std::size_t>(count); ++i) {
      const Subject& subject = subjects[i % subjects.size()];
      for (const Draws& each : about_lengths ? lengths_by_draws(subject, kAtOnce, random)
                                             : values_by_draws(subject, kAtOnce, binades, random)) {
        note_outcome(outcome, each.measure, !each.seen);
        write_log(options.log, {{"class", one.name},
                                {"task", subject.task.name},
                                {"what", each.what},
                                {"measure", each.measure},
                                {"accepted", !each.seen},
                                {"reason", "by draws"}});
        if (!each.seen && options.show) {
          fmt::print("  not met, {} ({:.2g} %): {}\n", subject.task.name, 100 * std::max(each.measure, 0.0), each.what);
        }
      }
    }
    outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    print_outcome(one.name, one.about, outcome);
  }
  return {};
}

// Each attack of a file, --count times; with --task only those of one task.
Status try_by_hand(const Options& options, Random& random) {
  KW_TRY(const std::vector<ByHand> all, read_by_hand(options.by_hand));
  KW_TRY(judge::Judge judge, judge::Judge::open());
  const int count = std::max(options.count, 1);
  std::vector<Subject> subjects;
  std::vector<const ByHand*> attacks;
  for (const ByHand& one : all) {
    if (!options.task.empty() && one.task != options.task) continue;
    KW_TRY(const Task task, suites::find_task(one.task));
    KW_TRY(Subject subject, make_subject(task, random));
    subjects.push_back(std::move(subject));
    attacks.push_back(&one);
  }
  std::vector<judge::Case> cases;
  for (int i = 0; i < count * std::ssize(attacks); ++i) {
    const auto which = static_cast<std::size_t>(i) % attacks.size();
    judge::Case& one = cases.emplace_back();
    one.task = &subjects[which].task;
    one.source = {"attack.cpp", fmt::format("// {}\n", i) + source_of(*attacks[which], subjects[which].plain)};
    one.settings = {{"flags", "-O1"}};
    one.timed = false;
  }
  std::vector<Tally> tallies(attacks.size());
  std::vector<std::string> reasons(attacks.size());
  judge::judge_batch(judge, cases, [&](std::size_t index, const Result<Verdict>& verdict) {
    const std::size_t which = index % attacks.size();
    // What a kernel may not call is found before it is loaded.
    const bool built = verdict.ok() && verdict->errors.empty();
    if (!built || !verdict->accepted())
      reasons[which] = verdict.ok() ? text_of(verdict->reason) : verdict.error().message;
    if (!built) reasons[which] = "did not build: " + reasons[which];
    tallies[which].count += built;
    tallies[which].accepted += built && verdict->accepted();
    write_log(options.log, {{"class", "by hand"},
                            {"task", attacks[which]->task},
                            {"what", attacks[which]->what},
                            {"measure", -1},
                            {"accepted", built && verdict->accepted()},
                            {"reason", reasons[which]}});
  });
  Tally sum;
  for (std::size_t i = 0; i < attacks.size(); ++i) {
    fmt::print("{} of {} accepted  {}: {}{}\n", tallies[i].accepted, tallies[i].count, attacks[i]->task,
               attacks[i]->what, reasons[i].empty() || !options.reasons ? "" : " | " + reasons[i]);
    sum.accepted += tallies[i].accepted;
    sum.count += tallies[i].count;
  }
  fmt::print("all  {}\n", sum.text());
  return {};
}

Status run(const Options& options) {
  Random random(options.seed);
  if (!options.by_hand.empty()) return try_by_hand(options, random);
  if (options.draws) {
    KW_TRY(const std::vector<Subject> subjects, draw_subjects(options.tasks, options.task, random));
    return run_by_draws(options, subjects, random);
  }
  KW_TRY(judge::Judge judge, judge::Judge::open());
  KW_TRY(const std::vector<Subject> subjects, draw_subjects(options.tasks, options.task, random));
  Json all = Json::object();
  for (const Class& one : all_classes()) {
    if (!options.classes.empty() && ("," + options.classes + ",").find("," + one.name + ",") == std::string::npos) {
      continue;
    }
    const int count = options.count > 0 ? options.count : one.usual_count;
    const Outcome outcome = lay_siege(judge, one, subjects, count, options, random);
    Json& data = all[one.name];
    data = outcome.all.data();
    data["seconds"] = outcome.seconds;
    data["broken"] = outcome.broken;
    data["by_measure"] = Json::array();
    if (!options.json) print_outcome(one.name, one.about, outcome);
    for (const auto& [bin, tally] : outcome.by_measure) {
      Json row = tally.data();
      row["least_measure"] = kMeasures[bin];
      data["by_measure"].push_back(std::move(row));
    }
  }
  if (options.json) fmt::print("{}\n", all.dump());
  return {};
}

int main_of(const std::vector<std::string>& arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Options options{.classes = {}, .seed = judge::secret()};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& flag = arguments[i];
    const auto value = [&] { return i + 1 < arguments.size() ? arguments[++i] : std::string("0"); };
    if (flag == "--class") {
      options.classes = value();
    } else if (flag == "--count") {
      options.count = std::atoi(value().c_str());
    } else if (flag == "--tasks") {
      options.tasks = static_cast<std::size_t>(std::max(std::atoi(value().c_str()), 1));
    } else if (flag == "--task") {
      options.task = value();
    } else if (flag == "--seed") {
      options.seed = std::strtoull(value().c_str(), nullptr, 10);
    } else if (flag == "--log") {
      options.log = value();
    } else if (flag == "--sum") {
      if (const Status status = sum_up(value()); !status.ok())
        return fmt::print(stderr, "{}\n", status.error().message), 2;
      return 0;
    } else if (flag == "--json") {
      options.json = true;
    } else if (flag == "--reasons") {
      options.show = options.reasons = true;
    } else if (flag == "--draws") {
      options.draws = true;
    } else if (flag == "--by-hand") {
      options.by_hand = value();
    } else if (flag == "--show") {
      options.show = true;
    } else {
      fmt::print(stderr,
                 "kw_siege [--class NAMES] [--count N] [--tasks N] [--task NAME] [--seed N] [--log FILE] [--sum FILE] "
                 "[--json] [--show] [--reasons] [--draws] [--by-hand FILE]\n");
      return 2;
    }
  }
  if (const Status status = run(options); !status.ok()) return fmt::print(stderr, "{}\n", status.error().message), 2;
  return 0;
}

}  // namespace
}  // namespace kw::siege

int main(int argc, char** argv) { return kw::siege::main_of({argv + 1, argv + argc}); }
