#include "judge/precision.h"

#include <fmt/core.h>

#include <cmath>

namespace kw::judge {
namespace {

// Fewer elements tell nothing about their scatter.
constexpr std::int64_t kFewest = 64;
constexpr double kMostScatter = 0.4;

}  // namespace

std::string lost_precision(const ops::WideTensor& expected, const Tensor& got) {
  if (!is_float(got.dtype()) || got.count() < kFewest) return {};
  double squares = 0;
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < got.count(); ++i) {
    const double allowed = expected.slack_at(i);
    const double error = std::fabs(got.real(i) - expected.reals[i]);
    if (!(allowed > 0) || !std::isfinite(error)) continue;
    squares += error / allowed * (error / allowed);
    ++counted;
  }
  if (counted < kFewest) return {};
  const double scatter = std::sqrt(squares / static_cast<double>(counted));
  if (scatter <= kMostScatter) return {};
  return fmt::format(
      "the errors are too large as a whole for arithmetic in {}: their root mean square is {:.2f} of what a "
      "single element may be off, more than {:.2f}",
      name_of(got.dtype()), scatter, kMostScatter);
}

}  // namespace kw::judge
