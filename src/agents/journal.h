// What a model answered in a round that has not ended: a file beside the record, one JSON object a line, so that a
// program that goes on with the round does not ask and pay again.
//
// An answer is found by its question: the name (task, round, number in the round) and the text, without the measured
// times in it. Where no text is the same, the name and the place in the conversation decide: lessons of other
// tasks may have come in since, and what was answered is paid for.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "llm/model.h"

namespace kw::agents {

class Journal {
 public:
  // Reads what is there. A line that is damaged, or that this user's kw did not write, is left out.
  explicit Journal(std::filesystem::path file);

  // Text and calls of tools.
  std::optional<llm::Answer> find(const llm::Request& request) const;
  Status keep(const llm::Request& request, const llm::Answer& answer);
  // The round is in the record: nothing of it is needed any more.
  void clear();

 private:
  // Its folder is one, and not a link that came with the record.
  bool is_in_place() const;

  std::filesystem::path file_;
  std::map<std::string, llm::Answer> answers_;   // by name and text of the question
  std::map<std::string, llm::Answer> by_place_;  // by name and place in the conversation
};

}  // namespace kw::agents
