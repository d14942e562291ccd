#include "store/records.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kw::store {
namespace {

constexpr std::array kPurposes = {
    std::pair{Purpose::judge, std::string_view("judge")}, std::pair{Purpose::compare, std::string_view("compare")},
    std::pair{Purpose::start, std::string_view("start")}, std::pair{Purpose::search, std::string_view("search")},
    std::pair{Purpose::confirm, std::string_view("confirm")}};

constexpr std::string_view kStates[] = {"open", "stopped", "done"};
constexpr std::string_view kEvents[] = {"began", "resumed", "stopped",   "done",     "imported", "problem",
                                        "model", "over",    "no kernel", "finished", "other"};

constexpr char kSource[] = ", source ";
constexpr char kRounds[] = "rounds";  // the strategy of a run of an author

}  // namespace

std::string version_with_source(const std::string& built, const std::string& source_hash) {
  return built + kSource + source_hash;
}

std::string version_without_source(const std::string& version) { return version.substr(0, version.find(kSource)); }

std::string_view name_of(Purpose purpose) {
  for (const auto& [one, name] : kPurposes) {
    if (one == purpose) return name;
  }
  return "";
}

std::optional<Purpose> purpose_named(std::string_view name) {
  for (const auto& [purpose, known] : kPurposes) {
    if (known == name) return purpose;
  }
  return std::nullopt;
}

std::string_view name_of(RunKind kind) {
  switch (kind) {
    case RunKind::batch:
      return "batch";
    case RunKind::search:
      return "search";
    case RunKind::rounds:
      return kRounds;
  }
  return "";
}

std::string_view name_of(RunState state) { return kStates[static_cast<std::size_t>(state)]; }

RunState state_named(std::string_view name) {
  const auto found = std::ranges::find(kStates, name);
  return found == std::end(kStates) ? RunState::open : static_cast<RunState>(found - kStates);
}

std::string_view name_of(EventKind kind) { return kEvents[static_cast<std::size_t>(kind)]; }

EventKind event_named(std::string_view name) {
  const auto found = std::ranges::find(kEvents, name);
  return found == std::end(kEvents) ? EventKind::other : static_cast<EventKind>(found - kEvents);
}

RunKind RunSummary::kind() const {
  if (about.strategy.empty()) return RunKind::batch;
  return about.strategy == kRounds ? RunKind::rounds : RunKind::search;
}

}  // namespace kw::store
