#include "judge/timed_answers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/paired_ratio.h"

namespace kw::judge {
namespace {

// Of calls that are verified when the race is over. A kernel that is wrong in every second call is missed in one of
// eight races where the reference takes long, in one of 65,536 where it does not; and answers that differ from the
// rival's come on top.
constexpr std::size_t kFewestKept = 3;
constexpr std::size_t kMostKept = 16;
// Two answers within their bounds may differ by twice the bound; and bounds differ from input to input.
constexpr double kLoose = 4;
constexpr double kMostWide = 4;

bool alike(const Tensor& a, const Tensor& b, double floor, double share) {
  if (a.type() != b.type()) return false;
  if (std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0) return true;
  if (a.dtype() == DType::float32) {
    const auto p = a.as<float>(), q = b.as<float>();
    bool near = true;
    const auto least = static_cast<float>(floor), part = static_cast<float>(share);
    for (std::size_t k = 0; k < p.size(); ++k) {
      near &= std::fabs(p[k] - q[k]) <= least + part * std::fabs(q[k]) || p[k] == q[k];
    }
    return near;
  }
  for (std::int64_t k = 0; k < a.count(); ++k) {
    const double p = a.real(k), q = b.real(k);
    if (p != q && !(std::fabs(p - q) <= floor + share * std::fabs(q))) return false;
  }
  return true;
}

}  // namespace

ElementBound bound_of(const ops::WideTensor& expected) {
  if (expected.exact() || expected.reals.empty()) return {};
  std::vector<double> sizes;
  for (const double value : expected.reals) {
    if (std::isfinite(value)) sizes.push_back(std::fabs(value));
  }
  const double middle = median_of(sizes);
  ElementBound bound;
  const auto each = [&](auto&& see) {
    for (std::size_t i = 0; i < expected.reals.size(); ++i) {
      const double size = std::fabs(expected.reals[i]), slack = expected.slack_at(i);
      if (std::isfinite(size) && std::isfinite(slack)) see(size, slack);
    }
  };
  // What grows with the answer shows in the larger half of them.
  each([&](double size, double slack) {
    if (size >= middle && size > 0) bound.share = std::max(bound.share, slack / size);
  });
  each([&](double size, double slack) { bound.floor = std::max(bound.floor, slack - bound.share * size); });
  return bound;
}

bool TimedAnswers::is_odd(const std::vector<Tensor>& got, const std::vector<Tensor>* rival) const {
  if (rival == nullptr) return false;
  if (got.size() != rival->size()) return true;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const ElementBound bound = i < bounds_.size() ? bounds_[i] : ElementBound();
    if (!alike(got[i], (*rival)[i], kLoose * wide_ * bound.floor, kLoose * wide_ * bound.share)) return true;
  }
  return false;
}

void TimedAnswers::was_right_though_odd() { wide_ = std::min(2 * wide_, kMostWide); }

std::size_t TimedAnswers::most_kept() const {
  if (reference_s_ <= 0) return kMostKept;
  return std::clamp(static_cast<std::size_t>(most_s_ / reference_s_), kFewestKept, kMostKept);
}

TimedAnswers::Kept* TimedAnswers::choose(Random& random) {
  ++seen_;
  const std::size_t most = most_kept();
  if (kept_.size() > most) kept_.resize(most);
  if (kept_.size() < most) return &kept_.emplace_back();
  const auto place = static_cast<std::size_t>(random.integer(0, seen_ - 1));
  return place < most ? &kept_[place] : nullptr;
}

}  // namespace kw::judge
