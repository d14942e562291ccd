// Why is a kernel as fast as it is? Its time and its rivals', its distance from the roof, what bounds it, and what its
// loops look like in machine code, as text for a person or a model.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "core/verdict.h"
#include "ops/graph.h"
#include "targets/target.h"

namespace kw::runs {

// How the operations of a task are counted: "direct form of the convolution", "usual algorithm". A bound by arithmetic
// is one of this form: minimal filtering, sliding sums or shorter polynomials may do with fewer.
std::string counted_form(const ops::Graph& graph);

// Notes on machine code for those who write kernels: that a tool of this machine knows less than it could is no fact of
// the kernel, and where there are no notes it says why.
std::string code_for_author(const Result<targets::CodeNotes>& notes);

// What an author may know of `max_error`, which is over hidden shapes too: a kernel could choose its error by the shape
// that it was called with. Nothing of a rejected kernel; of an accepted one the next of a few steps above it.
std::optional<double> error_for_author(const Verdict& verdict);

// "12 us", with a doubt where pairs of calls that were timed side by side are far apart; there must be a time.
std::string time_of_call(const Verdict& verdict);

// For an author, so that the largest error is told as `error_for_author` has it. `least` is null where it is not known;
// `code` is what the target says of the built kernel, or empty. Times are handed through `mark`, so that a caller that
// sends them on can tell what came from a clock.
using Mark = std::string (*)(const std::string& fact);
std::string performance_text(const ops::Graph& graph, const Verdict& verdict, const targets::LeastTime* least,
                             const std::string& code, Mark mark = nullptr);

}  // namespace kw::runs
