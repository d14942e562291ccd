#include "llm/cassette.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"

namespace kw::llm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "kw exchange 1";
constexpr std::uint64_t kMostBytes = 64 << 20;  // of an exchange
constexpr std::uint64_t kMostTapeBytes = 256 << 20;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  lines.push_back(text.substr(begin));
  return lines;
}

std::string text_of(const Json& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) text += (i > 0 ? "\n" : "") + lines[i].get<std::string>();
  return text;
}

// Removes the marks of measured facts, with the facts (for comparing) or without them (for sending).
std::string unmarked(const std::string& text, bool with_facts) {
  std::string plain;
  bool inside = false;
  for (const char c : text) {
    if (c == '\x02' || c == '\x03') {
      if (c == '\x02' && !with_facts) plain += "(measured)";
      inside = c == '\x02';
    } else if (with_facts || !inside) {
      plain += c;
    }
  }
  return plain;
}

std::string joined(const std::vector<std::string>& lines) { return fmt::format("{}", fmt::join(lines, "\n")); }

// The request's lines, each message under a line with its role.
std::vector<std::string> lines_of(const Request& request) {
  std::vector<std::string> lines;
  for (const Message& message : request.messages) {
    lines.push_back(fmt::format("[{}]", name_of(message.role)));
    for (std::string& line : lines_of(message.text)) lines.push_back(std::move(line));
    for (const ToolCall& call : message.calls) lines.push_back(call.name + " " + call.arguments);
  }
  return lines;
}

Json as_json(const Trouble& trouble) { return {{"kind", name_of(trouble.kind)}, {"message", trouble.message}}; }

Trouble trouble_from(const Json& json) {
  Trouble trouble{.message = json.at("message").get<std::string>()};
  for (int kind = 0; kind <= static_cast<int>(Trouble::Kind::program); ++kind) {
    if (name_of(static_cast<Trouble::Kind>(kind)) == json.at("kind").get<std::string>()) {
      trouble.kind = static_cast<Trouble::Kind>(kind);
    }
  }
  return trouble;
}

Answer answer_from(const Json& json) {
  Answer answer;
  answer.text = text_of(json.at("text"));
  if (json.contains("calls")) answer.calls = calls_from(json["calls"]);
  answer.served_by = json.value("served_by", "");
  answer.whole = json.at("whole").get<bool>();
  const Json& usage = json.at("usage");
  answer.usage = {.input_tokens = usage.at("input_tokens").get<std::int64_t>(),
                  .cached_tokens = usage.at("cached_tokens").get<std::int64_t>(),
                  .output_tokens = usage.at("output_tokens").get<std::int64_t>(),
                  .guessed = usage.at("guessed").get<bool>()};
  if (!json.at("trouble").is_null()) answer.trouble = trouble_from(json.at("trouble"));
  return answer;
}

// The files of a folder's exchanges, in their order.
Result<std::vector<fs::path>> exchanges_in(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  if (error) return fail("{}: {}; a folder that --record has filled is needed", folder.string(), error.message());
  if (files.empty()) return fail("{}: holds no exchanges; --record fills such a folder", folder.string());
  std::uint64_t bytes = 0;
  for (const fs::path& file : files) {
    const auto size = fs::file_size(file, error);
    bytes += error ? 0 : size;
  }
  if (bytes > kMostTapeBytes) {
    return fail("{}: holds more than {} MB of exchanges, the most that is read", folder.string(), kMostTapeBytes >> 20);
  }
  std::ranges::sort(files);
  return files;
}

std::string shown(const std::string& line) { return line.size() > 100 ? line.substr(0, 100) + "..." : line; }

}  // namespace

Json json_of(const std::vector<ToolCall>& calls) {
  Json list = Json::array();
  for (const ToolCall& call : calls)
    list.push_back({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
  return list;
}

std::vector<ToolCall> calls_from(const Json& json) {
  std::vector<ToolCall> calls;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const Json& call = json.at(i);
    calls.push_back({call.at("id").text(), call.at("name").text(), call.at("arguments").text()});
  }
  return calls;
}

std::string identity_of(const std::string& model, const Request& request) {
  Json identity = {model, request.most_tokens, request.temperature ? Json(*request.temperature) : Json()};
  for (const Message& message : request.messages) {
    identity.push_back(std::string(name_of(message.role)));
    identity.push_back(unmarked(message.text, false));
    if (!message.calls.empty()) identity.push_back(json_of(message.calls));
    if (!message.call.empty()) identity.push_back(message.call);
  }
  return fmt::format("{:016x}", hash_of(identity.dump()));
}

Request as_sent(Request request) {
  for (Message& message : request.messages) message.text = unmarked(message.text, true);
  return request;
}

Result<std::unique_ptr<Recorder>> Recorder::open(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail("{}: {}", folder.string(), error.message());
  auto recorder = std::make_unique<Recorder>();
  recorder->folder_ = folder;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    recorder->next_ = std::max(recorder->next_, std::atoi(entry.path().filename().c_str()) + 1);
  }
  return recorder;
}

Status Recorder::keep(const std::string& model, const Request& request, const Answer& answer) {
  const std::string key = identity_of(model, request);
  const Request sent = as_sent(request);
  Json messages = Json::array();
  for (const Message& message : sent.messages) {
    Json one = {{"role", name_of(message.role)}, {"text", lines_of(message.text)}};
    if (!message.calls.empty()) one["calls"] = json_of(message.calls);
    if (!message.call.empty()) one["call"] = message.call;
    messages.push_back(std::move(one));
  }
  Json exchange = {{"format", kFormat},
                   {"key", key},
                   {"name", request.name},
                   {"model", model},
                   {"request",
                    {{"most_tokens", request.most_tokens},
                     {"temperature", request.temperature ? Json(*request.temperature) : Json()},
                     {"seed", request.seed ? Json(*request.seed) : Json()},
                     {"messages", std::move(messages)}}},
                   {"answer",
                    {{"text", lines_of(answer.text)},
                     {"served_by", answer.served_by},
                     {"whole", answer.whole},
                     {"usage",
                      {{"input_tokens", answer.usage.input_tokens},
                       {"cached_tokens", answer.usage.cached_tokens},
                       {"output_tokens", answer.usage.output_tokens},
                       {"guessed", answer.usage.guessed}}},
                     {"spent_s", answer.spent_s},
                     {"trouble", answer.trouble ? as_json(*answer.trouble) : Json()}}}};
  // Only where there are any, so that exchanges without tools stay as they were.
  if (!answer.calls.empty()) exchange["answer"]["calls"] = json_of(answer.calls);
  for (const Tool& tool : request.tools) {
    if (!exchange["request"].contains("tools")) exchange["request"]["tools"] = Json::array();
    exchange["request"]["tools"].push_back(tool.name);
  }
  const std::lock_guard guard(lock_);
  const fs::path file = folder_ / fmt::format("{:05}-{}.json", next_++, key.substr(0, 8));
  return write_file(file, exchange.dump(1) + "\n");
}

Result<std::string> recorded_model(const fs::path& folder) {
  KW_TRY(const std::vector<fs::path> files, exchanges_in(folder));
  KW_TRY(const std::string text, read_file(files.front(), kMostBytes));
  const Json json = Json::parse_quietly(text);
  if (!json.is_object() || !json.contains("model") || !json["model"].is_string()) {
    return fail("{}: is no exchange that --record has written", files.front().string());
  }
  return json["model"].text();
}

Result<std::unique_ptr<Player>> Player::open(const fs::path& folder) {
  KW_TRY(const std::vector<fs::path> files, exchanges_in(folder));
  auto player = std::make_unique<Player>();
  player->folder_ = folder;
  for (const fs::path& file : files) {
    KW_TRY(const std::string text, read_file(file, kMostBytes));
    try {
      const Json json = Json::parse(text);
      if (json.at("format") != kFormat) return fail("{}: is no '{}'", file.string(), kFormat);
      Request request;
      for (const Json& message : json.at("request").at("messages")) {
        const std::string role = message.at("role").get<std::string>();
        Message one{role == "system"      ? Role::system
                    : role == "assistant" ? Role::assistant
                    : role == "tool"      ? Role::tool
                                          : Role::user,
                    text_of(message.at("text"))};
        if (message.contains("calls")) one.calls = calls_from(message["calls"]);
        request.messages.push_back(std::move(one));
      }
      player->exchanges_.push_back({.file = file.filename().string(),
                                    .key = json.at("key").get<std::string>(),
                                    .name = json.value("name", ""),
                                    .model = json.at("model").get<std::string>(),
                                    .request = joined(lines_of(request)),
                                    .answer = answer_from(json.at("answer"))});
    } catch (const JsonError& problem) {
      return fail("{}: is no exchange that --record has written: {}", file.string(), problem.what());
    }
  }
  return player;
}

Answer Player::play(const std::string& model, const Request& request) {
  const std::string key = identity_of(model, request);
  const std::lock_guard guard(lock_);
  int played = 0;
  for (Exchange& exchange : exchanges_) {
    if (exchange.key != key) continue;
    if (!exchange.played) {
      exchange.played = true;
      return exchange.answer;
    }
    ++played;
  }
  // The same question in other words.
  for (Exchange& exchange : exchanges_) {
    if (request.name.empty() || exchange.name != request.name || exchange.model != model || exchange.played) continue;
    exchange.played = true;
    return exchange.answer;
  }
  if (played > 0) {
    return troubled(Trouble::Kind::unknown,
                    fmt::format("{}: this request was recorded {} time{} and is now asked once more", folder_.string(),
                                played, played == 1 ? "" : "s"));
  }
  return troubled(Trouble::Kind::unknown, fmt::format("{}: this request was never recorded; {}", folder_.string(),
                                                      difference_to_nearest(model, request)));
}

// The nearest is the one with the most lines in common; it is shown with the first line that differs.
std::string Player::difference_to_nearest(const std::string& model, const Request& request) const {
  const std::vector<std::string> wanted = lines_of(as_sent(request));
  const std::multiset<std::string> wanted_set(wanted.begin(), wanted.end());
  const Exchange* nearest = nullptr;
  double best = -1;
  for (const Exchange& exchange : exchanges_) {
    const std::vector<std::string> recorded = lines_of(exchange.request);
    const std::multiset<std::string> lines(recorded.begin(), recorded.end());
    std::vector<std::string> common;
    std::ranges::set_intersection(lines, wanted_set, std::back_inserter(common));
    const double likeness =
        2.0 * static_cast<double>(common.size()) / static_cast<double>(lines.size() + wanted.size());
    if (likeness > best) best = likeness, nearest = &exchange;
  }
  std::string text = fmt::format("the nearest is {} ({:.0f} % of the lines)", nearest->file, 100 * best);
  if (nearest->model != model) return text + fmt::format(", asked of {} and not of {}", nearest->model, model);
  const std::vector<std::string> recorded = lines_of(nearest->request);
  const auto [ours, theirs] = std::ranges::mismatch(wanted, recorded);
  const bool same = ours == wanted.end() && theirs == recorded.end();
  if (same) return text + ": the same text with another temperature or limit of tokens";
  return text + fmt::format("; first difference in line {}:\n  recorded: {}\n  now:      {}", ours - wanted.begin() + 1,
                            theirs == recorded.end() ? "(ends)" : shown(*theirs),
                            ours == wanted.end() ? "(ends)" : shown(*ours));
}

}  // namespace kw::llm
