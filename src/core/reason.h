// Why a candidate was rejected, as data: a code, what belongs to it, and whether it was seen on a case that the
// candidate's author must not learn. Decisions look at the code; sentences are made from it here and nowhere else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace kw {

enum class ReasonCode {
  none,
  // Building. Also for what the source says of itself.
  bad_source,          // text
  does_not_compile,    // place, message
  does_not_link,       // message
  compiler_timed_out,  // seconds
  compiler_memory,     // it may have been killed by the system for want of memory
  compiler_disk,       // megabytes
  compiler_made_nothing,
  compiler_killed,  // ending
  compiler_failed,  // ending, said
  // Loading.
  bad_library,      // text
  refused_to_load,  // said
  filter_missing,
  bad_plan,  // text: what a GPU kernel's plan asks for cannot be launched
  // What it did instead of answering. `where`: what it was doing.
  timed_out,
  ended_itself,    // exit_code
  killed,          // ending: from outside, or for a resource it may not have
  lost,            // it is not known how it ended
  system_call,     // name
  touched_memory,  // place: near which buffer; or address
  misaligned_access,
  too_much_stack,  // kilobytes
  divided_by_zero,
  illegal_instruction,
  aborted,
  ended_by_signal,  // ending
  signal,           // signal
  returned_error,   // status, said
  prepare_failed,   // said
  keeps_working,
  skipped_its_calls,
  // Its answers. `output`, `name`: which.
  wrong_output,         // wrong, count, examples: [{at, got, expected, allowed}], pattern; or got_type, expected_type
  imprecise_output,     // the same, and dtype, off, relative
  wrong_when_repeated,  // as wrong_output
  wrong_when_moved,     // as wrong_output: in buffers that are not aligned, at the end of mapped memory
  wrong_in_two,         // as wrong_output: with two prepared instances, or other weights at an old address
  wrong_later,          // calls: other bits after this number of calls of one shape
  other_bits,           // element, first, then, repeated
  impossible_rank,      // rank
  impossible_shape,     // shape, largest
  no_bool,              // element, value
  // What it left behind.
  wrote_before,          // output
  wrote_after,           // output
  neighbours_rewritten,  // output: with what was read there
  leaks_memory,          // bytes, calls
  registers_changed,
  threads_left,  // threads, allowed
  descriptors_left,
  // Timing.
  slow_empty_turn,  // us, rival_us
  slow_warm_up,     // ms, timed_ms
  hidden_work,      // us, lap_us
  // No fault: a search looked no further.
  only_quick_check,
  other,  // text: of a record that is older than these codes
};
std::string_view name_of(ReasonCode code);
std::optional<ReasonCode> reason_code_named(std::string_view name);

struct Reason {
  ReasonCode code = ReasonCode::none;
  // What the comment behind the code names. Besides, `case`: {values, lengths: {NAME: N}}, and `timed`: true.
  Json params = {};
  bool on_hidden_case = false;

  bool empty() const { return code == ReasonCode::none; }
};

// Who reads. An author tries again, so that it is shown no expected values, and of hidden cases no shape and no number.
enum class Audience { person, author };
std::string text_of(const Reason& reason, Audience audience = Audience::person);

// Was the candidate's process, or its compiler, killed from outside, or by the system for want of memory? Neither can
// kill itself with SIGKILL, so that the first times something else may have done it: the candidate is judged again, and
// rejected after kMostKills times.
inline constexpr int kMostKills = 3;
bool may_be_killed_from_outside(const Reason& reason);

}  // namespace kw
