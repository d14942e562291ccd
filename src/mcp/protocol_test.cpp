#include "mcp/protocol.h"

#include <gtest/gtest.h>

#include <set>

#include "base/json.h"
#include "base/scratch.h"
#include "mcp/desk.h"

namespace kw::mcp {
namespace {

constexpr char kOpening[] =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}})";

class Protocol : public testing::Test {
 protected:
  Protocol() {
    auto opened = Desk::open({.store_folder = folder_.path() / ".kw"});
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    desk_ = *std::move(opened);
    conversation_ = std::make_unique<Conversation>(*desk_);
  }

  // The reply to a message, work included; null where there is none.
  Json reply(const std::string& message, const MessageHeaders* headers = nullptr) {
    const Taken taken = conversation_->take(message, headers);
    EXPECT_FALSE(taken.reply && taken.work);
    if (taken.reply) return Json::parse(taken.reply->text);
    if (!taken.work) return nullptr;
    const auto made = taken.work->run({});
    return made ? Json::parse(made->text) : Json(nullptr);
  }
  int error(const std::string& message) {
    const Json json = reply(message);
    return json.is_object() && json.contains("error") ? json["error"]["code"].get<int>() : 0;
  }
  static std::string request(const std::string& method, const Json& params, const Json& id = 1) {
    return Json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}.dump();
  }
  static Json enveloped(Json params, const std::string& version = "2026-07-28") {
    params["_meta"] = {{"io.modelcontextprotocol/protocolVersion", version},
                       {"io.modelcontextprotocol/clientCapabilities", Json::object()}};
    return params;
  }

  const ScratchFolder folder_;
  std::unique_ptr<Desk> desk_;
  std::unique_ptr<Conversation> conversation_;
};

TEST_F(Protocol, AnswersNonsenseWithTheErrorThatJsonRpcNames) {
  EXPECT_EQ(error("nonsense"), kParseError);
  EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":1,"method":)"), kParseError);
  EXPECT_EQ(error("\"\xff\""), kParseError);
  EXPECT_EQ(error("[]"), kInvalidRequest);
  EXPECT_EQ(error("3"), kInvalidRequest);
  EXPECT_EQ(error("{}"), kInvalidRequest);
  EXPECT_EQ(error(R"({"id":1,"method":"ping"})"), kInvalidRequest);
  EXPECT_EQ(error(R"({"jsonrpc":"1.0","id":1,"method":"ping"})"), kInvalidRequest);
  EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":1,"method":7})"), kInvalidRequest);
  EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})"), kInvalidRequest);
  EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":null,"method":"ping"})"), kInvalidRequest);
  EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[1]})"), kInvalidParams);
  EXPECT_EQ(error(std::string(100000, '[')), kInvalidRequest);
  EXPECT_EQ(error(std::string(kMostMessageBytes + 1, ' ')), kInvalidRequest);
  EXPECT_TRUE(reply("nonsense")["id"].is_null());
}

TEST_F(Protocol, SaysNothingToNotificationsAndAnswers) {
  EXPECT_TRUE(reply(R"({"jsonrpc":"2.0","method":"notifications/initialized"})").is_null());
  EXPECT_TRUE(reply(R"({"jsonrpc":"2.0","method":"no/such/thing","params":3})").is_null());
  EXPECT_TRUE(reply(R"({"jsonrpc":"2.0","id":4,"result":{}})").is_null());
  EXPECT_TRUE(reply(R"({"jsonrpc":"2.0","id":4,"error":{"code":1,"message":""}})").is_null());
}

TEST_F(Protocol, BeginsWithInitialize) {
  EXPECT_EQ(error(request("tools/list", Json::object())), kInvalidRequest);
  EXPECT_EQ(error(request("no/such/method", Json::object())), kMethodNotFound);
  EXPECT_EQ(error(request("ping", Json::object())), 0);
  EXPECT_EQ(error(request("initialize", Json::object())), kInvalidParams);
  const Json opened = reply(kOpening);
  EXPECT_EQ(opened["result"]["protocolVersion"], "2025-06-18");
  EXPECT_EQ(opened["result"]["serverInfo"]["name"], "kernelwright");
  EXPECT_EQ(error(kOpening), kInvalidRequest);
  const Json listed = reply(request("tools/list", Json::object()));
  EXPECT_GE(listed["result"]["tools"].size(), 8u);
  EXPECT_FALSE(listed["result"].contains("resultType"));
}

TEST_F(Protocol, OffersItsNewestVersionForOneThatItDoesNotSpeak) {
  for (const auto& [asked, got] : {std::pair{"2025-11-25", "2025-11-25"}, {"1999-01-01", "2025-11-25"}}) {
    conversation_ = std::make_unique<Conversation>(*desk_);
    const Json params = {{"protocolVersion", asked},
                         {"capabilities", Json::object()},
                         {"clientInfo", {{"name", "n"}, {"version", "1"}}}};
    EXPECT_EQ(reply(request("initialize", params))["result"]["protocolVersion"], got);
  }
}

TEST_F(Protocol, ServesRequestsThatStandAlone) {
  const Json found = reply(request("server/discover", enveloped(Json::object())))["result"];
  EXPECT_EQ(found["supportedVersions"], Json::array({"2026-07-28"}));
  EXPECT_EQ(found["resultType"], "complete");
  EXPECT_TRUE(found.contains("ttlMs"));
  EXPECT_EQ(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "kernelwright");
  EXPECT_EQ(error(request("server/discover", Json::object())), kInvalidParams);
  const Json refused = reply(request("tools/list", enveloped(Json::object(), "2031-01-01")));
  EXPECT_EQ(refused["error"]["code"], kUnsupportedVersion);
  EXPECT_EQ(refused["error"]["data"]["supported"], Json::array({"2026-07-28"}));
  EXPECT_EQ(error(request("ping", enveloped(Json::object()))), kMethodNotFound);
  Json call = {{"name", "read_task"}, {"arguments", {{"task", "Relu"}}}};
  EXPECT_EQ(reply(request("tools/call", enveloped(call)))["result"]["structuredContent"]["name"], "Relu");
}

TEST_F(Protocol, HoldsHeadersAgainstTheMessage) {
  const std::string message = request("tools/call", enveloped({{"name", "list_tasks"}}));
  const auto code = [&](const MessageHeaders& headers) {
    const Json json = reply(message, &headers);
    return json.contains("error") ? json["error"]["code"].get<int>() : 0;
  };
  EXPECT_EQ(code({"2026-07-28", "tools/call", "list_tasks"}), 0);
  EXPECT_EQ(code({std::nullopt, "tools/call", "list_tasks"}), kHeaderMismatch);
  EXPECT_EQ(code({"2025-11-25", "tools/call", "list_tasks"}), kHeaderMismatch);
  EXPECT_EQ(code({"2026-07-28", "tools/list", "list_tasks"}), kHeaderMismatch);
  EXPECT_EQ(code({"2026-07-28", "tools/call", "read_task"}), kHeaderMismatch);
  EXPECT_EQ(code({"2026-07-28", "tools/call", std::nullopt}), kHeaderMismatch);
}

TEST_F(Protocol, RefusesUnknownToolsAndExplainsWrongArguments) {
  reply(kOpening);
  const Json unknown = reply(request("tools/call", {{"name", "read_tsak"}}));
  EXPECT_EQ(unknown["error"]["code"], kInvalidParams);
  EXPECT_EQ(unknown["error"]["message"], "Unknown tool: read_tsak; nearest: read_task");
  const Json wrong = reply(request("tools/call", {{"name", "read_task"}, {"arguments", {{"tsak", "Relu"}}}}));
  EXPECT_EQ(wrong["result"]["isError"], true);
  EXPECT_EQ(wrong["result"]["content"][0]["text"], "task: is missing");
  const Json none = reply(request("tools/call", {{"name", "wait_for_verdict"}, {"arguments", {{"id", "r1.1"}}}}));
  EXPECT_EQ(none["result"]["isError"], true);
  // Names of files are no names of tasks here.
  const Json path = reply(request("tools/call", {{"name", "read_task"}, {"arguments", {{"task", "/etc/x.toml:A"}}}}));
  EXPECT_EQ(path["result"]["isError"], true);
}

TEST_F(Protocol, ListsResourcesPageByPageAndReadsThem) {
  reply(kOpening);
  std::set<std::string> uris;
  Json params = Json::object();
  for (int pages = 0; pages < 20; ++pages) {
    const Json page = reply(request("resources/list", params))["result"];
    for (const Json& one : page["resources"]) EXPECT_TRUE(uris.insert(one["uri"]).second);
    if (!page.contains("nextCursor")) break;
    params["cursor"] = page["nextCursor"];
  }
  EXPECT_EQ(uris.size(), 190u + 334u + 236u + 6u + 2u);
  EXPECT_EQ(error(request("resources/list", {{"cursor", "7x"}})), kInvalidParams);
  const auto text = [&](const std::string& uri) {
    return reply(request("resources/read", {{"uri", uri}}))["result"]["contents"][0]["text"].get<std::string>();
  };
  EXPECT_NE(text("kw://contract").find("KW_KERNEL"), std::string::npos);
  EXPECT_NE(text("kw://task/mobilekernelbench/Softmax").find("Softmax"), std::string::npos);
  EXPECT_EQ(text("kw://task/mobilekernelbench%2FSoftmax"), text("kw://task/Softmax"));
  EXPECT_EQ(Json::parse(text("kw://runs")), Json::array());
  for (const char* uri :
       {"kw://task/Nothing", "kw://run/r1", "kw://verdict/r1.1", "kw://source/x", "file:///etc/passwd", ""}) {
    EXPECT_EQ(error(request("resources/read", {{"uri", uri}})), kResourceNotFound) << uri;
  }
}

TEST_F(Protocol, RefusesAnIdThatIsInUseAndTooManyAtOnce) {
  reply(kOpening);
  const Json call = {{"name", "list_tasks"}};
  std::vector<std::shared_ptr<Work>> at_work;
  for (std::size_t i = 0; i < kMostAtOnce; ++i) {
    at_work.push_back(conversation_->take(request("tools/call", call, static_cast<int>(i))).work);
    ASSERT_TRUE(at_work.back());
  }
  EXPECT_EQ(error(request("tools/call", call, 1000)), kTooBusy);
  ASSERT_TRUE(at_work[0]->run({}).has_value());
  EXPECT_EQ(error(request("tools/call", call, 1)), kInvalidRequest);
  EXPECT_EQ(error(request("tools/call", call, "1")), 0);  // "1" is not 1
}

TEST_F(Protocol, DoesNotAnswerWhatItsClientCancels) {
  reply(kOpening);
  const Taken taken = conversation_->take(request("tools/call", {{"name", "list_tasks"}}, "a"));
  reply(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}})");
  EXPECT_FALSE(taken.work->run({}).has_value());
  EXPECT_EQ(error(request("tools/call", {{"name", "list_tasks"}}, "a")), 0);
}

TEST_F(Protocol, RefusesSubmissionsThatCannotBeJudged) {
  reply(kOpening);
  const auto text = [&](const Json& arguments) {
    const Json json = reply(request("tools/call", {{"name", "submit_kernel"}, {"arguments", arguments}}))["result"];
    EXPECT_EQ(json["isError"], true) << json;
    return json["content"][0]["text"].get<std::string>();
  };
  EXPECT_EQ(text({{"task", "Rleu"}, {"source", "x"}}).find("no task is called 'Rleu'"), 0u);
  EXPECT_EQ(text({{"task", "Relu"}, {"source", std::string("a\0b", 3)}}), "the source has zero bytes in it");
  EXPECT_NE(text({{"task", "Relu"}, {"source", "int x;"}, {"settings", {{"TILE", 3}}}}).find("TILE"),
            std::string::npos);
  EXPECT_EQ(text({{"task", "Relu"}, {"source", "x"}, {"budget_s", 1000}}), "budget_s: 1000 is above 20");
  // Nothing was taken, so that nothing is recorded.
  EXPECT_FALSE(store::Store::is_in(folder_.path() / ".kw"));
}

}  // namespace
}  // namespace kw::mcp
