// Tree search over edits: each right kernel is a place from which the model makes one change; where the judge's reward
// was high, or little was tried, the next change is made (UCT).
//
// A kernel's reward is how much faster it is than the first right one, in the logarithm; a place is worth the best that
// was found below it. A place gets a further child only as it is visited more often, and more slowly once a child is
// better than it, so that the tree grows deep where changes pay: what helped once is not written again from above.
#include <algorithm>
#include <cmath>
#include <vector>

#include "agents/author.h"

namespace kw::agents::authors {
namespace {

constexpr double kCuriosity = 0.15;
constexpr double kWidening = 0.9;       // children of a place: visits to this power
constexpr double kBesideABetter = 0.3;  // of these, where a child is better than the place

class Tree : public Author {
 public:
  Round next(Work& work, Talk& talk) override {
    const Round* place = choose(work);
    if (place == nullptr) {
      if (!work.rounds.empty() && !work.rounds.back().source.empty() && work.rounds.back().parent < 0)
        return ask_to_vary(work, work.rounds.back(), nullptr, "Repair what the judge found wrong.", talk);
      Round round{.role = RoundRole::coder};
      ask_for_code(round, first_question(work, talk), work.start, talk);
      return round;
    }
    return ask_to_vary(work, *place, nullptr,
                       "Make one change that should make it faster, and that was not tried from here before.", talk);
  }

 private:
  struct Node {
    std::vector<std::size_t> children;
    int visits = 1;
    double best = 0;  // reward, of it and of all below
  };

  // Null while nothing is right.
  static const Round* choose(const Work& work) {
    std::vector<Node> nodes(work.rounds.size());
    std::vector<std::size_t> roots;
    for (std::size_t i = 0; i < work.rounds.size(); ++i) {
      const Round& round = work.rounds[i];
      nodes[i].best = round.right() && round.standing > 0 ? std::log(round.standing) : -1e9;  // not measured: no reward
      const Round* parent = work.round(round.parent);
      if (parent != nullptr) {
        nodes[static_cast<std::size_t>(round.parent)].children.push_back(i);
      } else if (round.right()) {
        roots.push_back(i);
      }
    }
    if (work.best() == nullptr) return nullptr;
    // A child comes after its parent: from the end on, what is known of children goes to parents.
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const int parent = work.rounds[i].parent;
      if (work.round(parent) == nullptr) continue;
      nodes[static_cast<std::size_t>(parent)].visits += nodes[i].visits;
      nodes[static_cast<std::size_t>(parent)].best =
          std::max(nodes[static_cast<std::size_t>(parent)].best, nodes[i].best);
    }
    const double most = std::log(std::max(work.best()->standing, 1e-9));
    const auto value = [&](std::size_t i, int visits_above) {
      // The best of all is worth 1; what is slower by a factor of e is worth 0.
      return std::max(0.0, 1 + nodes[i].best - most) +
             kCuriosity * std::sqrt(std::log(1.0 + visits_above) / nodes[i].visits);
    };
    std::vector<std::size_t> choices = roots;
    int visits = static_cast<int>(work.rounds.size());
    const Round* place = nullptr;
    while (!choices.empty()) {
      const std::size_t next = *std::ranges::max_element(choices, {}, [&](std::size_t i) { return value(i, visits); });
      place = &work.rounds[next];
      visits = nodes[next].visits;
      choices.clear();
      // Room for a further child: this is the place. What was wrong is no place to go on from.
      const bool has_better = std::ranges::any_of(nodes[next].children, [&](std::size_t child) {
        return work.rounds[child].beside && work.rounds[child].beside->faster() &&
               work.rounds[child].standing > work.rounds[next].standing;
      });
      const double room = std::pow(visits, kWidening) * (has_better ? kBesideABetter : 1);
      if (static_cast<double>(nodes[next].children.size()) < room) break;
      for (const std::size_t child : nodes[next].children) {
        if (work.rounds[child].right() && work.rounds[child].left_out.empty()) choices.push_back(child);
      }
    }
    return place;
  }
};

}  // namespace

AuthorKind tree() {
  return {.name = "tree",
          .about = "tree search over single edits, with the judge's time as the reward",
          .usual_rounds = 20,
          .judges_the_start = true,
          .mends = true,
          .guesses = true,
          .make = [] { return std::unique_ptr<Author>(new Tree); }};
}

}  // namespace kw::agents::authors
