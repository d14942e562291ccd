// What is said to a model: texts of prompts/, each with places for facts ("{{task}}"). Every place has a budget of
// tokens; what is longer is cut, and says so. What stands between {{#task}} and {{/task}} is there only where the fact
// is. A user's folder ($KW_PROMPTS, --prompts) overrides files by their names.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::agents {

using Facts = std::map<std::string, std::string>;

struct PromptSlot {
  std::string name;
  int most_tokens;
};
// Every place that prompts may have.
const std::vector<PromptSlot>& all_slots();

class Prompts {
 public:
  // `own` comes before the program's folder; empty: $KW_PROMPTS, or none. Reads and checks every prompt.
  static Result<Prompts> open(const std::filesystem::path& own = {});

  // The prompt with its places filled in; a fact that is not given is "(nothing)". The fact "form" (runs/kernel_file.h)
  // says which contract is shown.
  std::string text(const std::string& name, const Facts& facts) const;
  std::vector<std::string> names() const;
  // Of all prompts together, and of what fills them from files of the program (hints, names of parts, exemplars):
  // another version is another text.
  std::string version() const;
  // The facts of a prompt that its text uses.
  std::vector<std::string> places_of(const std::string& name) const;

 private:
  std::map<std::string, std::string> texts_;
  std::string fillings_;
};

// At most this number of tokens of a text, its middle left out.
std::string cut_to(const std::string& text, int most_tokens);

}  // namespace kw::agents
