#include "mcp/resources.h"

#include <fmt/core.h>

#include <charconv>

#include "base/files.h"
#include "base/json.h"
#include "judge/verdict_json.h"
#include "mcp/desk.h"
#include "mcp/told.h"
#include "runs/kernel_file.h"
#include "runs/task_text.h"

namespace kw::mcp {
namespace {

constexpr std::size_t kPage = 100;

std::string dumped(const Json& json) { return json.dump(1); }

std::string task_uri(const suites::Suite& suite, const Task& task) {
  return "kw://task/" + (suite.name.empty() ? task.name : suite.name + "/" + task.name);
}

Json fixed_resources(const Desk& desk) {
  return {{{"uri", "kw://contract"},
           {"name", runs::contract_of(desk.device())},
           {"title", "The kernel contract"},
           {"description", "The header that every kernel includes: what it may rely on and must not do."},
           {"mimeType", "text/x-c"}},
          {{"uri", "kw://runs"},
           {"name", "runs"},
           {"title", "The record"},
           {"description", "Every run of the record, the newest first; kw://run/r3 is one of them."},
           {"mimeType", "application/json"}}};
}

Json told(const store::RunSummary& run) {
  return {{"run", run.name()},
          {"state", store::name_of(run.state)},
          {"began_at", run.began_at},
          {"suite", run.about.suite},
          {"author", run.about.author},
          {"strategy", run.about.strategy},
          {"done", run.done},
          {"total", run.planned},
          {"accepted", run.accepted},
          {"speedup", run.speedup ? Json(*run.speedup) : Json(nullptr)},
          {"rival", run.rival.empty() ? Json(nullptr) : Json(run.rival)}};
}

Result<Resource> read_runs(const Desk& desk) {
  Json list = Json::array();
  KW_CHECK(desk.with_store([&](const store::Store* store) -> Status {
    if (!store) return {};
    KW_TRY(const auto runs, store->runs());
    for (const store::RunSummary& run : runs) list.push_back(told(run));
    return {};
  }));
  return Resource{"application/json", dumped(list)};
}

Result<Resource> read_run(const Desk& desk, const std::string& name) {
  Json json;
  KW_CHECK(desk.with_store([&](const store::Store* store) -> Status {
    if (!store) return fail("nothing was recorded yet");
    KW_TRY(const store::RunSummary run, store->find_run(name));
    json = told(run);
    json["submissions"] = Json::array();
    return store->each_recorded(run.id, [&](const store::Recorded& one) -> Status {
      Json item = {{"id", fmt::format("{}.{}", run.name(), one.position)},
                   {"task", one.task},
                   {"file", one.file},
                   {"author", one.author},
                   {"at", one.at},
                   {"verdict", nullptr}};
      if (one.judged) {
        KW_TRY(const Verdict verdict, judge::verdict_from_json(one.json));
        item["verdict"] = mcp::told(verdict);
      }
      json["submissions"].push_back(std::move(item));
      return {};
    });
  }));
  return Resource{"application/json", dumped(json)};
}

// "%2F" is a slash.
std::string decoded(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr == text.data() + i + 3) {
      result += static_cast<char>(value);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

Result<Json> list_resources(const Desk& desk, const std::string& cursor) {
  std::size_t from = 0;
  const auto parsed = std::from_chars(cursor.data(), cursor.data() + cursor.size(), from);
  if (!cursor.empty() && (parsed.ec != std::errc() || parsed.ptr != cursor.data() + cursor.size() || from == 0)) {
    return fail("cursor: is none of ours");
  }
  Json all = fixed_resources(desk);
  for (const suites::Suite& suite : desk.suites()) {
    for (const Task& task : suite.tasks) {
      all.push_back({{"uri", task_uri(suite, task)},
                     {"name", task.name},
                     {"description", fmt::format("{} ({})", task.operators(), task.category)},
                     {"mimeType", "text/plain"}});
    }
  }
  if (from >= all.size() && from > 0) return fail("cursor: is none of ours");
  Json page = Json::array();
  for (std::size_t i = from; i < std::min(all.size(), from + kPage); ++i) page.push_back(std::move(all[i]));
  Json result = {{"resources", std::move(page)}};
  if (from + kPage < all.size()) result["nextCursor"] = std::to_string(from + kPage);
  return result;
}

Json resource_templates() {
  const auto entry = [](const char* uri, const char* name, const char* about, const char* mime_type) {
    return Json{{"uriTemplate", uri}, {"name", name}, {"description", about}, {"mimeType", mime_type}};
  };
  return Json::array(
      {entry("kw://task/{+name}", "task", "A task: meaning, tensors, tolerance, cost, a worked example.", "text/plain"),
       entry("kw://run/{run}", "run", "A run of the record with its submissions and verdicts.", "application/json"),
       entry("kw://verdict/{id}", "verdict", "A submission and what the judge said of it.", "application/json"),
       entry("kw://source/{id}", "source", "A submission's source.", "text/x-c")});
}

Result<Resource> read_resource(const Desk& desk, const std::string& uri) {
  constexpr std::string_view kScheme = "kw://";
  if (!uri.starts_with(kScheme)) return fail("no resource is called {}", uri.substr(0, 80));
  const std::string path = decoded(uri.substr(kScheme.size()));
  if (path == "runs") return read_runs(desk);
  if (path == "contract") {
    KW_TRY(const auto data, data_folder());
    KW_TRY(std::string text, read_file(data / "include" / runs::contract_of(desk.device())));
    return Resource{"text/x-c", std::move(text)};
  }
  const std::size_t slash = path.find('/');
  const std::string kind = path.substr(0, slash);
  const std::string name = slash == std::string::npos ? "" : path.substr(slash + 1);
  if (kind == "task") {
    KW_TRY(const Task* const task, desk.find_task(name));
    KW_TRY(std::string text, runs::task_as_text(*task, desk.device()));
    return Resource{"text/plain", std::move(text)};
  }
  if (kind == "run") return read_run(desk, name);
  if (kind == "verdict") {
    KW_TRY(const JobStatus progress, desk.look(name));
    return Resource{"application/json", dumped(mcp::told(progress))};
  }
  if (kind == "source") {
    KW_TRY(Submitted submitted, desk.find(name));
    return Resource{"text/x-c", std::move(submitted.source.text)};
  }
  return fail("no resource is called {}", uri.substr(0, 80));
}

}  // namespace kw::mcp
