// The program kw-lm, which runs models of our own (src/lm_torch/requests.h): started, asked, and read line by line.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/descriptor.h"
#include "base/json.h"
#include "base/result.h"

namespace kw::llm {

// kw-lm beside this program; an Error says how it comes to be built.
Result<std::filesystem::path> find_engine();

// kw-lm runs in another folder: what the user calls a path, from the root.
std::string path_for_engine(const std::string& path);

// One process that answers one request after the other and keeps the model of the last one loaded. It is killed with
// this object, and ends by itself when this program does.
class Engine {
 public:
  // 0 threads: as many as there are cores.
  static Result<std::unique_ptr<Engine>> start(const std::filesystem::path& program, int threads);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  struct Answer {
    Result<Json> done;   // what `done` of the last line holds, or the Error that kw-lm or this side gives
    bool usable = true;  // false: it was stopped, late, or died, and nothing more can be asked
  };
  // `tell` is given the lines that come before the last. Given up after `most_s` seconds.
  Answer ask(const Json& request, const std::function<void(const Json& line)>& tell = {},
             const std::stop_token& stop = {}, double most_s = 1e9);
  bool has_ended() const { return id_ <= 0; }  // by itself

 private:
  Engine(pid_t id, Descriptor socket) : id_(id), socket_(std::move(socket)) {}
  int wait();

  pid_t id_;
  Descriptor socket_;
  std::string pending_;
};

// An engine for one request.
Result<Json> ask_engine(const Json& request, int threads, const std::function<void(const Json& line)>& tell = {},
                        const std::stop_token& stop = {}, double most_s = 1e9);

// Engines that are kept from question to question, one for each model: many questions load a model once.
// Questions to one model wait for each other, within their time.
class KeptEngines {
 public:
  explicit KeptEngines(std::function<Result<std::filesystem::path>()> find = find_engine);
  ~KeptEngines();
  Result<Json> ask(const std::string& model, const Json& request, const std::stop_token& stop, double most_s);

 private:
  struct Kept;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw::llm
