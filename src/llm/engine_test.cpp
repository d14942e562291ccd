// Engines as processes, with a double of kw-lm: a script that answers with its process id, or does as it is asked.
#include "llm/engine.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "base/files.h"
#include "base/scratch.h"
#include "llm/engine_facts.h"

namespace kw::llm {
namespace {

constexpr const char* kDouble = R"sh(#!/bin/sh
while read -r line; do
  case "$line" in
    *deaf*|*hang*) sleep 60 ;;
    *die*) exit 7 ;;
    *wrong*) echo '{"error": "no such model"}' ;;
    *) echo '{"token": "a"}'; echo "{\"done\": {\"id\": $$}}" ;;
  esac
done
)sh";

struct Double {
  ScratchFolder folder;
  std::filesystem::path program = folder.path() / "kw-lm-double";

  Double() {
    EXPECT_TRUE(write_file(program, kDouble).ok());
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  auto find() const {
    return [path = program]() -> Result<std::filesystem::path> { return path; };
  }
};

Json asking(const char* what) { return {{"do", what}}; }

TEST(Engine, AnswersOneRequestAfterTheOther) {
  const Double made;
  const auto engine = Engine::start(made.program, 1);
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  int told = 0;
  const auto first = (*engine)->ask(asking("generate"), [&](const Json&) { ++told; });
  const auto wrong = (*engine)->ask(asking("wrong"));
  const auto again = (*engine)->ask(asking("generate"));
  ASSERT_TRUE(first.done.ok() && again.done.ok());
  EXPECT_EQ((*first.done)["id"], (*again.done)["id"]);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(wrong.done.error().message, "no such model");
  EXPECT_TRUE(wrong.usable);
}

TEST(Engine, TellsHowItEnded) {
  const Double made;
  const auto engine = Engine::start(made.program, 1);
  const auto answer = (*engine)->ask(asking("die"));
  EXPECT_EQ(answer.done.error().message, "kw-lm ended with 7 without an answer");
  EXPECT_FALSE(answer.usable);
  EXPECT_TRUE((*engine)->has_ended());
}

TEST(Engine, GivesUpInTimeAndWhenItIsStopped) {
  const Double made;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ((*Engine::start(made.program, 1))->ask(asking("hang"), {}, {}, 0.3).done.error().message,
            "no whole answer within 0.3 s");
  // One that does not read: more than the socket holds cannot be sent.
  const auto deaf = Engine::start(made.program, 1);
  EXPECT_FALSE((*deaf)->ask(asking("deaf"), {}, {}, 0.3).done.ok());
  EXPECT_EQ((*deaf)->ask({{"do", std::string(8 << 20, 'x')}}, {}, {}, 0.3).done.error().message,
            "no whole answer within 0.3 s");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ((*Engine::start(made.program, 1))->ask(asking("hang"), {}, stop.get_token()).done.error().message,
            "cancelled");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(Engine, ItsProgressIsALine) {
  EXPECT_EQ(progress_text(Json::parse(R"({"what": "factors", "done": 3, "of": 30, "error": 0.012, "left_s": 12.4})")),
            "factors: 3 of 30, error 1.20 %, 12 s left");
  EXPECT_EQ(progress_text(Json::parse(R"({"done": 1, "of": 2, "perplexity": 25.5, "seconds": 3})")),
            "window: 1 of 2, perplexity 25.500");
}

TEST(KeptEngines, LoadAModelOnceForManyQuestions) {
  const Double made;
  KeptEngines engines(made.find());
  const auto id_of = [&](const char* model) {
    const auto done = engines.ask(model, asking("generate"), {}, 10);
    EXPECT_TRUE(done.ok()) << done.error().message;
    return done.ok() ? (*done)["id"].get<int>() : 0;
  };
  const int first = id_of("a");
  EXPECT_EQ(id_of("a"), first);
  EXPECT_NE(id_of("b"), first);
  EXPECT_EQ(id_of("a"), first);
  ASSERT_EQ(::kill(first, SIGKILL), 0);
  EXPECT_NE(id_of("a"), first);  // the question is answered all the same
}

TEST(KeptEngines, StartAnewAfterAQuestionThatWasGivenUp) {
  const Double made;
  KeptEngines engines(made.find());
  EXPECT_FALSE(engines.ask("a", asking("hang"), {}, 0.3).ok());
  EXPECT_TRUE(engines.ask("a", asking("generate"), {}, 10).ok());
  EXPECT_EQ(engines.ask("a", asking("die"), {}, 10).error().message, "kw-lm ended with 7 without an answer");
}

TEST(KeptEngines, AQuestionThatWaitsForAnotherKeepsItsOwnTime) {
  const Double made;
  KeptEngines engines(made.find());
  std::jthread other([&] { static_cast<void>(engines.ask("a", asking("hang"), {}, 3)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(engines.ask("a", asking("generate"), {}, 0.5).error().message, "no whole answer within 0.5 s");
}

}  // namespace
}  // namespace kw::llm
