#include "llm/client.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <random>
#include <set>

#include "base/clock.h"
#include "llm/providers.h"

namespace kw::llm {
namespace {

constexpr double kLongestPause_s = 60;
constexpr double kLongestRetryAfter_s = 600;  // a server that asks for more is not waited for

// False where it was cut short.
bool pause(double seconds, const std::stop_token& stop) {
  std::mutex lock;
  std::condition_variable_any nobody;
  std::unique_lock guard(lock);
  nobody.wait_for(guard, stop, std::chrono::duration<double>(seconds), [] { return false; });
  return !stop.stop_requested();
}

// Between half of it and all of it, so that many who were turned away do not come back at the same moment.
double with_jitter(double seconds) {
  static thread_local std::mt19937_64 random(std::random_device{}());
  return seconds * std::uniform_real_distribution<double>(0.5, 1.0)(random);
}

}  // namespace

// The number of requests that may be under way at once.
class Client::Turns {
 public:
  explicit Turns(int free) : free_(free) {}

  // False where it was stopped before its turn came.
  bool wait(const std::stop_token& stop) {
    std::unique_lock guard(lock_);
    if (!changed_.wait(guard, stop, [&] { return free_ > 0; })) return false;
    --free_;
    return true;
  }
  void leave() {
    {
      const std::lock_guard guard(lock_);
      ++free_;
    }
    changed_.notify_one();
  }

 private:
  std::mutex lock_;
  std::condition_variable_any changed_;
  int free_;
};

struct Client::Served {
  std::mutex lock;
  std::set<std::string> names;
};

std::string Client::served_by() const {
  const std::lock_guard guard(served_->lock);
  std::string all;
  for (const std::string& name : served_->names) all += (all.empty() ? "" : "; ") + name;
  return all;
}

bool Client::takes_tools() const { return endpoint_.provider->takes_tools; }

Result<Client> Client::open(Endpoint endpoint, ClientOptions options) {
  Client client;
  const Provider& provider = *endpoint.provider;
  if (!options.record.empty() && !options.replay.empty()) return fail("--record and --replay exclude each other");
  if (options.replay.empty() && provider.needs_key && endpoint.key.empty() && endpoint.url == provider.usual_url) {
    return fail("{} needs a key: set {}, or give another address with {}", endpoint.name(),
                provider.key_variables.front(), provider.url_variables.front());
  }
  if (options.budget.usd && (!endpoint.input_price || !endpoint.output_price)) {
    return fail("a budget of money needs the prices of {}: describe it in kw.toml with input_price and output_price",
                endpoint.name());
  }
  if (!options.record.empty()) {
    KW_TRY(client.recorder_, Recorder::open(options.record));
  }
  if (!options.replay.empty()) {
    KW_TRY(client.player_, Player::open(options.replay));
  }
  client.secrets_ = Secrets(endpoint);
  client.name_ = client.secrets_.hidden(endpoint.name());
  client.served_ = std::make_shared<Served>();
  client.purse_ = std::make_unique<Purse>(options.budget);
  if (options.at_once > 0) client.turns_ = std::make_shared<Turns>(options.at_once);
  client.endpoint_ = std::move(endpoint);
  client.options_ = std::move(options);
  return client;
}

Answer Client::ask(const Request& request, const std::stop_token& stop) {
  if (turns_ && !turns_->wait(stop)) return troubled(Trouble::Kind::cancelled, "cancelled");
  const std::shared_ptr<void> turn(turns_.get(), [](void* turns) {
    if (turns != nullptr) static_cast<Turns*>(turns)->leave();
  });
  if (auto trouble = purse_->empty()) {
    Answer answer;
    answer.trouble = std::move(trouble);
    answer.tries = 0;
    return answer;
  }
  Request safe = request;
  for (Message& message : safe.messages) {
    message.text = secrets_.hidden(std::move(message.text));
    for (ToolCall& call : message.calls) call.arguments = secrets_.hidden(std::move(call.arguments));
  }
  const Clock::time_point begin = Clock::now();
  Answer answer = player_ ? player_->play(name_, safe) : ask_until_answered(as_sent(request), stop);
  answer.spent_s = seconds_since(begin);
  answer.cost_usd = (static_cast<double>(answer.usage.input_tokens) * endpoint_.input_price.value_or(0) +
                     static_cast<double>(answer.usage.output_tokens) * endpoint_.output_price.value_or(0)) /
                    1e6;
  answer.text = secrets_.hidden(std::move(answer.text));
  for (ToolCall& call : answer.calls) call.arguments = secrets_.hidden(std::move(call.arguments));
  answer.served_by = secrets_.hidden(std::move(answer.served_by));
  if (!answer.served_by.empty()) {
    const std::lock_guard guard(served_->lock);
    served_->names.insert(answer.served_by);
  }
  if (answer.trouble) answer.trouble->message = secrets_.hidden(std::move(answer.trouble->message));
  purse_->pay(answer);
  const bool the_models_own = !answer.trouble || (answer.trouble->kind != Trouble::Kind::cancelled &&
                                                  answer.trouble->kind != Trouble::Kind::budget);
  if (recorder_ && the_models_own) {
    if (const Status kept = recorder_->keep(name_, safe, answer); !kept.ok() && !answer.trouble) {
      answer.trouble = Trouble{.kind = Trouble::Kind::unknown, .message = kept.error().message};
    }
  }
  return answer;
}

Answer Client::ask_until_answered(const Request& request, const std::stop_token& stop) {
  Endpoint endpoint = endpoint_;
  Request within = request;
  within.most_tokens = static_cast<int>(std::clamp<std::int64_t>(purse_->tokens_left(), 1, request.most_tokens));
  Usage all_usage;
  double pause_s = options_.first_pause_s;
  for (int tries = 1;; ++tries) {
    endpoint.patience.whole_s = std::min(endpoint_.patience.whole_s, std::max(0.05, purse_->seconds_left()));
    Answer answer = endpoint.provider->ask(endpoint, within, stop);
    answer.tries = tries;
    all_usage += answer.usage;
    answer.usage = all_usage;
    if (!answer.trouble || !answer.trouble->try_again) return answer;
    if (purse_->seconds_left() <= 0) {
      answer.trouble = purse_->empty();
      return answer;
    }
    Trouble& trouble = *answer.trouble;
    const double wait_s =
        trouble.retry_after_s ? *trouble.retry_after_s + with_jitter(pause_s) / 2 : with_jitter(pause_s);
    if (tries >= endpoint.tries) {
      if (tries > 1) trouble.message += fmt::format(" ({} tries)", tries);
      return answer;
    }
    if (wait_s > kLongestRetryAfter_s || wait_s > purse_->seconds_left()) {
      trouble.message += fmt::format(" (and wants us to wait {:.0f} s, which is too long)", wait_s);
      return answer;
    }
    if (!pause(wait_s, stop)) {
      answer.trouble = Trouble{.kind = Trouble::Kind::cancelled, .message = "cancelled"};
      return answer;
    }
    pause_s = std::min(2 * pause_s, kLongestPause_s);
  }
}

}  // namespace kw::llm
