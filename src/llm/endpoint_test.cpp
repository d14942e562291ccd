#include "llm/endpoint.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/scratch.h"
#include "llm/client.h"
#include "llm/providers.h"
#include "llm/secrets.h"

namespace kw::llm {
namespace {

std::string complaint(const std::string& name, const TextOfFile& config = {}) {
  const auto endpoint = endpoint_named(name, config);
  return endpoint.ok() ? "" : endpoint.error().message;
}

TEST(Endpoint, TakesAddressAndKeyFromTheEnvironment) {
  const ScratchVariable url("OPENAI_BASE_URL", "http://localhost:8000/v1/");
  const ScratchVariable key("OPENAI_API_KEY", "abcd");
  const auto endpoint = endpoint_named("openai:qwen:7b");
  ASSERT_TRUE(endpoint.ok());
  EXPECT_EQ(endpoint->url, "http://localhost:8000/v1");
  EXPECT_EQ(endpoint->key, "abcd");
  EXPECT_EQ(endpoint->name(), "openai:qwen:7b");
}

TEST(Endpoint, SaysThatAKeyIsMissing) {
  const ScratchVariable url("ANTHROPIC_BASE_URL", "");
  const ScratchVariable key("ANTHROPIC_API_KEY", "");
  const auto endpoint = endpoint_named("anthropic:claude");
  ASSERT_TRUE(endpoint.ok());
  EXPECT_EQ(Client::open(*endpoint).error().message,
            "anthropic:claude needs a key: set ANTHROPIC_API_KEY, or give another address with ANTHROPIC_BASE_URL");
}

TEST(Endpoint, ReadsTablesOfTheConfig) {
  const ScratchFolder folder;
  const ScratchVariable key("OPENAI_API_KEY", "the-key-of-openai");
  const ScratchVariable own("MY_KEY", "mine");
  const TextOfFile config{folder.path() / "kw.toml", R"(
[model.fast]
provider = "openai"
model = "tiny"
url = "http://127.0.0.1:9/v1"
first_byte_s = 3
input_price = 1
[model.keyed]
provider = "openai"
model = "tiny"
url = "http://127.0.0.1:9/v1"
key_variable = "MY_KEY"
[model.bad]
provider = "opena"
model = "x"
[model.odd]
provider = "openai"
modle = "x"
[model.slow]
provider = "openai"
model = "x"
whole_s = -1
)"};
  const auto fast = endpoint_named("fast", config);
  ASSERT_TRUE(fast.ok()) << fast.error().message;
  EXPECT_EQ(fast->patience.first_byte_s, 3);
  EXPECT_EQ(fast->input_price, 1);
  EXPECT_EQ(fast->key, "") << "OpenAI's key is not for another address";
  EXPECT_EQ(endpoint_named("keyed", config)->key, "mine");
  EXPECT_NE(complaint("bad", config).find("nearest: openai"), std::string::npos) << complaint("bad", config);
  EXPECT_NE(complaint("odd", config).find("odd.modle is no setting of a model; nearest: model"), std::string::npos)
      << complaint("odd", config);
  EXPECT_NE(complaint("slow", config).find("time-out"), std::string::npos);
  EXPECT_NE(complaint("fats", config).find("nearest: fast"), std::string::npos) << complaint("fats", config);
}

TEST(Endpoint, RefusesWhatIsNoModel) {
  EXPECT_NE(complaint("gpt").find("PROVIDER:MODEL"), std::string::npos);
  EXPECT_NE(complaint("opnai:gpt").find("nearest: openai"), std::string::npos);
  EXPECT_NE(complaint("openai:").find("which model"), std::string::npos);
  const ScratchVariable url("OPENAI_BASE_URL", "ftp://x");
  EXPECT_NE(complaint("openai:x").find("http://"), std::string::npos);
  const ScratchVariable good("OPENAI_BASE_URL", "http://x");
  const ScratchVariable key("OPENAI_API_KEY", "two\nlines");
  EXPECT_NE(complaint("openai:x").find("control character"), std::string::npos);
}

TEST(Secrets, AreNotSeen) {
  Endpoint endpoint;
  endpoint.key = "k-1234567";
  endpoint.url = "https://me:passw0rd@host/v1?key=abcdefg";
  const Secrets secrets(endpoint);
  EXPECT_EQ(secrets.hidden("k-1234567 k-1234567 at https://me:passw0rd@host/v1?key=abcdefg"),
            "[hidden] [hidden] at https://me:[hidden]@host/v1?[hidden]");
  EXPECT_EQ(secrets.hidden("Authorization: Bearer abc.def-ghi"), "Authorization: Bearer [hidden]");
  EXPECT_EQ(secrets.hidden("bad key sk-proj-abcd****wxyz."), "bad key [hidden]");
  EXPECT_EQ(secrets.hidden("a task-oriented sk-y"), "a task-oriented sk-y");
}

Answer asked(const std::string& program, Patience patience = {}) {
  auto endpoint = endpoint_named("command:" + program);
  endpoint->patience = patience;
  return Client::open(*endpoint)->ask({.messages = {{Role::user, "What is six times seven?"}}});
}

TEST(CommandProvider, GivesTheRequestToTheProgram) {
  const Answer plain = asked(R"(sed 's/.*"messages"//' | grep -o 'six times seven')");
  ASSERT_TRUE(plain.ok()) << plain.trouble->message;
  EXPECT_EQ(plain.text, "six times seven\n");
  EXPECT_TRUE(plain.usage.guessed);
  const Answer counted = asked(R"(echo '{"text": "42", "usage": {"input_tokens": 7, "output_tokens": 1}}')");
  EXPECT_EQ(counted.text, "42");
  EXPECT_EQ(counted.usage.total(), 8);
  EXPECT_EQ(asked(R"(echo '{"text": "42", "plan": 1}')").text, "{\"text\": \"42\", \"plan\": 1}\n");
}

TEST(CommandProvider, TellsWhatIsWrongWithTheProgram) {
  const Answer failing = asked("echo no wish >&2; exit 3");
  EXPECT_EQ(failing.trouble->kind, Trouble::Kind::program);
  EXPECT_NE(failing.trouble->message.find("ended with 3: no wish"), std::string::npos) << failing.trouble->message;
  EXPECT_EQ(asked("true").trouble->kind, Trouble::Kind::program);
  EXPECT_EQ(asked("sleep 20", {.first_byte_s = 0.2, .whole_s = 5}).trouble->kind, Trouble::Kind::slow);
  EXPECT_EQ(asked("echo x; sleep 20", {.first_byte_s = 5, .whole_s = 0.3}).trouble->kind, Trouble::Kind::slow);
  EXPECT_EQ(asked("yes").trouble->kind, Trouble::Kind::too_large);
  EXPECT_EQ(asked("exec 0<&-; sleep 0.1; echo unread").text, "unread\n");
  EXPECT_EQ(asked("sleep 20 & echo left").text, "left\n") << "what it leaves behind does not hold us up";
}

}  // namespace
}  // namespace kw::llm
