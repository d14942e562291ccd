// Who speaks which protocol: one file each in providers/, found by the build. A provider makes one try and tells how it
// went; it knows nothing of retries, budgets and cassettes.
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "llm/endpoint.h"
#include "llm/model.h"

namespace kw::llm {

struct Protocol;

struct Provider {
  std::string name;
  std::string about;                       // one line
  std::vector<std::string> key_variables;  // where a key is looked for, in order
  std::vector<std::string> url_variables;
  std::string usual_url;               // empty: it has none
  bool needs_key = false;              // at the usual address
  const Protocol* protocol = nullptr;  // of those that speak HTTP
  bool takes_tools = false;            // Request::tools reach the model
  // One try. Gives up by itself when the endpoint's patience ends or the token says stop.
  Answer (*ask)(const Endpoint& endpoint, const Request& request, const std::stop_token& stop) = nullptr;
};

// Every provider, sorted by name.
const std::vector<Provider>& all_providers();

namespace providers {
using Maker = Provider (*)();
extern const std::span<const Maker> table;
}  // namespace providers

}  // namespace kw::llm
