// The whole path of an author with a model, by the program's own door.
#include "cli/agent_run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "base/scratch.h"
#include "cli/program.h"

namespace kw::cli {
namespace {

using Json = nlohmann::json;

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
    if (json["kind"] == "item" && json["purpose"] == "search") rounds.push_back(json);
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
      run({"optimize", "Relu", "--author", "moka", "--model", model, "--rival", "none", "--json", "--store", store,
           "--out", (folder.path() / "out").string(), "--record", (folder.path() / "tape").string()});
  ASSERT_NE(ran.code, kBroken) << ran.err << ran.out;
  const Json result = Json::parse(ran.out);
  EXPECT_TRUE(result["accepted"].get<bool>());
  // On a busy machine the plain kernel may stay the best; a kernel of the model that is better is written to take away.
  EXPECT_EQ(std::filesystem::exists(folder.path() / "out" / "Relu.cpp"), ran.code == kYes);

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
  // Each plan and each coder's answer; two plans were mended, one never came, and one round broke off before its coder.
  EXPECT_EQ(result["model"]["requests"], 10 * 2 + 3 - 1);
  EXPECT_EQ(result["model"]["output_tokens"], 22 * 10);
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(store) / "lessons.jsonl"));
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

}  // namespace
}  // namespace kw::cli
