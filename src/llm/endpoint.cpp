#include "llm/endpoint.h"

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/nearest.h"
#include "base/toml.h"
#include "llm/providers.h"

namespace kw::llm {
namespace {

std::string from_environment(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const char* value = std::getenv(name.c_str()); value != nullptr && *value != '\0') return value;
  }
  return {};
}

const Provider* find_provider(const std::string& name) {
  for (const Provider& provider : all_providers()) {
    if (provider.name == name) return &provider;
  }
  return nullptr;
}

std::vector<std::string> provider_names() {
  std::vector<std::string> names;
  for (const Provider& provider : all_providers()) names.push_back(provider.name);
  return names;
}

Error unknown_provider(const std::string& name) {
  std::string list;
  for (const std::string& known : provider_names()) list += (list.empty() ? "" : ", ") + known;
  return fail("no provider of models is called '{}'{}; there are {}", name, nearest_hint(name, provider_names()), list);
}

// Reads one table, and complains about what it does not know or what has the wrong type.
class Table {
 public:
  Table(const toml::table& table, std::string place) : table_(table), place_(std::move(place)) {}

  template <class T>
  void take(const char* name, T& into) {
    known_.push_back(name);
    const toml::node* node = table_.get(name);
    if (node == nullptr) return;
    if (const auto value = node->value<T>()) {
      into = *value;
    } else {
      wrong(name, "is of the wrong type");
    }
  }
  void take(const char* name, std::optional<double>& into) {
    double value = -1;
    const bool there = table_.contains(name);
    take(name, value);
    if (there && value < 0) wrong(name, "is no price");
    if (there) into = value;
  }
  void wrong(const std::string& name, const std::string& why) {
    if (problem_.empty()) problem_ = fmt::format("{}.{} {}", place_, name, why);
  }
  Status end() {
    for (const auto& [key, node] : table_) {
      const std::string name(key.str());
      if (std::ranges::find(known_, name) == known_.end()) {
        wrong(name, "is no setting of a model" + nearest_hint(name, known_));
      }
    }
    if (!problem_.empty()) return fail("{}", problem_);
    return {};
  }

 private:
  const toml::table& table_;
  std::string place_;
  std::vector<std::string> known_;
  std::string problem_;
};

Status check(const Endpoint& endpoint) {
  const auto timeout = [](double seconds) { return seconds > 0 && seconds <= 86'400; };
  if (!timeout(endpoint.patience.connect_s) || !timeout(endpoint.patience.first_byte_s) ||
      !timeout(endpoint.patience.whole_s)) {
    return fail("a time-out of a model is above 0 and at most 86400 seconds");
  }
  if (endpoint.tries < 1 || endpoint.tries > 100) return fail("tries of a model: from 1 to 100");
  for (unsigned char c : endpoint.key) {
    if (c < 0x20 || c == 0x7f)
      return fail("the key of {} holds a line end or another control character", endpoint.name());
  }
  if (endpoint.provider->usual_url.empty()) return {};
  if (!endpoint.url.starts_with("http://") && !endpoint.url.starts_with("https://")) {
    return fail("the address of a model begins with http:// or https://");
  }
  return {};
}

// What is left open is taken from the environment.
Result<Endpoint> completed(Endpoint endpoint) {
  const Provider& provider = *endpoint.provider;
  if (endpoint.key.empty() && endpoint.url.empty()) endpoint.key = from_environment(provider.key_variables);
  if (endpoint.url.empty()) endpoint.url = from_environment(provider.url_variables);
  if (endpoint.url.empty()) endpoint.url = provider.usual_url;
  while (endpoint.url.ends_with('/')) endpoint.url.pop_back();
  KW_CHECK(check(endpoint));
  return endpoint;
}

Result<Endpoint> from_table(const toml::table& table, const std::string& place) {
  Endpoint endpoint;
  Table reader(table, place);
  std::string provider, key_variable;
  std::int64_t tries = endpoint.tries;
  reader.take("provider", provider);
  reader.take("model", endpoint.model);
  reader.take("url", endpoint.url);
  reader.take("key", endpoint.key);
  reader.take("key_variable", key_variable);
  reader.take("stream", endpoint.stream);
  reader.take("input_price", endpoint.input_price);
  reader.take("output_price", endpoint.output_price);
  reader.take("connect_s", endpoint.patience.connect_s);
  reader.take("first_byte_s", endpoint.patience.first_byte_s);
  reader.take("whole_s", endpoint.patience.whole_s);
  reader.take("tries", tries);
  KW_CHECK(reader.end());
  endpoint.tries = static_cast<int>(std::clamp<std::int64_t>(tries, 0, 1000));
  endpoint.provider = find_provider(provider);
  if (provider.empty()) return fail("{} does not say its provider", place);
  if (endpoint.provider == nullptr) return at(place, unknown_provider(provider));
  if (endpoint.model.empty()) return fail("{} does not say its model", place);
  if (!key_variable.empty()) {
    endpoint.key = from_environment({key_variable});
    if (endpoint.key.empty()) return fail("{}: the variable {} is not set", place, key_variable);
  }
  return completed(std::move(endpoint));
}

}  // namespace

const std::vector<Provider>& all_providers() {
  static const std::vector<Provider> sorted = [] {
    std::vector<Provider> all;
    for (const providers::Maker maker : providers::table) all.push_back(maker());
    std::ranges::sort(all, {}, &Provider::name);
    return all;
  }();
  return sorted;
}

std::string Endpoint::name() const { return (provider != nullptr ? provider->name : "") + ":" + model; }

Result<Endpoint> endpoint_named(const std::string& name, const TextOfFile& config) {
  const std::filesystem::path& file = config.path;
  std::vector<std::string> known;
  if (!file.empty()) {
    try {
      const toml::table whole = toml::parse(config.text);
      if (const toml::table* models = whole["model"].as_table()) {
        for (const auto& [key, node] : *models) {
          known.push_back(std::string(key.str()));
          if (known.back() != name) continue;
          const std::string place = fmt::format("{}: model.{}", file.string(), name);
          const toml::table* table = node.as_table();
          if (table == nullptr) return fail("{} is no table", place);
          return from_table(*table, place);
        }
      }
    } catch (const toml::parse_error& problem) {
      return fail("{}: {}", place_in_toml(file.string(), problem.source()), problem.description());
    }
  }
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) {
    return fail("no model is called '{}'{}; write PROVIDER:MODEL, as in openai:gpt-5, or describe it in kw.toml", name,
                nearest_hint(name, known));
  }
  Endpoint endpoint;
  endpoint.provider = find_provider(name.substr(0, colon));
  if (endpoint.provider == nullptr) return unknown_provider(name.substr(0, colon));
  endpoint.model = name.substr(colon + 1);
  if (endpoint.model.empty()) return fail("'{}' does not say which model", name);
  return completed(std::move(endpoint));
}

}  // namespace kw::llm
