#include "agents/lessons.h"

#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "base/files.h"
#include "base/json.h"

namespace kw::agents {
namespace {

constexpr std::uint64_t kMostBytes = 64 << 20;

std::filesystem::path file_in(const std::filesystem::path& folder) { return folder / "lessons.jsonl"; }

}  // namespace

std::string lessons_for(const std::filesystem::path& folder, const Task& task, std::size_t most) {
  const auto text = read_file(file_in(folder), kMostBytes);
  if (!text.ok()) return {};
  struct Lesson {
    int likeness;
    double size;  // of its effect
    std::string words;
  };
  std::vector<Lesson> lessons;
  std::istringstream stream(*text);
  for (std::string line; std::getline(stream, line);) {
    const Json json = Json::parse_quietly(line);
    if (!json.is_object()) continue;  // a line that a crash cut short
    try {
      const int likeness = json.at("operators") == task.operators() ? 2 : json.at("category") == task.category ? 1 : 0;
      if (likeness == 0) continue;
      const double gain = json.at("gain").get<double>();
      lessons.push_back(
          {likeness, std::abs(gain - 1),
           fmt::format("{} on {}: {}{}", json.at("method").get<std::string>(), json.at("operators").get<std::string>(),
                       gain > 0 ? llm::measured(fmt::format("{:.2f}", gain)) + " x as fast" : std::string("failed"),
                       json.at("reflection").get<std::string>().empty()
                           ? ""
                           : "; " + json.at("reflection").get<std::string>())});
    } catch (const JsonError&) {
      continue;
    }
  }
  std::ranges::stable_sort(lessons, [](const Lesson& a, const Lesson& b) {
    return a.likeness != b.likeness ? a.likeness > b.likeness : a.size > b.size;
  });
  std::string words;
  for (std::size_t i = 0; i < std::min(most, lessons.size()); ++i) words += "- " + lessons[i].words + "\n";
  return words;
}

Status keep_lessons(const std::filesystem::path& folder, const Work& work) {
  std::string lines;
  for (const Round& round : work.rounds) {
    const auto method = round.plan.find("method");
    if (method == round.plan.end() || round.parent < 0) continue;
    const Round& parent = work.rounds[static_cast<std::size_t>(round.parent)];
    const double gain = round.right() && parent.speed() > 0 ? round.speed() / parent.speed() : 0;
    lines += Json{{"task", work.task->name},
                  {"operators", work.task->operators()},
                  {"category", work.task->category},
                  {"method", method->second},
                  {"gain", gain},
                  {"reflection", round.reflection}}
                 .dump() +
             "\n";
  }
  if (lines.empty()) return {};
  // One write, so that two programs do not mix their lines.
  KW_TRY(const Descriptor file, open_to_append(file_in(folder)));
  const ssize_t written = ::write(file.get(), lines.data(), lines.size());
  if (written != static_cast<ssize_t>(lines.size())) return fail("{}: cannot be written", file_in(folder).string());
  return {};
}

}  // namespace kw::agents
