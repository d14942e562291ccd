// What is used unless somebody says otherwise: first what won on like tasks, then every kernel's defaults, then by
// turns what the model of `surrogate` hopes for and a step from the best point so far. bench/search_bench.cpp compares
// it with the others.
#include <algorithm>

#include "search/strategy.h"

namespace kw::search::strategies {

StrategyKind surrogate();

namespace {

constexpr std::size_t kRemembered = 3;
constexpr double kLikeEnough = 0.3;  // of a lesson's weight

class Automatic : public Strategy {
 public:
  explicit Automatic(const Brief& brief) : notes_(brief), model_(surrogate().make(brief)) {
    std::vector<Lesson> lessons = brief.lessons;
    std::ranges::stable_sort(lessons, {}, &Lesson::time);
    for (const Lesson& lesson : lessons) {
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
    for (const Point& point : notes_.defaults_left()) take(point);
    if (!points.empty()) return points;
    std::vector<Point> around;
    if (notes_.best() != nullptr) around = notes_.space().neighbours(notes_.best()->point);
    std::erase_if(around, [&](const Point& point) { return !notes_.is_new(point); });
    notes_.random().shuffle(std::span(around));
    // The model knows only what it observed: what was taken from elsewhere it may name again.
    std::vector<Point> hoped = model_->propose(2 * most + 2);
    std::erase_if(hoped, [&](const Point& point) { return !notes_.is_new(point); });
    for (std::size_t i = 0; points.size() < most && (i < hoped.size() || i < around.size()); ++i) {
      if (i < around.size()) take(around[i]);
      if (i < hoped.size()) take(hoped[i]);
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
          .about = "what won on like tasks, then the model and steps from the best by turns; the default",
          .make = [](const Brief& brief) -> std::unique_ptr<Strategy> { return std::make_unique<Automatic>(brief); }};
}

}  // namespace kw::search::strategies
