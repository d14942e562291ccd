// The door to a model for everybody else: asks the endpoint's provider, tries again when that can help, stays within
// the budget, keeps or plays cassettes, and lets no key out.
//
// May be used from many threads at once. Every request ends in an Answer; none is lost and none throws.
#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "llm/budget.h"
#include "llm/cassette.h"
#include "llm/endpoint.h"
#include "llm/model.h"
#include "llm/secrets.h"

namespace kw::llm {

struct ClientOptions {
  Budget budget;
  std::filesystem::path record;  // keeps each exchange in this folder
  std::filesystem::path replay;  // answers from this folder, and nothing is sent
  int at_once = 0;               // requests at a time, the others wait for their turn; 0: no limit
  double first_pause_s = 0.5;    // before the second try; doubles from try to try, up to a minute, less a random part
};

class Client {
 public:
  // Fails where a key is missing, a budget of money meets a model without prices, or a folder cannot be used.
  static Result<Client> open(Endpoint endpoint, ClientOptions options = {});

  Answer ask(const Request& request, const std::stop_token& stop = {});

  // "openai:gpt-5"
  const std::string& name() const { return name_; }
  // Whether tools of a request reach the model.
  bool takes_tools() const;
  Spent spent() const { return purse_->spent(); }
  // The text without keys.
  std::string without_secrets(std::string text) const { return secrets_.hidden(std::move(text)); }
  // What endpoints said of themselves, each once: "gpt-5-2025-08-07, fp_1a2b"; empty: nothing.
  std::string served_by() const;
  // Why nothing may be asked any more; none while something is left.
  std::optional<Trouble> spent_up() const { return purse_->empty(); }

 private:
  class Turns;
  Answer ask_until_answered(const Request& request, const std::stop_token& stop);

  Endpoint endpoint_;
  std::string name_;
  ClientOptions options_;
  Secrets secrets_;
  std::unique_ptr<Purse> purse_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Player> player_;
  std::shared_ptr<Turns> turns_;  // none: no limit
  struct Served;
  std::shared_ptr<Served> served_;
};

}  // namespace kw::llm
