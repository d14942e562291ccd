// Where a model is to be had: which provider speaks to it, at which address, under which name, with which key, how long
// we wait and what it costs.
//
// A person names one as PROVIDER:MODEL ("openai:gpt-5", "anthropic:claude-sonnet-5", "command:./play.py --slow"), or by
// the name of a table in kw.toml:
//
//   [model.local]
//   provider     = "openai"
//   model        = "qwen3-coder"
//   url          = "http://127.0.0.1:8000/v1"
//   key_variable = "LOCAL_KEY"     # the variable that holds the key; or key = "...", or no key at all
//   stream       = true            # parts of the answer as they are written
//   input_price  = 0.25            # US dollars for a million tokens
//   output_price = 1.0
//   connect_s    = 10              # time-outs
//   first_byte_s = 120
//   whole_s      = 600
//   tries        = 5
//
// A table holds over the provider's variables (OPENAI_BASE_URL, ...), which serve for what it leaves open; but a key
// from the environment is never sent to an address from a table.
#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "base/result.h"

namespace kw::llm {

struct Provider;

// Time-outs of one try.
struct Patience {
  double connect_s = 10;
  double first_byte_s = 120;  // from the request's end; of a stream also from one piece to the next
  double whole_s = 600;
};

struct Endpoint {
  const Provider* provider = nullptr;
  std::string model;
  std::string url;  // of HTTP providers, without a slash at the end
  std::string key;  // never shown: see secrets.h
  bool stream = true;
  std::optional<double> input_price;  // US dollars for a million tokens
  std::optional<double> output_price;
  Patience patience;
  int tries = 5;
  std::size_t most_bytes = 16 << 20;  // of one answer, as it comes over the wire

  // "openai:gpt-5": what the record and cassettes call it.
  std::string name() const;
};

// `config`: a kw.toml that the user trusts with programs, addresses and keys; empty: none.
Result<Endpoint> endpoint_named(const std::string& name, const TextOfFile& config = {});

}  // namespace kw::llm
