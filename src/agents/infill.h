// Asking a model in the form of the corpus (corpus/prompt.h): for a kernel, and for the part of one that is missing.
//
// A model from its own files ("lm:PATH") gets the prompt as the corpus has it, which is all that a model that was
// trained on it knows. Any other model gets the contract around it.
#pragma once

#include <optional>
#include <string>

#include "agents/author.h"
#include "corpus/holes.h"

namespace kw::agents {

// A kernel from the task alone.
Round ask_for_sample(const Work& work, Talk& talk, std::optional<double> temperature);

// The kernel of `base` with what the model fills into the hole; `wish` says what for. What reaches beyond the hole is a
// problem, and no kernel.
//
// A server with an infilling request of its own (prefix and suffix as fields) would be asked in this function and
// nowhere else; today the hole is described in the prompt's text.
Round ask_to_fill(const Work& work, const Round& base, const corpus::Hole& hole, const std::string& wish, Talk& talk,
                  std::optional<double> temperature);

}  // namespace kw::agents
