#include "judge/race.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "judge/excess.h"
#include "judge/secret.h"
#include "ops/draw.h"
#include "targets/cpu/cores.h"
#include "targets/cpu/facts.h"
#include "targets/cpu/temperature.h"

namespace kw::judge {
namespace {

using namespace std::chrono_literals;

// The examination has seen it end.
constexpr auto kMostCallTime = 10s;
// A group of calls should take this long at least: then what the start and the end cost is below a percent.
constexpr double kGroupNs = 150'000;
// Calls shorter than this are preceded by one on old inputs, so that code and tables are warm.
constexpr double kWarmUpBelowNs = 300'000;
// The core's own cache, where the system does not tell.
constexpr std::uint64_t kUsualCacheBytes = std::uint64_t{512} << 10;
// References for timed calls may take this share of the budget.
constexpr double kReferenceShare = 0.25;
constexpr int kFewestVerified = 2;
// A turn without calls is the host's work alone: so many times what a rival's takes, and so much more, is no chance.
constexpr double kSlowEmpty = 3;
constexpr double kSlowEmptyNs = 20'000;
// What it takes where the clock is watched and nothing disturbs it is far below this.
constexpr double kMostEmptyNs = 5'000;
// How much longer than a timed call one that warms up may take.
constexpr double kSlowWarmUp = 20;
constexpr double kSlowWarmUpNs = 5'000'000;
// Copies of one kernel that differ by more say that others had the cores.
constexpr double kMostNoise = 0.5;
// Such a race is run so many times more, after a while.
constexpr int kMoreRaces = 2;
constexpr auto kBetweenRaces = 200ms;
// Whoever gives it less time, as a batch does, has many to judge and would wait longer than it races.
constexpr double kWorthRepeatingS = 0.2;
// At a glance, so many times slower is far behind.
constexpr double kFarBehind = 3;
// Two answers within their bounds may differ by twice the bound; and bounds differ from input to input.
constexpr double kLoose = 16;

// What the buffers of a group may take: half of the core's own cache, so that the calls of a group find their tensors
// as warm as a single call, and a framework's, would.
std::uint64_t group_bytes() {
  static const std::uint64_t bytes = [] {
    std::uint64_t own = 0;
    for (const targets::Cache& cache : targets::read_cpu_facts().caches) {
      if (cache.level == 2 && cache.holds_data()) own = cache.size_bytes;
    }
    return (own > 0 ? own : kUsualCacheBytes) / 2;
  }();
  return bytes;
}

struct Runner {
  Cell cell;
  std::vector<double> laps_ns;  // one a round: of one call
  Turns turns;                  // what it did outside of its laps
  double empty_ns = 0;          // what a lap of no calls takes
  std::vector<double> warm_ns;  // one a round: the call that warms up
  std::string failed;
};

// How often this thread had to give up its core.
long times_interrupted() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

class Race {
 public:
  Race(const Task& task, const sandbox::Sandbox& sandbox, const Arena& inputs, const std::vector<double>& allowed,
       const RaceRules& rules)
      : task_(task), sandbox_(sandbox), inputs_(inputs), allowed_(allowed), rules_(rules), random_(rules.seed) {}

  Result<RaceResult> run(const Contestant& candidate, const std::vector<Contestant>& rivals,
                         const std::vector<Guest*>& guests) {
    KW_TRY(instance_, make_instance(task_, task_.lengths, rules_.threads));
    KW_CHECK(add(candidate));
    for (const Contestant& rival : rivals) KW_CHECK(add(rival));
    KW_CHECK(add(rivals.empty() ? candidate : rivals[0]));
    twin_ = runners_.size() - 1;
    result_.dropped.resize(rivals.size());
    result_.ratios.resize(rivals.size());
    result_.pairs.resize(rivals.size());
    result_.rival_time_ns.resize(rivals.size());

    for (std::size_t i = 0; i < runners_.size(); ++i) trouble(i, runners_[i].cell.loaded(Clock::now() + 10s));
    if (stopped()) return result_;
    for (Guest* guest : guests) {
      KW_TRY(GuestLane lane, GuestLane::open(*guest, instance_, rules_.threads));
      if (rules_.cold) lane.drop("a framework's memory cannot be chilled: it is not compared with --cold");
      guests_.push_back(std::move(lane));
    }
    weights_ = rules_.glance != nullptr ? rules_.glance->inputs
                                        : ops::draw_inputs(instance_.graph, ops::Manner::typical, secret());
    const TimingTurn turn;
    turn_ = &turn;
    for (const Runner& runner : runners_) {
      if (rules_.threads == 1) runner.cell.pin(turn.kernel_core());
    }
    KW_CHECK(choose_group());
    if (stopped() || far_behind()) return result_;
    // What starting and stopping takes is the same for all, and not the candidate's to say.
    double empty_ns = 0;
    for (int attempt = 0; attempt < 5 && !stopped(); ++attempt) {
      for (std::size_t i = 0; i < runners_.size(); ++i) measure_empty(i);
      empty_ns = runners_[twin_].empty_ns;
      for (std::size_t i = 1; i < runners_.size(); ++i) {
        if (runners_[i].failed.empty()) empty_ns = std::min(empty_ns, runners_[i].empty_ns);
      }
      if (empty_ns <= kMostEmptyNs || !watches_clock()) break;
      ::usleep(20'000);
    }
    const auto slow_when_empty = [&] { return runners_[0].empty_ns > kSlowEmpty * empty_ns + kSlowEmptyNs; };
    // Others may have had the core for a while; and now and then a process is slow for no fault of its own.
    for (int i = 0; i < 3 && slow_when_empty() && !stopped(); ++i) KW_CHECK(restart(candidate));
    if (slow_when_empty() && rules_.threads == 1 && !stopped()) {
      result_.finding =
          Finding{VerdictStage::time, fmt::format("a turn without calls takes {:.1f} us, a rival's {:.1f}",
                                                  runners_[0].empty_ns / 1000, empty_ns / 1000)};
    }
    // A machine that is too busy does not tell; then nothing is taken off.
    result_.disturbed = empty_ns > kMostEmptyNs && watches_clock();
    for (Runner& runner : runners_) runner.empty_ns = result_.disturbed ? 0 : empty_ns;
    const auto begin = Clock::now();
    for (int round = 0; round < rules_.most_rounds && !stopped(); ++round) {
      KW_CHECK(run_round());
      ++result_.rounds;
      const std::chrono::duration<double> spent = Clock::now() - begin;
      if (result_.rounds >= static_cast<int>(kFewestPairs) && spent.count() > rules_.budget_s) break;
      if (rules_.stops_early && result_.rounds >= rules_.fewest_rounds && result_.rounds % 10 == 0 && clear()) break;
    }
    if (!stopped()) KW_CHECK(conclude());
    return result_;
  }

 private:
  bool stopped() const { return result_.finding.has_value(); }

  Status add(const Contestant& contestant) {
    KW_TRY(Cell cell, Cell::open(sandbox_, *contestant.library, inputs_, rules_.threads, instance_.memory_bytes()));
    runners_.push_back({.cell = std::move(cell)});
    return {};
  }

  // Another process for the candidate.
  Status restart(const Contestant& candidate) {
    Runner& runner = runners_[0];
    KW_TRY(runner.cell, Cell::open(sandbox_, *candidate.library, inputs_, rules_.threads, instance_.memory_bytes()));
    if (trouble(0, runner.cell.loaded(Clock::now() + 10s))) return {};
    if (rules_.threads == 1) runner.cell.pin(turn_->kernel_core());
    runner.cell.outputs().cut_to(layout_.output_bytes);
    if (trouble(0, runner.cell.arrange(layout_, instance_, Clock::now() + kMostCallTime))) return {};
    // A timed turn first: whoever takes over the host does so there.
    if (put_to_rest(0) && timed_run(0)) measure_empty(0);
    return {};
  }

  // The candidate's trouble ends the race; a rival's takes it out.
  bool trouble(std::size_t index, const Outcome& outcome) {
    if (!outcome) return false;
    if (index == 0) {
      result_.finding = finding_of(*outcome, VerdictStage::time, &layout_, &instance_);
      if (outcome->kind == Trouble::Kind::refused || outcome->kind == Trouble::Kind::slow) {
        result_.finding->reason += " (in the timed calls)";
      }
    } else {
      drop(index, outcome->text);
    }
    return true;
  }

  void drop(std::size_t index, const std::string& why) {
    runners_[index].failed = why;
    if (index - 1 < result_.dropped.size()) result_.dropped[index - 1] = why;
  }

  // Buffers for this many calls, and one more that warms up.
  void arrange(int calls) {
    const std::vector<Place> places(static_cast<std::size_t>(calls) + 1, Place::aligned);
    layout_ = lay_out(instance_.inputs, instance_.constant, instance_.outputs, places, random_);
    group_ = calls;
    inputs_.cut_to(layout_.input_bytes);
    for (const Runner& runner : runners_) runner.cell.outputs().cut_to(layout_.output_bytes);
    for (std::size_t call = 0; call < layout_.calls.size(); ++call) {
      for (std::size_t i = 0; i < weights_.size(); ++i) {
        const Buffer& buffer = layout_.calls[call].inputs[i];
        std::memcpy(inputs_.at(buffer.offset), weights_[i].bytes().data(), buffer.size_bytes);
      }
    }
    for (std::size_t i = 0; i < runners_.size(); ++i) {
      if (!runners_[i].failed.empty()) continue;
      wake(i);
      if (trouble(i, runners_[i].cell.arrange(layout_, instance_, Clock::now() + kMostCallTime))) continue;
      put_to_rest(i);
    }
    for (GuestLane& guest : guests_) guest.arrange(layout_, instance_, inputs_, rules_.threads, turn_->kernel_core());
  }

  // Nothing of it may run while others have their turns or while inputs are laid out. One thread that sleeps waits for
  // its next command; several could wake each other, and are stopped.
  bool put_to_rest(std::size_t index) {
    if (trouble(index, runners_[index].cell.come_to_rest())) return false;
    if (rules_.threads > 1) runners_[index].cell.hold();
    return true;
  }
  void wake(std::size_t index) const {
    if (rules_.threads > 1) runners_[index].cell.release();
  }

  // How many calls make a group: from a few single calls of everyone.
  Status choose_group() {
    arrange(1);
    double shortest = 1e18;
    first_ns_.assign(runners_.size(), 0);
    for (std::size_t i = 0; i < runners_.size() && !stopped(); ++i) {
      if (!runners_[i].failed.empty()) continue;
      double best = 1e18;
      for (int k = 0; k < 3 && !stopped() && runners_[i].failed.empty(); ++k) {
        const std::optional<double> lap = timed_run(i);
        if (lap) best = std::min(best, *lap);
      }
      shortest = std::min(shortest, best);
      first_ns_[i] = best;
    }
    if (stopped()) return {};
    shortest_ns_ = shortest;
    std::uint64_t call_bytes = 1;
    for (std::size_t i = 0; i < instance_.inputs.size(); ++i) {
      if (!instance_.constant[i]) call_bytes += static_cast<std::uint64_t>(instance_.inputs[i].bytes());
    }
    for (const TensorType& type : instance_.outputs) call_bytes += static_cast<std::uint64_t>(type.bytes());
    const std::uint64_t room = std::max<std::uint64_t>(group_bytes() / call_bytes, 1);
    const double wanted = std::ceil(kGroupNs / std::max(shortest, 100.0));
    int calls =
        static_cast<int>(std::min({wanted, static_cast<double>(room), static_cast<double>(host::kMostCalls - 1)}));
    if (rules_.cold) calls = 1;
    if (calls > 1) arrange(calls);
    result_.calls_in_group = calls;
    return {};
  }

  // At a glance, a candidate that takes many times as long as a rival needs no more of everyone's time.
  bool far_behind() {
    if (rules_.glance == nullptr || twin_ < 2 || !runners_[1].failed.empty()) return false;
    const double ratio = first_ns_[1] / first_ns_[0];
    if (ratio * kFarBehind > 1) return false;
    result_.time_ns = first_ns_[0];
    result_.ratios[0] = {.median = ratio, .low = ratio, .high = ratio};
    result_.pairs[0] = {{first_ns_[0], first_ns_[1]}};
    result_.rival_time_ns[0] = first_ns_[1];
    result_.noise = 1;
    return true;
  }

  // The clock needs a core that the kernel does not.
  bool watches_clock() const { return !turn_->one_core() && rules_.threads < turn_->core_count(); }

  void measure_empty(std::size_t index) {
    Runner& runner = runners_[index];
    if (!runner.failed.empty()) return;
    std::vector<double> laps;
    for (int k = 0; k < 7 && !stopped(); ++k) {
      if (const auto lap = timed_run(index, 0)) laps.push_back(*lap);
    }
    // Whatever disturbs it makes it longer.
    runner.empty_ns = laps.empty() ? 0 : *std::ranges::min_element(laps);
  }

  // One lap of `calls` calls, or of the whole group; none: it failed. It is at rest before and after. Also sets
  // last_excess_ns_ and last_clean_.
  std::optional<double> timed_run(std::size_t index, int calls = -1) {
    Cell& cell = runners_[index].cell;
    const auto count = static_cast<std::uint32_t>(calls < 0 ? group_ : calls);
    const auto deadline = Clock::now() + kMostCallTime;
    move_to(turn_->clock_core());
    const bool spins = watches_clock();
    const std::uint64_t cpu_start = cell.cpu_ns();
    const long interrupted = times_interrupted();
    const auto begin = Clock::now();
    double lap_ns = 0;
    bool came = !spins;  // to the end of its calls
    wake(index);
    cell.start(0, count, spins);
    if (spins && cell.ready(deadline)) {
      const Cell::Lap lap = cell.go(deadline);
      lap_ns = static_cast<double>(lap.end_ns - lap.begin_ns);
      came = lap.done;
    }
    if (trouble(index, cell.finish(deadline))) return std::nullopt;
    const auto wall_ns = static_cast<double>((Clock::now() - begin).count());
    // Whoever reads the clock must not have been away meanwhile.
    last_clean_ = times_interrupted() == interrupted;
    if (!put_to_rest(index)) return std::nullopt;
    if (index == 0 && cell.control().registers_changed != 0) {
      result_.finding = Finding{VerdictStage::behaviour, "left the control registers changed in the timed calls"};
      return std::nullopt;
    }
    if (!came) {
      trouble(index, Trouble{Trouble::Kind::slow, "answered without coming to the end of its calls"});
      return std::nullopt;
    }
    // The system brings a process's account up to date when it leaves the core: it has, where this thread runs.
    move_to(turn_->kernel_core());
    const auto cpu_ns = static_cast<double>(cell.cpu_ns() - cpu_start);
    // With nobody to watch the clock, the time is what the system accounts to one thread, or from the command to the
    // answer.
    if (!spins) lap_ns = rules_.threads == 1 ? cpu_ns : wall_ns;
    last_excess_ns_ = std::max(cpu_ns - lap_ns * rules_.threads, 0.0);
    return lap_ns;
  }

  void poison(const Runner& runner, std::uint8_t value) const {
    for (int call = 0; call < group_; ++call) {
      for (const Buffer& buffer : layout_.calls[static_cast<std::size_t>(call)].outputs) {
        std::memset(runner.cell.outputs().at(buffer.offset), value, buffer.size_bytes);
      }
    }
  }

  void feed(const std::vector<std::vector<Tensor>>& fresh) const {
    for (std::size_t call = 0; call < fresh.size(); ++call) {
      for (std::size_t i = 0; i < fresh[call].size(); ++i) {
        if (instance_.constant[i]) continue;
        const Buffer& buffer = layout_.calls[call].inputs[i];
        std::memcpy(inputs_.at(buffer.offset), fresh[call][i].bytes().data(), buffer.size_bytes);
      }
    }
  }

  void scrub_inputs() const {
    for (int call = 0; call < group_; ++call) {
      const std::vector<Buffer>& inputs = layout_.calls[static_cast<std::size_t>(call)].inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!instance_.constant[i]) std::memset(inputs_.at(inputs[i].offset), 0, inputs[i].size_bytes);
      }
    }
  }

  Status run_round() {
    if (rules_.glance == nullptr || drawn_.empty()) drawn_ = draw_group();
    const std::vector<std::vector<Tensor>>& fresh = drawn_;
    std::vector<std::size_t> order(runners_.size() + guests_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    random_.shuffle(std::span(order));
    const auto poison_value = static_cast<std::uint8_t>(0x81 + random_.bits() % 0x7d);
    bool clean = true;
    for (std::size_t index : order) {
      if (index >= runners_.size()) {
        run_guest(guests_[index - runners_.size()], fresh, poison_value);
        continue;
      }
      Runner& runner = runners_[index];
      if (!runner.failed.empty()) continue;
      warm_up(index);
      if (stopped()) return {};
      if (!runner.failed.empty()) continue;
      // Written on the core that will read them: they come as from the operator before.
      move_to(turn_->kernel_core());
      feed(fresh);
      poison(runner, poison_value);
      if (rules_.cold) {
        push_out(layout_, inputs_, runner.cell.outputs());
      } else {
        bring_near(layout_, group_, inputs_, runner.cell.outputs());
      }
      const std::optional<double> lap = timed_run(index);
      if (stopped()) return {};
      // The next one's warm-up must not find what it will be timed on.
      scrub_inputs();
      if (!lap) continue;
      clean = clean && last_clean_;
      runner.laps_ns.push_back(std::max(*lap - runner.empty_ns, 1.0) / group_);
      runner.turns.add(last_excess_ns_, last_clean_);
    }
    clean_.push_back(clean);
    if (rules_.glance != nullptr) return {};
    KW_CHECK(verify(fresh));
    return check_guests(fresh);
  }

  void run_guest(GuestLane& guest, const std::vector<std::vector<Tensor>>& fresh, std::uint8_t poison_value) {
    if (!guest.in()) return;
    move_to(turn_->kernel_core());
    feed(fresh);
    guest.poison(layout_, group_, poison_value);
    guest.lap(group_);
    scrub_inputs();
  }

  // Their first answers, some in between, and the last.
  Status check_guests(const std::vector<std::vector<Tensor>>& fresh) {
    for (GuestLane& guest : guests_) {
      if (!guest.in() || !(guest.needs_check() || random_.chance(0.02))) continue;
      KW_CHECK(guest.check(layout_, instance_, fresh.size() - 1, fresh.back()));
    }
    last_ = fresh.back();
    return {};
  }

  // The extra call, on old inputs, where calls are short; then all stands ready for the timed ones.
  void warm_up(std::size_t index) {
    Runner& runner = runners_[index];
    wake(index);
    const auto begin = Clock::now();
    const auto deadline = begin + kMostCallTime;
    const bool warms = !rules_.cold && shortest_ns_ < kWarmUpBelowNs;
    if (warms && trouble(index, runner.cell.run(static_cast<std::uint32_t>(group_), 1, deadline))) return;
    runner.warm_ns.push_back(static_cast<double>((Clock::now() - begin).count()));
    // Before its inputs are there, so that nothing can be worked meanwhile.
    if (!rules_.cold && trouble(index, runner.cell.warm(0, static_cast<std::uint32_t>(group_), deadline))) return;
    if (trouble(index, runner.cell.stand(0, static_cast<std::uint32_t>(group_), deadline))) return;
    put_to_rest(index);
  }

  std::vector<std::vector<Tensor>> draw_group() {
    std::vector<std::vector<Tensor>> fresh;
    for (int call = 0; call < group_; ++call) {
      if (rules_.glance != nullptr) {
        fresh.push_back(rules_.glance->inputs);
        continue;
      }
      fresh.push_back(ops::draw_inputs(instance_.graph, ops::Manner::typical, secret()));
      for (std::size_t i = 0; i < weights_.size(); ++i) {
        if (instance_.constant[i]) fresh.back()[i] = weights_[i];
      }
    }
    return fresh;
  }

  // All timed outputs: each against the first rival's, and some, or all that look odd, against the reference.
  Status verify(const std::vector<std::vector<Tensor>>& fresh) {
    const bool has_rival = runners_.size() > 2 && runners_[1].failed.empty();
    for (std::size_t call = 0; call < fresh.size() && !stopped(); ++call) {
      std::string problem;
      KW_TRY(const std::vector<Tensor> got, read_outputs(runners_[0].cell, layout_, instance_, call, &problem));
      if (!problem.empty()) {
        result_.finding = Finding{VerdictStage::time, problem + " (in a timed call)"};
        return {};
      }
      bool odd = !has_rival && result_.verified < kFewestVerified;
      if (has_rival) {
        std::string ignored;
        KW_TRY(const std::vector<Tensor> other, read_outputs(runners_[1].cell, layout_, instance_, call, &ignored));
        odd = !ignored.empty() || !alike(got, other);
      }
      const bool affordable = reference_s_ < kReferenceShare * rules_.budget_s;
      const bool chosen = result_.verified < kFewestVerified || (affordable && random_.chance(0.1));
      if (!odd && !chosen) continue;
      const auto begin = Clock::now();
      const auto expected = ops::evaluate(instance_.graph, fresh[call]);
      if (!expected.ok()) continue;
      ++result_.verified;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const ops::Comparison comparison = ops::compare((*expected)[i], got[i]);
        if (comparison.right()) continue;
        result_.finding = Finding{VerdictStage::time, fmt::format("wrong in a timed call: output {}: {}", i,
                                                                  comparison.text((*expected)[i]))};
        return {};
      }
      for (std::size_t rival = 1; rival < twin_; ++rival) {
        if (!runners_[rival].failed.empty()) continue;
        std::string wrong;
        KW_TRY(const std::vector<Tensor> theirs, read_outputs(runners_[rival].cell, layout_, instance_, call, &wrong));
        for (std::size_t i = 0; i < theirs.size() && wrong.empty(); ++i) {
          const ops::Comparison comparison = ops::compare((*expected)[i], theirs[i]);
          if (!comparison.right())
            wrong = fmt::format("its output {} is wrong: {}", i, comparison.text((*expected)[i]));
        }
        if (!wrong.empty()) drop(rival, wrong);
      }
      reference_s_ += std::chrono::duration<double>(Clock::now() - begin).count();
    }
    return {};
  }

  bool alike(const std::vector<Tensor>& a, const std::vector<Tensor>& b) const {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].type() != b[i].type()) return false;
      if (std::memcmp(a[i].bytes().data(), b[i].bytes().data(), a[i].bytes().size()) == 0) continue;
      const double loose = i < allowed_.size() ? kLoose * allowed_[i] : 0;
      if (a[i].dtype() == DType::float32) {
        const auto p = a[i].as<float>(), q = b[i].as<float>();
        bool near = true;
        const auto limit = static_cast<float>(loose);
        for (std::size_t k = 0; k < p.size(); ++k) near &= std::fabs(p[k] - q[k]) <= limit || p[k] == q[k];
        if (!near) return false;
        continue;
      }
      for (std::int64_t k = 0; k < a[i].count(); ++k) {
        const double p = a[i].real(k), q = b[i].real(k);
        if (p != q && !(std::fabs(p - q) <= loose)) return false;
      }
    }
    return true;
  }

  // On a busy machine hardly a round is clean, and all count.
  bool busy() const { return std::ranges::count(clean_, true) < static_cast<std::ptrdiff_t>(kFewestPairs); }

  std::vector<double> counted(const std::vector<double>& of_rounds) const {
    if (busy()) return of_rounds;
    std::vector<double> kept;
    for (std::size_t i = 0; i < of_rounds.size(); ++i) {
      if (clean_[i]) kept.push_back(of_rounds[i]);
    }
    return kept;
  }

  double lap_ns() const { return group_ * median_of(counted(runners_[0].laps_ns)); }

  Excess excess() const {
    std::vector<const Turns*> others = {&runners_[twin_].turns};
    if (twin_ > 1 && runners_[1].failed.empty()) others.push_back(&runners_[1].turns);
    return excess_of(runners_[0].turns, others, lap_ns());
  }

  // Of one call. What was worked outside of the laps is charged to them.
  std::vector<double> times_of(std::size_t index) const {
    std::vector<double> laps = counted(runners_[index].laps_ns);
    const double charge_ns = index == 0 ? excess().ns / group_ : 0;
    for (double& lap : laps) lap += charge_ns;
    return laps;
  }

  std::vector<Pair> pairs(std::size_t a, std::size_t b) const {
    const std::vector<double> of_a = times_of(a), of_b = times_of(b);
    std::vector<Pair> all;
    for (std::size_t i = 0; i < std::min(of_a.size(), of_b.size()); ++i) all.push_back({of_a[i], of_b[i]});
    return all;
  }

  std::optional<Ratio> ratio(std::size_t a, std::size_t b) const {
    const std::vector<Pair> all = pairs(a, b);
    if (!runners_[b].failed.empty() || all.size() < kFewestPairs) return std::nullopt;
    return ratio_of_pairs(all, rules_.seed);
  }

  // What a kernel and its copy differ by: the far end of the interval.
  double noise() const {
    const std::size_t first = runners_.size() > 2 ? 1 : 0;
    const std::optional<Ratio> same = ratio(first, twin_);
    if (!same) return 1;
    return std::max({same->high - 1, 1 / same->low - 1, 0.002});
  }

  // Every rival's answer is known, and with it how sure it is.
  bool clear() const {
    const double least = noise();
    for (std::size_t i = 1; i < twin_; ++i) {
      if (!runners_[i].failed.empty()) continue;
      const std::optional<Ratio> one = ratio(0, i);
      if (!one) return false;
      const double width = (one->high - one->low) / one->median;
      if (!(one->differs_by_more_than(least) && width < 0.05) && !(width < 0.005)) return false;
    }
    return std::ranges::all_of(guests_, [&](const GuestLane& guest) {
      const std::optional<Ratio> one = guest.ratio(guest_pairs(guest), false, rules_.seed);
      return !one || (one->differs_by_more_than(least) && (one->high - one->low) / one->median < 0.05);
    });
  }

  std::vector<Pair> guest_pairs(const GuestLane& guest) const {
    const std::vector<double> own = times_of(0), theirs = counted(guest.laps_ns());
    std::vector<Pair> all;
    for (std::size_t i = 0; i < std::min(own.size(), theirs.size()); ++i) all.push_back({own[i], theirs[i]});
    return all;
  }

  Status conclude() {
    for (GuestLane& guest : guests_) {
      if (guest.in()) KW_CHECK(guest.check(layout_, instance_, static_cast<std::size_t>(group_) - 1, last_));
      result_.guests.push_back(guest.result(guest_pairs(guest), rules_.seed));
    }
    // Nothing but the largest differences is believed where the clock's reader was interrupted all the time.
    const double seen = noise();
    result_.noise = busy() ? std::max(seen, 1.0) : seen;
    // Long calls are interrupted in every round and average over it: that alone is no reason to run them again.
    result_.disturbed = result_.disturbed || seen > kMostNoise;
    result_.time_ns = median_of(times_of(0));
    for (std::size_t i = 1; i < twin_; ++i) {
      if (const std::optional<Ratio> one = ratio(0, i)) result_.ratios[i - 1] = *one;
      if (runners_[i].failed.empty()) result_.pairs[i - 1] = pairs(0, i);
      result_.rival_time_ns[i - 1] = runners_[i].failed.empty() ? median_of(times_of(i)) : 0;
    }
    check_cpu_time();
    check_warm_up();
    return {};
  }

  // Who dawdles outside of the timed calls leaves fewer rounds to judge by.
  void check_warm_up() {
    const double warm_ns = median_of(counted(runners_[0].warm_ns));
    if (stopped() || warm_ns <= kSlowWarmUp * result_.time_ns + kSlowWarmUpNs) return;
    result_.finding =
        Finding{VerdictStage::time, fmt::format("its calls that warm up take {:.1f} ms, the timed ones {:.3f} ms",
                                                warm_ns / 1e6, result_.time_ns / 1e6)};
  }

  // Work that was done outside of the laps shows in the CPU time: more of it than a rival needs to be called.
  void check_cpu_time() {
    const auto [outside_ns, tolerated_ns] = excess();
    if (outside_ns <= tolerated_ns) return;
    result_.finding = Finding{VerdictStage::time,
                              fmt::format("used {:.1f} us of CPU time a turn outside of the calls that were timed "
                                          "({:.1f} us): work is done before or after them",
                                          outside_ns / 1000, lap_ns() / 1000)};
  }

  const Task& task_;
  const sandbox::Sandbox& sandbox_;
  const Arena& inputs_;
  const std::vector<double>& allowed_;
  const RaceRules& rules_;
  Random random_;
  Instance instance_;
  std::vector<GuestLane> guests_;
  std::vector<Tensor> last_;     // the inputs of the last call of the last round
  std::vector<Runner> runners_;  // the candidate, the rivals, and the first rival's copy
  std::size_t twin_ = 0;
  std::vector<Tensor> weights_;
  std::vector<std::vector<Tensor>> drawn_;  // the inputs of the round's calls
  std::vector<double> first_ns_;            // of each runner: the best of its first calls
  Layout layout_;
  int group_ = 1;
  std::vector<bool> clean_;  // of each round: nobody took the clock's core away
  double shortest_ns_ = 0;
  double last_excess_ns_ = 0;
  bool last_clean_ = true;
  double reference_s_ = 0;
  const TimingTurn* turn_ = nullptr;
  RaceResult result_;
};

}  // namespace

Result<RaceResult> race(const Task& task, const sandbox::Sandbox& sandbox, const Arena& inputs,
                        const Contestant& candidate, const std::vector<Contestant>& rivals,
                        const std::vector<Guest*>& guests, const std::vector<double>& allowed, const RaceRules& rules) {
  const auto run = [&] { return Race(task, sandbox, inputs, allowed, rules).run(candidate, rivals, guests); };
  KW_TRY(RaceResult best, run());
  // At a glance, in little time and with a number of rounds that somebody chose, there is one.
  const bool may_repeat = rules.glance == nullptr && rules.stops_early && rules.budget_s >= kWorthRepeatingS;
  for (int i = 0; i < kMoreRaces && may_repeat && best.disturbed && !best.finding; ++i) {
    std::this_thread::sleep_for(kBetweenRaces);
    KW_TRY(RaceResult another, run());
    if (another.finding || !another.disturbed || another.noise < best.noise) best = std::move(another);
  }
  return best;
}

}  // namespace kw::judge
