// Verdicts of earlier runs. One counts again for the same source, settings, rivals, task and rules, judged by the same
// program with the same compilers on the same machine; everything of that is in its key, which is kept with it.
#pragma once

#include <optional>
#include <string>

#include "judge/judge.h"

namespace kw::judge {

std::string key_of(const Case& one);

std::optional<Verdict> kept_verdict(const std::string& key);
// No rival was left out by an accident: judged again, it would come out the same.
bool lasts(const Verdict& verdict);

// Where nothing can be written, nothing is kept; nor what does not last.
void keep_verdict(const std::string& key, const Verdict& verdict);

}  // namespace kw::judge
