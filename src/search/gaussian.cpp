#include "search/gaussian.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace kw::search {
namespace {

// How much times differ, as standard deviations of their logarithms: from one kernel to another, by one dimension
// alone, and by two together beyond what each does alone.
constexpr double kOfKernels = 0.5;
constexpr double kOfDimensions = 0.3;
constexpr double kOfPairs = 0.1;
// Length scale in powers of two: tunables farther apart than this say little about each other.
constexpr double kReach = 1.5;
// The correlation of two like tasks' times.
constexpr double kAcrossTasks = 0.8;

double density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * M_PI); }
double share_below(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

double dot(const std::vector<double>& a, const std::vector<double>& b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

Gaussian::Coordinates Gaussian::place_of(const Point& point) const {
  Coordinates place{point.kernel, {}};
  for (std::size_t i = 0; i < point.picks.size(); ++i) {
    place.sizes.push_back(space_.is_ordered(point.kernel, i) ? std::log2(std::max(space_.number(point, i), 0.0) + 1)
                                                             : static_cast<double>(point.picks[i]) * 100);
  }
  return place;
}

double Gaussian::covariance(const Coordinates& a, const Coordinates& b) const {
  if (a.kernel != b.kernel) return 0;
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    const double likeness = std::exp(-std::fabs(a.sizes[i] - b.sizes[i]) / kReach);
    sum += likeness;
    squares += likeness * likeness;
  }
  const double pairs = (sum * sum - squares) / 2;
  const double same = a.elsewhere == b.elsewhere ? 1 : kAcrossTasks;
  return same * (kOfKernels * kOfKernels + kOfDimensions * kOfDimensions * sum + kOfPairs * kOfPairs * pairs);
}

void Gaussian::observe(const Point& point, double value, double doubt) {
  places_.push_back(place_of(point));
  values_.push_back(value);
  variances_.push_back(doubt * doubt);
}

void Gaussian::recall(const Point& point, double value, double doubt) {
  observe(point, value, doubt);
  places_.back().elsewhere = true;
}

std::vector<Gaussian::Choice> Gaussian::choose(const std::vector<Point>& points, const std::vector<double>& expected,
                                               double best, std::size_t most) const {
  assert(points.size() == expected.size());
  // The Cholesky factor of the observations' covariance, row by row, and what it makes of the values.
  const std::size_t seen = places_.size();
  std::vector<std::vector<double>> factor(seen);
  std::vector<double> weights(seen);
  for (std::size_t i = 0; i < seen; ++i) {
    factor[i].resize(i + 1);
    for (std::size_t k = 0; k <= i; ++k) {
      const double here = covariance(places_[i], places_[k]) + (i == k ? variances_[i] : 0);
      const double rest = here - dot(factor[i], factor[k], k);
      factor[i][k] = i == k ? std::sqrt(std::max(rest, 1e-12)) : rest / factor[k][k];
    }
    weights[i] = (values_[i] - dot(factor[i], weights, i)) / factor[i][i];
  }

  struct Candidate {
    Coordinates place;
    std::vector<double> shared;  // with what is known
    double mean, variance;
    bool taken = false;
  };
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < points.size(); ++i) {
    Candidate one{place_of(points[i]), std::vector<double>(seen), expected[i], 0};
    for (std::size_t k = 0; k < seen; ++k) {
      one.shared[k] = (covariance(one.place, places_[k]) - dot(factor[k], one.shared, k)) / factor[k][k];
    }
    one.mean += dot(one.shared, weights, seen);
    one.variance = covariance(one.place, one.place) - dot(one.shared, one.shared, seen);
    candidates.push_back(std::move(one));
  }

  std::vector<Choice> chosen;
  while (chosen.size() < std::min(most, points.size())) {
    std::size_t next = points.size();
    Choice choice{.gain = -1};
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].taken) continue;
      const double deviation = std::sqrt(std::max(candidates[i].variance, 1e-12));
      const double ahead = best - candidates[i].mean, z = ahead / deviation;
      const double gain = ahead * share_below(z) + deviation * density(z);
      if (gain > choice.gain) {
        next = i;
        choice = {points[i], gain, ahead + 2 * deviation};
      }
    }
    if (next == points.size()) break;
    // As if it had been measured and had turned out as expected: others like it are surer now.
    Candidate& taken = candidates[next];
    taken.taken = true;
    const double variance = std::max(taken.variance, 1e-9);
    const std::size_t known = taken.shared.size();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      Candidate& other = candidates[i];
      if (i == next) continue;
      const double with = covariance(other.place, taken.place) - dot(other.shared, taken.shared, known);
      other.shared.push_back(with / std::sqrt(variance));
      other.variance -= with * with / variance;
    }
    taken.shared.push_back(std::sqrt(variance));
    chosen.push_back(std::move(choice));
  }
  return chosen;
}

}  // namespace kw::search
