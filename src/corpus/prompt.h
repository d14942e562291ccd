// What a model is asked: the text of a task, and what a kernel for it may include by name.
//
// Corpus, reward service and author all use this one form. A model that was trained on it knows nothing else, so that a
// change of the form is another number, and every line of a corpus says the number of its own.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"

namespace kw::corpus {

inline constexpr int kPromptForm = 1;

// Headers that a kernel of this task may include by name ("kw/map.h"): what the techniques of its operators are made
// of. The task alone decides, not a kernel of it.
Result<std::vector<std::string>> headers_for(const Task& task, const std::string& device);

Result<std::string> prompt_of(const Task& task, const std::string& device);

}  // namespace kw::corpus
