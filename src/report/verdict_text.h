// A verdict for a person.
#pragma once

#include <iosfwd>
#include <string>

#include "core/verdict.h"

namespace kw::report {

void print_verdict(const Verdict& verdict, std::ostream& out);

}  // namespace kw::report
