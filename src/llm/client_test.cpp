// The client against a double of an endpoint (tests/models/double_server.py), which the official clients have checked.
#include "llm/client.h"
#include "base/clock.h"

#include <gtest/gtest.h>
#include <stdio.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/files.h"
#include "base/json.h"
#include "base/scratch.h"
#include "llm/providers.h"

namespace kw::llm {
namespace {

using Kind = Trouble::Kind;

constexpr const char* kKey = "sk-verysecret-0123456789";

// Runs while the process does; ends when its standard input closes.
const std::string& double_server() {
  static const std::string address = [] {
    const std::string port_file = testing::TempDir() + "kw_double_" + std::to_string(::getpid());
    const std::string command = "exec python3 -B " KW_SOURCE_DIR "/tests/models/double_server.py > " + port_file;
    FILE* process = ::popen(command.c_str(), "w");
    EXPECT_NE(process, nullptr);
    std::string port;
    for (int i = 0; i < 500 && !port.ends_with('\n'); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (const auto text = read_file(port_file); text.ok()) port = *text;
    }
    std::filesystem::remove(port_file);
    return "http://127.0.0.1:" + port.substr(0, port.find('\n'));
  }();
  return address;
}

const Provider* provider_named(const std::string& name) {
  for (const Provider& provider : all_providers()) {
    if (provider.name == name) return &provider;
  }
  return nullptr;
}

// The double in one of its moods, with a patience that a test can wait for.
Endpoint endpoint_at(const std::string& provider, const std::string& mood, bool stream) {
  Endpoint endpoint;
  endpoint.provider = provider_named(provider);
  endpoint.model = "double";
  endpoint.url = double_server() + "/" + mood + (provider == "openai" ? "/v1" : "");
  endpoint.key = kKey;
  endpoint.stream = stream;
  endpoint.patience = {.connect_s = 2, .first_byte_s = 0.4, .whole_s = 3};
  endpoint.tries = 3;
  return endpoint;
}

Request question(const std::string& text) {
  return {.messages = {{Role::system, "Be brief."}, {Role::user, text}}, .most_tokens = 100};
}

Answer ask(const Endpoint& endpoint, const std::string& text = "two words", ClientOptions options = {}) {
  options.first_pause_s = 0.02;
  auto client = Client::open(endpoint, options);
  EXPECT_TRUE(client.ok()) << (client.ok() ? "" : client.error().message);
  return client->ask(question(text));
}

// What each protocol must do, plain and streamed.
class EveryProtocol : public testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  Endpoint at(const std::string& mood) const { return endpoint_at(provider(), mood, streamed()); }
  std::string provider() const { return std::get<0>(GetParam()); }
  bool streamed() const { return std::get<1>(GetParam()); }
  // Keeps the counters of parallel tests apart.
  std::string mine() const { return provider() + (streamed() ? "s" : "p"); }
};

INSTANTIATE_TEST_SUITE_P(Models, EveryProtocol,
                         testing::Combine(testing::Values("openai", "anthropic"), testing::Bool()),
                         [](const auto& each) {
                           return std::get<0>(each.param) + (std::get<1>(each.param) ? "_streamed" : "_whole");
                         });

TEST_P(EveryProtocol, BringsTheAnswerAndItsUsage) {
  const Answer answer = ask(at("good"));
  ASSERT_TRUE(answer.ok()) << answer.trouble->message;
  EXPECT_EQ(answer.text, "You said: two words");
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(answer.usage.output_tokens, 4);
  EXPECT_EQ(answer.usage.cached_tokens, 5);
  EXPECT_GT(answer.usage.input_tokens, 5);
  EXPECT_FALSE(answer.usage.guessed);

  const Answer large = ask(at("large"));
  EXPECT_EQ(large.text.size(), 1u << 20);
  const Answer cut = ask(at("cut"));
  EXPECT_TRUE(cut.ok() && !cut.whole && cut.text == "as far as");
  const Answer silent = ask(at("silentusage"));
  EXPECT_TRUE(silent.ok() && silent.usage.guessed && silent.usage.output_tokens == 5);
  // llama.cpp's server leaves the beginning of a stream out where the first token is half a character.
  const Answer half = ask(at("halfusage"));
  EXPECT_TRUE(half.ok() && half.usage.guessed && half.usage.output_tokens == 4 && half.usage.input_tokens > 0);
}

TEST_P(EveryProtocol, LetsAModelCallToolsBeforeItAnswers) {
  const std::string schema = R"({"type": "object", "properties": {"text": {"type": "string"}}})";
  Request request = question("where?");
  request.tools = {{"list_files", "lists", schema}, {"find_text", "finds", schema}};
  const ScratchFolder tape;
  {
    auto client = Client::open(at("looks"), {.record = tape.path()});
    ASSERT_TRUE(client.ok() && client->takes_tools());
    const Answer answer = client->ask(request);
    ASSERT_TRUE(answer.ok()) << answer.trouble->message;
    EXPECT_EQ(answer.text, "Let me look.");
    ASSERT_EQ(answer.calls.size(), 2u);
    EXPECT_EQ(answer.calls[0], (ToolCall{"call_a", "list_files", "{}"}));
    EXPECT_EQ(answer.calls[1].name, "find_text");
    EXPECT_EQ(Json::parse(answer.calls[1].arguments)["text"].text(), "softmax");
    Request then = request;
    then.messages.push_back({Role::assistant, answer.text, answer.calls});
    then.messages.push_back({Role::tool, "two files", {}, "call_a"});
    then.messages.push_back({Role::tool, "line 7", {}, "call_b"});
    EXPECT_EQ(client->ask(then).text, "found call_a: two files and call_b: line 7");
    // The tape knows the calls, and tells requests apart by them.
    Endpoint gone = at("looks");
    gone.url = "http://127.0.0.1:1";
    auto replayed = Client::open(gone, {.replay = tape.path()});
    ASSERT_TRUE(replayed.ok()) << replayed.error().message;
    EXPECT_EQ(replayed->ask(request).calls, answer.calls);
    EXPECT_EQ(replayed->ask(then).text, "found call_a: two files and call_b: line 7");
  }
  // A request without tools is the same as before.
  EXPECT_TRUE(ask(at("looks")).calls.empty());
  auto old = Client::open(at("toolless"));
  ASSERT_TRUE(old.ok());
  const Answer refused = old->ask(request);
  ASSERT_TRUE(refused.trouble);
  EXPECT_EQ(refused.trouble->kind, Kind::request) << refused.trouble->message;
}

TEST_P(EveryProtocol, SendsTheKeyInItsHeaderAndNowhereElse) {
  Endpoint endpoint = at("headers");
  const Answer answer = ask(endpoint);
  // What came back with the key in it was blacked out; nothing else differs.
  EXPECT_NE(
      answer.text.find(provider() == "openai" ? R"("Authorization": "Bearer [hidden]")" : R"("x-api-key": "[hidden]")"),
      std::string::npos)
      << answer.text;
  EXPECT_EQ(answer.text.find(kKey), std::string::npos);
  EXPECT_NE(answer.text.find("Be brief."), std::string::npos);
  endpoint.key = "";
  EXPECT_EQ(ask(endpoint).text.find("hidden"), std::string::npos);
}

TEST_P(EveryProtocol, TellsWhatIsWrongWithTheOtherSide) {
  const Answer wrong_key = ask(at("key"));
  ASSERT_TRUE(wrong_key.trouble);
  EXPECT_EQ(wrong_key.trouble->kind, Kind::key);
  EXPECT_TRUE(wrong_key.trouble->ends_the_run());
  EXPECT_NE(wrong_key.trouble->message.find("Incorrect API key provided: [hidden]"), std::string::npos)
      << wrong_key.trouble->message;
  EXPECT_EQ(wrong_key.tries, 1);

  const Answer html = ask(at("html"));
  EXPECT_EQ(html.trouble->kind, Kind::garbled);
  EXPECT_NE(html.trouble->message.find("HTML; is the address right?"), std::string::npos) << html.trouble->message;

  for (const char* mood : {"half", "torn", "other"}) {
    const Answer answer = ask(at(mood));
    ASSERT_TRUE(answer.trouble) << mood << answer.text;
    EXPECT_EQ(answer.trouble->kind, Kind::garbled) << mood;
    EXPECT_FALSE(answer.trouble->ends_the_run()) << mood;
  }
  EXPECT_EQ(ask(at("refusal")).trouble->kind, Kind::refused);
  EXPECT_EQ(ask(at("thinking")).trouble->kind, Kind::cut_off);
  EXPECT_EQ(ask(at("redirect")).trouble->kind, Kind::request);

  Endpoint nobody = at("good");
  nobody.url = "http://127.0.0.1:1";
  const Answer down = ask(nobody);
  EXPECT_EQ(down.trouble->kind, Kind::unreachable);
  EXPECT_EQ(down.tries, 3);
}

TEST_P(EveryProtocol, GivesUpWhenItsPatienceEnds) {
  Endpoint silent = at("silent");
  silent.tries = 1;
  Clock::time_point begin = Clock::now();
  const Answer nothing = ask(silent);
  EXPECT_EQ(nothing.trouble->kind, Kind::slow);
  EXPECT_NE(nothing.trouble->message.find("nothing came for 0.4 s"), std::string::npos) << nothing.trouble->message;
  EXPECT_LT(seconds_since(begin), 2.5);

  Endpoint pausing = at("pause");
  pausing.tries = 1;
  EXPECT_EQ(ask(pausing).trouble->message, pausing.name() + ": the answer stopped for 0.4 s");

  Endpoint endless = at("endless");
  endless.tries = 1;
  endless.patience.whole_s = 0.6;
  begin = Clock::now();
  EXPECT_EQ(ask(endless).trouble->kind, Kind::slow);
  EXPECT_LT(seconds_since(begin), 2.5);
  endless.most_bytes = 100'000;
  endless.patience.whole_s = 30;
  EXPECT_EQ(ask(endless).trouble->kind, Kind::too_large);
}

TEST_P(EveryProtocol, TriesAgainWhereThatMayHelp) {
  for (const char* status : {"408", "409", "500", "503", "529"}) {
    const Answer answer = ask(at(fmt::format("status-{}-2-{}", status, mine())));
    ASSERT_TRUE(answer.ok()) << answer.trouble->message;
    EXPECT_EQ(answer.text, "after 2");
    EXPECT_EQ(answer.tries, 3);
  }
  const Answer never = ask(at("status-503-99-" + mine()));
  EXPECT_EQ(never.trouble->kind, Kind::busy);
  EXPECT_NE(never.trouble->message.find("come back later (3 tries)"), std::string::npos) << never.trouble->message;
  EXPECT_EQ(ask(at("status-404-99-" + mine())).tries, 1);
  // What broke off in the middle is asked again too, and in the end is a trouble.
  const Answer broken = ask(at("broken"));
  EXPECT_EQ(broken.trouble->kind, Kind::busy);
  EXPECT_EQ(broken.tries, 3);
}

TEST_P(EveryProtocol, WaitsAsLongAsItIsTold) {
  const Clock::time_point begin = Clock::now();
  const Answer answer = ask(at("status-429-1-0.7-" + mine()));
  ASSERT_TRUE(answer.ok()) << answer.trouble->message;
  EXPECT_GE(seconds_since(begin), 0.7);
  const Answer too_long = ask(at("status-429-1-86400-" + mine()));
  ASSERT_TRUE(too_long.trouble);
  EXPECT_NE(too_long.trouble->message.find("too long"), std::string::npos) << too_long.trouble->message;
}

TEST_P(EveryProtocol, StopsWhenNobodyWantsTheAnswerAnyMore) {
  for (const char* mood : {"silent", "status-429-9-30-x"}) {
    Endpoint endpoint = at(mood);
    endpoint.patience.first_byte_s = 30;
    auto client = Client::open(endpoint);
    std::stop_source source;
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
      source.request_stop();
    });
    const Clock::time_point begin = Clock::now();
    const Answer answer = client->ask(question("x"), source.get_token());
    later.join();
    EXPECT_EQ(answer.trouble->kind, Kind::cancelled) << mood;
    EXPECT_LT(seconds_since(begin), 1.5) << mood;
  }
}

TEST(OpenAi, UsesTheNewNameOfTheLimitWhereItIsAskedTo) {
  EXPECT_EQ(ask(endpoint_at("openai", "newlimit", true)).text, "limit 100");
}

TEST(RetryAfter, ReadsSecondsAndDates) {
  const Answer answer = ask(endpoint_at("openai", "status-429-1-date-retry", false));
  ASSERT_TRUE(answer.ok()) << answer.trouble->message;
  EXPECT_GE(answer.spent_s, 0.5);
}

TEST(Budget, EndsTheRunWhenItIsSpent) {
  Endpoint endpoint = endpoint_at("openai", "good", true);
  endpoint.input_price = 1e6;  // a dollar a token
  endpoint.output_price = 2e6;
  for (const Budget& budget : {Budget{.tokens = 10}, Budget{.usd = 5}, Budget{.seconds = 1e-9}}) {
    auto client = Client::open(endpoint, {.budget = budget});
    ASSERT_TRUE(client.ok());
    Answer answer = client->ask(question("x"));
    if (!budget.seconds) {
      ASSERT_TRUE(answer.ok());
      EXPECT_NEAR(client->spent().usd, static_cast<double>(answer.usage.input_tokens + 2 * answer.usage.output_tokens),
                  1e-6);
      answer = client->ask(question("x"));
    }
    ASSERT_TRUE(answer.trouble);
    EXPECT_EQ(answer.trouble->kind, Kind::budget);
    EXPECT_TRUE(answer.trouble->ends_the_run());
  }
  endpoint.input_price.reset();
  EXPECT_NE(Client::open(endpoint, {.budget = {.usd = 1}}).error().message.find("input_price"), std::string::npos);
}

TEST(Budget, OfTimeCutsARequestShort) {
  Endpoint endpoint = endpoint_at("openai", "silent", true);
  endpoint.patience.first_byte_s = 30;
  const Clock::time_point begin = Clock::now();
  const Answer answer = ask(endpoint, "x", {.budget = {.seconds = 0.3}});
  EXPECT_EQ(answer.trouble->kind, Kind::budget) << answer.trouble->message;
  EXPECT_LT(seconds_since(begin), 2);
}

TEST(Cassette, AnswersWithoutTheModelAndKnowsWhatItDoesNotKnow) {
  const ScratchFolder scratch;
  const auto folder = scratch.path() / "tape";
  Endpoint endpoint = endpoint_at("openai", "good", true);
  auto recording = Client::open(endpoint, {.record = folder});
  ASSERT_TRUE(recording.ok());
  const auto timed = [](const char* time) {
    return question("Line one\nIt took " + measured(time) + ".\nMy key is sk-verysecret-0123456789, keep it");
  };
  const Answer first = recording->ask(timed("12 us"));
  ASSERT_TRUE(first.ok());
  EXPECT_NE(first.text.find("It took 12 us."), std::string::npos);
  recording->ask(timed("12 us"));

  std::string kept;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) kept += *read_file(entry.path());
  EXPECT_NE(kept.find("\"It took 12 us.\""), std::string::npos) << "lines are lines";
  EXPECT_EQ(kept.find("verysecret"), std::string::npos) << kept;

  endpoint.url = "http://127.0.0.1:1";
  auto replayed = Client::open(endpoint, {.replay = folder});
  ASSERT_TRUE(replayed.ok());
  for (int i = 0; i < 2; ++i) {
    const Answer again = replayed->ask(timed("99 us"));  // another time is no other request
    ASSERT_TRUE(again.ok()) << again.trouble->message;
    EXPECT_EQ(again.text, first.text);
    EXPECT_EQ(again.usage.total(), first.usage.total());
  }
  const Answer once_more = replayed->ask(timed("12 us"));
  EXPECT_EQ(once_more.trouble->kind, Kind::unknown);
  EXPECT_NE(once_more.trouble->message.find("recorded 2 times"), std::string::npos) << once_more.trouble->message;

  const Answer unknown = replayed->ask(question("Line one\nIt took forever."));
  ASSERT_TRUE(unknown.trouble);
  EXPECT_TRUE(unknown.trouble->ends_the_run());
  EXPECT_NE(unknown.trouble->message.find("recorded: It took 12 us.\n  now:      It took forever."), std::string::npos)
      << unknown.trouble->message;
}

TEST(Cassette, IsNotReadWhereItIsLargerThanMemoryIsWorth) {
  const ScratchFolder scratch;
  for (int i = 0; i < 5; ++i) {
    const auto file = scratch.path() / fmt::format("{}.json", i);
    ASSERT_TRUE(write_file(file, "").ok());
    std::filesystem::resize_file(file, std::uintmax_t{60} << 20);
  }
  const auto client = Client::open(endpoint_at("openai", "good", true), {.replay = scratch.path()});
  ASSERT_FALSE(client.ok());
  EXPECT_NE(client.error().message.find("more than 256 MB of exchanges"), std::string::npos) << client.error().message;
}

TEST(Cassette, RefusesWhatIsNone) {
  const ScratchFolder scratch;
  const Endpoint endpoint = endpoint_at("openai", "good", true);
  EXPECT_NE(Client::open(endpoint, {.replay = scratch.path()}).error().message.find("holds no exchanges"),
            std::string::npos);
  EXPECT_FALSE(Client::open(endpoint, {.replay = scratch.path() / "gone"}).ok());
  ASSERT_TRUE(write_file(scratch.path() / "1.json", "{\"format\": \"kw exchange 1\"}").ok());
  EXPECT_NE(Client::open(endpoint, {.replay = scratch.path()}).error().message.find("1.json"), std::string::npos);
}

TEST(Client, LetsManyAskAtOnce) {
  Endpoint endpoint = endpoint_at("openai", "second", true);
  endpoint.patience = {.connect_s = 5, .first_byte_s = 10, .whole_s = 20};
  auto client = Client::open(endpoint);
  ASSERT_TRUE(client.ok());
  const Clock::time_point begin = Clock::now();
  std::atomic<int> answered = 0;
  {
    std::vector<std::jthread> askers;
    for (int i = 0; i < 20; ++i) askers.emplace_back([&] { answered += client->ask(question("x")).ok(); });
  }
  EXPECT_EQ(answered, 20);
  EXPECT_EQ(client->spent().requests, 20);
  EXPECT_LT(seconds_since(begin), 6) << "one after the other it would take 20 s";
}

}  // namespace
}  // namespace kw::llm
