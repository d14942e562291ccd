// Evolution in which a language model makes the changes: an archive keeps the fastest right kernel of each kind, so
// that a kind that is slower today can still win later.
//
// Kinds are facts of the machine code (Round::niche), not words of the model. The first kernels are written from the
// task alone; from then on one is changed, or two are crossed. Choices depend on the rounds so far and a seed only,
// so that a tape can be replayed.
#include <algorithm>
#include <map>

#include "agents/author.h"
#include "base/hash.h"
#include "base/random.h"

namespace kw::agents::authors {
namespace {

constexpr std::size_t kSeeds = 2;   // kernels from nothing, before breeding begins
constexpr double kCrossing = 0.25;  // of the rounds with two kinds to cross
constexpr double kBestFirst =
    0.6;  // share of rounds that start from the best kernel of all; the others from the best of some kind
constexpr double kWorthBreeding = 0.4;  // of the best one's speed

class Evolve : public Author {
 public:
  Round next(Work& work, Talk& talk) override {
    const std::vector<const Round*> elites = archive(work);
    const auto seeds = static_cast<std::size_t>(
        std::ranges::count_if(work.rounds, [](const Round& round) { return round.role == RoundRole::coder; }));
    if (elites.empty()) {
      // A wrong first kernel is repaired once; after that it is better to begin anew.
      if (!work.rounds.empty() && !work.rounds.back().source.empty() && work.rounds.back().parent < 0)
        return ask_to_vary(work, work.rounds.back(), nullptr, "Repair what the judge found wrong.", talk);
      return from_nothing(work, talk);
    }
    if (work.start.empty() && seeds < kSeeds) return from_nothing(work, talk);
    Random random(hash_of(work.task->name) + work.rounds.size());
    const Round& base = random.chance(kBestFirst) ? *work.best() : *random.pick(elites);
    if (elites.size() > 1 && random.chance(kCrossing)) {
      const Round* other = random.pick(elites);
      if (other != &base)
        return ask_to_vary(work, base, other, "Combine the two: take from the other kernel what makes it fast.", talk);
    }
    return ask_to_vary(work, base, nullptr,
                       "Change one thing that should make it faster, and that was not tried from here before.", talk);
  }

 private:
  // Asks for a kernel that differs from those in the archive.
  static Round from_nothing(const Work& work, Talk& talk) {
    Round round{.role = RoundRole::coder};
    const Round* best = work.best();
    ask_for_code(round, first_question(work, talk, best != nullptr ? best->source : ""), work.start, talk, 0.8);
    return round;
  }

  // The fastest right kernel of each kind that is not far behind.
  static std::vector<const Round*> archive(const Work& work) {
    std::map<std::string, const Round*> by_kind;
    for (const Round& round : work.rounds) {
      if (!round.right() || !round.left_out.empty()) continue;
      const Round*& elite = by_kind[round.niche];
      if (elite == nullptr || round.standing > elite->standing) elite = &round;
    }
    std::vector<const Round*> elites;
    const Round* best = work.best();
    for (const auto& [kind, round] : by_kind) {
      if (round->standing >= kWorthBreeding * best->standing) elites.push_back(round);
    }
    return elites;
  }
};

}  // namespace

AuthorKind evolve() {
  return {.name = "evolve",
          .about = "an archive of the fastest kernel of each kind; the model changes one or crosses two",
          .usual_rounds = 20,
          .judges_the_start = true,
          .mends = true,
          .guesses = true,
          .make = [] { return std::unique_ptr<Author>(new Evolve); }};
}

}  // namespace kw::agents::authors
