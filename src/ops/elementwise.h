// Making operators that work element by element: a family file gives the function and its accuracy, and gets an Op
// with broadcasting, slack, integer arithmetic, cost and random cases.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/accuracy.h"
#include "ops/op.h"

namespace kw::ops {

using RealFunction1 = std::function<double(const Call&, double)>;
using RealFunction2 = std::function<double(const Call&, double, double)>;
using IntegerFunction1 = std::function<std::int64_t(const Call&, std::int64_t)>;
using IntegerFunction2 = std::function<std::int64_t(const Call&, std::int64_t, std::int64_t)>;
using DrawHook = std::function<void(const Call&, InputClass, Random&, std::span<Tensor* const>)>;

// Y = f(X). Where X has slack, Y's slack is what f makes of X's ends, so that steps and poles are told from noise.
struct Unary {
  std::string name;
  std::string meaning;
  int since = 1;
  std::function<double(double)> f;  // of a float; or
  RealFunction1 f_with_call = {};   // one that needs attributes
  IntegerFunction1 integer = {};    // of an integer type; the result is wrapped to the type
  Accuracy accuracy = kFunction;
  // slack(call, x, f(x)) in place of the accuracy, where one accuracy does not fit all x or attributes.
  RealFunction2 slack = {};
  Domain domain = {};
  double flops = kFunctionFlops;  // per element
  DTypes types = kFloats;
  std::vector<AttributeSpec> attributes = {};
  std::function<void(Random&, Sample&)> sample_attributes = {};
  DrawHook draw = {};
};
Op unary(Unary unary);

// Z = f(X, Y), numpy's broadcasting.
struct Binary {
  std::string name;
  std::string meaning;
  int since = 7;
  RealFunction2 f = {};
  IntegerFunction2 integer = {};
  Accuracy accuracy = kRounded;
  // slack(call, x, y, f(x, y)) in place of the accuracy.
  std::function<double(const Call&, double, double, double)> slack = {};
  Domain left = {};
  Domain right = {};
  double flops = 1;
  DTypes types = kNumbers;
  std::vector<AttributeSpec> attributes = {};
  std::function<void(Random&, Sample&)> sample_attributes = {};
  DrawHook draw = {};
};
Op binary(Binary binary);

// Z = f(X, Y) with a bool result: comparisons and logic. `real` is for floats, `integer` for the rest.
struct Predicate {
  std::string name;
  std::string meaning;
  int since = 7;
  std::function<bool(double, double)> real = {};
  std::function<bool(std::int64_t, std::int64_t)> integer = {};
  DTypes types = kNumbers;
  DrawHook draw = {};
};
Op predicate(Predicate predicate);

// Moves a part of the elements onto the points or next to them, in the input classes edges and ties: thresholds that
// attributes or other inputs set, which no Domain can name.
void draw_near(Tensor& tensor, std::span<const double> points, InputClass input_class, Random& random);

// Shapes for random cases: small, with lengths that are 1, odd, prime, now and then 0.
Shape sample_shape(Random& random, int least_rank = 0, int most_rank = 4, bool may_be_empty = false);
// A shape that broadcasts with the given one.
Shape sample_broadcast(Random& random, const Shape& shape);
// An axis as tasks write it: now and then counted from the end.
std::int64_t sample_axis(Random& random, int axis, int rank);
// A type that the differential test can compare: float32 mostly, else another of those allowed.
DType sample_type(Random& random, DTypes types);

}  // namespace kw::ops
