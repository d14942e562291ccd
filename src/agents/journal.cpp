#include "agents/journal.h"

#include <fmt/format.h>

#include "agents/kept_lines.h"
#include "base/json.h"
#include "llm/cassette.h"
#include "store/sealed_line.h"

namespace kw::agents {
namespace {

constexpr char kAnswer[] = "answer of a model";

std::string key_of(const llm::Request& request) { return request.name + " " + llm::identity_of("", request); }

std::string place_of(const llm::Request& request) {
  return fmt::format("{}, message {}", request.name, request.messages.size());
}

}  // namespace

Journal::Journal(std::filesystem::path file) : file_(std::move(file)) {
  const auto lines = kept_lines(file_);
  if (!lines.ok()) return;
  for (const std::string& line : *lines) {
    const std::optional<Json> json = store::own_line(kAnswer, line);
    if (!json) continue;
    try {
      llm::Answer answer;
      answer.text = json->at("answer").text();
      if (json->contains("calls")) answer.calls = llm::calls_from(json->at("calls"));
      const std::string question = json->at("question").text();
      if (json->contains("place")) by_place_[json->at("place").text()] = answer;
      answers_[question] = std::move(answer);
    } catch (const JsonError&) {
      continue;
    }
  }
}

std::optional<llm::Answer> Journal::find(const llm::Request& request) const {
  if (const auto found = answers_.find(key_of(request)); found != answers_.end()) return found->second;
  if (request.name.empty()) return std::nullopt;
  const auto found = by_place_.find(place_of(request));
  return found == by_place_.end() ? std::nullopt : std::optional(found->second);
}

Status Journal::keep(const llm::Request& request, const llm::Answer& answer) {
  std::error_code error;
  std::filesystem::create_directories(file_.parent_path(), error);
  if (!is_in_place()) return fail("{}: is a link, and nothing is kept there", file_.parent_path().string());
  Json json = {{"question", key_of(request)}, {"place", place_of(request)}, {"answer", answer.text}};
  if (!answer.calls.empty()) json["calls"] = llm::json_of(answer.calls);
  KW_CHECK(keep_lines(file_, store::sealed_line(kAnswer, std::move(json))));
  answers_[key_of(request)] = answer;
  by_place_[place_of(request)] = answer;
  return {};
}

void Journal::clear() {
  std::error_code error;
  if (is_in_place()) std::filesystem::remove(file_, error);
  answers_.clear();
  by_place_.clear();
}

bool Journal::is_in_place() const {
  std::error_code error;
  return !std::filesystem::is_symlink(file_.parent_path(), error);
}

}  // namespace kw::agents
