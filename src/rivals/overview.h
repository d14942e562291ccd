// What is known of each rival: whether it is installed, what a call costs, which tasks it runs right; as a table and as
// data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "rivals/check.h"

namespace kw::rivals {

struct State {
  RivalFile rival;
  bool installed = false;
  std::optional<double> overhead_ns;  // measured now, where it was not before
  std::string problem;                // why it could not be measured
  std::optional<Checked> checked;

  int right() const { return checked ? checked->count(SettingTrial::State::right) : 0; }
};

State state_of(const RivalFile& rival, const std::string& suite);

std::string overview_text(const std::vector<State>& states, const std::string& suite, std::size_t tasks);
Json overview_json(const std::vector<State>& states, const std::string& suite, std::size_t tasks);

}  // namespace kw::rivals
