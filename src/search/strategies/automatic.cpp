// What is used unless another strategy is named: first what won on like tasks, then what the model of `surrogate`
// expects the most of, and steps from the best point so far when it expects nothing more. bench/search_bench.cpp
// compares it with the others.
#include <algorithm>

#include "search/strategy.h"

namespace kw::search::strategies {

StrategyKind surrogate();

namespace {

constexpr std::size_t kRemembered = 2;
constexpr double kLikeEnough = 0.3;  // of a lesson's weight

class Automatic : public Strategy {
 public:
  explicit Automatic(const Brief& brief) : notes_(brief), model_(surrogate().make(brief)) {
    std::vector<PastResult> lessons = brief.lessons;
    std::ranges::stable_sort(lessons, {}, &PastResult::time);
    for (const PastResult& lesson : lessons) {
      if (remembered_.size() < kRemembered && lesson.weight >= kLikeEnough && lesson.time < 1) {
        remembered_.push_back(lesson.point);
      }
    }
  }

  std::vector<Point> propose(std::size_t most) override {
    std::vector<Point> points;
    const auto take = [&](const Point& point) {
      if (points.size() < most && notes_.add(point)) points.push_back(point);
    };
    for (const Point& point : std::exchange(remembered_, {})) take(point);
    if (!points.empty()) return points;
    // The model knows only what it observed: what was taken from elsewhere it may name again.
    for (const Point& point : model_->propose(most)) take(point);
    if (points.size() < most && notes_.best() != nullptr) {
      std::vector<Point> around = notes_.space().neighbours(notes_.best()->point);
      notes_.random().shuffle(std::span(around));
      for (const Point& point : around) take(point);
    }
    while (points.size() < most) {
      const std::optional<Point> point = notes_.any_new();
      if (!point) break;
      take(*point);
    }
    return points;
  }

  void observe(const Observation& observation) override {
    notes_.note(observation);
    model_->observe(observation);
  }

 private:
  Notebook notes_;
  std::unique_ptr<Strategy> model_;
  std::vector<Point> remembered_;
};

}  // namespace

StrategyKind automatic() {
  return {.name = "auto",
          .about = "what won on like tasks, then where a learned model expects the most; the default",
          .make = [](const Brief& brief) -> std::unique_ptr<Strategy> { return std::make_unique<Automatic>(brief); }};
}

}  // namespace kw::search::strategies
