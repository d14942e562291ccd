// A model that predicts how fast a point is and how sure it is of that, from what was measured here and on other tasks.
// It measures where the prediction, at the better end of its doubt, beats the best so far; and where no point does, it
// says that there is nothing left to measure.
#include <algorithm>
#include <cmath>

#include "search/forest.h"
#include "search/strategy.h"

namespace kw::search::strategies {
namespace {

constexpr std::size_t kPool = 400;         // points that are thought about for each choice
constexpr std::size_t kEnumerated = 2000;  // of a kernel's points; smaller spaces are looked at whole
constexpr double kFailed = 1.5;            // what a point that failed is taken for: log of its time against the worst
constexpr double kLeastHope = 0.01;        // a gain below one percent is not worth a measurement
constexpr std::size_t kFewestSeen = 4;     // before the model is asked
constexpr std::size_t kSeenBeforeGivingUp = 24;

class Surrogate : public Strategy {
 public:
  explicit Surrogate(const Brief& brief) : notes_(brief), lessons_(brief.lessons) {
    std::size_t most = 0;
    for (std::size_t i = 0; i < notes_.space().kernels().size(); ++i) {
      most = std::max(most, notes_.space().dimensions(i).size());
    }
    width_ = notes_.space().kernels().size() + most;
  }

  std::vector<Point> propose(std::size_t most) override {
    std::vector<Point> points;
    // Only what comes back observed is known: who asked may not take all of it.
    std::set<Point> taken;
    const auto take = [&](const Point& point) {
      if (points.size() < most && notes_.is_new(point) && taken.insert(point).second) points.push_back(point);
    };
    for (const Point& point : by_lessons(notes_.defaults_left())) take(point);
    if (points.size() == most || (!points.empty() && lessons_.empty())) return points;
    if (notes_.seen().size() + lessons_.size() < kFewestSeen || notes_.best() == nullptr) {
      for (std::size_t i = 0; i < 4 * most && points.size() < most; ++i) {
        if (const std::optional<Point> point = notes_.any_new()) take(*point);
      }
      return points;
    }

    const Forest forest(examples(), notes_.random());
    std::vector<std::pair<double, Point>> hopes;  // by how much it may be faster, at best
    const double best = std::log(*notes_.best()->time);
    for (const Point& point : pool()) {
      const Prediction prediction = forest.predict(features(point));
      hopes.emplace_back(best - (prediction.mean - prediction.doubt), point);
    }
    std::ranges::stable_sort(hopes, std::greater<>(), &std::pair<double, Point>::first);
    for (const auto& [hope, point] : hopes) {
      if (hope < kLeastHope && notes_.seen().size() >= kSeenBeforeGivingUp) break;
      take(point);
    }
    return points;
  }

  void observe(const Observation& observation) override { notes_.note(observation); }

 private:
  // What won elsewhere comes first.
  std::vector<Point> by_lessons(std::vector<Point> points) const {
    std::stable_sort(points.begin(), points.end(),
                     [&](const Point& a, const Point& b) { return worth(a.kernel) > worth(b.kernel); });
    return points;
  }
  double worth(std::size_t kernel) const {
    double sum = 0;
    for (const Lesson& lesson : lessons_) {
      if (lesson.point.kernel == kernel) sum += lesson.weight * -std::log(lesson.time);
    }
    return sum;
  }

  std::vector<double> features(const Point& point) const {
    std::vector<double> row(width_, 0.0);
    row[point.kernel] = 1;
    const std::size_t begin = notes_.space().kernels().size();
    for (std::size_t i = 0; i < point.picks.size(); ++i) {
      // Numbers by their size, so that 4 to 8 is as far as 32 to 64.
      row[begin + i] = std::log2(std::max(notes_.space().number(point, i), 0.0) + 1);
    }
    return row;
  }

  std::vector<Example> examples() const {
    double worst = 0;
    for (const Observation& one : notes_.seen()) {
      if (one.time) worst = std::max(worst, std::log(*one.time));
    }
    std::vector<Example> all;
    for (const Observation& one : notes_.seen()) {
      all.push_back({features(one.point), one.time ? std::log(*one.time) : worst + kFailed});
    }
    for (const Lesson& lesson : lessons_) {
      all.push_back(
          {features(lesson.point), std::log(lesson.time) + base_of(lesson.point.kernel), 0.3 * lesson.weight});
    }
    return all;
  }

  // Lessons are told against a kernel's default; here that default has a time of its own.
  double base_of(std::size_t kernel) const {
    for (const Observation& one : notes_.seen()) {
      if (one.point == notes_.space().first(kernel) && one.time) return std::log(*one.time);
    }
    return 0;
  }

  // New points: all of small spaces; of large ones the best's neighbours and many by chance.
  std::vector<Point> pool() {
    std::vector<Point> points;
    std::set<Point> known;
    const auto add = [&](const Point& point) {
      if (notes_.is_new(point) && known.insert(point).second) points.push_back(point);
    };
    for (std::size_t i = 0; i < notes_.space().kernels().size(); ++i) {
      if (whole_.size() <= i) whole_.push_back(notes_.space().all(i, kEnumerated));
      if (whole_[i].size() < kEnumerated) {
        for (const Point& point : whole_[i]) add(point);
      }
    }
    for (const Point& point : notes_.space().neighbours(notes_.best()->point)) add(point);
    for (std::size_t i = 0; i < kPool && points.size() < 8 * kPool; ++i) add(notes_.space().any(notes_.random()));
    return points;
  }

  Notebook notes_;
  std::vector<Lesson> lessons_;
  std::size_t width_ = 0;
  std::vector<std::vector<Point>> whole_;  // of each kernel
};

}  // namespace

StrategyKind surrogate() {
  return {.name = "surrogate",
          .about = "a learned model says where measuring may pay, and when no longer",
          .make = [](const Brief& brief) -> std::unique_ptr<Strategy> { return std::make_unique<Surrogate>(brief); }};
}

}  // namespace kw::search::strategies
