// Why is a kernel as fast as it is? Its time and its rivals', its distance from the roof, what bounds it, and what its
// loops look like in machine code, as text for a person or a model.
#pragma once

#include <string>

#include "base/result.h"
#include "core/verdict.h"
#include "ops/graph.h"
#include "targets/target.h"

namespace kw::runs {

// How the operations of a task are counted: "direct form of the convolution", "usual algorithm". A bound by arithmetic
// is one of this form: minimal filtering, sliding sums or shorter polynomials may do with fewer.
std::string counted_form(const ops::Graph& graph);

// "12 us", with a doubt where pairs of calls that were timed side by side are far apart; there must be a time.
std::string time_of_call(const Verdict& verdict);

// `least` is null where it is not known; `code` is what the target says of the built kernel, or empty. Times are handed
// through `mark`, so that a caller that sends them on can tell what came from a clock.
using Mark = std::string (*)(const std::string& fact);
std::string performance_text(const ops::Graph& graph, const Verdict& verdict, const targets::LeastTime* least,
                             const std::string& code, Mark mark = nullptr);

}  // namespace kw::runs
