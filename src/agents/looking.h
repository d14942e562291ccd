// What a model may look up in a repository before it answers: as tools where its provider has them, else in plain text
// (looks_in of answer.h). Both come down to the same looks.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "inspect/repository.h"
#include "llm/model.h"

namespace kw::agents {

// list_files, find_text, read_file.
const std::vector<llm::Tool>& tools_to_look();

// What a call of one of them asks for; the message of an Error is for the model.
Result<inspect::Look> look_of_call(const llm::ToolCall& call);

}  // namespace kw::agents
