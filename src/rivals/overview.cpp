#include "rivals/overview.h"

#include <fmt/format.h>

#include "base/units.h"

namespace kw::rivals {
namespace {

std::string installed_text(const State& state) {
  if (state.rival.own) return "your own";
  return state.installed ? "yes" : "no";
}

// How many tasks it runs right, or what to do to know.
std::string right_text(const State& state, std::size_t tasks) {
  if (!state.problem.empty()) return state.problem.substr(0, state.problem.find('\n'));
  if (state.checked) {
    const std::size_t tried = state.checked->tasks.size();
    return fmt::format("{} of {}{}", state.right(), tasks, tried < tasks ? fmt::format(" ({} checked)", tried) : "");
  }
  if (state.installed) return fmt::format("not known yet: kw rivals check {}", state.rival.name);
  return fmt::format("kw rivals install {}{}", state.rival.name,
                     state.rival.only_asked.empty() ? "" : " (" + state.rival.only_asked + ")");
}

}  // namespace

State state_of(const RivalFile& rival, const std::string& suite) {
  State state{.rival = rival, .installed = rival.installed()};
  if (!state.installed) return state;
  state.checked = kept_check(rival, suite);
  state.overhead_ns = kept_overhead_ns(rival);
  if (!state.overhead_ns) {
    const auto measured = measure_overhead(rival);
    if (measured.ok()) state.overhead_ns = *measured;
    if (!measured.ok()) state.problem = measured.error().message;
  }
  return state;
}

std::string overview_text(const std::vector<State>& states, const std::string& suite, std::size_t tasks) {
  constexpr auto kRow = "{:<13} {:<13} {:<10} {:>9}  {}\n";
  std::string text = fmt::format(kRow, "rival", "version", "installed", "overhead", "right in " + suite);
  for (const State& state : states) {
    text += fmt::format(kRow, state.rival.name, state.rival.version(), installed_text(state),
                        state.overhead_ns ? time_text(*state.overhead_ns) : "-", right_text(state, tasks));
  }
  return text;
}

Json overview_json(const std::vector<State>& states, const std::string& suite, std::size_t tasks) {
  Json json = {{"suite", suite}, {"tasks", tasks}, {"rivals", Json::array()}};
  for (const State& state : states) {
    const RivalFile& rival = state.rival;
    json["rivals"].push_back({{"name", rival.name},
                              {"about", rival.about},
                              {"version", rival.version()},
                              {"installed", state.installed},
                              {"own_python", rival.own ? Json(rival.own->program.string()) : Json(nullptr)},
                              {"overhead_ns", state.overhead_ns ? Json(*state.overhead_ns) : Json(nullptr)},
                              {"problem", state.problem.empty() ? Json(nullptr) : Json(state.problem)},
                              {"checked", state.checked ? Json(state.checked->tasks.size()) : Json(nullptr)},
                              {"right", state.checked ? Json(state.right()) : Json(nullptr)}});
  }
  return json;
}

}  // namespace kw::rivals
