// A verdict for a person.
#pragma once

#include <iosfwd>
#include <string>

#include "core/verdict.h"

namespace kw::cli {

void print_verdict(const Verdict& verdict, std::ostream& out);

// A candidate's words must not steer the reader's terminal.
std::string harmless(std::string text);

std::string percent(double share);  // "12.3 %"

}  // namespace kw::cli
