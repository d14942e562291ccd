// Talking to a language model: a request goes out, an answer or a trouble comes back.
//
// An endpoint is not ours: it may be down, slow, wrong or in the mood to refuse. None of that is an exception or an
// Error; it is a Trouble, with a kind that tells the caller whether another try, another round or nothing at all can
// help. This file is data only. Who speaks which protocol is in providers.h; retries, budgets and cassettes are in
// client.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kw::llm {

enum class Role { system, user, assistant, tool };
std::string_view name_of(Role role);

// Something that a model may ask for before it answers, by the protocol's own means.
struct Tool {
  std::string name;
  std::string description;
  std::string parameters;  // a JSON schema of an object
};

// A model's wish. It comes from outside: the name may be no tool's, the arguments may be no JSON.
struct ToolCall {
  std::string id;  // the endpoint's; goes back with what was found
  std::string name;
  std::string arguments;

  bool operator==(const ToolCall&) const = default;
};

struct Message {
  Role role = Role::user;
  std::string text;
  std::vector<ToolCall> calls = {};  // of an assistant that asks for something
  std::string call = {};             // of a tool's message: the id of the call that it answers
};

// A fact that a clock said: it is sent like any text, but a cassette does not tell requests apart by it.
std::string measured(const std::string& fact);

struct Request {
  std::vector<Message> messages;  // a system message may stand first
  int most_tokens = 8192;         // of the answer
  std::optional<double> temperature;
  std::optional<std::int64_t> seed;  // of sampling, for endpoints that take one
  std::string name;                  // what a tape calls it besides its text: "Relu, round 3, question 2"; not sent
  std::vector<Tool> tools = {};      // for providers that take them (Provider::takes_tools)
};

// What the endpoint says that an exchange used. Where it says nothing, a guess from the texts' lengths.
struct Usage {
  std::int64_t input_tokens = 0;  // cached ones included
  std::int64_t cached_tokens = 0;
  std::int64_t output_tokens = 0;
  bool guessed = false;

  std::int64_t total() const { return input_tokens + output_tokens; }
  Usage& operator+=(const Usage& other);
};

// About four characters a token, as English and code have in most models.
std::int64_t guessed_tokens(std::string_view text);

struct Trouble {
  enum class Kind {
    key,          // none, or one that the endpoint does not take
    request,      // the endpoint finds the request wrong: no such model, too long
    unreachable,  // no server there
    slow,         // a time-out: connecting, waiting for the first byte, or for the whole
    busy,         // told to come back later (408, 409, 429, 5xx, 529), as often as we were willing to
    garbled,      // what came is not the protocol: HTML, half a JSON, a stream without its end
    too_large,    // more bytes than any answer needs
    refused,      // the model declines
    cut_off,      // the model ran into the limit of tokens before it said anything
    budget,       // tokens, money or time are spent
    cancelled,
    unknown,  // a replayed cassette has no such request
    program,  // the `command` provider's program failed
  };
  Kind kind = Kind::unreachable;
  std::string message;                  // for a person; holds no keys
  std::optional<double> retry_after_s;  // as the endpoint asked
  bool try_again = false;               // the same request may succeed

  // No later request can fare better: the caller should stop with what there is.
  bool ends_the_run() const;
};
std::string_view name_of(Trouble::Kind kind);

struct Answer {
  std::string text;
  std::vector<ToolCall> calls = {};  // what the model wants to know first; then there may be no text
  std::string served_by;             // what the endpoint says that it is: the model's version, the server's
  Usage usage;
  bool whole = true;  // false: cut at most_tokens
  std::optional<Trouble> trouble;
  int tries = 1;
  double spent_s = 0;  // over all tries, waiting included
  double cost_usd = 0;

  bool ok() const { return !trouble; }
};

Answer troubled(Trouble::Kind kind, std::string message);

}  // namespace kw::llm
