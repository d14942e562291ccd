// The tools that a client may call. Each file tools/NAME.cpp defines `Tool NAME();` in this namespace's `tools`; the
// build writes the table from the folder. A tool is data: the protocol lists it and checks arguments against its
// schema, so that its function begins with arguments that are what it asked for.
#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace kw::mcp {

class Desk;

struct ToolCall {
  const Json& arguments;
  Desk& desk;
  std::string client;    // who calls
  std::stop_token stop;  // when the answer is not waited for any more
  // Tells how far it is, where the client asked for that; else it does nothing.
  std::function<void(const std::string& message)> progress;
};

struct Tool {
  std::string name;
  std::string title;
  std::string description;
  std::string input;   // JSON Schema of the arguments, an object
  std::string output;  // and of what `run` fills in
  bool only_reads = true;
  // The answer as text for a reader, and as data in `answer`. An Error is for the client to read and to do better.
  Result<std::string> (*run)(const ToolCall& call, Json& answer) = nullptr;
};

namespace tools {
using Maker = Tool (*)();
extern const std::span<const Maker> table;
}  // namespace tools

}  // namespace kw::mcp
