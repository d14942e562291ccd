#include "rivals/check.h"

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/json.h"

namespace kw::rivals {
namespace {

std::filesystem::path file_of(const RivalFile& rival, const std::string& suite) {
  return rival.environment() / fmt::format("checked-{}.json", suite);
}

std::filesystem::path overhead_file(const RivalFile& rival) { return rival.environment() / "overhead.txt"; }

void keep_overhead(const RivalFile& rival, double overhead_ns) {
  [[maybe_unused]] const Status kept = write_file(overhead_file(rival), fmt::format("{}", overhead_ns));
}

}  // namespace

Result<double> measure_overhead(const RivalFile& rival) {
  KW_TRY(Framework framework, Framework::open(rival));
  KW_TRY(const double overhead_ns, framework.measure_overhead());
  keep_overhead(rival, overhead_ns);
  return overhead_ns;
}

std::optional<double> kept_overhead_ns(const RivalFile& rival) {
  const auto text = read_file(overhead_file(rival), 100);
  const double overhead_ns = text.ok() ? std::strtod(text->c_str(), nullptr) : 0;
  return overhead_ns > 0 ? std::optional(overhead_ns) : std::nullopt;
}

int Checked::count(SettingTrial::State state) const {
  return static_cast<int>(std::ranges::count_if(tasks, [&](const auto& one) { return one.second.state == state; }));
}

Result<Checked> check(const RivalFile& rival, const std::string& suite, const std::vector<Task>& tasks,
                      const Told& told) {
  KW_TRY(Framework framework, Framework::open(rival));
  Checked checked;
  // What was found of other tasks stays.
  if (const auto before = kept_check(rival, suite)) checked = *before;
  KW_TRY(checked.overhead_ns, framework.measure_overhead());
  keep_overhead(rival, checked.overhead_ns);
  for (const Task& task : tasks) {
    SettingTrial trial;
    const auto instance = targets::make_instance(task, task.lengths, 1);
    if (instance.ok()) {
      KW_CHECK(framework.forget(*instance));
      if (const judge::FrameworkStatus outcome = framework.enter(*instance, 1); outcome && framework.trial().right()) {
        trial = {.state = SettingTrial::State::failed, .why = outcome->text};
      } else {
        trial = framework.trial();
      }
    } else {
      trial.why = instance.error().message;
    }
    checked.tasks[task.name] = trial;
    told(task, trial);
  }
  Json json = {{"version", rival.version()}, {"overhead_ns", checked.overhead_ns}, {"tasks", Json::object()}};
  for (const auto& [name, trial] : checked.tasks) {
    json["tasks"][name] = Json::parse(trial_as_json(trial));
  }
  KW_CHECK(write_file(file_of(rival, suite), json.dump(1)));
  return checked;
}

std::optional<Checked> kept_check(const RivalFile& rival, const std::string& suite) {
  const auto text = read_file(file_of(rival, suite));
  if (!text.ok()) return std::nullopt;
  const Json json = Json::parse_quietly(*text);
  if (!json.is_object() || json.value("version", "") != rival.version()) return std::nullopt;
  try {
    Checked checked;
    checked.overhead_ns = json.at("overhead_ns");
    for (const auto& [name, one] : json.at("tasks").items()) checked.tasks[name] = trial_from_json(one.dump());
    return checked;
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

}  // namespace kw::rivals
