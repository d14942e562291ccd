// A model of how fast the points of a space are, and of how sure that is: a Gaussian process over logarithms of times.
//
// It takes a time for a sum of what each value of a tunable does alone and of what each pair of values does together;
// neighbouring numbers do nearly the same. So it learns from every measurement about all points that share something
// with it, which a few dozen measurements are enough for.
#pragma once

#include <vector>

#include "search/space.h"

namespace kw::search {

class Gaussian {
 public:
  explicit Gaussian(const Space& space) : space_(space) {}

  // `doubt` is the standard deviation of the value itself: how much measuring it again may differ.
  void observe(const Point& point, double value, double doubt);
  // The same of another task, which is like this one but not the same: however many of these agree, they leave a doubt.
  void recall(const Point& point, double value, double doubt);

  struct Choice {
    Point point;
    double gain = 0;  // that is to be expected from it, over the best known; in the unit of the values
    double hope = 0;  // the gain if all goes well
  };
  // Up to `most` of `points`, the one with the largest expected gain first; each as if the ones before it had turned
  // out as expected. `expected` is what is thought of each point before anything was observed.
  std::vector<Choice> choose(const std::vector<Point>& points, const std::vector<double>& expected, double best,
                             std::size_t most) const;

 private:
  // A point as numbers that can be compared: of each dimension the size of its value, or its place.
  struct Coordinates {
    std::size_t kernel;
    std::vector<double> sizes;
    bool elsewhere = false;  // of another task
  };
  Coordinates place_of(const Point& point) const;
  double covariance(const Coordinates& a, const Coordinates& b) const;

  const Space& space_;
  std::vector<Coordinates> places_;
  std::vector<double> values_;
  std::vector<double> variances_;
};

}  // namespace kw::search
