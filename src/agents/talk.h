// The model as an author sees it: questions of one task, each with a name, and whether it is worth asking on.
//
// A question is named by its task, its round and its place in the round. The name lets a recorded tape answer it where
// the question's text is no longer the same, and lets a session that was broken off take over what was answered in the
// round that never ended (journal.h).
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "agents/journal.h"
#include "agents/prompt.h"
#include "inspect/repository.h"
#include "llm/client.h"

namespace kw::agents {

// "Softmax, round 2, question 1"
struct QuestionName {
  std::string task;
  int round = 0, number = 0;

  std::string text() const;
  // None where the text is no such name.
  static std::optional<QuestionName> read(const std::string& text);
};

class Talk {
 public:
  struct Around {
    std::string task;
    std::optional<std::int64_t> seed;                 // of sampling
    Journal* journal = nullptr;                       // of answers in the round that has not ended
    const inspect::Repository* repository = nullptr;  // that the model may look into
  };
  // All must outlive it.
  Talk(llm::Client& client, const Prompts& prompts, Around around, std::stop_token stop)
      : client_(client), prompts_(prompts), around_(std::move(around)), stop_(std::move(stop)) {}

  const Prompts& prompts() const { return prompts_; }
  // That the model may look into; null: none.
  const inspect::Repository* repository() const { return around_.repository; }
  // "openai:gpt-5"
  const std::string& model() const { return client_.name(); }
  // Of what follows.
  void begin_round(int number);
  // The answer's text; none where there was trouble, which `problem` then tells. Where the model asks to look into the
  // repository first, by tools or in plain text, it is shown what it asks for, a few times.
  std::optional<std::string> ask(std::vector<llm::Message> messages, std::string& problem,
                                 std::optional<double> temperature = {});
  // Set when nothing that is asked can be answered any more: why.
  const std::string& over() const { return over_; }
  // And no other request to the same model can be answered either.
  bool hopeless() const { return hopeless_; }
  // What went wrong with requests, in order.
  const std::vector<std::string>& troubles() const { return troubles_; }

 private:
  std::optional<llm::Answer> ask_once(const std::vector<llm::Message>& messages, std::string& problem,
                                      std::optional<double> temperature);
  // What the model asked to see, as the messages that follow its answer; none: it has answered. `dropped`: calls that
  // are none of the answer's any more, since they were too many.
  std::vector<llm::Message> shown_for(const llm::Answer& answer, std::size_t dropped, int left) const;

  llm::Client& client_;
  const Prompts& prompts_;
  const Around around_;
  std::stop_token stop_;
  int round_ = 0;
  int asked_ = 0;  // in this round
  std::string over_;
  bool hopeless_ = false;
  bool tools_refused_ = false;  // the endpoint does not know them: it is asked in plain text
  std::vector<std::string> troubles_;
};

}  // namespace kw::agents
