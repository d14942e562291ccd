#include "agents/journal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "llm/cassette.h"
#include "store/sealed_line.h"

namespace kw::agents {
namespace {

constexpr char kAnswer[] = "answer of a model";
constexpr std::uint64_t kMostJournalBytes = 64 << 20;

std::string key_of(const llm::Request& request) { return request.name + " " + llm::identity_of("", request); }

}  // namespace

Journal::Journal(std::filesystem::path file) : file_(std::move(file)) {
  const auto text = read_file(file_, kMostJournalBytes, Links::refuse);
  if (!text.ok()) return;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const std::optional<Json> json = store::own_line(kAnswer, line);
    if (!json) continue;
    try {
      llm::Answer answer;
      answer.text = json->at("answer").text();
      if (json->contains("calls")) answer.calls = llm::calls_from(json->at("calls"));
      answers_[json->at("question").text()] = std::move(answer);
    } catch (const JsonError&) {
      continue;
    }
  }
}

std::optional<llm::Answer> Journal::find(const llm::Request& request) const {
  const auto found = answers_.find(key_of(request));
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

Status Journal::keep(const llm::Request& request, const llm::Answer& answer) {
  std::error_code error;
  std::filesystem::create_directories(file_.parent_path(), error);
  if (!is_in_place()) return fail("{}: is a link, and nothing is kept there", file_.parent_path().string());
  Json json = {{"question", key_of(request)}, {"answer", answer.text}};
  if (!answer.calls.empty()) json["calls"] = llm::json_of(answer.calls);
  const std::string line = store::sealed_line(kAnswer, std::move(json));
  KW_TRY(const Descriptor file, open_to_append(file_));
  if (::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return fail("{}: cannot be written", file_.string());
  answers_[key_of(request)] = answer;
  return {};
}

void Journal::clear() {
  std::error_code error;
  if (is_in_place()) std::filesystem::remove(file_, error);
  answers_.clear();
}

bool Journal::is_in_place() const {
  std::error_code error;
  return !std::filesystem::is_symlink(file_.parent_path(), error);
}

}  // namespace kw::agents
