#include "mcp/protocol.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <stop_token>
#include <vector>

#include "base/json.h"
#include "base/nearest.h"
#include "mcp/resources.h"
#include "mcp/schema.h"
#include "mcp/tool.h"

namespace kw::mcp {
namespace {

constexpr const char* kHandshakeVersions[] = {"2025-06-18", "2025-11-25"};
constexpr const char* kOlderVersions[] = {"2024-11-05", "2025-03-26"};
constexpr char kNewestHandshake[] = "2025-11-25";
constexpr char kStateless[] = "2026-07-28";

constexpr char kVersionKey[] = "io.modelcontextprotocol/protocolVersion";
constexpr char kClientKey[] = "io.modelcontextprotocol/clientInfo";
constexpr char kCapabilitiesKey[] = "io.modelcontextprotocol/clientCapabilities";
constexpr char kServerKey[] = "io.modelcontextprotocol/serverInfo";

constexpr int kMostDepth = 64;
constexpr std::size_t kMostValues = 100'000;
// Nothing that we list changes while the program runs; what is read does.
constexpr int kListsStayMs = 3'600'000;

constexpr char kInstructions[] =
    "Kernelwright judges compute kernels. list_tasks and read_task tell what is to be computed; start_kernel gives a "
    "right, plain kernel to begin with; the resource kw://contract is the header that every kernel includes. "
    "submit_kernel returns an id at once; wait_for_verdict returns what the judge found; read_notes explains it. A "
    "kernel "
    "must be right on shapes and values that you never see. take_best and compare_kernels tell who is ahead.";

// Why a request breaks a rule.
struct RpcError {
  int code;
  std::string message;
  Json data = nullptr;
};

Json server_info() { return {{"name", "kernelwright"}, {"title", "Kernelwright"}, {"version", KW_VERSION}}; }

Json capabilities() {
  return {{"tools", {{"listChanged", false}}}, {"resources", {{"subscribe", false}, {"listChanged", false}}}};
}

Reply error_reply(const Json& id, const RpcError& refusal) {
  Json error = {{"code", refusal.code}, {"message", refusal.message}};
  if (!refusal.data.is_null()) error["data"] = refusal.data;
  return {Json({{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(error)}}).dump(), refusal.code};
}

Taken refused(const Json& id, int code, std::string why, Json data = nullptr) {
  return {.reply = error_reply(id, {code, std::move(why), std::move(data)})};
}

Reply result_reply(const Json& id, Json result) {
  return {Json({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}).dump(), 0};
}

enum class Form { fine, too_deep, too_many };

// Brackets within brackets would be walked by recursion later, and each value takes some twenty times its text's
// memory.
Form form_of(std::string_view text) {
  int depth = 0;
  std::size_t values = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMostDepth) return Form::too_deep;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',') {
      if (++values > kMostValues) return Form::too_many;
    }
  }
  return Form::fine;
}

bool is_id(const Json& json) { return json.is_string() || json.is_number_integer(); }

// Who calls, as the record may know it.
std::string client_name(const Json* info) {
  const Json* name = info ? info->find("name") : nullptr;
  if (!name || !name->is_string()) return "mcp";
  std::string text = name->get<std::string>().substr(0, 48);
  for (char& c : text) {
    if (c < 33 || c > 126) c = '_';
  }
  return text.empty() ? "mcp" : "mcp:" + text;
}

std::vector<Tool> make_tools() {
  std::vector<Tool> all;
  for (const tools::Maker make : tools::table) all.push_back(make());
  std::ranges::sort(all, {}, &Tool::name);
  return all;
}

struct KnownTool {
  Tool tool;
  Json input;
};

const std::vector<KnownTool>& known_tools() {
  static const std::vector<KnownTool> known = [] {
    std::vector<KnownTool> all;
    for (Tool& tool : make_tools()) {
      Json input = Json::parse(tool.input);
      all.push_back({std::move(tool), std::move(input)});
    }
    return all;
  }();
  return known;
}

Json listed_tools() {
  Json list = Json::array();
  for (const KnownTool& known : known_tools()) {
    list.push_back({{"name", known.tool.name},
                    {"title", known.tool.title},
                    {"description", known.tool.description},
                    {"inputSchema", known.input},
                    {"outputSchema", Json::parse(known.tool.output)},
                    {"annotations",
                     {{"readOnlyHint", known.tool.only_reads},
                      {"destructiveHint", false},
                      {"idempotentHint", known.tool.only_reads},
                      {"openWorldHint", false}}}});
  }
  return list;
}

Json tool_error(const std::string& message) {
  return {{"content", {{{"type", "text"}, {"text", message}}}}, {"isError", true}};
}

}  // namespace

bool is_spoken(const std::string& version) {
  return version == kStateless || std::ranges::find(kHandshakeVersions, version) != std::end(kHandshakeVersions);
}

bool begins_with_initialize(const std::string& version) {
  return std::ranges::find(kHandshakeVersions, version) != std::end(kHandshakeVersions) ||
         std::ranges::find(kOlderVersions, version) != std::end(kOlderVersions);
}

// What a conversation's requests share; they may outlive it.
struct Conversation::Inside : std::enable_shared_from_this<Inside> {
  explicit Inside(Desk& its_desk) : desk(its_desk) {}

  Desk& desk;
  std::mutex lock;  // of what follows
  bool opened = false;
  std::string client = "mcp";
  std::map<std::string, std::stop_source> at_work;  // by the id as JSON

  // A request, from any client.
  struct Request {
    Json id;
    std::string method;
    Json params;
    bool stateless = false;
    std::string client;
  };

  class RequestWork;

  Taken take(Json message, const MessageHeaders* headers);
  Taken take_request(Request request, const MessageHeaders* headers);
  std::optional<RpcError> read_envelope(Request& request, const MessageHeaders* headers) const;
  Taken begin(const Request& request);
  Taken serve(Request request);
  Taken begin_work(Request request);
  void notice(const std::string& method, const Json& params);
  static Json finished(Json result, const Request& request);
};

// The result with what its version asks for besides.
Json Conversation::Inside::finished(Json result, const Request& request) {
  if (!request.stateless) return result;
  result["resultType"] = "complete";
  if (request.method != "tools/call") {
    result["ttlMs"] = request.method == "resources/read" ? 0 : kListsStayMs;
    result["cacheScope"] = request.method == "resources/read" ? "private" : "public";
  }
  result["_meta"] = {{kServerKey, server_info()}};
  return result;
}

class Conversation::Inside::RequestWork : public Work {
 public:
  RequestWork(std::shared_ptr<Inside> inside, Request request, std::stop_source stop)
      : inside_(std::move(inside)), request_(std::move(request)), stop_(std::move(stop)) {}
  // A request that was never run leaves no trace either.
  ~RequestWork() override { forget(); }

  std::optional<Reply> run(const Tell& tell) override {
    std::optional<Reply> reply;
    if (!stop_.stop_requested()) {
      try {
        reply = request_.method == "tools/call" ? call_tool(tell) : read_resource();
      } catch (const std::exception& error) {
        // A library's exception that was not caught where it came from: our own fault, and no reason to end.
        reply = error_reply(request_.id, {kInternalError, fmt::format("internal error: {}", error.what())});
      }
    }
    forget();
    return stop_.stop_requested() ? std::nullopt : std::move(reply);
  }

  void cancel() override { stop_.request_stop(); }

 private:
  void forget() {
    if (std::exchange(forgotten_, true)) return;
    const std::lock_guard guard(inside_->lock);
    inside_->at_work.erase(request_.id.dump());
  }

  Tell progress_to(const Tell& tell) const {
    const Json* meta = request_.params.find("_meta");
    const Json* token = meta ? meta->find("progressToken") : nullptr;
    if (!token || !is_id(*token) || !tell) return [](const std::string&) {};
    return [tell, token = *token, count = 0](const std::string& message) mutable {
      tell(Json({{"jsonrpc", "2.0"},
                 {"method", "notifications/progress"},
                 {"params", {{"progressToken", token}, {"progress", ++count}, {"message", message}}}})
               .dump());
    };
  }

  Reply call_tool(const Tell& tell) {
    const std::string name = request_.params["name"];
    const auto found = std::ranges::find(known_tools(), name, [](const KnownTool& one) { return one.tool.name; });
    static const Json none = Json::object();
    const Json* given = request_.params.find("arguments");
    const Json& arguments = given && !given->is_null() ? *given : none;
    if (const std::string problem = problem_with(arguments, found->input); !problem.empty()) {
      return result_reply(request_.id, finished(tool_error(problem), request_));
    }
    Json answer = Json::object();
    const ToolCall call{arguments, inside_->desk, request_.client, stop_.get_token(), progress_to(tell)};
    const Result<std::string> text = found->tool.run(call, answer);
    if (!text.ok()) return result_reply(request_.id, finished(tool_error(text.error().message), request_));
    return result_reply(request_.id, finished({{"content", {{{"type", "text"}, {"text", *text}}}},
                                               {"structuredContent", std::move(answer)},
                                               {"isError", false}},
                                              request_));
  }

  Reply read_resource() {
    const std::string uri = request_.params["uri"];
    const Result<Resource> resource = mcp::read_resource(inside_->desk, uri);
    if (!resource.ok()) {
      const int code = request_.stateless ? kInvalidParams : kResourceNotFound;
      return error_reply(request_.id, {code, resource.error().message, {{"uri", uri}}});
    }
    return result_reply(
        request_.id,
        finished({{"contents", {{{"uri", uri}, {"mimeType", resource->mime_type}, {"text", resource->text}}}}},
                 request_));
  }

  const std::shared_ptr<Inside> inside_;
  Request request_;
  std::stop_source stop_;
  bool forgotten_ = false;
};

Taken Conversation::Inside::take(Json message, const MessageHeaders* headers) {
  if (!message.is_object()) {
    return refused(nullptr, kInvalidRequest, "a message is one JSON object; batches are not part of the protocol");
  }
  const Json* id = message.find("id");
  const Json usable_id = id && is_id(*id) ? *id : Json(nullptr);
  const Json* method = message.find("method");
  // An answer: the server asks clients nothing, so it is ignored.
  if (!method && id && (message.contains("result") || message.contains("error"))) return {};
  const Json* version = message.find("jsonrpc");
  if (!version || *version != "2.0") return refused(usable_id, kInvalidRequest, "\"jsonrpc\" must be \"2.0\"");
  if (!method || !method->is_string()) return refused(usable_id, kInvalidRequest, "\"method\" must be a string");
  if (id && usable_id.is_null()) {
    return refused(nullptr, kInvalidRequest, "\"id\" must be a string or an integer");
  }
  Request request{.id = usable_id, .method = *method, .params = Json::object()};
  if (message.contains("params")) request.params = std::move(message["params"]);
  if (!id) {
    if (request.params.is_object()) notice(request.method, request.params);
    return {};
  }
  if (!request.params.is_object()) return refused(usable_id, kInvalidParams, "\"params\" must be an object");
  return take_request(std::move(request), headers);
}

Taken Conversation::Inside::take_request(Request request, const MessageHeaders* headers) {
  const Json* meta = request.params.find("_meta");
  const bool enveloped = meta && (meta->find(kVersionKey) || meta->find(kCapabilitiesKey));
  const bool by_header = headers && headers->version && !begins_with_initialize(*headers->version);
  if (request.method == "initialize") {
    if (!by_header) return begin(request);
    return refused(request.id, kUnsupportedVersion, "initialize is no part of this version",
                   {{"supported", {kStateless}}, {"requested", *headers->version}});
  }
  if (enveloped || by_header || request.method == "server/discover") {
    if (const auto refusal = read_envelope(request, headers)) return {.reply = error_reply(request.id, *refusal)};
  } else if (request.method == "ping") {
    return {.reply = result_reply(request.id, Json::object())};
  }
  return serve(std::move(request));
}

// What a stateless request says of itself; refused where that is not all it must say, or its headers say otherwise.
std::optional<RpcError> Conversation::Inside::read_envelope(Request& request, const MessageHeaders* headers) const {
  const Json* meta = request.params.find("_meta");
  const Json* version = meta ? meta->find(kVersionKey) : nullptr;
  const Json* offered = meta ? meta->find(kCapabilitiesKey) : nullptr;
  if (!version || !offered) {
    return RpcError{kInvalidParams, fmt::format("params._meta must have {} and {}", kVersionKey, kCapabilitiesKey)};
  }
  if (headers) {
    const auto differs = [](const std::optional<std::string>& header, const Json* said) {
      return !header || !said->is_string() || *header != said->text();
    };
    if (differs(headers->version, version)) {
      return RpcError{kHeaderMismatch, "the header MCP-Protocol-Version is not what _meta says"};
    }
    if (headers->method != request.method) return RpcError{kHeaderMismatch, "the header Mcp-Method is not the method"};
    const char* key = request.method == "tools/call" ? "name" : request.method == "resources/read" ? "uri" : nullptr;
    const Json* named = key ? request.params.find(key) : nullptr;
    if (named && differs(headers->name, named)) {
      return RpcError{kHeaderMismatch, fmt::format("the header Mcp-Name is not the request's {}", key)};
    }
  }
  if (!version->is_string()) return RpcError{kInvalidParams, fmt::format("{} must be a string", kVersionKey)};
  if (*version != kStateless) {
    return RpcError{kUnsupportedVersion,
                    "this version of the protocol is not spoken here without initialize",
                    {{"supported", {kStateless}}, {"requested", *version}}};
  }
  if (!offered->is_object()) return RpcError{kInvalidParams, fmt::format("{} must be an object", kCapabilitiesKey)};
  request.stateless = true;
  request.client = client_name(meta->find(kClientKey));
  return std::nullopt;
}

Taken Conversation::Inside::begin(const Request& request) {
  const Json* version = request.params.find("protocolVersion");
  const Json* info = request.params.find("clientInfo");
  const Json* offered = request.params.find("capabilities");
  if (!version || !version->is_string())
    return refused(request.id, kInvalidParams, "protocolVersion: must be a string");
  if (!offered || !offered->is_object()) return refused(request.id, kInvalidParams, "capabilities: must be an object");
  if (!info || !info->is_object()) return refused(request.id, kInvalidParams, "clientInfo: must be an object");
  const std::lock_guard guard(lock);
  if (opened) return refused(request.id, kInvalidRequest, "this conversation was begun already");
  opened = true;
  client = client_name(info);
  const bool known = std::ranges::find(kHandshakeVersions, *version) != std::end(kHandshakeVersions);
  return {.reply = result_reply(request.id, {{"protocolVersion", known ? *version : Json(kNewestHandshake)},
                                             {"capabilities", capabilities()},
                                             {"serverInfo", server_info()},
                                             {"instructions", kInstructions}}),
          .opened = true};
}

Taken Conversation::Inside::serve(Request request) {
  static constexpr const char* kMethods[] = {"tools/list", "tools/call", "resources/list", "resources/templates/list",
                                             "resources/read"};
  const std::string& method = request.method;
  const bool is_discover = method == "server/discover";
  if (!is_discover && std::ranges::find(kMethods, method) == std::end(kMethods)) {
    return refused(request.id, kMethodNotFound, "Method not found", method.substr(0, 200));
  }
  if (!request.stateless) {
    const std::lock_guard guard(lock);
    if (!opened) {
      return refused(
          request.id, kInvalidRequest,
          fmt::format("a conversation begins with initialize, or each request has {} in _meta", kVersionKey));
    }
    request.client = client;
  }
  const auto answered = [&](Json result) {
    return Taken{.reply = result_reply(request.id, finished(std::move(result), request))};
  };
  if (is_discover) {
    return answered(
        {{"supportedVersions", {kStateless}}, {"capabilities", capabilities()}, {"instructions", kInstructions}});
  }
  const char* key = method == "tools/call" ? "name" : method == "resources/read" ? "uri" : "cursor";
  const Json* said = request.params.find(key);
  if (said && said->is_null()) said = nullptr;
  const bool may_be_missing = key == std::string_view("cursor");
  if (said ? !said->is_string() : !may_be_missing) {
    return refused(request.id, kInvalidParams, fmt::format("{}: must be a string", key));
  }
  if (method == "resources/list") {
    auto page = list_resources(desk, said ? said->get<std::string>() : "");
    if (!page.ok()) return refused(request.id, kInvalidParams, page.error().message);
    return answered(*std::move(page));
  }
  if (may_be_missing) {
    if (said) return refused(request.id, kInvalidParams, "cursor: all is on one page");
    return method == "tools/list" ? answered({{"tools", listed_tools()}})
                                  : answered({{"resourceTemplates", resource_templates()}});
  }
  if (method == "tools/call") {
    const std::string name = *said;
    std::vector<std::string> names;
    for (const KnownTool& known : known_tools()) names.push_back(known.tool.name);
    if (std::ranges::find(names, name) == names.end()) {
      const std::string shown = name.substr(0, 80);
      return refused(request.id, kInvalidParams, fmt::format("Unknown tool: {}{}", shown, nearest_hint(shown, names)));
    }
    const Json* arguments = request.params.find("arguments");
    if (arguments && !arguments->is_object() && !arguments->is_null()) {
      return refused(request.id, kInvalidParams, "arguments: must be an object");
    }
  }
  return begin_work(std::move(request));
}

Taken Conversation::Inside::begin_work(Request request) {
  std::stop_source stop;
  {
    const std::lock_guard guard(lock);
    if (at_work.size() >= kMostAtOnce) {
      return refused(request.id, kTooBusy,
                     fmt::format("{} requests are worked on already: wait for an answer", at_work.size()));
    }
    if (!at_work.emplace(request.id.dump(), stop).second) {
      return refused(request.id, kInvalidRequest, "a request with this id is worked on already");
    }
  }
  return {.work = std::make_shared<RequestWork>(shared_from_this(), std::move(request), std::move(stop))};
}

void Conversation::Inside::notice(const std::string& method, const Json& params) {
  if (method != "notifications/cancelled") return;  // nothing else concerns us
  const Json* id = params.find("requestId");
  if (!id || !is_id(*id)) return;
  const std::lock_guard guard(lock);
  if (const auto found = at_work.find(id->dump()); found != at_work.end()) found->second.request_stop();
}

Conversation::Conversation(Desk& desk) : inside_(std::make_shared<Inside>(desk)) {}

Conversation::~Conversation() {
  const std::lock_guard guard(inside_->lock);
  for (auto& [id, stop] : inside_->at_work) stop.request_stop();
}

Reply Conversation::refusal(int code, const std::string& why) { return error_reply(nullptr, {code, why}); }

Taken Conversation::take(std::string_view message, const MessageHeaders* headers) {
  if (message.size() > kMostMessageBytes) {
    return {.reply = refusal(kInvalidRequest, fmt::format("a message has at most {} bytes", kMostMessageBytes))};
  }
  switch (form_of(message)) {
    case Form::too_deep:
      return {.reply = refusal(kInvalidRequest, fmt::format("a message is at most {} brackets deep", kMostDepth))};
    case Form::too_many:
      return {.reply = refusal(kInvalidRequest, fmt::format("a message has at most {} values", kMostValues))};
    case Form::fine:
      break;
  }
  Json json = Json::parse_quietly(message);
  if (json.is_discarded()) return {.reply = refusal(kParseError, "this is no JSON")};
  return inside_->take(std::move(json), headers);
}

}  // namespace kw::mcp
