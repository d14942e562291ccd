// The reward service on a device that is made up (tests/targets/made_up): its kernels are scripts of Relu.
#include "corpus/gym.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <set>

#include "base/scratch.h"

namespace kw::corpus {
namespace {

constexpr char kText[] = "input x: float32[N=8] normal\noutput y\nnode y = Relu(x)\n";

class AGym : public testing::Test {
 protected:
  AGym() : desk_(*mcp::Desk::open({.device = "made_up", .store_folder = folder_.path()})), gym_(*desk_, {}) {}

  Json ask(const Json& request) { return gym_.answer(request.dump(), 1); }
  Json with_source(const std::string& source) { return {{"id", 7}, {"task_text", kText}, {"source", source}}; }

  const ScratchFolder folder_;
  const std::unique_ptr<mcp::Desk> desk_;
  Gym gym_;
};

TEST_F(AGym, RewardsSpeedByTheLowerEnd) {
  const Json answer = ask(with_source("lap_ns 5000"));
  ASSERT_FALSE(answer.contains("error")) << answer;
  EXPECT_EQ(answer["id"], 7);
  EXPECT_EQ(answer["built"], true);
  EXPECT_EQ(answer["right"], true);
  EXPECT_TRUE(answer["reason"].is_null()) << answer;
  EXPECT_EQ(answer["speedup"]["against"], "plain");
  const double low = answer["speedup"]["low"];
  EXPECT_GT(low, 0);
  EXPECT_NEAR(answer["reward"].get<double>(), std::min(kMostReward, std::log2(1 + low)), 1e-9);
  EXPECT_TRUE(answer["verdict"].text().starts_with("r1.")) << "it is in the record";
}

TEST_F(AGym, RewardsNothingElse) {
  const Json broken = ask(with_source("does_not_build"));
  EXPECT_EQ(broken["built"], false);
  EXPECT_EQ(broken["reward"], 0);
  EXPECT_EQ(broken["errors"].size(), 1u) << broken;
  for (const char* source : {"lap_ns 10\nwrong", "lap_ns 10\nwrong_beyond 8", "lap_ns 10\nwrong_after 3", "crashes",
                             "overruns", "lap_ns 10\nleaks 5000000"}) {
    const Json answer = ask(with_source(source));
    EXPECT_EQ(answer["built"], true) << answer;
    EXPECT_EQ(answer["right"], false) << source;
    EXPECT_EQ(answer["reward"], 0) << source;
    EXPECT_TRUE(answer["speedup"].is_null()) << source;
    EXPECT_FALSE(answer["reason"].text().empty());
  }
  // Of a hidden shape its author learns neither the shape nor a number.
  const std::string reason = ask(with_source("lap_ns 10\nwrong_beyond 8"))["reason"];
  EXPECT_EQ(reason.find_first_of("0123456789"), std::string::npos) << reason;
}

TEST_F(AGym, JudgesWhatWasFilledIntoAHole) {
  const std::string prefix = "KW_KERNEL(call) {\n", suffix = "\n}\n";
  const auto fill = [&](const std::string& answer) {
    return ask({{"task_text", kText}, {"prefix", prefix}, {"answer", answer}, {"suffix", suffix}});
  };
  EXPECT_GT(fill("lap_ns 5000;")["reward"].get<double>(), 0);
  for (const char* escape : {"lap_ns 1\n}\n/*", "lap_ns 1 //", "lap_ns 1\n#if 0", "lap_ns 1 }"}) {
    const Json answer = fill(escape);
    if (std::string(escape).ends_with("//")) continue;  // the suffix begins a line
    EXPECT_EQ(answer["stage"], "hole") << answer;
    EXPECT_EQ(answer["reward"], 0);
    EXPECT_FALSE(answer.contains("verdict")) << "nothing was judged";
  }
  // The whole text as the model wrote it: what stood around the hole must be there.
  const auto whole = [&](const std::string& source) {
    return ask({{"task_text", kText}, {"prefix", prefix}, {"source", source}, {"suffix", suffix}});
  };
  EXPECT_GT(whole(prefix + "lap_ns 4000;" + suffix)["reward"].get<double>(), 0);
  EXPECT_EQ(whole("KW_KERNEL(other) {\nlap_ns 1" + suffix)["stage"], "hole");
  EXPECT_EQ(whole(prefix + "lap_ns 1\n} // more\n")["reward"], 0);
}

TEST_F(AGym, RejectsBytesThatAreNoText) {
  const Json answer = ask(with_source(std::string("lap_ns 5000\0", 12)));
  EXPECT_EQ(answer["stage"], "build") << answer;
  EXPECT_EQ(answer["reward"], 0) << "an answer, and no fault of the service";
}

TEST_F(AGym, TakesTasksByNameAndText) {
  EXPECT_NE(ask({{"task", "Rleu"}, {"source", "lap_ns 9"}})["error"].text().find("no task is called 'Rleu'"),
            std::string::npos);
  EXPECT_NE(ask({{"task_text", "nonsense"}, {"source", "x"}})["error"].text().find("task:1:"), std::string::npos);
  const std::string huge = "input x: float32[N=1000000000] normal\noutput y\nnode y = Relu(x)\n";
  EXPECT_NE(ask({{"task_text", huge}, {"source", "x"}})["error"].text().find("bytes"), std::string::npos);
}

TEST_F(AGym, SaysWhatIsWrongWithALine) {
  const auto problem = [&](const std::string& line) { return gym_.answer(line, 3).value("error", "none"); };
  EXPECT_EQ(problem("{\"task\""), "the line is no JSON object");
  EXPECT_EQ(problem("[]"), "the line is no JSON object");
  EXPECT_EQ(problem("{}"), "say either \"task\" or \"task_text\"");
  EXPECT_NE(problem(R"({"tsak": "Relu"})").find("nearest: task"), std::string::npos);
  EXPECT_NE(problem(R"({"task": "Relu"})").find("\"source\""), std::string::npos);
  EXPECT_NE(problem(R"({"task": "Relu", "source": 1})").find("is a text"), std::string::npos);
  EXPECT_NE(problem(R"({"task": "Relu", "answer": "x"})").find("prefix"), std::string::npos);
  EXPECT_NE(problem(R"({"task": "Relu", "answer": "x", "prefix": ""})").find("suffix"), std::string::npos);
  EXPECT_NE(problem(R"({"task": "Relu", "source": 1, "prefix": "", "suffix": ""})").find("is a text"),
            std::string::npos);
  EXPECT_NE(problem(R"({"task": "Relu", "source": "x", "set": 1})").find("\"set\" is an object"), std::string::npos);
  EXPECT_EQ(gym_.answer(R"({"id": "a"})", 3)["id"], "a");
  EXPECT_EQ(gym_.answer("{}", 3)["line"], 3);
}

TEST_F(AGym, GoesOnAfterBadLinesAndAnswersAll) {
  int requests[2], answers[2];
  ASSERT_EQ(::pipe2(requests, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(answers, O_CLOEXEC), 0);
  std::string text = "nonsense\n\n";
  for (int i = 0; i < 12; ++i)
    text += Json{{"id", i}, {"task_text", kText}, {"source", fmt::format("lap_ns {}", 3000 + i)}}.dump() + "\n";
  text += R"({"id": 12, "task_text")";  // cut off, without its line's end
  ASSERT_EQ(::write(requests[1], text.data(), text.size()), std::ssize(text));
  ::close(requests[1]);
  gym_.serve(requests[0], answers[1]);
  ::close(answers[1]);
  std::string got(1 << 16, '\0');
  std::size_t count = 0;
  for (ssize_t more; (more = ::read(answers[0], got.data() + count, got.size() - count)) > 0;)
    count += static_cast<std::size_t>(more);
  got.resize(count);
  std::set<std::int64_t> rewarded;
  int errors = 0;
  for (std::size_t begin = 0; begin < got.size();) {
    const std::size_t end = got.find('\n', begin);
    const Json answer = Json::parse(got.substr(begin, end - begin));
    begin = end + 1;
    if (answer.contains("error")) {
      ++errors;
    } else if (answer["reward"].get<double>() > 0) {
      rewarded.insert(answer["id"].get<std::int64_t>());
    }
  }
  EXPECT_EQ(errors, 2) << got;
  EXPECT_EQ(rewarded.size(), 12u) << got;
  ::close(requests[0]);
  ::close(answers[0]);
}

TEST_F(AGym, JudgesEqualAnswersOnce) {
  const Json first = ask(with_source("lap_ns 7000")), again = ask(with_source("lap_ns 7000"));
  EXPECT_EQ(first["verdict"], again["verdict"]);
  EXPECT_NE(first["verdict"], ask(with_source("lap_ns 7001"))["verdict"]);
}

TEST(Reward, IsZeroWithoutAWinnableComparison) {
  Verdict verdict{.stage = VerdictStage::accepted};
  EXPECT_EQ(reward_of(verdict, "plain"), 0);
  verdict.speedups = {{.rival = "plain", .median = 3.2, .low = 3, .high = 3.4}};
  EXPECT_DOUBLE_EQ(reward_of(verdict, "plain"), 2);
  EXPECT_EQ(reward_of(verdict, "mnn"), 0);
  verdict.speedups[0].low = 1000;
  EXPECT_EQ(reward_of(verdict, "plain"), kMostReward);
  verdict.speedups[0].low = std::nan("");
  EXPECT_EQ(reward_of(verdict, "plain"), 0);
  verdict.speedups[0].low = 3;
  verdict.stage = VerdictStage::time;
  EXPECT_EQ(reward_of(verdict, "plain"), 0);
}

}  // namespace
}  // namespace kw::corpus
