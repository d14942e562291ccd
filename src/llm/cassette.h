// Exchanges with a model, kept as files that a person can read, and answered from again without any model.
//
// One JSON file an exchange, texts as lists of lines. A request is known again by the model's name, its messages, its
// temperature and its limit of tokens; what a clock said (`measured`) does not count. A request that was recorded
// several times has its answers given back in the order of the files, each once. Where no text is the same, the name of
// a request finds its answer: compilers and machines word the same question differently.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "llm/model.h"

namespace kw::llm {

// Calls of tools, for code that keeps answers as JSON.
Json json_of(const std::vector<ToolCall>& calls);
// May throw a JsonError.
std::vector<ToolCall> calls_from(const Json& json);

// The request as it is sent: without the marks of measured facts.
Request as_sent(Request request);
// Equal for requests that a cassette does not tell apart.
std::string identity_of(const std::string& model, const Request& request);
// The model that a folder of exchanges was recorded with.
Result<std::string> recorded_model(const std::filesystem::path& folder);

class Recorder {
 public:
  static Result<std::unique_ptr<Recorder>> open(const std::filesystem::path& folder);

  // `answer` and `request` hold no secrets any more.
  Status keep(const std::string& model, const Request& request, const Answer& answer);

 private:
  std::filesystem::path folder_;
  std::mutex lock_;
  int next_ = 1;
};

class Player {
 public:
  static Result<std::unique_ptr<Player>> open(const std::filesystem::path& folder);

  // The recorded answer, or the Trouble `unknown`, which shows the nearest recorded request and where it differs.
  Answer play(const std::string& model, const Request& request);

 private:
  struct Exchange {
    std::string file;
    std::string key;
    std::string name;
    std::string model;
    std::string request;  // its lines
    Answer answer;
    bool played = false;
  };
  std::string difference_to_nearest(const std::string& model, const Request& request) const;

  std::filesystem::path folder_;
  std::mutex lock_;
  std::vector<Exchange> exchanges_;
};

}  // namespace kw::llm
