#include "agents/talk.h"

#include <fmt/format.h>

#include "agents/answer.h"

namespace kw::agents {
namespace {

constexpr int kMostLooks = 4;  // of the model into the repository, before it must answer a question
constexpr int kTokensOfALook = 1500;

}  // namespace

void Talk::begin_round(int number) {
  round_ = number;
  asked_ = 0;
}

std::optional<std::string> Talk::ask(std::vector<llm::Message> messages, std::string& problem,
                                     std::optional<double> temperature) {
  for (int looks = 0;; ++looks) {
    std::optional<std::string> answer = ask_once(messages, problem, temperature);
    if (!answer || around_.repository == nullptr || looks == kMostLooks) return answer;
    const std::vector<inspect::Look> wanted = looks_in(*answer);
    if (wanted.empty()) return answer;
    messages.push_back({llm::Role::assistant, *answer});
    messages.push_back(
        {llm::Role::user, prompts_.text("shown", {{"shown", around_.repository->show(wanted, kTokensOfALook)},
                                                  {"left", std::to_string(kMostLooks - looks - 1)}})});
  }
}

std::optional<std::string> Talk::ask_once(const std::vector<llm::Message>& messages, std::string& problem,
                                          std::optional<double> temperature) {
  const llm::Request request{.messages = messages,
                             .temperature = temperature,
                             .seed = around_.seed,
                             .name = fmt::format("{}, round {}, question {}", around_.task, round_, ++asked_)};
  if (around_.journal != nullptr) {
    if (auto known = around_.journal->find(request)) return known;
  }
  const llm::Answer answer = client_.ask(request, stop_);
  if (answer.trouble) {
    problem = "the model: " + answer.trouble->message;
    troubles_.push_back(answer.trouble->message);
    if (answer.trouble->ends_the_run()) over_ = answer.trouble->message;
    using Kind = llm::Trouble::Kind;
    const Kind kind = answer.trouble->kind;
    hopeless_ = kind == Kind::budget || kind == Kind::key || kind == Kind::unreachable;
    return std::nullopt;
  }
  if (around_.journal != nullptr) {
    if (const Status kept = around_.journal->keep(request, answer.text); !kept.ok())
      troubles_.push_back(kept.error().message);
  }
  return answer.text;
}

}  // namespace kw::agents
