// What a prompt says besides the rounds: the task, the machine, what pays in its category, a kernel of another task to
// learn the form from, the pieces of our own library that fit, and what a repository has to do with it.
#pragma once

#include <filesystem>
#include <string>

#include "agents/prompt.h"
#include "base/result.h"
#include "core/task.h"
#include "judge/judge.h"
#include "ops/graph.h"

namespace kw::agents {

struct FactsWanted {
  std::filesystem::path repository = {};  // whose map is shown; empty: none
  std::string device = targets::usual_device();
  bool from_nothing = false;  // an author without a kernel to begin with gets hints and an exemplar
};

// "form", "task", "prompt", "machine", "parts", "parts_named"; where wanted "hints", "exemplar", "sources". What is not
// known is left out.
Result<Facts> facts_of(const Task& task, const ops::Graph& graph, const FactsWanted& wanted = {});

// A header of kernels/cpu/parts/ as prompts tell it: prompts/parts.md has the words and which names; signatures and
// what stands above them are the header's own.
struct Part {
  std::string header;  // "vector.h"
  std::string words;
  std::vector<std::string> operators = {};  // that it is shown for, besides those whose techniques include it
  std::vector<std::string> names;
};
// The vectors first.
Result<std::vector<Part>> told_parts();
// Within this number of characters, or little more. Fails where the header has no such name.
Result<std::string> text_of(const Part& part, std::size_t most);

// Kernels that show the form: kernels/exemplars/NAME.cpp, or with the ending of another language, whose first line says
// for which task it is and for which categories it may stand.
struct Exemplar {
  std::filesystem::path file;
  std::string task;
  std::vector<std::string> categories;
  std::string source;  // without that line
};
Result<std::vector<Exemplar>> all_exemplars();
// In the form of the device's kernels, of the task's category, and with none of its operators; null where there is
// none.
const Exemplar* exemplar_for(const Task& task, const std::vector<Exemplar>& all,
                             const std::string& device = targets::usual_device());

}  // namespace kw::agents
