#include "agents/journal.h"

#include <fmt/format.h>

#include "agents/kept_lines.h"
#include "base/json.h"
#include "llm/cassette.h"

namespace kw::agents {
namespace {

std::string key_of(const llm::Request& request) { return request.name + " " + llm::identity_of("", request); }

}  // namespace

Journal::Journal(std::filesystem::path file) : file_(std::move(file)) {
  const auto lines = kept_lines(file_);
  if (!lines.ok()) return;
  for (const std::string& line : *lines) {
    const Json json = Json::parse_quietly(line);
    if (!json.is_object() || !json.contains("question") || !json.contains("answer")) continue;
    if (!json["question"].is_string() || !json["answer"].is_string()) continue;
    llm::Answer answer;
    answer.text = json["answer"].text();
    try {
      if (json.contains("calls")) answer.calls = llm::calls_from(json["calls"]);
    } catch (const JsonError&) {
      continue;
    }
    answers_[json["question"].text()] = std::move(answer);
  }
}

std::optional<llm::Answer> Journal::find(const llm::Request& request) const {
  const auto found = answers_.find(key_of(request));
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

Status Journal::keep(const llm::Request& request, const llm::Answer& answer) {
  std::error_code error;
  std::filesystem::create_directories(file_.parent_path(), error);
  Json json = {{"question", key_of(request)}, {"answer", answer.text}};
  if (!answer.calls.empty()) json["calls"] = llm::json_of(answer.calls);
  KW_CHECK(keep_lines(file_, json.dump() + "\n"));
  answers_[key_of(request)] = answer;
  return {};
}

void Journal::clear() {
  std::error_code error;
  std::filesystem::remove(file_, error);
  answers_.clear();
}

}  // namespace kw::agents
