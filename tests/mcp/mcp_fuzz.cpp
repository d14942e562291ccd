// Messages that no client would send: kw_mcp_fuzz KW [COUNT [SEED]] starts `kw mcp`, sends it that many, made by
// damaging good ones, and holds every answer against the rules of JSON-RPC and the protocol:
//
//   a request gets exactly one answer, with its id; only where its client cancelled it may there be none;
//   what is no request and no notification gets one error without an id; a notification gets nothing;
//   every line that comes out is one message; the server ends by itself when its input does.
//
// What a message is, it finds out by itself. Prints what it saw; ends with 1 where a rule was broken.
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"

namespace {
using kw::Json;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// So many answers may be due at a time: a client that never waits would only learn that the server is busy.
constexpr long kMostDue = 16;
constexpr auto kLongestSilence = 60s;

// --- making messages
// ---------------------------------------------------------------------------------------------------

const std::vector<std::string>& good_messages() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> made = {
        R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}})",
        R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"no"}})",
        R"({"jsonrpc":"2.0","id":3,"method":"ping"})",
        R"({"jsonrpc":"2.0","id":4,"result":{}})",
        R"({"jsonrpc":"2.0","id":"five","method":"tools/list"})",
        R"({"jsonrpc":"2.0","id":6,"method":"resources/list","params":{"cursor":"100"}})",
        R"({"jsonrpc":"2.0","id":7,"method":"resources/templates/list","params":{}})",
        R"({"jsonrpc":"2.0","id":8,"method":"completion/complete","params":{}})",
        R"([{"jsonrpc":"2.0","id":9,"method":"ping"},{"jsonrpc":"2.0","id":10,"method":"ping"}])"};
    const std::vector<std::pair<std::string, std::string>> calls = {
        {"list_tasks", R"({"category":"Matrix","limit":3})"},
        {"read_task", R"({"task":"Relu"})"},
        {"start_kernel", R"({"task":"Softmax","from":"plain"})"},
        {"submit_kernel", R"({"task":"Relu","source":"int x","timed":false,"settings":{"flags":"-O1"},"notes":"n"})"},
        {"wait_for_verdict", R"({"id":"r1.1","seconds":0.01})"},
        {"read_notes", R"({"id":"r1.2"})"},
        {"take_best", R"({"task":"Relu"})"},
        {"compare_kernels", R"({"a":"r1.1","b":"plain","task":"Relu"})"}};
    for (const auto& [name, arguments] : calls) {
      made.push_back(fmt::format(
          R"({{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{{"name":"{}","arguments":{},"_meta":{{"progressToken":1}}}}}})",
          name, arguments));
    }
    for (const char* uri : {"kw://contract", "kw://runs", "kw://run/r1", "kw://verdict/r1.1", "kw://task/Relu"}) {
      made.push_back(
          fmt::format(R"({{"jsonrpc":"2.0","id":12,"method":"resources/read","params":{{"uri":"{}"}}}})", uri));
    }
    // The same without a handshake.
    const Json meta = {{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
                       {"io.modelcontextprotocol/clientInfo", {{"name", "fuzz"}, {"version", "1"}}},
                       {"io.modelcontextprotocol/clientCapabilities", Json::object()}};
    for (std::size_t i = 0, count = made.size(); i < count; ++i) {
      Json json = Json::parse(made[i]);
      if (!json.is_object() || !json.contains("method") || !json.contains("id")) continue;
      json["params"]["_meta"] = meta;
      made.push_back(json.dump());
    }
    made.push_back(
        Json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", "server/discover"}, {"params", {{"_meta", meta}}}}.dump());
    return made;
  }();
  return all;
}

class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}

  // One message a line, whatever it is.
  std::string message(long number) {
    std::string text = good_messages()[below(good_messages().size())];
    if (chance(0.5)) text = changed_in_form(text, number);
    if (chance(0.3)) text = changed_in_bytes(std::move(text));
    for (char& c : text) c = c == '\n' ? ' ' : c;
    return text;
  }

 private:
  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }
  bool chance(double share) { return std::uniform_real_distribution<double>(0, 1)(random_) < share; }

  Json value() {
    switch (below(14)) {
      case 0:
        return nullptr;
      case 1:
        return true;
      case 2:
        return -1;
      case 3:
        return std::uint64_t{18446744073709551615u};
      case 4:
        return 1e308;
      case 5:
        return 0.5;
      case 6:
        return "";
      case 7:
        return std::string(below(20000), 'a');
      case 8:
        return "\u00e4\u4e2d\U0001f600";
      case 9:
        return Json::array();
      case 10:
        return Json::object();
      case 11:
        return Json::array({1, "two", nullptr});
      case 12:
        return std::string("a\0b", 3);
      default:
        return Json{{"a", {{"b", Json::array({Json::object()})}}}};
    }
  }

  // Some place within it gets another value, goes away, or is joined by another.
  void change(Json& json) {
    Json* at = &json;
    while (!at->empty() && (at->is_object() || at->is_array()) && chance(0.75)) {
      auto place = at->begin();
      std::advance(place, static_cast<std::ptrdiff_t>(below(at->size())));
      at = &*place;
    }
    switch (below(4)) {
      case 0:
        if (at->is_object()) {
          (*at)[chance(0.5) ? "more" : "id"] = value();
          return;
        }
        break;
      case 1:
        if (at->is_object() && !at->empty()) {
          auto place = at->begin();
          std::advance(place, static_cast<std::ptrdiff_t>(below(at->size())));
          at->erase(place);
          return;
        }
        break;
      default:
        break;
    }
    *at = value();
  }

  std::string changed_in_form(const std::string& text, long number) {
    Json json = Json::parse(text);
    if (json.is_object() && json.contains("id") && chance(0.9))
      json["id"] = chance(0.5) ? Json(number) : Json(std::to_string(number));
    for (std::size_t i = below(3); i > 0; --i) change(json);
    return json.dump();
  }

  std::string changed_in_bytes(std::string text) {
    for (std::size_t i = 1 + below(4); i > 0 && !text.empty(); --i) {
      const std::size_t at = below(text.size());
      switch (below(6)) {
        case 0:
          text[at] = static_cast<char>(below(256));
          break;
        case 1:
          text.erase(at);
          break;
        case 2:
          text.erase(at, 1 + below(8));
          break;
        case 3:
          text.insert(at, text.substr(at / 2, below(40)));
          break;
        case 4:
          text.insert(at, std::string(1 + below(200), "[{\"\\,:0"[below(7)]));
          break;
        default:
          text.insert(at, "\xff\xfe");
      }
    }
    return text;
  }

  std::mt19937 random_;
};

// --- what is due for them
// ----------------------------------------------------------------------------------------------

struct Due {
  enum class Kind { nothing, answer, error_without_id } kind = Kind::nothing;
  std::string id;         // of an answer, as JSON
  std::string cancelled;  // an id that need not be answered any more
};

bool is_id(const Json& json) { return json.is_string() || json.is_number_integer(); }

int depth_of(const std::string& text) {
  int depth = 0, most = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && quoted) {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && (text[i] == '[' || text[i] == '{')) {
      most = std::max(most, ++depth);
    } else if (!quoted && (text[i] == ']' || text[i] == '}')) {
      --depth;
    }
  }
  return most;
}

Due due_for(const std::string& text) {
  using Kind = Due::Kind;
  if (text.find_first_not_of(" \t\r") == std::string::npos) return {};
  if (depth_of(text) > 64) return {Kind::error_without_id, "null", ""};
  const Json json = Json::parse_quietly(text);
  if (!json.is_object()) return {Kind::error_without_id, "null", ""};
  const bool has_id = json.contains("id");
  const std::string id = has_id && is_id(json["id"]) ? json["id"].dump() : "null";
  const Kind refused = id == "null" ? Kind::error_without_id : Kind::answer;
  if (!json.contains("method") && has_id && (json.contains("result") || json.contains("error"))) return {};
  if (!json.contains("jsonrpc") || json["jsonrpc"] != "2.0") return {refused, id, ""};
  if (!json.contains("method") || !json["method"].is_string()) return {refused, id, ""};
  if (has_id) return {refused, id, ""};
  Due due;
  if (json["method"] == "notifications/cancelled" && json.contains("params") && json["params"].is_object() &&
      json["params"].contains("requestId") && is_id(json["params"]["requestId"])) {
    due.cancelled = json["params"]["requestId"].dump();
  }
  return due;
}

// --- the server
// --------------------------------------------------------------------------------------------------------

struct Server {
  pid_t pid = 0;
  int in = -1;
  int out = -1;
};

Server start(const std::string& kw, const std::string& folder) {
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) std::exit(2);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], 1);
    ::setenv("KW_STORE", (folder + "/.kw").c_str(), 1);
    ::setenv("XDG_CACHE_HOME", (folder + "/cache").c_str(), 1);
    ::setenv("KW_RIVAL", "none", 1);
    ::execl(kw.c_str(), "kw", "mcp", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  return {pid, in[1], out[0]};
}

// What came out, and which rules it broke.
class Answers {
 public:
  void expect(const Due& due) {
    const std::lock_guard guard(lock_);
    if (!due.cancelled.empty()) cancelled_.insert(due.cancelled);
    if (due.kind == Due::Kind::nothing) return;
    ++due_[due.id];
    ++due_count_;
  }

  void read_all(int fd) {
    std::string buffer;
    char chunk[65536];
    for (ssize_t got; (got = ::read(fd, chunk, sizeof chunk)) > 0;) {
      buffer.append(chunk, static_cast<std::size_t>(got));
      std::size_t begin = 0;
      for (std::size_t end; (end = buffer.find('\n', begin)) != std::string::npos; begin = end + 1) {
        take(buffer.substr(begin, end - begin));
      }
      buffer.erase(0, begin);
    }
    if (!buffer.empty()) broken("half a line came out: " + buffer.substr(0, 200));
  }

  // False: nothing came for too long.
  bool wait_for_room() {
    std::unique_lock guard(lock_);
    return changed_.wait_for(guard, kLongestSilence, [&] {
      return due_count_ - came_count_ - static_cast<long>(cancelled_.size()) < kMostDue;
    });
  }

  void settle() {
    for (const auto& [id, count] : due_) {
      const int came = came_[id];
      if (came > count || (came < count && !cancelled_.contains(id))) {
        broken(fmt::format("{} answers to id {} were due and {} came", count, id.substr(0, 80), came));
      }
    }
    for (const auto& [id, count] : came_) {
      if (!due_.contains(id)) broken(fmt::format("{} answers to {} that nobody asked", count, id.substr(0, 80)));
    }
  }

  void broken(const std::string& how) {
    const std::lock_guard guard(report_lock_);
    if (++problems_ <= 20) fmt::print(stderr, "broken: {}\n", how);
  }

  int problems() const { return problems_; }
  std::string counts() const {
    std::string text = fmt::format("{} results", results_);
    for (const auto& [code, count] : errors_) text += fmt::format(", {} of {}", count, code);
    return text;
  }

 private:
  void take(const std::string& line) {
    const Json json = Json::parse_quietly(line);
    if (!json.is_object() || json.value("jsonrpc", "") != "2.0") return broken("no message: " + line.substr(0, 200));
    const std::lock_guard guard(lock_);
    if (json.contains("method")) {
      if (json.contains("id")) broken("the server asks: " + line.substr(0, 200));
      return;
    }
    if (!json.contains("id") || json.contains("result") == json.contains("error")) {
      return broken("no answer: " + line.substr(0, 200));
    }
    if (json["id"].is_null() && json.contains("result")) broken("a result without an id");
    if (json.contains("error")) {
      ++errors_[json["error"]["code"].get<int>()];
      if (!json["error"]["message"].is_string()) broken("an error without a message");
    } else {
      ++results_;
    }
    ++came_[json["id"].dump()];
    ++came_count_;
    changed_.notify_all();
  }

  std::mutex lock_;
  std::mutex report_lock_;
  std::condition_variable changed_;
  std::map<std::string, int> due_, came_;
  long due_count_ = 0, came_count_ = 0;
  std::set<std::string> cancelled_;
  std::map<int, int> errors_;
  int results_ = 0;
  int problems_ = 0;
};

bool send(int fd, const std::string& line) {
  for (std::size_t written = 0; written < line.size();) {
    struct pollfd watch = {fd, POLLOUT, 0};
    if (::poll(&watch, 1, 60000) <= 0) return false;
    const ssize_t got = ::write(fd, line.data() + written, line.size() - written);
    if (got < 0) return false;
    written += static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    fmt::print(stderr, "kw_mcp_fuzz KW [COUNT [SEED]]\n");
    return 2;
  }
  ::signal(SIGPIPE, SIG_IGN);
  const long messages = count > 2 ? std::atol(words[2]) : 10000;
  const auto seed = static_cast<unsigned>(count > 3 ? std::atol(words[3]) : 1);
  std::string folder = std::filesystem::temp_directory_path() / "kw_mcp_fuzz_XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return 2;
  const Server server = start(words[1], folder);
  Answers answers;
  std::thread reader([&] { answers.read_all(server.out); });
  Damage damage(seed);
  const auto begin = Clock::now();
  long sent = 0;
  for (; sent < messages && answers.problems() == 0; ++sent) {
    // The handshake comes first, so that what follows is served.
    const std::string text = sent == 0 ? good_messages().front() : damage.message(sent);
    const Due due = due_for(text);
    answers.expect(due);
    if (!send(server.in, text + "\n")) answers.broken(fmt::format("after {} messages it takes no more", sent));
    if (!answers.wait_for_room()) answers.broken(fmt::format("after {} messages it answers no more", sent));
  }
  ::close(server.in);
  // A server that does not end is killed, and that is a broken rule.
  std::thread guard([pid = server.pid, &answers] {
    for (int i = 0; i < 300; ++i) {
      if (::kill(pid, 0) != 0) return;
      std::this_thread::sleep_for(100ms);
      siginfo_t about = {};
      if (::waitid(P_PID, static_cast<id_t>(pid), &about, WEXITED | WNOHANG | WNOWAIT) == 0 && about.si_pid == pid)
        return;
    }
    answers.broken("it does not end when its input does");
    ::kill(pid, SIGKILL);
  });
  reader.join();
  guard.join();
  int status = 0;
  ::waitpid(server.pid, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    answers.broken(WIFSIGNALED(status) ? fmt::format("it crashed with signal {}", WTERMSIG(status))
                                       : fmt::format("it ended with {}", WEXITSTATUS(status)));
  }
  answers.settle();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  fmt::print("{} messages in {:.1f} s: {}; {} rules broken (seed {})\n", sent, seconds, answers.counts(),
             answers.problems(), seed);
  return answers.problems() == 0 ? 0 : 1;
}
