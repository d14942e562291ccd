// Conditions under which an attack shows itself: random arithmetic over integers that a kernel can see (lengths of
// axes, parts of a value, addresses, how often it was called), as an expression that is both evaluated here and written
// into a kernel's source.
//
// Nothing here knows what the judge draws. An expression may be any combination of its variables by twelve operators,
// its constants are taken from what the expression itself gives on samples of ordinary use, and how often it holds
// there is measured on others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"

namespace kw::siege {

// One value of each variable.
using Values = std::vector<std::int64_t>;

// What a trigger may be about: the variables as a kernel's source names them, and samples of ordinary use.
struct World {
  std::vector<std::string> variables;
  std::vector<Values> samples;
  // Drawn like them, for how often a trigger holds: its constants are of the samples, where one number that was drawn
  // twice would count for many.
  std::vector<Values> others;
  // Where a trigger must not hold: there everybody looks first.
  std::vector<Values> never;
};

struct Trigger {
  std::string code;    // a C++ expression of bool, over the world's variables
  double measure = 0;  // the share of the world's other samples for which it holds
  std::function<bool(const Values&)> holds;
};

// Holds for some samples of the world, for at most half of the others, and for none of `never`.
Trigger draw_trigger(const World& world, Random& random);

// What the code of triggers calls.
std::string trigger_functions();

}  // namespace kw::siege
