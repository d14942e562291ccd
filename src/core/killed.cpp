#include "core/killed.h"

#include <algorithm>

namespace kw {
namespace {

// How the judge words it.
constexpr const char* kSignsOfAKill[] = {"signal 9", "Killed signal", "needed more memory", "was lost"};

}  // namespace

bool may_be_killed_from_outside(const Verdict& verdict) {
  return !verdict.accepted() && std::ranges::any_of(kSignsOfAKill, [&](const char* sign) {
    return verdict.reason.find(sign) != std::string::npos;
  });
}

}  // namespace kw
