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
//   scattered_in_race 2  in the second race of its device its laps take 0.6 and 1.6 times as long in turn
//   disturbed_every 3    every third lap takes ten times as long, and the clock's reader was away
//   width 512            how wide its vectors are, for whoever looks into it
//   moves 512            how wide the vectors are that it moves without computing
//   hot_line 7           the line of the loop that takes most of a call
//   KW_TUNE(SPEED_UP, 1, 1, 2, 4);   a tunable: the lap is shorter by its value
//   does_not_build, never_ends, crashes, overruns
//   ends_its_device      the device is gone as soon as it runs
//
// It computes Relu, on tensors in its own memory. A device that is called "far:..." counts as reached over a link.
#pragma once

#include <vector>

#include "targets/target.h"

namespace kw::made_up {

Result<std::unique_ptr<targets::Device>> open(const std::string& name);

// From now on the devices that are opened go away, one after the other, with the request of this number: a call, a look
// at an output, a lap. Of a device that is gone calls are lost and outputs read as rubbish, as over a link that broke.
// When the numbers are used up, devices stay. The count of devices that were opened begins anew.
void let_devices_go(std::vector<int> requests);
int devices_opened();

}  // namespace kw::made_up
