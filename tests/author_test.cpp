// The whole path of an author with a model, by the program's own door.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "base/scratch.h"
#include "cli/program.h"
#include "runs/killed_run.h"
#include "store/store.h"

namespace kw::cli {
namespace {

struct Ran {
  int code;
  std::string out;
  std::string err;
};

Ran run(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  const int code = run_program(words, out, err);
  return {code, out.str(), err.str()};
}

// One line a round: its number, its role, from which round it began, and what came of it.
std::vector<Json> rounds_of(const std::string& store) {
  std::vector<Json> rounds;
  std::istringstream lines(run({"export", "r1", "--store", store}).out);
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    if (json["kind"] == "item" && json["purpose"] != "confirm") rounds.push_back(json);
  }
  return rounds;
}

// tests/agents/scripted_model.py tells the story that is looked for here.
TEST(SlowMoka, PlaysTenRoundsAndBeginsEachWithTheBest) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const std::string store = (folder.path() / "store").string();
  const std::string note = (folder.path() / "note").string();
  const std::string model = "command:python3 -B " KW_SOURCE_DIR "/tests/agents/scripted_model.py " + note;
  const Ran ran =
      run({"optimize", "Relu", "--author", "moka", "--model", model, "--start", "plain", "--rival", "none", "--json",
           "--store", store, "--out", (folder.path() / "out").string(), "--record", (folder.path() / "tape").string()});
  ASSERT_NE(ran.code, kBroken) << ran.err << ran.out;
  const Json result = Json::parse(ran.out);
  EXPECT_TRUE(result["accepted"].get<bool>());
  EXPECT_EQ(ran.code, kYes);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "out" / "Relu.cpp"));

  const std::vector<Json> rounds = rounds_of(store);
  ASSERT_EQ(rounds.size(), 11u) << ran.err;
  const auto label = [&](int i) { return rounds[static_cast<std::size_t>(i)]["label"]; };
  const auto stage = [&](int i) -> std::string {
    const Json& one = rounds[static_cast<std::size_t>(i)];
    if (one["verdict"].is_null()) return one["problem"].get<std::string>();
    return one["verdict"]["verdict"]["stage"].get<std::string>();
  };
  EXPECT_EQ(label(0)["role"], "start");
  EXPECT_EQ(stage(0), "accepted");
  EXPECT_EQ(stage(1), "build");
  EXPECT_EQ(label(2)["role"], "debugger");
  EXPECT_EQ(label(2)["from"], 1) << "what does not compile is repaired";
  EXPECT_TRUE(stage(2) == "verify" || stage(2) == "hidden") << stage(2);
  EXPECT_EQ(label(3)["from"], 2) << "what is wrong is repaired";
  EXPECT_EQ(stage(3), "accepted");
  EXPECT_EQ(label(4)["role"], "accelerator");
  EXPECT_EQ(label(4)["from"], 0) << "right but slow: the plain kernel is still the best";
  EXPECT_EQ(stage(4), "accepted");
  EXPECT_EQ(stage(5), "accepted");
  EXPECT_EQ(label(6)["role"], "accelerator");
  EXPECT_NE(label(6)["from"], 5) << "a regression is left behind";
  EXPECT_EQ(stage(6), "accepted");
  EXPECT_NE(stage(7).find("does not stand in the file"), std::string::npos) << stage(7);
  EXPECT_NE(stage(8).find("no plan: there is no JSON object"), std::string::npos) << stage(8);
  EXPECT_NE(stage(9).find("in python"), std::string::npos) << stage(9);
  EXPECT_TRUE(label(10)["from"] == 4 || label(10)["from"] == 6 || label(10)["from"] == 0) << label(10);
  // Each plan and each coder's answer; besides, within their rounds: a build error was asked about once (1), two plans
  // were repaired (4, 6), edits that do not fit and code in no fence were asked for twice more (7, 9), and so was a
  // plan that never came, without which there was no coder (8).
  EXPECT_EQ(result["model"]["requests"], 10 * 2 + 1 + 2 + 4 + 2 - 1);
  EXPECT_EQ(result["model"]["output_tokens"], 28 * 10);
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(store) / "lessons.jsonl"));
}

constexpr char kOwnKernel[] = R"(#include <kernelwright.h>
// a kernel of the user's own
KW_KERNEL(call) {
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
}
)";

// A model that counts how often it is asked.
std::string counting_model(const std::filesystem::path& calls, const std::string& text) {
  const Json answer = {{"text", text}, {"usage", {{"input_tokens", 90}, {"output_tokens", 10}}}};
  const std::filesystem::path file = calls.string() + ".answer";
  EXPECT_TRUE(write_file(file, answer.dump()).ok());
  return "command:cat > /dev/null; echo x >> " + calls.string() + "; cat " + file.string();
}
std::int64_t count_in(const std::filesystem::path& calls) {
  const auto text = read_file(calls);
  return text.ok() ? std::ranges::count(*text, '\n') : 0;
}

TEST(AgentResume, GoesOnWhereTheBudgetEnded) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const std::string store = (folder.path() / "store").string();
  const std::filesystem::path calls = folder.path() / "calls";
  const std::string model = counting_model(calls, "I have no kernel for you");
  testing::internal::CaptureStderr();
  const Ran first = run({"bench", "--tasks", "Relu,Celu,ELU", "--author", "passk", "--rounds", "2", "--model", model,
                         "--model-tokens", "300", "--rival", "none", "--json", "--store", store});
  const std::string last_words = testing::internal::GetCapturedStderr();
  ASSERT_EQ(first.code, kNo) << first.err;
  EXPECT_EQ(Json::parse(first.out)["tasks"], 3) << "what was not begun counts";
  EXPECT_EQ(count_in(calls), 3);
  EXPECT_NE(last_words.find("2 of 3 tasks are not finished: 300 of 300 tokens are spent; to go on: `kw resume r1"),
            std::string::npos)
      << last_words;
  EXPECT_NE(run({"resume", "--store", store}).out.find("r1"), std::string::npos);

  const Ran other = run({"resume", "r1", "--model", "command:cat", "--store", store});
  EXPECT_EQ(other.code, kBroken);
  EXPECT_NE(other.err.find("cannot go on with it"), std::string::npos) << other.err;

  // The budget is the same again: three more answers are all that is needed.
  const Ran second = run({"resume", "r1", "--json", "--store", store});
  EXPECT_EQ(second.code, kNo) << second.err;
  EXPECT_EQ(count_in(calls), 6) << "no round was asked for twice";
  const std::vector<Json> rounds = rounds_of(store);
  ASSERT_EQ(rounds.size(), 6u);
  EXPECT_EQ(rounds[3]["label"]["round"], 1) << "the second task went on with its second round";
  EXPECT_EQ(run({"resume", "--store", store}).out, "every run is done\n");
  testing::internal::CaptureStderr();
  run({"resume", "r1", "--json", "--store", store});
  EXPECT_NE(testing::internal::GetCapturedStderr().find("r1 is done"), std::string::npos);
  EXPECT_EQ(count_in(calls), 6);
}

TEST(AgentResume, TakesAnotherBudgetAndACassette) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const std::string store = (folder.path() / "store").string();
  const std::string tape = (folder.path() / "tape").string();
  const std::filesystem::path calls = folder.path() / "calls";
  const std::string model = counting_model(calls, "I have no kernel for you");
  // A whole run is recorded, then another one is cut short and ends from the cassette.
  run({"bench", "--tasks", "Relu,Celu", "--author", "oneshot", "--model", model, "--rival", "none", "--json", "--store",
       (folder.path() / "other").string(), "--record", tape});
  ASSERT_EQ(count_in(calls), 2);
  testing::internal::CaptureStderr();
  run({"bench", "--tasks", "Relu,Celu", "--author", "oneshot", "--model", model, "--model-tokens", "50", "--rival",
       "none", "--json", "--store", store});
  ASSERT_EQ(count_in(calls), 3);
  const Ran rest = run({"resume", "r1", "--model-tokens", "1000", "--replay", tape, "--json", "--store", store});
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(rest.code, kNo) << rest.err;
  EXPECT_EQ(count_in(calls), 3);
  EXPECT_EQ(rounds_of(store).size(), 2u);
  EXPECT_EQ(run({"resume", "--store", store}).out, "every run is done\n");
}

// The program itself, shot in the middle of the story of tests/agents/scripted_model.py.
TEST(SlowAgentResume, GoesOnWithTheRoundInWhichItWasKilled) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const std::string store = (folder.path() / "store").string();
  const std::string model =
      "command:python3 -B " KW_SOURCE_DIR "/tests/agents/scripted_model.py " + (folder.path() / "note").string();
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kw";
  const pid_t shot = ::fork();
  if (shot == 0) {
    const int nothing = ::open("/dev/null", O_WRONLY);
    if (::dup2(nothing, 1) < 0 || ::dup2(nothing, 2) < 0) ::_exit(99);
    ::execl(program.c_str(), "kw", "bench", "--tasks", "Relu", "--author", "moka", "--rounds", "3", "--model",
            model.c_str(), "--start", "plain", "--rival", "none", "--store", store.c_str(), nullptr);
    ::_exit(99);
  }
  for (int tries = 0; tries < 1200; ++tries) {  // until round 1 is in the record
    ::usleep(50'000);
    const auto record = store::Store::open_existing(store);
    const auto done = record.ok() ? record->database().number("SELECT count(*) FROM item") : Result<std::int64_t>(0);
    if (done.ok() && *done >= 2) break;
  }
  ::kill(shot, SIGKILL);
  ::waitpid(shot, nullptr, 0);
  const std::size_t before = rounds_of(store).size();
  ASSERT_GE(before, 2u);
  ASSERT_LT(before, 4u) << "killed too late to show anything";
  const Ran resumed = run({"resume", "r1", "--json", "--store", store});
  ASSERT_EQ(resumed.code, kYes) << resumed.err << resumed.out;
  const std::vector<Json> rounds = rounds_of(store);
  ASSERT_EQ(rounds.size(), 4u) << "each round once";
  for (int i = 0; i < 4; ++i) EXPECT_EQ(rounds[static_cast<std::size_t>(i)]["label"]["round"], i);
  EXPECT_EQ(rounds[1]["verdict"]["verdict"]["stage"], "build");
  EXPECT_EQ(rounds[2]["label"]["from"], 1) << "the repair knows of what failed before the kill";
  EXPECT_EQ(rounds[3]["verdict"]["verdict"]["stage"], "accepted");
  EXPECT_EQ(run({"resume", "--store", store}).out, "every run is done\n");
}

// Its tunable is how often the work is done: any tuner finds that once is enough.
TEST(SlowTuner, SearchesWhatAModelLeftOpenWithoutAsking) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const std::string store = (folder.path() / "store").string();
  const std::filesystem::path calls = folder.path() / "calls";
  const std::string model = counting_model(calls, R"(```cpp
#include <kernelwright.h>
KW_TUNE(REPEAT, 4, 1);
KW_KERNEL(call) {
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  for (int r = 0; r < REPEAT; ++r) {
    for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
    asm volatile("" ::: "memory");
  }
}
```)");
  const Ran ran = run({"optimize", "Relu", "--author", "oneshot", "--model", model, "--rival", "none", "--json",
                       "--store", store, "--out", (folder.path() / "out").string()});
  ASSERT_EQ(ran.code, kYes) << ran.err << ran.out;
  EXPECT_EQ(count_in(calls), 1);
  const std::vector<Json> rounds = rounds_of(store);
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[1]["label"]["role"], "tuner");
  EXPECT_EQ(rounds[1]["label"]["from"], 0);
  EXPECT_NE(run({"export", "r1", "--store", store}).out.find("the tuner's values REPEAT=1"), std::string::npos);
  EXPECT_NE(rounds[0]["label"]["tuning"].text().find("REPEAT=1"), std::string::npos) << "what was tried is told";
  EXPECT_TRUE(rounds[1]["label"]["beside"]["sure"].get<bool>()) << "timed beside the kernel that it tunes";
  const auto taken = read_file(folder.path() / "out" / "Relu.cpp");
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->find("KW_TUNE(REPEAT, 4"), std::string::npos) << "the winner's value is in what is taken away";
}

// A tape holds all that is needed: the model's name, its answers, and what was decided on them.
TEST(Replay, NeedsNoModelAndDecidesAsTheTapeDid) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const std::string tape = (folder.path() / "tape").string();
  const std::filesystem::path calls = folder.path() / "calls";
  const std::string model = counting_model(calls, "```cpp\n" + std::string(kOwnKernel) + "```\n");
  const auto play = [&](const std::string& store, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"optimize",
                                      "Relu",
                                      "--author",
                                      "oneshot",
                                      "--rival",
                                      "none",
                                      "--json",
                                      "--store",
                                      (folder.path() / store).string(),
                                      "--out",
                                      (folder.path() / store / "out").string()};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  ASSERT_EQ(play("first", {"--model", model, "--record", tape}).code, kYes);
  ASSERT_EQ(count_in(calls), 1);
  const Ran again = play("second", {"--replay", tape});
  EXPECT_EQ(again.code, kYes) << again.err;
  EXPECT_EQ(count_in(calls), 1) << "no model was asked";
  EXPECT_EQ(Json::parse(again.out)["model"]["name"], model);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "second" / "out" / "Relu.cpp"));
  // The whole stack is in the record.
  const std::string record = run({"export", "r1", "--store", (folder.path() / "first").string()}).out;
  for (const char* fact : {"prompts_version", "temperature", "seed", "start", "asked"}) {
    EXPECT_NE(record.find(fact), std::string::npos) << fact;
  }
}

// Made with other prompts than those of today, on another machine.
TEST(SlowReplay, PlaysATapeOfACapableModel) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const std::string store = (folder.path() / "store").string();
  const Ran ran = run({"bench", "--tasks", "DepthToSpace", "--author", "tree", "--rounds", "2", "--rival", "none",
                       "--replay", KW_SOURCE_DIR "/tests/models/tapes/tree", "--json", "--store", store});
  ASSERT_EQ(ran.code, kYes) << ran.err;
  const std::vector<Json> rounds = rounds_of(store);
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[1]["label"]["from"], 0);
  for (const Json& round : rounds) EXPECT_EQ(round["label"]["taped"], "accepted");
  const auto record = store::Store::open_existing(store);
  EXPECT_EQ(
      *record->database().number("SELECT count(*) FROM event WHERE text LIKE '%2 of 2 kernels judged as on the tape%'"),
      1);
}

// A plan that was answered is not asked for again, and what is left is counted in tasks.
TEST(AgentResume, DoesNotAskAgainForAPlanThatWasAnswered) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const std::string store = (folder.path() / "store").string(), out = (folder.path() / "out").string();
  const std::string kernel = (folder.path() / "mine.cpp").string();
  ASSERT_TRUE(write_file(kernel, kOwnKernel).ok());
  const std::filesystem::path calls = folder.path() / "calls", answer = folder.path() / "answer";
  const std::string faster = std::string(kOwnKernel) + "// another\n";
  // Plans always, code only once somebody has put it there.
  ASSERT_TRUE(
      write_file(
          folder.path() / "model.sh",
          "if grep -q 'You are the Coder'; then cat " + answer.string() + " && echo code >> " + calls.string() +
              "; else echo plan >> " + calls.string() +
              "; echo '{\"reflection\": \"r\", \"bottleneck\": \"b\", \"method\": \"m\", \"plan\": \"p\"}'; fi\n")
          .ok());
  const std::string model = "command:sh " + (folder.path() / "model.sh").string();
  testing::internal::CaptureStderr();
  // 100 tokens are spent with the plan: the budget ends before the Coder is asked.
  const Ran first = run({"optimize", kernel, "--task", "Relu", "--author", "moka", "--rounds", "1", "--model", model,
                         "--model-tokens", "100", "--rival", "none", "--json", "--store", store, "--out", out});
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(first.code, kNo) << first.err << first.out;
  ASSERT_EQ(*read_file(calls), "plan\n");
  EXPECT_NE(run({"resume", "--store", store}).out.find("1 of 1 tasks left"), std::string::npos)
      << run({"resume", "--store", store}).out;
  ASSERT_TRUE(write_file(answer, "```cpp\n" + faster + "```\n").ok());
  const Ran second = run({"resume", "r1", "--model-tokens", "100000", "--json", "--store", store, "--events",
                          (folder.path() / "events").string()});
  EXPECT_EQ(second.code, kYes) << second.err << second.out;
  EXPECT_EQ(*read_file(calls), "plan\ncode\n") << "the plan was there";
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "out" / "Relu.cpp")) << "--out is the first command's";
  EXPECT_NE(read_file(folder.path() / "events")->find("\"ended\""), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(store) / "unfinished" / "r1.jsonl"));
  EXPECT_EQ(run({"resume", "--store", store}).out, "every run is done\n");
}

TEST(Authors, EndWithWhatTheyHaveWhenTheModelIsGone) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const ScratchVariable url("OPENAI_BASE_URL", "http://127.0.0.1:1");
  const std::string store = (folder.path() / "store").string();
  // A program that fails is one failed round; the run goes on.
  const Ran failing = run({"optimize", "Relu", "--author", "passk", "--rounds", "2", "--model",
                           "command:echo no >&2; false", "--rival", "none", "--json", "--store", store});
  EXPECT_EQ(failing.code, kNo) << failing.err;
  EXPECT_EQ(Json::parse(failing.out)["model"]["rounds"], 2) << failing.out;
  EXPECT_NE(failing.out.find("ended with 1: no"), std::string::npos) << failing.out;
  // Words that are no kernel are an honest failure.
  const Ran words = run({"optimize", "Relu", "--author", "oneshot", "--model", "command:echo I cannot help with that",
                         "--rival", "none", "--json", "--store", store});
  EXPECT_EQ(words.code, kNo);
  // A budget ends it.
  const Ran spent = run({"optimize", "Relu", "--author", "refine", "--model", "command:echo words", "--model-tokens",
                         "10", "--rival", "none", "--json", "--store", store});
  EXPECT_EQ(spent.code, kNo);
  EXPECT_NE(spent.out.find("tokens are spent"), std::string::npos) << spent.out;
}

// MoKA begins with the plain kernel, which is right: that is no answer of the model.
TEST(SlowMoka, IsNotCreditedWithTheKernelThatItWasGiven) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const std::string store = (folder.path() / "store").string();
  const Ran ran = run({"bench", "--tasks", "Relu", "--author", "moka", "--rounds", "1", "--model", "command:echo no",
                       "--start", "plain", "--rival", "none", "--json", "--store", store});
  EXPECT_EQ(ran.code, kNo) << ran.out << ran.err;
  const std::vector<Json> rounds = rounds_of(store);
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[0]["purpose"], "start");
  EXPECT_EQ(rounds[0]["verdict"]["verdict"]["stage"], "accepted");
}

TEST(Authors, AreRefusedWhereTheyDoNotFit) {
  EXPECT_NE(run({"optimize", "Relu", "--author", "mokka", "--model", "command:cat", "--rival", "none"})
                .err.find("nearest: moka"),
            std::string::npos);
  EXPECT_NE(run({"optimize", "Relu", "--author", "moka", "--rival", "none"}).err.find("which model?"),
            std::string::npos);
  EXPECT_NE(run({"optimize", "Relu", "--model", "command:cat", "--rival", "none"}).err.find("--author"),
            std::string::npos);
  EXPECT_NE(run({"optimize", "Relu", "--author", "moka", "--model", "command:cat", "--rounds", "0", "--rival", "none"})
                .err.find("--rounds"),
            std::string::npos);
}

TEST(Authors, WriteEvents) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const std::filesystem::path events = folder.path() / "events";
  const Ran ran =
      run({"bench", "--tasks", "Relu,Celu", "--author", "passk", "--rounds", "2", "--model", "command:echo no kernel",
           "--rival", "none", "--json", "--store", (folder.path() / "store").string(), "--events", events.string()});
  ASSERT_EQ(ran.code, kNo) << ran.err;
  std::map<std::string, int> seen;
  std::istringstream lines(read_file(events).value());
  for (std::string line; std::getline(lines, line);) {
    const Json event = Json::parse(line);
    ++seen[event["event"].text()];
    if (event["event"] == "planned") {
      EXPECT_EQ(event["total"], 2);
    } else if (event["event"] == "ended") {
      EXPECT_EQ(event["state"], "done");
    }
  }
  EXPECT_EQ(seen["planned"], 1);
  EXPECT_EQ(seen["started"], 2);
  EXPECT_EQ(seen["error"], 4) << "each round without a kernel";
  EXPECT_EQ(seen["advanced"], 2);
  EXPECT_EQ(seen["ended"], 1);
}

TEST(Authors, BeginWithTheKernelThatTheUserGives) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const std::string kernel = (folder.path() / "mine.cpp").string(), asked = (folder.path() / "asked").string();
  ASSERT_TRUE(write_file(kernel, kOwnKernel).ok());
  const Ran ran = run({"optimize", kernel, "--task", "Relu", "--author", "oneshot", "--model",
                       "command:cat > " + asked + "; echo no", "--rival", "none", "--json", "--store",
                       (folder.path() / "store").string()});
  ASSERT_EQ(ran.code, kNo) << ran.err;
  EXPECT_NE(read_file(asked)->find("a kernel of the user's own"), std::string::npos) << *read_file(asked);
}

TEST(SlowMoka, JudgesTheUsersKernelFirst) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const std::string kernel = (folder.path() / "mine.cpp").string(), store = (folder.path() / "store").string();
  ASSERT_TRUE(write_file(kernel, kOwnKernel).ok());
  const Ran ran = run({"optimize", kernel, "--task", "Relu", "--author", "moka", "--rounds", "1", "--model",
                       "command:echo no", "--rival", "none", "--json", "--store", store});
  ASSERT_EQ(ran.code, kNo) << ran.err;
  const std::vector<Json> rounds = rounds_of(store);
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[0]["purpose"], "start");
  EXPECT_EQ(rounds[0]["verdict"]["verdict"]["stage"], "accepted");
  const auto record = store::Store::open_existing(store);
  EXPECT_EQ(*record->database().number("SELECT count(*) FROM candidate WHERE author = 'file'"), 1);
}

// Its kernels differ, so that each is judged; the warden is shot when the first round is in the record.
TEST(SlowAuthors, GoOnWithANewJudgeWhenTheirSandboxIsKilled) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const std::string store = (folder.path() / "store").string(), out = (folder.path() / "taken").string();
  const std::string answer = (folder.path() / "answer").string(), calls = (folder.path() / "calls").string();
  ASSERT_TRUE(write_file(answer, kOwnKernel).ok());
  const std::string model = "command:cat > /dev/null; echo x >> " + calls +
                            "; echo '```cpp'; echo \"// $(date +%N)\"; cat " + answer + "; echo '```'";
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kw";
  const std::string err = (folder.path() / "err").string();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open("/dev/null", O_WRONLY), 1);
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT, 0666), 2);
    ::execl(program.c_str(), "kw", "optimize", "Relu", "--author", "passk", "--rounds", "4", "--model", model.c_str(),
            "--rival", "none", "--json", "--store", store.c_str(), "--out", out.c_str(), nullptr);
    ::_exit(99);
  }
  const auto recorded = [&]() -> std::int64_t {
    const auto record = store::Store::open_existing(store);
    const auto count = record.ok() ? record->database().number("SELECT count(*) FROM item") : Result<std::int64_t>(0);
    return count.ok() ? *count : 0;
  };
  bool killed = false;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    ::usleep(20'000);
    if (killed || recorded() < 1) continue;
    for (const int pid : runs::children_of(child)) {
      const auto words = read_file(fmt::format("/proc/{}/cmdline", pid));
      const bool is_warden = words.ok() && words->find("kw-warden") != std::string::npos;
      if (is_warden) killed = ::kill(pid, SIGKILL) == 0 || killed;
    }
  }
  EXPECT_TRUE(killed);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kYes) << *read_file(err);
  EXPECT_EQ(rounds_of(store).size(), 4u);
  // The round that was being judged when it happened is asked for again, as after a crash.
  EXPECT_LE(count_in(calls), 5);
  // What is written at the end is there after a resume as well, without asking.
  std::filesystem::remove_all(out);
  const std::int64_t asked = count_in(calls);
  EXPECT_EQ(run({"resume", "r1", "--store", store}).code, kYes);
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(out) / "Relu.cpp"));
  EXPECT_EQ(count_in(calls), asked);
}

}  // namespace
}  // namespace kw::cli
