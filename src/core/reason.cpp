#include "core/reason.h"

#include <fmt/format.h>

#include <array>
#include <csignal>

namespace kw {
namespace {

// Each code with its name in records, and what an author may know of it when it was seen on a hidden case.
struct Known {
  ReasonCode code;
  std::string_view name;
  std::string_view hidden;
};
constexpr Known kKnown[] = {
    {ReasonCode::none, "none", ""},
    {ReasonCode::bad_source, "bad_source", ""},
    {ReasonCode::does_not_compile, "does_not_compile", ""},
    {ReasonCode::does_not_link, "does_not_link", ""},
    {ReasonCode::compiler_timed_out, "compiler_timed_out", ""},
    {ReasonCode::compiler_memory, "compiler_memory", ""},
    {ReasonCode::compiler_disk, "compiler_disk", ""},
    {ReasonCode::compiler_made_nothing, "compiler_made_nothing", ""},
    {ReasonCode::compiler_killed, "compiler_killed", ""},
    {ReasonCode::compiler_failed, "compiler_failed", ""},
    {ReasonCode::bad_library, "bad_library", ""},
    {ReasonCode::refused_to_load, "refused_to_load", ""},
    {ReasonCode::filter_missing, "filter_missing", ""},
    {ReasonCode::bad_plan, "bad_plan", "its plan cannot be launched"},
    {ReasonCode::timed_out, "timed_out", "did not end in time"},
    {ReasonCode::ended_itself, "ended_itself", "ended its own process"},
    {ReasonCode::killed, "killed", "was killed"},
    {ReasonCode::lost, "lost", "was lost"},
    {ReasonCode::system_call, "system_call", "made a system call that is not for kernels"},
    {ReasonCode::touched_memory, "touched_memory", "touched memory that is not its own"},
    {ReasonCode::misaligned_access, "misaligned_access",
     "used an instruction that needs an aligned address on one that is not aligned"},
    {ReasonCode::divided_by_zero, "divided_by_zero", "divided an integer by zero"},
    {ReasonCode::illegal_instruction, "illegal_instruction", "ran an instruction that this machine does not have"},
    {ReasonCode::aborted, "aborted", "aborted"},
    {ReasonCode::ended_by_signal, "ended_by_signal", "was ended by a signal"},
    {ReasonCode::signal, "signal", "was ended by a signal"},
    {ReasonCode::returned_error, "returned_error", "kw_run returned an error"},
    {ReasonCode::prepare_failed, "prepare_failed", "kw_prepare failed"},
    {ReasonCode::keeps_working, "keeps_working", "goes on working after kw_run has returned"},
    {ReasonCode::skipped_its_calls, "skipped_its_calls", "answered without coming to the end of its calls"},
    {ReasonCode::wrong_output, "wrong_output", "elements are wrong"},
    {ReasonCode::imprecise_output, "imprecise_output",
     "less precision than the type has is used inside, or a constant is slightly off"},
    {ReasonCode::wrong_when_repeated, "wrong_when_repeated",
     "elements are wrong when called again with the same inputs"},
    {ReasonCode::wrong_when_moved, "wrong_when_moved",
     "elements are wrong in buffers that are not aligned, at the end of mapped memory"},
    {ReasonCode::other_bits, "other_bits", "the same inputs give other bits"},
    {ReasonCode::impossible_rank, "impossible_rank", "an output was given an impossible shape"},
    {ReasonCode::impossible_shape, "impossible_shape", "an output was given an impossible shape"},
    {ReasonCode::no_bool, "no_bool", "a bool is 0 or 1"},
    {ReasonCode::wrote_before, "wrote_before", "wrote before the beginning of an output"},
    {ReasonCode::wrote_after, "wrote_after", "wrote after the end of an output"},
    {ReasonCode::neighbours_rewritten, "neighbours_rewritten", "wrote beside an output"},
    {ReasonCode::leaks_memory, "leaks_memory", "keeps memory with every call"},
    {ReasonCode::too_much_stack, "too_much_stack", "used more stack than it may"},
    {ReasonCode::wrong_later, "wrong_later", "gives other bits after many calls"},
    {ReasonCode::wrong_in_two, "wrong_in_two", "two prepared instances share state"},
    {ReasonCode::registers_changed, "registers_changed", "left the control registers changed"},
    {ReasonCode::threads_left, "threads_left", "keeps threads alive"},
    {ReasonCode::descriptors_left, "descriptors_left", "left file descriptors open"},
    {ReasonCode::slow_empty_turn, "slow_empty_turn", ""},
    {ReasonCode::slow_warm_up, "slow_warm_up", ""},
    {ReasonCode::hidden_work, "hidden_work", ""},
    {ReasonCode::only_quick_check, "only_quick_check", ""},
    {ReasonCode::other, "other", ""},
};

const Known& known(ReasonCode code) {
  for (const Known& one : kKnown) {
    if (one.code == code) return one;
  }
  return kKnown[0];
}

// A parameter as text, whatever its type; empty where it is missing.
std::string word(const Reason& reason, std::string_view name) {
  const Json* found = reason.params.find(name);
  if (found == nullptr || found->is_null()) return {};
  return found->is_string() ? found->text() : found->dump();
}

double number(const Reason& reason, std::string_view name) {
  const Json* found = reason.params.find(name);
  return found != nullptr && found->is_number() ? found->get<double>() : 0;
}

// "in kw_run", with a space in front where it is known.
std::string where(const Reason& reason) {
  const std::string place = word(reason, "where");
  return place.empty() ? "" : " " + place;
}

std::string with(std::string_view separator, const std::string& said) {
  return said.empty() ? "" : std::string(separator) + said;
}

std::string output(const Reason& reason) {
  const std::string name = word(reason, "name");
  return fmt::format("output {}{}", word(reason, "output"), name.empty() ? "" : fmt::format(" ({})", name));
}

// "3 of 64 elements are wrong; [0, 2]: got 1.5, expected 1.25 within 1e-06; only the last 5 of axis 1"
std::string elements(const Reason& reason, Audience audience) {
  if (const std::string got = word(reason, "got_type"); !got.empty()) {
    return fmt::format("the result {}{}", got,
                       audience == Audience::person ? fmt::format(", not {}", word(reason, "expected_type")) : "");
  }
  std::string text = fmt::format("{} of {} elements are wrong", word(reason, "wrong"), word(reason, "count"));
  if (const Json* examples = reason.params.find("examples"); examples != nullptr && examples->is_array()) {
    for (const Json& one : *examples) {
      text += fmt::format("; {}: got {}", one.value("at", ""), one.value("got", ""));
      if (audience == Audience::author) continue;
      text += fmt::format(", expected {} within {}", one.value("expected", ""), one.value("allowed", ""));
    }
  }
  return text + with("; ", word(reason, "pattern"));
}

std::string sentence(const Reason& reason, Audience audience) {
  switch (reason.code) {
    case ReasonCode::none:
      return "";
    case ReasonCode::bad_source:
    case ReasonCode::bad_library:
    case ReasonCode::other:
      return word(reason, "text");
    case ReasonCode::does_not_compile:
      return fmt::format("does not compile: {}{}", word(reason, "place"), word(reason, "message"));
    case ReasonCode::does_not_link:
      return fmt::format("does not link: {}", word(reason, "message"));
    case ReasonCode::compiler_timed_out:
      return fmt::format("the compiler did not end within {} s", word(reason, "seconds"));
    case ReasonCode::compiler_memory:
      return "the compiler needed more memory than it may have";
    case ReasonCode::compiler_disk:
      return fmt::format("the compiler wrote more than the {} MB that it may", word(reason, "megabytes"));
    case ReasonCode::compiler_made_nothing:
      return "the compiler made no library";
    case ReasonCode::compiler_killed:
      return fmt::format("the compiler was {}", word(reason, "ending"));
    case ReasonCode::compiler_failed:
      return fmt::format("the compiler {}: {}", word(reason, "ending"), word(reason, "said"));
    case ReasonCode::refused_to_load:
      return word(reason, "said");
    case ReasonCode::filter_missing:
      return "kept the filter of system calls for kernels from being put in place";
    case ReasonCode::bad_plan:
      return "its plan cannot be launched: " + word(reason, "text");
    case ReasonCode::timed_out:
      return "did not end in time" + where(reason);
    case ReasonCode::ended_itself:
      return fmt::format("ended its own process{} (exit code {})", where(reason), word(reason, "exit_code"));
    case ReasonCode::killed:
    case ReasonCode::ended_by_signal:
      return fmt::format("was {}{}", word(reason, "ending"), where(reason));
    case ReasonCode::lost:
      return "was lost" + where(reason);
    case ReasonCode::system_call:
      if (reason.params.contains("instruction")) {
        return fmt::format("read a clock ({}){}", word(reason, "instruction"), where(reason));
      }
      return fmt::format("made the system call {}{}", word(reason, "name"), where(reason));
    case ReasonCode::touched_memory:
      return "touched memory that is not its own" + where(reason) + with(": ", word(reason, "place")) +
             with(": address ", word(reason, "address"));
    case ReasonCode::misaligned_access:
      return "used an instruction that needs an aligned address on one that is not aligned" + where(reason);
    case ReasonCode::divided_by_zero:
      return "divided an integer by zero" + where(reason);
    case ReasonCode::illegal_instruction:
      return "ran an instruction that this machine does not have" + where(reason);
    case ReasonCode::aborted:
      return "aborted" + where(reason);
    case ReasonCode::signal:
      return fmt::format("was ended by signal {}{}", word(reason, "signal"), where(reason));
    case ReasonCode::returned_error:
      return fmt::format("kw_run returned {}", word(reason, "status")) + with(": ", word(reason, "said"));
    case ReasonCode::prepare_failed:
      return "kw_prepare failed: " + word(reason, "said");
    case ReasonCode::keeps_working:
      return "goes on working after kw_run has returned";
    case ReasonCode::skipped_its_calls:
      return "answered without coming to the end of its calls";
    case ReasonCode::wrong_output:
      return fmt::format("{}{}: {}", word(reason, "timed").empty() ? "" : "wrong in a timed call: ", output(reason),
                         elements(reason, audience));
    case ReasonCode::imprecise_output:
      return fmt::format(
          "less precision than {} has is used inside, or a constant is slightly off: {} of {} elements "
          "are off by up to {:.1e} of their size; {}: {}",
          word(reason, "dtype"), word(reason, "off"), word(reason, "count"), number(reason, "relative"), output(reason),
          elements(reason, audience));
    case ReasonCode::wrong_when_repeated:
      return fmt::format("wrong when called again with the same inputs: {}: {}", output(reason),
                         elements(reason, audience));
    case ReasonCode::wrong_when_moved:
      return fmt::format("wrong in buffers that are not aligned, at the end of mapped memory: {}: {}", output(reason),
                         elements(reason, audience));
    case ReasonCode::other_bits:
      return fmt::format(
          "the same inputs give other bits {}: {} element {}: {}, then {}; a kernel that does not "
          "promise the same bits says KW_VARIES()",
          word(reason, "repeated") == "true" ? "in a second call" : "at another address", output(reason),
          word(reason, "element"), word(reason, "first"), word(reason, "then"));
    case ReasonCode::impossible_rank:
      return fmt::format("{} was given {} axes", output(reason), word(reason, "rank"));
    case ReasonCode::impossible_shape:
      return fmt::format("{} was given the shape {}", output(reason), word(reason, "shape")) +
             (audience == Audience::person
                  ? fmt::format(", which is more than the largest possible, {}", word(reason, "largest"))
                  : ", which is more than the largest possible");
    case ReasonCode::no_bool:
      return fmt::format("{} element {} is {}: a bool is 0 or 1", output(reason), word(reason, "element"),
                         word(reason, "value"));
    case ReasonCode::wrote_before:
      return "wrote before the beginning of " + output(reason);
    case ReasonCode::wrote_after:
      return "wrote past the end of " + output(reason);
    case ReasonCode::neighbours_rewritten:
      return fmt::format("wrote beside {} what it had read there: a data race with the owner of those bytes",
                         output(reason));
    case ReasonCode::leaks_memory:
      return fmt::format("holds {:.0f} kB more after {} {}: what a call allocates it must free",
                         number(reason, "bytes") / 1024, word(reason, "calls"),
                         reason.params.contains("prepared") ? "preparations" : "calls");
    case ReasonCode::too_much_stack:
      return fmt::format("used more than {} kB of stack", word(reason, "kilobytes")) + where(reason);
    case ReasonCode::wrong_later:
      return fmt::format("the same inputs give other bits after {} calls of one shape: {}", word(reason, "calls"),
                         output(reason));
    case ReasonCode::wrong_in_two:
      return fmt::format(
          "wrong when two prepared instances with other weights take turns, or with new weights at an old address "
          "(what kw_prepare finds belongs into kw_keep): {}: {}",
          output(reason), elements(reason, audience));
    case ReasonCode::registers_changed:
      return "left the control registers changed (rounding, flushing of subnormal numbers, the direction flag, a "
             "segment "
             "or blocked signals)";
    case ReasonCode::threads_left:
      return fmt::format("keeps {} threads alive; {} are allowed", word(reason, "threads"), word(reason, "allowed"));
    case ReasonCode::descriptors_left:
      return "left file descriptors open";
    case ReasonCode::slow_empty_turn:
      return fmt::format("a turn without calls takes {:.1f} us, a rival's {:.1f}", number(reason, "us"),
                         number(reason, "rival_us"));
    case ReasonCode::slow_warm_up:
      return fmt::format("its calls that warm up take {:.1f} ms, the timed ones {:.3f} ms", number(reason, "ms"),
                         number(reason, "timed_ms"));
    case ReasonCode::hidden_work:
      return fmt::format(
          "used {:.1f} us of CPU time a turn outside of the calls that were timed ({:.1f} us): work is "
          "done before or after them",
          number(reason, "us"), number(reason, "lap_us"));
    case ReasonCode::only_quick_check:
      return "passed the quick check, and was not judged further";
  }
  return "";
}

// "typical values, D=8 N=8"
std::string case_text(const Reason& reason, bool with_lengths) {
  const Json* about = reason.params.find("case");
  if (about == nullptr || !about->is_object()) return {};
  std::string text = about->value("values", "") + " values";
  const Json* lengths = about->find("lengths");
  if (!with_lengths || lengths == nullptr || lengths->empty()) return text;
  std::string all;
  for (const auto& [name, value] : lengths->items()) {
    all += fmt::format("{}{}={}", all.empty() ? "" : " ", name, value.dump());
  }
  return text + ", " + all;
}

}  // namespace

std::string_view name_of(ReasonCode code) { return known(code).name; }

std::optional<ReasonCode> reason_code_named(std::string_view name) {
  for (const Known& one : kKnown) {
    if (one.name == name) return one.code;
  }
  return std::nullopt;
}

std::string text_of(const Reason& reason, Audience audience) {
  if (audience == Audience::author && reason.on_hidden_case) {
    const std::string_view what = known(reason.code).hidden;
    const std::string values = case_text(reason, false);
    return fmt::format("on a hidden shape: {}{}", what.empty() ? "no more can be told" : what, with("; ", values));
  }
  std::string text = sentence(reason, audience);
  if (const std::string about = case_text(reason, true); !about.empty()) text += fmt::format(" ({})", about);
  // The sentence of a wrong output says so itself.
  if (word(reason, "timed") == "true" && reason.code != ReasonCode::wrong_output) text += " (in the timed calls)";
  return text;
}

bool may_be_killed_from_outside(const Reason& reason) {
  switch (reason.code) {
    case ReasonCode::compiler_killed:
    case ReasonCode::compiler_memory:
    case ReasonCode::killed:
    case ReasonCode::lost:
      return true;
    default:
      return reason.code == ReasonCode::signal && word(reason, "signal") == std::to_string(SIGKILL);
  }
}

}  // namespace kw
