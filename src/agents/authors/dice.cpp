// Samples and repairs: kernels written from the task alone, and parts of them written anew by infilling.
//
// Of three rounds two ask for a new kernel, up to kMostSamples of them; the others fill a hole. While nothing is right,
// that is the function in which a kernel fails; then it is a loop of the best kernel: the one that takes most of a call
// where that was sampled, else the deepest. No hole of a kernel is asked for twice, so that a fault in one place does
// not lead to endless repairs of another.
#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "agents/author.h"
#include "agents/infill.h"

namespace kw::agents::authors {
namespace {

constexpr int kMostSamples = 8;
constexpr int kMostFills = 3;  // of one kernel that is not right
constexpr double kSampleTemperature = 0.8;

// What a round filled in, as its plan says it.
std::string filling_of(const Round& round) {
  const auto found = round.plan.find("method");
  return found == round.plan.end() ? "" : found->second;
}

struct FillPlace {
  const Round* base = nullptr;  // null: there is nothing to fill in
  corpus::Hole hole;
  std::string wish;
};

class Dice : public Author {
 public:
  Round next(Work& work, Talk& talk) override {
    const auto of_role = [&](RoundRole role) { return std::ranges::count(work.rounds, role, &Round::role); };
    const auto samples = of_role(RoundRole::coder);
    const auto fills = of_role(RoundRole::debugger) + of_role(RoundRole::accelerator);
    const bool is_fill = samples >= kMostSamples || samples >= 2 * (fills + 1);
    const FillPlace place = is_fill ? where_to_fill(work) : FillPlace();
    if (place.base == nullptr) return ask_for_sample(work, talk, kSampleTemperature);
    return ask_to_fill(work, *place.base, place.hole, place.wish, talk, kSampleTemperature);
  }

 private:
  static FillPlace where_to_fill(const Work& work) {
    if (const Round* best = work.best_of_author()) return slow_part(work, *best);
    // The one that came furthest, and of those the one that was tried least.
    FillPlace place;
    for (const Round& round : work.rounds) {
      if (round.source.empty() || !round.verdict || round.role == RoundRole::start) continue;
      const auto tries = std::ranges::count(work.rounds, round.number, &Round::parent);
      if (tries >= kMostFills) continue;
      const bool is_further = place.base == nullptr || round.stage() > place.base->stage();
      if (!is_further) continue;
      if (FillPlace found = failing_part(work, round); found.base != nullptr) place = std::move(found);
    }
    return place;
  }

  // The function around what the compiler complains of, else the longest that was not written anew yet.
  static FillPlace failing_part(const Work& work, const Round& round) {
    std::vector<corpus::Hole> holes = corpus::holes_of(round.source);
    std::erase_if(holes, [](const corpus::Hole& hole) { return hole.kind == corpus::HoleKind::loop; });
    std::ranges::stable_sort(holes, std::greater(), [&](const corpus::Hole& hole) {
      const bool is_blamed = std::ranges::any_of(round.verdict->errors, [&](const SourceError& error) {
        return error.line >= hole.first_line && error.line <= hole.last_line;
      });
      return std::pair(is_blamed, hole.end - hole.begin);
    });
    return first_untried(work, round, holes, "Repair what the judge found wrong.");
  }

  static FillPlace slow_part(const Work& work, const Round& best) {
    std::vector<corpus::Hole> holes = corpus::holes_of(best.source);
    std::ranges::stable_sort(holes, std::greater(), [&](const corpus::Hole& hole) {
      const bool is_hot = best.hot.first <= hole.last_line && hole.first_line <= best.hot.last;
      return std::tuple(hole.kind == corpus::HoleKind::loop, is_hot, hole.nesting, hole.end - hole.begin);
    });
    return first_untried(work, best, holes, "The kernel is right. Write the part so that it is faster.");
  }

  static FillPlace first_untried(const Work& work, const Round& base, const std::vector<corpus::Hole>& holes,
                                 const std::string& wish) {
    for (const corpus::Hole& hole : holes) {
      const std::string lines = fmt::format("lines {} to {}", hole.first_line, hole.last_line);
      const bool is_tried = std::ranges::any_of(work.rounds, [&](const Round& round) {
        return round.parent == base.number && filling_of(round).ends_with(lines);
      });
      if (!is_tried) return {.base = &base, .hole = hole, .wish = wish};
    }
    return {};
  }
};

}  // namespace

AuthorKind dice() {
  return {.name = "dice",
          .about = "samples from the task alone, and infilling of what fails or is slow; for models of kw corpus",
          .usual_rounds = 12,
          .temperature = kSampleTemperature,
          .own_model = "dice",
          .make = [] { return std::unique_ptr<Author>(new Dice); }};
}

}  // namespace kw::agents::authors
