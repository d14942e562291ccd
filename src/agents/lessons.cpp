#include "agents/lessons.h"

#include <algorithm>

#include "agents/kept_lines.h"
#include "base/json.h"
#include "store/sealed_line.h"

namespace kw::agents {
namespace {

constexpr char kLesson[] = "lesson of an author";
constexpr std::size_t kMostKernel = 3500;  // characters of a kernel that is shown

std::filesystem::path lessons_in(const std::filesystem::path& folder) { return folder / "lessons.jsonl"; }

}  // namespace

std::string lessons_for(const std::filesystem::path& folder, const Task& task, std::size_t most) {
  const auto lines = kept_lines(lessons_in(folder));
  if (!lines.ok()) return {};
  struct Lesson {
    int likeness;
    double size;  // of its effect
    std::string words;
    std::string kernel;
  };
  std::vector<Lesson> lessons;
  for (const std::string& line : *lines) {
    const std::optional<Json> own = store::own_line(kLesson, line);
    if (!own) continue;  // not recorded here, or cut short by a crash
    const Json& json = *own;
    try {
      // Kernels of the same task are left out: they would be the answer itself.
      if (json.at("task") == task.name || !json.contains("sure")) continue;
      const int likeness = json.at("operators") == task.operators() ? 2 : json.at("category") == task.category ? 1 : 0;
      if (likeness == 0) continue;
      const double gain = json.at("gain").get<double>();
      const std::string reflection = json.at("reflection").get<std::string>();
      lessons.push_back(
          {likeness, std::abs(gain - 1),
           fmt::format("{} on {}: {:.2f} times as fast{}", json.at("method").get<std::string>(),
                       json.at("operators").get<std::string>(), gain, reflection.empty() ? "" : "; " + reflection),
           gain > 1 ? json.value("kernel", "") : ""});
    } catch (const JsonError&) {
      continue;
    }
  }
  std::ranges::stable_sort(lessons, [](const Lesson& a, const Lesson& b) {
    return a.likeness != b.likeness ? a.likeness > b.likeness : a.size > b.size;
  });
  std::string words;
  for (std::size_t i = 0; i < std::min(most, lessons.size()); ++i) words += "- " + lessons[i].words + "\n";
  for (const Lesson& lesson : lessons) {
    if (lesson.kernel.empty() || lesson.kernel.size() > kMostKernel) continue;
    words += fmt::format("The kernel of \"{}\":\n```cpp\n{}\n```\n", lesson.words.substr(0, 120), lesson.kernel);
    break;
  }
  return words;
}

Status keep_lessons(const std::filesystem::path& folder, const Work& work) {
  std::string lines;
  for (const Round& round : work.rounds) {
    const auto method = round.plan.find("method");
    const Round* parent = work.round(round.parent);
    if (round.role == RoundRole::tuner || method == round.plan.end() || parent == nullptr || !round.right()) continue;
    // With the tuner's values, where they were sure to be better than what they were timed beside.
    const Round* tuned = &round;
    for (const Round& other : work.rounds) {
      if (other.role == RoundRole::tuner && other.parent == round.number && other.right() && other.beside &&
          other.beside->faster() && other.standing > tuned->standing)
        tuned = &other;
    }
    const auto beside_parent = [&](const Round& one) {
      return one.beside && !one.beside->taped && one.beside->with == parent->number &&
             (one.beside->faster() || one.beside->slower());
    };
    if (!(parent->standing > 0) || !(beside_parent(round) || beside_parent(*tuned))) continue;
    lines += store::sealed_line(kLesson, {{"task", work.task->name},
                                          {"operators", work.task->operators()},
                                          {"category", work.task->category},
                                          {"method", method->second},
                                          {"gain", tuned->standing / parent->standing},
                                          {"sure", true},
                                          {"kernel", tuned->source},
                                          {"reflection", round.reflection}});
  }
  if (lines.empty()) return {};
  return keep_lines(lessons_in(folder), lines);
}

}  // namespace kw::agents
