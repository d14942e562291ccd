// Verdicts of earlier runs. One counts again for the same source, settings, rivals, task and rules, judged by the same
// program with the same compilers on the same machine; everything of that is in its key, which is kept with it.
#pragma once

#include <optional>
#include <string>

#include "judge/judge.h"

namespace kw::judge {

std::string key_of(const Case& one);

std::optional<Verdict> kept_verdict(const std::string& key);
// Whether a verdict may be kept: no rival was left out for a cause that may be gone the next time.
bool lasts(const Verdict& verdict);

// Keeps a verdict that lasts; does nothing where nothing can be written.
void keep_verdict(const std::string& key, const Verdict& verdict);

}  // namespace kw::judge
