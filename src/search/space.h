// What a search chooses from: kernels, and the values of their tunables, compiler and flags among them.
//
// A strategy sees points of this space, not sources: it works for any author.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/tunables.h"

namespace kw::search {

// One thing that can be set, with its values; the first is the default.
struct Dimension {
  std::string name;
  std::vector<std::string> values;
};

// A kernel to search: its source, who made it and how.
struct Kernel {
  std::string technique;
  std::string file;  // the source's name
  std::string source;
  Tunables tunables;
  bool last_resort = false;  // there so that something is right, not to be fast
};

// A kernel, and for each of its dimensions which value.
struct Point {
  std::size_t kernel = 0;
  std::vector<std::size_t> picks;

  auto operator<=>(const Point&) const = default;
};

class Space {
 public:
  // With the compilers that are here. A kernel whose requirements allow nothing is an error.
  static Result<Space> of(std::vector<Kernel> kernels, const BuildOptions& options);

  const std::vector<Kernel>& kernels() const { return kernels_; }
  const std::vector<Dimension>& dimensions(std::size_t kernel) const { return dimensions_[kernel]; }

  // All defaults. Where they break a requirement, the nearest point that does not.
  const Point& first(std::size_t kernel) const { return firsts_[kernel]; }
  bool allows(const Point& point) const;
  // Only what differs from the source's own defaults.
  Settings settings(const Point& point) const;

  // How many points a kernel has that its requirements allow, as far as `most` settings of its numbers tell.
  std::uint64_t count(std::size_t kernel, std::uint64_t most = 50'000) const;
  std::uint64_t count() const;
  // Every allowed point of a kernel, in order, up to `most`.
  std::vector<Point> all(std::size_t kernel, std::size_t most) const;

  // Each allowed point with the same chance, or nearly; each kernel too.
  Point any(Random& random) const;
  Point any(std::size_t kernel, Random& random) const;
  // Points that differ in one dimension by one step (numbers have an order; compilers and flags are all neighbours).
  std::vector<Point> neighbours(const Point& point) const;
  // Whether a dimension's values are numbers with an order; compilers and flags are not.
  bool is_ordered(std::size_t kernel, std::size_t dimension) const;
  // The value of a dimension as a number; flags and compilers by their place.
  double number(const Point& point, std::size_t dimension) const;

  std::string text(const Point& point) const;  // "gemm_packed TILE=8 compiler=clang++"

 private:
  BuildOptions options_;
  std::vector<Kernel> kernels_;
  std::vector<std::vector<Dimension>> dimensions_;
  std::vector<Point> firsts_;
};

}  // namespace kw::search
