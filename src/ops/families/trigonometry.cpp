// Sine, cosine, tangent, the hyperbolics, and the inverses of all.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/families.h"

namespace kw::ops::families {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sine and cosine lose the argument's last bits as it grows: a right float32 kernel reduces it by pi/2 with more than
// 24 bits, and is asked to up to here.
constexpr double kFarAngle = 1e4;

Domain angles() {
  return {
      .points = {0, M_PI / 4, M_PI / 2, -M_PI / 2, M_PI, -M_PI, 2 * M_PI, 100 * M_PI}, .nans = true, .far = kFarAngle};
}

// Outside of the domain the answer is NaN, which is defined and yet not typical.
DrawHook draw_some(double (*outside)(Random&)) {
  return [outside](const Call&, InputClass input_class, Random& random, std::span<Tensor* const> in) {
    if (!in[0] || input_class != InputClass::special) return;
    for (std::int64_t i = 0; i < in[0]->count(); ++i) {
      if (random.chance(0.05)) in[0]->set_real(i, outside(random));
    }
  };
}

}  // namespace

std::vector<Op> trigonometry() {
  return {
      unary({.name = "Sin",
             .meaning = "the sine of every element (radians)",
             .since = 7,
             .f = [](double x) { return std::sin(x); },
             // Near its zeros the sine is as small as the reduced argument is inexact.
             .accuracy = {.ulps = 8, .absolute = 2, .flushes = true},
             .domain = angles()}),
      unary({.name = "Cos",
             .meaning = "the cosine of every element (radians)",
             .since = 7,
             .f = [](double x) { return std::cos(x); },
             .accuracy = {.ulps = 8, .absolute = 2, .flushes = true},
             .domain = angles()}),
      // Next to a pole the tangent magnifies the rounding of the reduced argument by itself.
      unary({.name = "Tan",
             .meaning = "the tangent of every element (radians)",
             .since = 7,
             .f = [](double x) { return std::tan(x); },
             .accuracy = {.ulps = 16, .absolute = 4, .flushes = true},
             .domain = angles()}),
      unary({.name = "Asin",
             .meaning = "the arc sine of every element; NaN outside [-1, 1]",
             .since = 7,
             .f = [](double x) { return std::asin(x); },
             .accuracy = kFunction,
             .domain = {.points = {-1, -0.5, 0, 0.5, 1}, .infinities = true, .nans = true, .far = 4}}),
      unary({.name = "Acos",
             .meaning = "the arc cosine of every element; NaN outside [-1, 1]",
             .since = 7,
             .f = [](double x) { return std::acos(x); },
             // pi/2 - asin(x) is an honest way to it.
             .accuracy = {.ulps = 8, .absolute = 4, .flushes = true},
             .domain = {.points = {-1, -0.5, 0, 0.5, 1}, .infinities = true, .nans = true, .far = 4}}),
      unary({.name = "Atan",
             .meaning = "the arc tangent of every element",
             .since = 7,
             .f = [](double x) { return std::atan(x); },
             .accuracy = kFunction,
             .domain = whole_line({-1, 0, 1}, 1e30)}),
      // The sums of exponentials cancel to x near 0.
      unary({.name = "Sinh",
             .meaning = "the hyperbolic sine of every element",
             .since = 9,
             .f = [](double x) { return std::sinh(x); },
             .accuracy = {.ulps = 16, .absolute = 8, .flushes = true},
             .domain = whole_line({-1, 0, 1, 88.5, -88.5, 89.4}, 90)}),
      unary({.name = "Cosh",
             .meaning = "the hyperbolic cosine of every element",
             .since = 9,
             .f = [](double x) { return std::cosh(x); },
             .accuracy = {.ulps = 16},
             .domain = whole_line({0, 88.5, -88.5, 89.4}, 90)}),
      unary({.name = "Tanh",
             .meaning = "the hyperbolic tangent of every element",
             .since = 6,
             .f = [](double x) { return std::tanh(x); },
             .accuracy = kFunctionAroundOne,
             .domain = whole_line({0, -9, 9, 0.625}, 1e4)}),
      unary({.name = "Asinh",
             .meaning = "the inverse hyperbolic sine of every element",
             .since = 9,
             .f = [](double x) { return std::asinh(x); },
             .accuracy = kFunctionAroundOne,
             .domain = whole_line({0, -1, 1}, 1e18)}),
      // Near 1 it is the root of what x lies above 1: log(x + sqrt(x * x - 1)) loses that only when x * x - 1 does.
      unary({.name = "Acosh",
             .meaning = "the inverse hyperbolic cosine of every element; NaN below 1",
             .since = 9,
             .f = [](double x) { return std::acosh(x); },
             .accuracy = kFunctionAroundOne,
             .domain = {.low = 1, .high = kInfinity, .points = {1, 2}, .infinities = true, .nans = true, .far = 1e18},
             .draw = draw_some([](Random& random) { return 1 - std::exp2(random.uniform(-20, 5)); })}),
      unary(
          {.name = "Atanh",
           .meaning = "the inverse hyperbolic tangent of every element; NaN outside [-1, 1]",
           .since = 9,
           .f = [](double x) { return std::atanh(x); },
           .accuracy = kFunctionAroundOne,
           .domain = {.low = -1, .high = 1, .points = {-1, 0, 1, 0.5}, .nans = true},
           .draw = draw_some([](Random& random) { return random.sign() * (1 + std::exp2(random.uniform(-20, 5))); })}),
  };
}

}  // namespace kw::ops::families
