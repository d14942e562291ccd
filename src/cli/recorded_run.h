// Judging with a record: what a run is to do is written down first, and whoever works on it, now or after a crash,
// reads from there what is left.
#pragma once

#include <iosfwd>
#include <string>

#include "base/result.h"
#include "cli/progress.h"
#include "judge/judge.h"
#include "runs/case_record.h"
#include "store/store.h"

namespace kw::cli {

using runs::planned;
using runs::rules_as_json;

// Works on what is left of a run and prints a line of JSON for each verdict, when it is on the disk. The exit code is
// about the whole run: kYes where all of it was accepted, kBroken where a part could not be judged.
Result<int> work_on(store::Store& store, std::int64_t run, bool is_resumed, Progress& progress, std::ostream& out);

// A line of a batch's answer: the verdict's JSON or an error, with line and id.
std::string answer_line(std::int64_t position, const std::string& label, const std::string& verdict,
                        const std::string& error);

// Records a single verdict as a run of its own.
Status record_one(store::Store& store, const judge::Case& one, const Verdict& verdict, double spent_s,
                  const std::string& tier);

// "`kw resume r3`", with the store where it is not the usual one.
std::string how_to_resume(const store::Store& store, std::int64_t run);
// The last words of a run that was interrupted.
void say_stopped(const store::Store& store, std::int64_t run);

// This program's words, as they were typed.
std::string command_line();

}  // namespace kw::cli
