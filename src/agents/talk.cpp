#include "agents/talk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "agents/answer.h"
#include "agents/looking.h"

namespace kw::agents {
namespace {

constexpr int kMostLooks = 4;  // of the model into the repository, before it must answer a question
constexpr int kTokensOfALook = 1500;
constexpr std::size_t kMostCallsAtOnce = 8;

// Whether an endpoint found a request wrong because of its tools.
bool minds_tools(const llm::Trouble& trouble) {
  const std::string& said = trouble.message;
  return trouble.kind == llm::Trouble::Kind::request &&
         (said.find("tool") != std::string::npos || said.find("function call") != std::string::npos);
}

}  // namespace

std::string QuestionName::text() const { return fmt::format("{}, round {}, question {}", task, round, number); }

std::optional<QuestionName> QuestionName::read(const std::string& text) {
  QuestionName name;
  const std::size_t end = text.rfind(", round ");
  if (end == std::string::npos) return std::nullopt;
  name.task = text.substr(0, end);
  const bool is_read = std::sscanf(text.c_str() + end, ", round %d, question %d", &name.round, &name.number) == 2;
  return is_read && name.text() == text ? std::optional(name) : std::nullopt;
}

void Talk::begin_round(int number) {
  round_ = number;
  asked_ = 0;
}

std::optional<std::string> Talk::ask(std::vector<llm::Message> messages, std::string& problem,
                                     std::optional<double> temperature) {
  for (int looks = 0;; ++looks) {
    std::optional<llm::Answer> answer = ask_once(messages, problem, temperature);
    if (!answer) return std::nullopt;
    // A model that has gone astray calls without end; what is not looked up is not sent back to it either.
    const std::size_t called = answer->calls.size();
    if (called > kMostCallsAtOnce) answer->calls.resize(kMostCallsAtOnce);
    if (around_.repository == nullptr || looks == kMostLooks) return answer->text;
    std::vector<llm::Message> shown = shown_for(*answer, called - answer->calls.size(), kMostLooks - looks - 1);
    if (shown.empty()) return answer->text;
    messages.push_back({llm::Role::assistant, answer->text, answer->calls});
    std::ranges::move(shown, std::back_inserter(messages));
  }
}

std::vector<llm::Message> Talk::shown_for(const llm::Answer& answer, std::size_t dropped, int left) const {
  const auto show = [&](const std::vector<inspect::Look>& looks, std::size_t of) {
    return around_.repository->show(looks, kTokensOfALook / static_cast<int>(of));
  };
  const auto told = [&](const std::string& shown) {
    return prompts_.text("shown", {{"shown", shown}, {"left", std::to_string(left)}});
  };
  if (answer.calls.empty()) {
    const std::vector<inspect::Look> wanted = looks_in(answer.text);
    if (wanted.empty()) return {};
    return {{llm::Role::user, told(show(wanted, 1))}};
  }
  // Every call gets an answer of its own, as the protocols want it; the last one says how many looks are left.
  std::vector<llm::Message> messages;
  for (std::size_t i = 0; i < answer.calls.size(); ++i) {
    const auto look = look_of_call(answer.calls[i]);
    std::string shown = look.ok() ? show({*look}, answer.calls.size()) : look.error().message;
    const bool last = i + 1 == answer.calls.size();
    if (last && dropped > 0) {
      shown += fmt::format("\n{} more calls were not looked up: at most {} at once\n", dropped, kMostCallsAtOnce);
    }
    messages.push_back({llm::Role::tool, last ? told(shown) : shown, {}, answer.calls[i].id});
  }
  return messages;
}

std::optional<llm::Answer> Talk::ask_once(const std::vector<llm::Message>& messages, std::string& problem,
                                          std::optional<double> temperature) {
  llm::Request request{.messages = messages,
                       .temperature = temperature,
                       .seed = around_.seed,
                       .name = QuestionName{around_.task, round_, ++asked_}.text()};
  if (around_.repository != nullptr && client_.takes_tools() && !tools_refused_) request.tools = tools_to_look();
  if (around_.journal != nullptr) {
    if (auto known = around_.journal->find(request)) return known;
  }
  llm::Answer answer = client_.ask(request, stop_);
  // A server without tools is asked as if there were none; prompts tell the plain way too.
  if (answer.trouble && !request.tools.empty() && minds_tools(*answer.trouble)) {
    tools_refused_ = true;
    request.tools.clear();
    answer = client_.ask(request, stop_);
  }
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
    if (const Status kept = around_.journal->keep(request, answer); !kept.ok())
      troubles_.push_back(kept.error().message);
  }
  return answer;
}

}  // namespace kw::agents
