#include "llm/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace kw::llm {

double Purse::seconds_left() const {
  if (!budget_.seconds) return 1e9;
  return *budget_.seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

std::int64_t Purse::tokens_left() const {
  const std::lock_guard guard(lock_);
  return budget_.tokens ? *budget_.tokens - spent_.usage.total() : std::numeric_limits<std::int64_t>::max();
}

std::optional<Trouble> Purse::empty() const {
  const auto spent_up = [](std::string message) {
    return Trouble{.kind = Trouble::Kind::budget, .message = std::move(message)};
  };
  if (seconds_left() <= 0) return spent_up(fmt::format("the {} s for models are over", *budget_.seconds));
  const std::lock_guard guard(lock_);
  if (budget_.tokens && spent_.usage.total() >= *budget_.tokens) {
    return spent_up(fmt::format("{} of {} tokens are spent", spent_.usage.total(), *budget_.tokens));
  }
  if (budget_.usd && spent_.usd >= *budget_.usd) {
    return spent_up(fmt::format("{:.4f} of {:.4f} US dollars are spent", spent_.usd, *budget_.usd));
  }
  return std::nullopt;
}

void Purse::pay(const Answer& answer) {
  const std::lock_guard guard(lock_);
  ++spent_.requests;
  spent_.tries += answer.tries;
  spent_.troubles += answer.ok() ? 0 : 1;
  spent_.usage += answer.usage;
  spent_.usd += answer.cost_usd;
  spent_.waiting_s += answer.spent_s;
}

Spent Purse::spent() const {
  const std::lock_guard guard(lock_);
  return spent_;
}

}  // namespace kw::llm
