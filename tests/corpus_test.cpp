// kw corpus and kw gym by the program's own door, with real kernels.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "base/scratch.h"
#include "cli/program.h"
#include "store/store.h"

namespace kw::cli {
namespace {

struct CorpusRan {
  int code;
  std::string out;
  std::string err;
};

CorpusRan run_kw(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  const int code = run_program(words, out, err);
  return {code, out.str(), err.str()};
}

TEST(CorpusCommand, SaysWhatIsMissing) {
  const ScratchFolder folder;
  const ScratchVariable store("KW_STORE", folder.path().string());
  EXPECT_NE(run_kw({"corpus", "bild"}).err.find("nearest: build"), std::string::npos);
  EXPECT_NE(run_kw({"corpus", "export"}).err.find("--out DIR"), std::string::npos);
  EXPECT_EQ(run_kw({"corpus", "show"}).code, 1) << "there is no record";
  EXPECT_NE(run_kw({"corpus", "build", "--only", "Nonsense"}).err.find("Nonsense"), std::string::npos);
  EXPECT_NE(run_kw({"corpus", "show", "gone.jsonl"}).err.find("gone.jsonl"), std::string::npos);
  const auto file = folder.path() / "cut.jsonl";
  ASSERT_TRUE(write_file(file, "{\"prompt\": \"a\", \"ans").ok());
  EXPECT_NE(run_kw({"corpus", "show", file.string()}).err.find("cut.jsonl:1: it is no JSON, or was cut off"),
            std::string::npos);
}

TEST(CorpusCommand, PlansTheSameForASeed) {
  const CorpusRan first = run_kw({"corpus", "build", "--plan", "--count", "8", "--seed", "3", "--json"});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(std::ranges::count(first.out, '\n'), 8);
  EXPECT_EQ(first.out, run_kw({"corpus", "build", "--plan", "--count", "8", "--seed", "3", "--json"}).out);
  std::istringstream lines(first.out);
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    EXPECT_TRUE(json["prompt"].text().ends_with(json["task_text"].text())) << line;
    EXPECT_NE(json["answer"].text().find("KW_KERNEL("), std::string::npos) << line;
    EXPECT_EQ(json["split"] == "held_out", !json["unseen"].is_null()) << line;
  }
}

TEST(GymCommand, PrintsWhatAModelIsAsked) {
  const CorpusRan ran = run_kw({"gym", "--prompt", "Softmax"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("node "), std::string::npos) << ran.out;
  const Json json = Json::parse(run_kw({"gym", "--prompt", "Relu", "--json"}).out);
  EXPECT_TRUE(json["prompt"].text().ends_with(json["task_text"].text()));
}

// The program is shot after the first verdict; what it planned is judged by whoever resumes it.
TEST(SlowCorpusBuild, IsResumedAfterAKillAndExported) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const std::string store = (folder.path() / "store").string();
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kw";
  const pid_t shot = ::fork();
  if (shot == 0) {
    const int nothing = ::open("/dev/null", O_WRONLY);
    if (::dup2(nothing, 1) < 0 || ::dup2(nothing, 2) < 0) ::_exit(99);
    ::execl(program.c_str(), "kw", "corpus", "build", "--only", "Relu,Erf,Exp", "--count", "6", "--points", "1",
            "--store", store.c_str(), nullptr);
    ::_exit(99);
  }
  const auto verdicts = [&]() -> std::int64_t {
    const auto record = store::Store::open_existing(store);
    const auto count =
        record.ok() ? record->database().number("SELECT count(*) FROM verdict") : Result<std::int64_t>(0);
    return count.ok() ? *count : 0;
  };
  for (int tries = 0; tries < 2400 && verdicts() == 0; ++tries) ::usleep(25'000);
  ::kill(shot, SIGKILL);
  ::waitpid(shot, nullptr, 0);
  ASSERT_GE(verdicts(), 1);
  const CorpusRan resumed = run_kw({"resume", "r1", "--store", store});
  ASSERT_NE(resumed.code, kBroken) << resumed.err;
  EXPECT_EQ(verdicts(), 6) << "each kernel once";
  // Asked for again, everything is taken over.
  const CorpusRan again = run_kw({"corpus", "build", "--only", "Relu,Erf,Exp", "--count", "6", "--points", "1",
                                  "--store", store, "--json", "--quiet"});
  ASSERT_EQ(again.code, kYes) << again.err;
  EXPECT_EQ(Json::parse(again.out)["judged"], 6);

  const std::string out = (folder.path() / "out").string();
  const CorpusRan exported =
      run_kw({"corpus", "export", "r1", "--out", out, "--store", store, "--faster", "0", "--held-out", "0", "--json"});
  ASSERT_EQ(exported.code, kYes) << exported.err;
  const Json counts = Json::parse(exported.out)["counts"];
  EXPECT_EQ(counts["judged"], 6);
  EXPECT_GE(counts["right"].get<int>(), 1) << exported.out;
  const CorpusRan shown = run_kw({"corpus", "show", out + "/sft.train.jsonl", out + "/infill.train.jsonl"});
  EXPECT_EQ(shown.code, kYes) << shown.err;
  EXPECT_NE(shown.out.find("Apache-2.0"), std::string::npos) << shown.out;
}

TEST(SlowDice, RepairsWhatFailsByInfilling) {
  const ScratchFolder folder;
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const CorpusRan ran =
      run_kw({"optimize", "Relu", "--author", "dice", "--rounds", "3", "--model",
              "command:sh " KW_SOURCE_DIR "/tests/agents/infilling_model.sh", "--rival", "none", "--json", "--store",
              (folder.path() / "store").string(), "--out", (folder.path() / "out").string()});
  ASSERT_EQ(ran.code, kYes) << ran.err << ran.out;
  EXPECT_EQ(Json::parse(ran.out)["model"]["rounds"], 3);
  const std::string kernel = *read_file(folder.path() / "out" / "Relu.cpp");
  EXPECT_NE(kernel.find("x[i] < 0 ? 0 : x[i]"), std::string::npos) << kernel;
}

}  // namespace
}  // namespace kw::cli
