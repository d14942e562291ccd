#include "corpus/gym.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "base/nearest.h"
#include "corpus/holes.h"
#include "corpus/task_text.h"
#include "mcp/line_stream.h"
#include "mcp/told.h"
#include "ops/graph.h"
#include "store/sha256.h"
#include "targets/target.h"

namespace kw::corpus {
namespace {

constexpr std::size_t kMostRequestBytes = std::size_t{8} << 20;
constexpr std::size_t kMostTexts = 100'000;  // of tasks
constexpr std::size_t kMostKnown = 4096;
constexpr double kMostTaskBytes = 1 << 30;
constexpr char kClient[] = "gym";

const std::vector<std::string> kRequestKeys = {"id",     "task",   "task_text", "source",
                                               "prefix", "answer", "suffix",    "set"};

Result<std::string> text_at(const Json& request, const char* name) {
  const Json& value = request.at(name);
  if (!value.is_string()) return fail("\"{}\" is a text", name);
  return value.text();
}

// The verdict on a candidate that was rejected before the judge saw it.
Json rejected(const std::string& stage, const std::string& reason) {
  return {{"built", false},          {"right", false},    {"stage", stage}, {"reason", reason},
          {"errors", Json::array()}, {"speedup", Json()}, {"reward", 0}};
}

const Speedup* speed_against(const Verdict& verdict, const std::string& rival) {
  const auto found = std::ranges::find(verdict.speedups, rival, &Speedup::rival);
  return found == verdict.speedups.end() ? nullptr : &*found;
}

}  // namespace

double reward_of(const Verdict& verdict, const std::string& against) {
  if (!verdict.accepted()) return 0;
  const Speedup* const speed = speed_against(verdict, against);
  // A kernel that cannot be compared has shown no speed.
  if (speed == nullptr || !(speed->low > 0)) return 0;
  return std::min(kMostReward, std::log2(1 + speed->low));
}

// The case to be judged, or the reason why it is rejected without being judged.
struct Gym::Wanted {
  const Task* task = nullptr;
  std::string source;
  Settings settings;
  std::string broken_hole;
};

Result<const Task*> Gym::task_in(const Json& request) {
  if (request.contains("task") == request.contains("task_text")) return fail("say either \"task\" or \"task_text\"");
  if (request.contains("task")) {
    KW_TRY(const std::string name, text_at(request, "task"));
    return desk_.find_task(name);
  }
  KW_TRY(const std::string text, text_at(request, "task_text"));
  const std::lock_guard guard(lock_);
  if (const auto found = tasks_.find(text); found != tasks_.end()) return found->second.get();
  if (tasks_.size() >= kMostTexts) return fail("{} tasks are known, and no more are taken: start anew", kMostTexts);
  KW_TRY(Task task, task_of_text(text));
  KW_TRY(const ops::Graph graph, ops::resolve(task));
  if (const double bytes = ops::cost_of(graph).bytes(); !(bytes <= kMostTaskBytes))
    return fail("the task's tensors take {:.0f} bytes, and at most {:.0f} are judged here", bytes, kMostTaskBytes);
  return tasks_.emplace(text, std::make_unique<const Task>(std::move(task))).first->second.get();
}

Result<Gym::Wanted> Gym::wanted_in(const Json& request) {
  for (const auto& [key, value] : request.items()) {
    if (std::ranges::find(kRequestKeys, key) == kRequestKeys.end())
      return fail("no request has a \"{}\"{}", key.substr(0, 40), nearest_hint(key.substr(0, 40), kRequestKeys));
  }
  Wanted wanted;
  KW_TRY(wanted.task, task_in(request));
  if (request.contains("set")) {
    if (!request["set"].is_object()) return fail("\"set\" is an object: {{\"TILE\": 8}}");
    for (const auto& [key, value] : request["set"].items())
      wanted.settings[key] = value.is_string() ? value.text() : value.dump();
  }
  if (request.contains("source") == request.contains("answer"))
    return fail("say either \"source\", or \"answer\" with \"prefix\" and \"suffix\"");
  const bool has_hole = request.contains("prefix") || request.contains("suffix");
  if (has_hole && !(request.contains("prefix") && request.contains("suffix")))
    return fail("a hole has both \"prefix\" and \"suffix\"");
  if (!has_hole) {
    if (!request.contains("source")) return fail("\"answer\" needs \"prefix\" and \"suffix\"");
    KW_TRY(wanted.source, text_at(request, "source"));
    return wanted;
  }
  KW_TRY(const std::string prefix, text_at(request, "prefix"));
  KW_TRY(const std::string suffix, text_at(request, "suffix"));
  const bool is_whole = request.contains("source");
  KW_TRY(const std::string given, text_at(request, is_whole ? "source" : "answer"));
  const Result<std::string> middle = is_whole ? middle_of(given, prefix, suffix) : given;
  const Result<std::string> whole = middle.ok() ? filled(prefix, *middle, suffix) : middle.error();
  if (whole.ok()) wanted.source = *whole;
  if (!whole.ok()) wanted.broken_hole = whole.error().message;
  return wanted;
}

Json Gym::judged(const Wanted& wanted) {
  mcp::Submission submission{.task = wanted.task,
                             .source = {targets::source_name(desk_.device(), "kernel"), wanted.source},
                             .settings = wanted.settings,
                             .budget_s = rules_.budget_s};
  const auto submitted = desk_.submit(kClient, std::move(submission));
  if (!submitted.ok()) return {{"error", submitted.error().message}};
  mcp::JobStatus status = *submitted;
  while (!status.over()) {
    const auto now = desk_.wait(status.id, mcp::Desk::Clock::now() + std::chrono::hours(1), {}, {});
    if (!now.ok()) return {{"error", now.error().message}};
    status = *now;
  }
  if (!status.verdict)
    return {{"error", status.problem.empty() ? "the service is ending; `kw resume` judges what is left"
                                             : "could not be judged: " + status.problem},
            {"verdict", status.id}};
  const Verdict& verdict = *status.verdict;
  const Json told = mcp::told(verdict);
  const Speedup* const speed = verdict.accepted() ? speed_against(verdict, rules_.against) : nullptr;
  Json answer = {{"built", verdict.stage != VerdictStage::build},
                 {"right", verdict.accepted()},
                 {"stage", name_of(verdict.stage)},
                 {"reason", verdict.accepted() ? Json() : Json(text_of(verdict.reason, Audience::author))},
                 {"errors", told.at("errors")},
                 {"speedup", Json()}};
  if (speed != nullptr) {
    answer["speedup"] = {{"against", speed->rival}, {"median", speed->median}, {"low", speed->low},
                         {"high", speed->high},     {"pairs", speed->pairs},   {"claimed", speed->claimed}};
  } else if (verdict.accepted()) {
    answer["reason"] =
        fmt::format("{} does not run this task right, so that there is no speed to reward", rules_.against);
  }
  answer["reward"] = reward_of(verdict, rules_.against);
  answer["verdict"] = status.id;
  return answer;
}

Json Gym::answer(const std::string& line, std::int64_t number) {
  Json id;
  const auto with_id = [&](Json answer) {
    if (!id.is_null()) answer["id"] = id;
    answer["line"] = number;
    return answer;
  };
  const Json request = Json::parse_quietly(line);
  if (!request.is_object()) return with_id({{"error", "the line is no JSON object"}});
  if (request.contains("id")) id = request["id"];
  const auto wanted = wanted_in(request);
  if (!wanted.ok()) return with_id({{"error", wanted.error().message}});
  if (!wanted->broken_hole.empty()) return with_id(rejected("hole", wanted->broken_hole));
  // A model's tokens are bytes: what the desk would send back to a person is an answer here, and a wrong one.
  if (wanted->source.find('\0') != std::string::npos) {
    return with_id(rejected("build", "the source has zero bytes in it"));
  }
  std::string key = fmt::format("{}\n{}\n", fmt::ptr(wanted->task), Json(wanted->settings).dump()) + wanted->source;
  key = store::sha256(key);
  {
    const std::lock_guard guard(lock_);
    if (const auto known = known_.find(key); known != known_.end()) return with_id(known->second);
  }
  Json answer = judged(*wanted);
  if (!answer.contains("error")) {
    const std::lock_guard guard(lock_);
    if (known_.emplace(key, answer).second) known_order_.push_back(key);
    if (known_order_.size() > kMostKnown) {
      known_.erase(known_order_.front());
      known_order_.pop_front();
    }
  }
  return with_id(std::move(answer));
}

void Gym::serve(int in, int out) {
  mcp::LineInput input(in, kMostRequestBytes);
  mcp::LineOutput output(out);
  std::mutex reading;
  std::int64_t number = 0;
  bool ended = false;
  // Each takes the next line when it has answered its last: a client that sends more waits.
  const auto work = [&] {
    std::string line;
    for (;;) {
      std::int64_t mine = 0;
      {
        const std::lock_guard guard(reading);
        if (ended || output.gone()) return;
        const mcp::LineInput::Got got = input.next(line);
        if (got == mcp::LineInput::Got::end) {
          ended = true;
          return;
        }
        mine = ++number;
        if (got == mcp::LineInput::Got::too_long) {
          output.say(Json{{"error", "a request has at most 8 MiB"}, {"line", mine}}.dump());
          continue;
        }
      }
      if (line.find_first_not_of(" \t\r") != std::string::npos) output.say(answer(line, mine).dump());
    }
  };
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::jthread> workers;
  for (int i = 0; i < (rules_.at_once > 0 ? rules_.at_once : 4 * cores); ++i) workers.emplace_back(work);
}

}  // namespace kw::corpus
