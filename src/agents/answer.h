// Reads a model's answer: a kernel, edits of a kernel, or a plan. Models add talk, forget fences, or use two; an answer
// that cannot be read becomes a problem in words that can be sent back to the model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "inspect/repository.h"

namespace kw::agents {

struct Code {
  std::string source;   // the whole kernel
  std::string problem;  // why there is none; then `source` is empty
  int edits = 0;        // number of edits that made it; 0: the answer held the whole kernel
};

// `base` is what edits refer to.
Code code_in(const std::string& answer, const std::string& base);

// A part of a kernel: what stands in the last fence, or the whole answer where there is no fence.
Code part_in(const std::string& answer);

struct Field {
  std::string name;
  std::size_t most = 4000;                // characters
  std::vector<std::string> allowed = {};  // empty: any text
};

struct Plan {
  std::map<std::string, std::string> fields;
  std::string problem;

  std::string of(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
};

// What a model wants to see of the repository before it answers: the lines of a ```look fence. None where the answer
// holds a kernel, edits or a plan already.
std::vector<inspect::Look> looks_in(const std::string& answer);

// One JSON object with each of these fields, and each of them a text (a list of texts counts as its lines).
Plan plan_in(const std::string& answer, const std::vector<Field>& schema);

// The answer without the model's reasoning (<think>...</think>).
std::string without_thoughts(std::string answer);

}  // namespace kw::agents
