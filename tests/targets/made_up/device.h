// A device that runs nothing: its kernels are scripts, and its clock says what they say. For tests of whatever decides
// by laps and answers. A script is lines of a word and a number:
//
//   lap_ns 10000         how long a call takes; a percent of chance comes on top
//   outside_ns 500       work that it does before and after each lap
//   empty_ns 300         what a lap without calls takes
//   wrong_after 7        its answers are wrong from this timed call on
//   wrong                all its answers are wrong
//   wrong_beyond 64      those of inputs with more elements are wrong
//   wrong_for_tiny       those to inputs with a subnormal number among them are wrong
//   wrong_in_run 3       the answer of its third untimed call is wrong; `negated_in_run`: right, but its zeros are -0
//   leaks 5000           bytes that each call holds for ever
//   disturbed_every 3    every third lap takes ten times as long, and the clock's reader was away
//   width 512            how wide its vectors are, for whoever looks into it
//   does_not_build, never_ends, crashes, overruns
//
// It computes Relu, on tensors in its own memory.
#pragma once

#include "targets/target.h"

namespace kw::made_up {

Result<std::unique_ptr<targets::Device>> open(const std::string& name);

}  // namespace kw::made_up
