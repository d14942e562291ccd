// A model that predicts how fast a point is and how sure it is of that, from what was measured here and on other tasks.
// It measures where the most is to be gained, and says when there is nothing left that is worth a measurement.
#include <algorithm>
#include <cmath>

#include "search/gaussian.h"
#include "search/strategy.h"

namespace kw::search::strategies {
namespace {

constexpr std::size_t kPool = 500;        // points that are thought about for each choice, of large spaces
constexpr std::size_t kEnumerated = 700;  // of a kernel's points; smaller spaces are looked at whole
// Logarithms of times. What is so much slower than the best says no more by being slower still, and what failed is
// taken for that; a kernel that is a last resort is expected to be so much slower.
constexpr double kMuchSlower = 0.5;
constexpr double kLastResort = 1;
constexpr double kDoubt = 0.03;           // of a measurement: three percent
constexpr double kDoubtOfLessons = 0.15;  // of what was measured on another task
constexpr double kTrustInLeanings = 0.5;  // what holds on average holds half here
constexpr double kLeastHope = 0.01;       // a gain below one percent is not worth a measurement
constexpr std::size_t kSeenBeforeGivingUp = 24;

class Surrogate : public Strategy {
 public:
  explicit Surrogate(const Brief& brief) : notes_(brief), lessons_(brief.lessons), leanings_(brief.leanings) {}

  std::vector<Point> propose(std::size_t most) override {
    std::vector<Point> points;
    if (notes_.best() == nullptr) {
      for (const Point& point : by_lessons(notes_.defaults_left())) {
        if (points.size() < most) points.push_back(point);
      }
      if (!points.empty()) return points;
    }
    const std::vector<Point> pool = this->pool();
    std::vector<double> expected;
    for (const Point& point : pool) expected.push_back(expected_of(point));
    for (const Gaussian::Choice& choice : model().choose(pool, expected, best(), most - points.size())) {
      if (choice.hope < kLeastHope && notes_.seen().size() >= kSeenBeforeGivingUp) break;
      if (std::ranges::find(points, choice.point) == points.end()) points.push_back(choice.point);
    }
    return points;
  }

  void observe(const Observation& observation) override { notes_.note(observation); }

 private:
  double best() const { return notes_.best() != nullptr ? std::log(*notes_.best()->time) : 0; }

  // What won elsewhere comes first.
  std::vector<Point> by_lessons(std::vector<Point> points) const {
    std::stable_sort(points.begin(), points.end(),
                     [&](const Point& a, const Point& b) { return worth(a.kernel) > worth(b.kernel); });
    return points;
  }
  double worth(std::size_t kernel) const {
    double sum = 0;
    for (const PastResult& lesson : lessons_) {
      if (lesson.point.kernel == kernel) sum += lesson.weight * -std::log(lesson.time);
    }
    return sum;
  }

  // What is thought of a point before anything is known of it here.
  double expected_of(const Point& point) const {
    double sum = notes_.space().kernels()[point.kernel].last_resort ? kLastResort : 0;
    for (const auto& [name, value] : notes_.space().settings(point)) {
      for (const Leaning& one : leanings_) {
        if (one.dimension == name && one.value == value) sum += kTrustInLeanings * one.effect;
      }
    }
    return sum;
  }

  Gaussian model() const {
    const double slow = best() + kMuchSlower;
    Gaussian model(notes_.space());
    for (const Observation& one : notes_.seen()) {
      const double value = one.time ? std::min(std::log(*one.time), slow) : slow;
      model.observe(one.point, value - expected_of(one.point), kDoubt);
    }
    for (const PastResult& lesson : lessons_) {
      if (std::ranges::find(notes_.seen(), lesson.point, &Observation::point) != notes_.seen().end()) continue;
      const double value = std::min(std::log(lesson.time) + base_of(lesson.point.kernel), slow);
      model.recall(lesson.point, value - expected_of(lesson.point), kDoubtOfLessons / std::max(lesson.weight, 0.05));
    }
    return model;
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
    std::set<Point> points;
    const auto add = [&](const Point& point) {
      if (notes_.is_new(point)) points.insert(point);
    };
    for (std::size_t i = 0; i < notes_.space().kernels().size(); ++i) {
      if (whole_.size() <= i) whole_.push_back(notes_.space().all(i, kEnumerated));
      if (whole_[i].size() < kEnumerated) {
        for (const Point& point : whole_[i]) add(point);
      } else {
        for (std::size_t k = 0; k < kPool; ++k) add(notes_.space().any(i, notes_.random()));
      }
    }
    if (notes_.best() != nullptr) {
      for (const Point& point : notes_.space().neighbours(notes_.best()->point)) add(point);
    }
    return {points.begin(), points.end()};
  }

  Notebook notes_;
  std::vector<PastResult> lessons_;
  std::vector<Leaning> leanings_;
  std::vector<std::vector<Point>> whole_;  // of each kernel
};

}  // namespace

StrategyKind surrogate() {
  return {.name = "surrogate",
          .about = "a learned model says where measuring may pay, and when no longer",
          .make = [](const Brief& brief) -> std::unique_ptr<Strategy> { return std::make_unique<Surrogate>(brief); }};
}

}  // namespace kw::search::strategies
