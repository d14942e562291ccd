#include "runs/left.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "runs/order.h"
#include "targets/names.h"

namespace kw::runs {

Result<Left> left_of(const store::Store& store, const store::RunSummary& run) {
  Left left{.left = run.planned - run.done, .total = run.planned};
  switch (run.kind()) {
    case store::RunKind::batch:
      left.text = fmt::format("{} of {} left", left.left, left.total);
      break;
    case store::RunKind::search: {
      const std::string task = run.first_task.empty() ? "" : run.first_task + (run.tasks > 1 ? " and more: " : ": ");
      left.text = fmt::format("{}stopped after {} candidates", task, run.done - run.accepted);
      break;
    }
    case store::RunKind::rounds: {
      // Rounds are added as they come; a task is done when an event says so.
      KW_TRY(const Order order, order_of(run));
      KW_TRY(const auto events, store.events(run.id));
      std::set<std::string> finished;
      for (const store::Event& event : events) {
        if (event.kind == store::EventKind::finished) finished.insert(event.text);
      }
      left.total = std::ssize(order.tasks);
      left.left = std::max<std::int64_t>(0, left.total - std::ssize(finished));
      left.text = fmt::format("{} of {} tasks left, {} rounds judged", left.left, left.total, run.done);
      break;
    }
  }
  return left;
}

std::vector<std::string> reach_of(const store::RunSummary& run) {
  std::vector<std::string> reach;
  const Json rules = Json::parse_quietly(run.about.rules);
  if (!rules.is_object()) return reach;
  std::vector<const Json*> places = {&rules};
  for (const auto& [name, value] : rules.items()) {
    if (value.is_object()) places.push_back(&value);
  }
  for (const Json* place : places) {
    for (const char* name : {"model", "repo", "prompts", "out"}) {
      const Json* value = place->find(name);
      if (value != nullptr && value->is_string() && !value->text().empty()) reach.push_back(value->text());
    }
    const Json* device = place->find("device");
    if (device != nullptr && device->is_string() && targets::reached_by_a_program(device->text())) {
      reach.push_back(device->text());
    }
  }
  return reach;
}

}  // namespace kw::runs
