#include "agents/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <tuple>
#include <utility>

#include "agents/facts.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/units.h"
#include "core/tunable_defaults.h"
#include "core/verdict.h"
#include "judge/plain_source.h"
#include "judge/sample.h"
#include "runs/performance.h"
#include "search/engine.h"
#include "targets/target.h"

namespace kw::agents {
namespace {

constexpr int kMostMends = 2;               // of a kernel that does not build, within a round
constexpr double kLongerLook = 3;           // times the usual timing, where incumbent and challenger are not told apart
constexpr double kWorthALook = 0.01;        // a challenger that may be faster by this share is timed for longer
constexpr std::size_t kShownPoints = 8;     // of the tuner's
constexpr char kReference[] = "reference";  // what a verdict calls the kernel that Case::reference names

// Takes the comparison with the incumbent out of a verdict: it is of this session, and means nothing in a report.
std::optional<Comparison> take_comparison(Verdict& verdict, int with) {
  const auto found = std::ranges::find(verdict.speedups, kReference, &Speedup::rival);
  if (found == verdict.speedups.end()) return std::nullopt;
  const Comparison one{
      .with = with, .median = found->median, .low = found->low, .high = found->high, .sure = found->claimed};
  verdict.speedups.erase(found);
  return one;
}

// The width of a loop's vectors: of those that it computes with or of those that it moves, the wider ones.
int width_of(const Json& loop) { return std::max(loop.value("vector_bits", 0), loop.value("moved_bits", 0)); }

// What kind of kernel it is: the width of its vectors, how its loops nest and how many there are, whether it multiplies
// and adds at once, whether it packs anything beforehand.
std::string niche_of(const std::string& code, const std::string& source) {
  const Json json = Json::parse_quietly(code);
  std::string niche = source.find("KW_PREPARE") != std::string::npos ? "packs" : "as it comes";
  if (!json.is_object() || !json.contains("loops") || !json["loops"].is_array() || json["loops"].empty()) return niche;
  // By code alone, not by how its time is shared: the same kernel is always of the same kind.
  const auto rank = [](const Json& loop) {
    const int work = loop.value("vector_arithmetic", 0) + (loop.value("moved_bits", 0) > 0);
    return std::tuple(loop.value("depth", 1), width_of(loop) * work);
  };
  const Json* main = &json["loops"][0];
  const std::size_t loops = json["loops"].size();
  for (std::size_t i = 1; i < loops; ++i) {
    if (rank(json["loops"][i]) > rank(*main)) main = &json["loops"][i];
  }
  return fmt::format("{} bits, {} deep, {} loops{}, {}", width_of(*main), main->value("depth", 1),
                     loops < 3   ? "few"
                     : loops < 8 ? "some"
                                 : "many",
                     main->value("fused", 0) > 0 ? ", fused" : "", niche);
}

// The lines of the loop that most samples were taken in; none where nothing was sampled.
Lines hot_lines(const std::string& code) {
  const Json json = Json::parse_quietly(code);
  Lines hot;
  double most = 0;
  if (!json.is_object() || !json.contains("loops") || !json["loops"].is_array()) return hot;
  for (std::size_t i = 0; i < json["loops"].size(); ++i) {
    const Json& loop = json["loops"][i];
    if (!loop.contains("share") || !loop["share"].is_number() || loop["share"].get<double>() <= most) continue;
    most = loop["share"].get<double>();
    hot = {.first = loop.value("first_line", 0), .last = loop.value("last_line", 0)};
  }
  return hot;
}

// What the tuner tried: the best points first, each with its time beside the kernel's own values.
std::string table_of(const search::Found& found, const search::Space& space) {
  std::string text = fmt::format(
      "{} choices tried by quick timings of each alone, {} of them rejected; times as fast as the source's own values:",
      found.tried, found.rejected);
  for (std::size_t i = 0; i < std::min(kShownPoints, found.ranking.size()); ++i) {
    const search::Observation& one = found.ranking[i];
    std::string values;
    for (const auto& [name, value] : space.settings(one.point)) values += fmt::format(" {}={}", name, value);
    text += fmt::format("{} {:.2f}{}", i == 0 ? "" : ";", 1 / *one.time, values.empty() ? " as it is" : values);
  }
  return text + "\n";
}

class Session {
 public:
  Session(judge::Judge& judge, llm::Client& client, const SessionOptions& options, const EachRound& each)
      : judge_(judge), client_(client), options_(options), each_(each) {}

  Result<SessionResult> run(const Task& task, const ops::Graph& graph, const Prompts& prompts,
                            const std::stop_token& stop) {
    const Clock::time_point begin = Clock::now();
    SessionResult outcome;
    Work& work = outcome.work;
    work.task = &task;
    work.graph = &graph;
    KW_CHECK(begin_with(work));
    std::optional<inspect::Repository> repository;
    if (!options_.repository.empty()) {
      KW_TRY(repository, inspect::Repository::open(options_.repository));
    }
    Talk talk(client_, prompts,
              {.task = task.name,
               .seed = options_.seed,
               .journal = options_.journal,
               .repository = repository ? &*repository : nullptr},
              stop);
    const std::unique_ptr<Author> author = options_.author.make();
    const int rounds = options_.rounds > 0 ? options_.rounds : options_.author.usual_rounds;
    work.rounds = options_.before;
    if (options_.author.guesses) {
      surrogate_.emplace(hash_of(task.name));
      for (const Round& round : work.rounds) {
        if (!round.left_out.empty()) surrogate_->recall_left_out();
        learn(work, round);
      }
    }
    const bool has_start = options_.author.judges_the_start && !work.start.empty();
    if (has_start && work.rounds.empty())
      KW_CHECK(take(work, {.role = RoundRole::start, .source = work.start}, nullptr));
    // The tuner may have been at work on the last one.
    if (!options_.before.empty()) KW_CHECK(tune_last(work));
    const auto asked_for = [](const Round& round) {
      return round.role != RoundRole::start && round.role != RoundRole::tuner;
    };
    int done = static_cast<int>(std::ranges::count_if(work.rounds, asked_for));
    const double asked_before_s = client_.spent().waiting_s;
    for (; done < rounds && !stop.stop_requested(); ++done) {
      talk.begin_round(static_cast<int>(work.rounds.size()));
      const Clock::time_point asked = Clock::now();
      Round round = author->next(work, talk);
      model_s_ += seconds_since(asked);
      // A question without an answer makes no round: it is asked again when the run is resumed.
      if (!talk.over().empty()) break;
      KW_CHECK(take(work, std::move(round), &talk));
      if (options_.journal != nullptr) options_.journal->clear();
    }
    outcome.over = stop.stop_requested() ? "stopped" : talk.over();
    outcome.hopeless = talk.hopeless();
    outcome.troubles = talk.troubles();
    if (surrogate_ && surrogate_->guesses() > 0) outcome.surrogate = surrogate_->reliability();
    outcome.replay = replay_text(work);
    outcome.times.whole_s = seconds_since(begin);
    // A session that is alone with its client knows how long the model took; otherwise all time spent on asking counts.
    const double waited_s = client_.spent().waiting_s - asked_before_s;
    outcome.times.model_s = waited_s <= model_s_ ? waited_s : model_s_;
    outcome.times.judge_s = judge_s_;
    return outcome;
  }

 private:
  Status begin_with(Work& work) {
    const std::string device = judge_.device().name();
    work.start = options_.start.source;
    if (options_.start.kind == Start::Kind::plain) {
      KW_TRY(const judge::Source plain, judge::plain_source(device, *work.graph));
      work.start = plain.text;
    }
    KW_TRY(work.facts,
           facts_of(*work.task, *work.graph,
                    {.repository = options_.repository, .device = device, .from_nothing = work.start.empty()}));
    work.facts["lessons"] = llm::measured(options_.lessons);
    if (options_.lessons.empty()) work.facts.erase("lessons");
    switch (options_.start.kind) {
      case Start::Kind::nothing:
        break;
      case Start::Kind::plain:
        work.facts["start"] = "A plain kernel that is right and slow";
        break;
      case Start::Kind::own:
        work.facts["start"] = "The user's own kernel, to start from";
        break;
      case Start::Kind::best:
        work.facts["start"] = "The fastest kernel so far, to start from";
        break;
    }
    if (const auto least = targets::least_time(device, ops::cost_of(*work.graph), options_.rules.threads); least.ok())
      least_ = *least;
    return {};
  }

  // Judges a round, lets the model repair a kernel that does not build, and has the tuner search its tunables. `talk`
  // is null for a round without a model.
  Status take(Work& work, Round round, Talk* talk) {
    round.number = static_cast<int>(work.rounds.size());
    const Clock::time_point begin = Clock::now();
    judge::Case asked;
    const std::optional<Decided> taped = taped_of(work, round.number);
    std::vector<VerdictStage> stages;
    for (int mends = 0;; ++mends) {
      for (const Round& earlier : work.rounds) {
        if (round.problem.empty() && earlier.source == round.source && earlier.settings == round.settings &&
            earlier.verdict) {
          round.problem = fmt::format("the same kernel as in round {}", earlier.number);
          round.source.clear();
        }
      }
      asked = case_of(work, round);
      if (!round.problem.empty()) break;
      KW_CHECK(judge_round(work, asked, round));
      const auto place = static_cast<std::size_t>(mends);
      if (taped && place < taped->stages.size()) round.taped = taped->stages[place];
      stages.push_back(round.verdict->stage);
      if (round.stage() != VerdictStage::build || talk == nullptr || !options_.author.mends || mends == kMostMends ||
          !talk->over().empty())
        break;
      const Verdict rejected = *round.verdict;
      const std::optional<VerdictStage> rejected_then = round.taped;
      const Clock::time_point asking = Clock::now();
      const bool mended = ask_to_mend(round, work, *talk);
      model_s_ += seconds_since(asking);
      if (!mended) {
        round.verdict = rejected;
        round.taped = rejected_then;
        break;
      }
    }
    std::optional<Round> tuned;
    if (round.problem.empty()) KW_CHECK(decide(work, asked, round, taped, std::move(stages), tuned));
    const bool is_best = becomes_best(work, round);
    learn(work, round);
    work.rounds.push_back(std::move(round));
    if (is_best) incumbent_ = last_built_;
    KW_CHECK(each_(work.rounds.back(), asked, seconds_since(begin)));
    return tuned ? take(work, *std::move(tuned), nullptr) : Status();
  }

  // What the surrogate is told of a round; `work` may hold it and those after it already.
  void learn(const Work& work, const Round& round) {
    if (!surrogate_ || !round.right() || !round.left_out.empty()) return;
    const Round* other = round.beside ? work.round(round.beside->with) : nullptr;
    const double speed = std::log(std::max(round.standing, 1e-9));
    const double incumbent = other != nullptr ? std::log(std::max(other->standing, 1e-9)) : speed;
    surrogate_->learn(round.facts, speed, incumbent, round.beside && round.beside->faster());
  }

  // Of a tape that is played: what it decided in a round.
  std::optional<Decided> taped_of(const Work& work, int round) const {
    const bool plays = options_.decisions != nullptr && options_.decisions->replays();
    return plays ? options_.decisions->of(work.task->name, round) : std::nullopt;
  }

  // Why a right kernel need not be measured; empty: it is. A tape decides for itself.
  std::string why_left_out(const Work& work, const Round& round) {
    const Round* best = work.best();
    if (options_.decisions != nullptr && options_.decisions->replays()) {
      const auto taped = taped_of(work, round.number);
      return taped ? taped->left_out : "";
    }
    if (!surrogate_ || best == nullptr || round.role == RoundRole::tuner) return {};
    return surrogate_->not_worth_measuring(round.facts, std::log(std::max(best->standing, 1e-9)));
  }

  // Empty where no tape with verdicts is played.
  static std::string replay_text(const Work& work) {
    std::string differing;
    int taped = 0, same = 0;
    for (const Round& round : work.rounds) {
      if (!round.taped) continue;
      ++taped;
      same += !round.differs_from_tape();
      if (round.differs_from_tape()) {
        differing += fmt::format("{} round {}: {} on the tape, {} now", differing.empty() ? ";" : ",", round.number,
                                 name_of(*round.taped), name_of(round.verdict->stage));
      }
    }
    if (taped == 0) return {};
    return fmt::format("{} of {} kernels judged as on the tape{}", same, taped, differing);
  }

  static bool becomes_best(const Work& work, const Round& round) {
    if (!round.right()) return false;
    return work.best() == nullptr || (round.beside && round.beside->faster());
  }

  // In a replay, the tape's decision takes precedence over the verdict of now.
  Status decide(const Work& work, const judge::Case& asked, Round& round, const std::optional<Decided>& taped,
                std::vector<VerdictStage> stages, std::optional<Round>& tuned) {
    Decided decided;
    if (taped && (round.right() || round.taped)) {
      round.beside_now = std::exchange(round.beside, std::nullopt);
      if (taped->beside && work.round(taped->beside->with) != nullptr) {
        round.beside = taped->beside;
        round.beside->taped = true;
      }
      round.tuning = taped->tuning;
      if (!taped->niche.empty()) round.niche = taped->niche;
      round.hot = taped->hot;
      decided = *taped;
    } else if (round.right() && round.left_out.empty()) {
      KW_CHECK(look_longer(work, asked, round));
      KW_CHECK(search_tunables(work, round, decided));
    }
    take_standing(round, work);
    decided.stages = std::move(stages);
    decided.niche = round.niche;
    decided.hot = round.hot;
    decided.beside = round.beside;
    decided.left_out = round.left_out;
    if (decided.settings && !decided.settings->empty()) {
      const auto source =
          with_defaults(round.source, *decided.settings, targets::build_options(judge_.device().name()));
      std::string values;
      for (const auto& [name, value] : *decided.settings)
        values += fmt::format("{}{}={}", values.empty() ? "" : " ", name, value);
      if (source.ok() && *source != round.source) {
        tuned = Round{.parent = round.number,
                      .role = RoundRole::tuner,
                      .plan = {{"method", "the tuner's values " + values + " as defaults"}},
                      .source = *source};
      }
    }
    return options_.decisions != nullptr ? options_.decisions->keep(work.task->name, round.number, decided) : Status();
  }

  judge::Case case_of(const Work& work, const Round& round) const {
    judge::Case one = options_.rules;
    one.task = work.task;
    one.source = {file_name(), round.source};
    one.settings = round.settings;
    return one;
  }

  // Once more where the kernel's process was killed by something else.
  Status judge_round(Work& work, const judge::Case& asked, Round& round) {
    for (int tries = 1;; ++tries) {
      KW_CHECK(judge_once(work, asked, round));
      if (tries == kMostKills || !may_be_killed_from_outside(round.verdict->reason)) return {};
    }
  }

  Status judge_once(Work& work, judge::Case asked, Round& round) {
    const Clock::time_point begin = Clock::now();
    last_built_ = nullptr;
    if (const auto tunables = read_tunables(round.source); !tunables.ok()) {
      // Wrong tunables are a fault of the source and give a verdict, as compiler errors do.
      round.verdict = Verdict{.task = work.task->name,
                              .target = judge_.device().name(),
                              .stage = VerdictStage::build,
                              .reason = {ReasonCode::bad_source, {{"text", tunables.error().message}}}};
      return {};
    }
    const Round* best = work.best();
    if (best != nullptr) KW_CHECK(know_incumbent(work, *best));
    asked.reference = best != nullptr ? incumbent_ : nullptr;
    if (!knows_rivals_) asked.frameworks = options_.frameworks;
    judge::Inspected inspected;
    std::string code;
    bool right = false;
    {
      const judge::Beside others(options_.floor);
      KW_TRY(inspected, judge_.inspect(asked));
      // While nothing is timed: reading machine code takes a core.
      right = inspected.verdict.accepted();
      std::vector<std::uint64_t> samples;
      if (right) {
        KW_TRY(samples, judge::sample_calls(*work.task, judge_.device(), *inspected.built, asked.threads));
      }
      judge_s_ += seconds_since(begin);
      if (right) {
        const auto notes = judge_.device().look_into(*inspected.built, {.samples = samples});
        code = llm::measured(runs::code_for_author(notes)) + "\n";
        round.niche = niche_of(notes.ok() ? notes->json : "", round.source);
        round.hot = hot_lines(notes.ok() ? notes->json : "");
        round.facts = code_facts(notes.ok() ? notes->json : "", round.source);
      }
    }
    if (right) round.left_out = why_left_out(work, round);
    if (right && round.left_out.empty()) {
      last_built_ = inspected.built;
      KW_TRY(round.verdict, timed(asked, std::move(inspected)));
      if (best != nullptr) round.beside = take_comparison(*round.verdict, best->number);
      if (round.verdict->accepted()) keep_rivals(work, *round.verdict);
    } else {
      round.verdict = std::move(inspected.verdict);
    }
    round.performance =
        runs::performance_text(*work.graph, *round.verdict, least_ ? &*least_ : nullptr, code, llm::measured);
    return {};
  }

  // Beside the incumbent; without it where the incumbent itself fails this time.
  Result<Verdict> timed(judge::Case asked, judge::Inspected inspected) {
    const Clock::time_point begin = Clock::now();
    const judge::Alone alone(options_.floor);
    Result<Verdict> verdict = judge_.time(asked, inspected);
    if (!verdict.ok() && asked.reference != nullptr) {
      std::erase_if(inspected.rivals, [](const judge::NamedBuild& rival) { return rival.name == kReference; });
      asked.reference = nullptr;
      verdict = judge_.time(asked, std::move(inspected));
    }
    judge_s_ += seconds_since(begin);
    return verdict;
  }

  // Frameworks are timed once: their times are for the author, and the best is judged beside them at the end.
  void keep_rivals(Work& work, const Verdict& verdict) {
    if (knows_rivals_) return;
    knows_rivals_ = true;
    std::string text;
    for (const Speedup& one : verdict.speedups) {
      if (!one.called) continue;
      text += fmt::format("{} {}: {} a call without what calling it costs\n", one.rival, one.called->version,
                          llm::measured(time_text(*verdict.time_ns * one.median)));
    }
    if (!text.empty()) work.facts["rivals"] = text;
  }

  // In a resumed session the best kernel was built by an earlier process: it is built again.
  Status know_incumbent(const Work& work, const Round& best) {
    if (incumbent_ != nullptr) return {};
    judge::Case again = case_of(work, best);
    again.timed = false;
    const judge::Beside others(options_.floor);
    KW_TRY(const judge::Inspected inspected, judge_.inspect(again));
    if (inspected.verdict.accepted()) incumbent_ = inspected.built;
    return {};
  }

  // Where the usual timing could not tell a challenger that may be better from the incumbent.
  Status look_longer(const Work& work, const judge::Case& asked, Round& round) {
    const Round* best = work.best();
    if (!round.beside || best == nullptr || incumbent_ == nullptr) return {};
    if (round.beside->faster() || round.beside->slower() || round.beside->high < 1 + kWorthALook) return {};
    const judge::Case longer = longer_look(asked, incumbent_);
    judge::Inspected inspected;
    {
      const judge::Beside others(options_.floor);
      KW_TRY(inspected, judge_.inspect(longer));
    }
    if (!inspected.verdict.accepted()) return {};
    KW_TRY(Verdict verdict, timed(longer, std::move(inspected)));
    if (const auto second = take_comparison(verdict, best->number)) round.beside = second;
    return {};
  }

  std::string file_name() const { return targets::source_name(judge_.device().name(), "kernel"); }

  // In a resumed session: the last round was recorded, but the tuner's result for it was not.
  Status tune_last(Work& work) {
    Round& last = work.rounds.back();
    if (!last.right() || !last.left_out.empty() || !last.tuning.empty()) return {};
    Decided decided;
    if (const auto taped = taped_of(work, last.number)) {
      decided = *taped;
    } else {
      KW_CHECK(search_tunables(work, last, decided));
    }
    if (!decided.settings || decided.settings->empty()) return {};
    KW_TRY(std::string source,
           with_defaults(last.source, *decided.settings, targets::build_options(judge_.device().name())));
    return take(work, {.parent = last.number, .role = RoundRole::tuner, .source = std::move(source)}, nullptr);
  }

  // Searches the tunables of the round's kernel: a table of what was tried, and the values that are worth a round.
  Status search_tunables(const Work& work, Round& round, Decided& decided) {
    if (options_.tune < 2 || round.role == RoundRole::start || round.role == RoundRole::tuner) return {};
    KW_TRY(Tunables tunables, read_tunables(round.source));
    if (tunables.list.empty()) return {};
    const Clock::time_point begin = Clock::now();
    std::vector<search::Kernel> kernels;
    kernels.push_back({"agent", file_name(), round.source, std::move(tunables)});
    const auto space = search::Space::of(std::move(kernels), targets::build_options(judge_.device().name()));
    if (!space.ok()) return {};
    KW_TRY(const search::StrategyKind kind, search::find_strategy("local"));
    const auto strategy = kind.make({.space = &*space});
    search::SearchJob plan{.task = work.task,
                           .space = &*space,
                           .strategy = strategy.get(),
                           .budget = {.candidates = options_.tune},
                           .threads = options_.rules.threads,
                           .cold = options_.rules.cold};
    search::Found found;
    {
      const judge::Alone alone(options_.floor);
      KW_TRY(found, search::search(judge_, plan));
    }
    judge_s_ += seconds_since(begin);
    round.tuning = table_of(found, *space);
    decided.tuning = round.tuning;
    if (!found.ranking.empty() && *found.ranking[0].time < 0.98)
      decided.settings = space->settings(found.ranking[0].point);
    return {};
  }

  judge::Judge& judge_;
  llm::Client& client_;
  const SessionOptions& options_;
  const EachRound& each_;
  std::optional<targets::LeastTime> least_;
  std::shared_ptr<const judge::Built> incumbent_;   // the best kernel, built
  std::shared_ptr<const judge::Built> last_built_;  // the one that was judged last; null: it was not right
  std::optional<Surrogate> surrogate_;              // of an author that has one
  bool knows_rivals_ = false;
  double judge_s_ = 0;
  double model_s_ = 0;
};

}  // namespace

std::string_view name_of(Start::Kind kind) {
  switch (kind) {
    case Start::Kind::nothing:
      return "nothing";
    case Start::Kind::plain:
      return "plain";
    case Start::Kind::own:
      return "own";
    case Start::Kind::best:
      return "best";
  }
  return "";
}

judge::Case longer_look(judge::Case asked, std::shared_ptr<const judge::Built> incumbent) {
  asked.reference = std::move(incumbent);
  asked.plain = false;
  asked.budget_s *= kLongerLook;
  return asked;
}

Result<SessionResult> run_session(judge::Judge& judge, const Task& task, const ops::Graph& graph, llm::Client& client,
                                  const Prompts& prompts, const SessionOptions& options, const EachRound& each,
                                  const std::stop_token& stop) {
  return Session(judge, client, options, each).run(task, graph, prompts, stop);
}

}  // namespace kw::agents
