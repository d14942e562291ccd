// Runs that are stopped, killed and cut off, and go on.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <fstream>
#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "base/scratch.h"
#include "cli/program.h"
#include "runs/case_record.h"
#include "runs/killed_run.h"
#include "runs/order.h"
#include "suites/catalog.h"

namespace kw::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kRight[] = R"(#include <kernelwright.h>
KW_KERNEL(call) {
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
}
)";

class SlowResume : public testing::Test {
 protected:
  struct Answer {
    int code = 0;
    std::string out;
    std::string err;
  };
  static Answer run(const std::vector<std::string>& words) {
    std::ostringstream out, err;
    const int code = run_program(words, out, err);
    return {code, out.str(), err.str()};
  }
  static std::vector<Json> lines_of(const std::string& text) {
    std::vector<Json> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse_quietly(line));
    return lines;
  }

  // A run of right kernels for the task, written down and not begun. No two are the same.
  static void plan(const fs::path& folder, const Task& task, int count) {
    auto store = store::Store::open(folder);
    ASSERT_TRUE(store.ok()) << store.error().message;
    judge::Case one;
    one.task = &task;
    one.timed = false;
    std::vector<store::NewItem> items;
    for (int i = 1; i <= count; ++i) {
      one.source = {"kernel.cpp", fmt::format("// {} {}\n{}", folder.string(), i, kRight)};
      items.push_back(runs::planned(i, one, "null"));
    }
    const auto made = store->begin_run(runs::run_of({.rules = one}, "by hand"), items);
    ASSERT_TRUE(made.ok()) << made.error().message;
  }

  const ScratchFolder folder_;
  const ScratchVariable store_{"KW_STORE", (folder_.path() / "record").string()};
  const ScratchVariable cache_{"XDG_CACHE_HOME", shared_cache()};

 private:
  // One for all tests of a process: a precompiled header takes a second.
  static std::string shared_cache() {
    static const ScratchFolder folder;
    return folder.path().string();
  }
};

TEST_F(SlowResume, JudgesTheTaskAsItWas) {
  const std::string suite = (folder_.path() / "mine.toml").string();
  const auto write_suite = [&](const char* op) {
    return write_file(suite, fmt::format("suite = \"mine\"\n[[task]]\nname = \"T\"\ncategory = \"C\"\n"
                                         "inputs = [\"x: float32[N=64]\"]\nnodes = [\"y = {}(x)\"]\n",
                                         op));
  };
  ASSERT_TRUE(write_suite("Relu").ok());
  plan(folder_.path() / "record", *suites::find_task(suite + ":T"), 2);
  ASSERT_TRUE(write_suite("Neg").ok());
  const Answer answer = run({"resume", "r1"});
  EXPECT_EQ(answer.code, kYes) << answer.out << answer.err;
  const auto lines = lines_of(answer.out);
  ASSERT_EQ(lines.size(), 2u) << answer.out;
  for (const Json& line : lines) EXPECT_TRUE(line["accepted"]) << line;
  const Answer again = run({"resume", "r1"});
  EXPECT_EQ(again.code, kYes) << again.err;
  EXPECT_EQ(again.out, "") << "nothing is judged twice";
}

TEST_F(SlowResume, LosesAndDoublesNothingWhenShotAt) {
  runs::KilledRunCounts counts;
  runs::KilledRun(folder_.path() / "shot", 3, 0.8, 7).shoot(3, counts);
  EXPECT_EQ(counts.lost, 0);
  EXPECT_EQ(counts.doubled, 0);
  EXPECT_EQ(counts.not_resumable, 0);
  EXPECT_EQ(counts.misjudged, std::vector<std::string>{});
}

// Ctrl-C of the real program, when its first line has come.
TEST_F(SlowResume, StopsAtCtrlCAndGoesOn) {
  constexpr int kItems = 6;
  plan(folder_.path() / "record", *suites::find_task("Relu"), kItems);
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "kw";
  const fs::path out = folder_.path() / "out", err = folder_.path() / "err";
  const pid_t child = ::fork();
  if (child == 0) {
    const int out_file = ::open(out.c_str(), O_WRONLY | O_CREAT, 0666);
    const int err_file = ::open(err.c_str(), O_WRONLY | O_CREAT, 0666);
    if (::dup2(out_file, 1) < 0 || ::dup2(err_file, 2) < 0) ::_exit(99);
    ::execl(program.c_str(), "kw", "resume", "r1", nullptr);
    ::_exit(99);
  }
  std::error_code code;
  for (int i = 0; i < 1000 && (!fs::exists(out, code) || fs::file_size(out, code) == 0); ++i) ::usleep(20'000);
  ::kill(child, SIGINT);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_NE(read_file(err)->find("`kw resume r1`"), std::string::npos) << *read_file(err);
  EXPECT_NE(run({"runs"}).out.find("stopped"), std::string::npos);
  const auto told = lines_of(*read_file(out));
  EXPECT_GE(told.size(), 1u);
  EXPECT_LT(told.size(), static_cast<std::size_t>(kItems)) << "it did not stop";
  const Answer rest = run({"resume", "r1"});
  EXPECT_EQ(rest.code, kYes) << rest.out << rest.err;
  std::set<int> lines;
  for (const Json& line : told) EXPECT_TRUE(lines.insert(line["line"].get<int>()).second);
  for (const Json& line : lines_of(rest.out)) EXPECT_TRUE(lines.insert(line["line"].get<int>()).second);
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(kItems));
}

// A disk of a megabyte that is nearly full.
TEST_F(SlowResume, AFullDiskEndsTheWorkAndNotTheRun) {
  constexpr int kItems = 3;
  const fs::path disk = folder_.path() / "record";
  fs::create_directories(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "no disk can be mounted here";
  plan(disk, *suites::find_task("Relu"), kItems);
  {
    std::ofstream filler(disk / "filler", std::ios::binary);
    const auto room = fs::space(disk).available;
    filler << std::string(room > 40'000 ? room - 40'000 : 0, 'x');
  }
  const Answer full = run({"resume", "r1"});
  fs::remove(disk / "filler");
  const Answer rest = run({"resume", "r1"});
  ::umount2(disk.c_str(), MNT_DETACH);
  EXPECT_EQ(full.code, kBroken) << full.out;
  EXPECT_NE(full.err.find("disk"), std::string::npos) << full.err;
  EXPECT_EQ(rest.code, kYes) << rest.out << rest.err;
  EXPECT_EQ(lines_of(full.out).size() + lines_of(rest.out).size(), static_cast<std::size_t>(kItems));
}

TEST_F(SlowResume, TakesTheTimesOfAnEarlierRun) {
  const std::string batch = (folder_.path() / "batch.jsonl").string();
  ASSERT_TRUE(write_file(batch, Json{{"task", "Relu"}, {"source", kRight}}.dump() + "\n").ok());
  ASSERT_EQ(run({"eval", "--batch", batch}).code, kYes);
  const Answer again = run({"eval", "--batch", batch});
  ASSERT_EQ(again.code, kYes) << again.err;
  EXPECT_TRUE(lines_of(again.out).at(0)["kept"]);
  const auto store = store::Store::open_existing(folder_.path() / "record");
  std::vector<std::string> times;
  for (const std::int64_t id : {1, 2}) {
    const Status read = store->each_recorded(id, [&](const store::Recorded& one) -> Status {
      times.push_back(one.speedups.at(0).packed_times + one.speedups.at(0).version);
      return {};
    });
    EXPECT_TRUE(read.ok());
  }
  EXPECT_EQ(times.at(0), times.at(1));
  EXPECT_EQ(run({"eval", "--batch", batch, "--no-store"}).code, kYes);
  EXPECT_EQ(store->runs()->size(), 2u);
}

TEST_F(SlowResume, KeepsWhoWroteACandidateAndWhatItWasMadeFrom) {
  const std::string batch = (folder_.path() / "batch.jsonl").string();
  const Json first = {{"task", "Relu"}, {"source", "int x = ;"}, {"id", "a"}, {"notes", "a first try"}};
  const Json second = {{"task", "Relu"}, {"source", "int y = ;"}, {"id", 2}, {"author", "B"}, {"parents", {"a"}}};
  const Json orphan = {{"task", "Relu"}, {"source", "int z = ;"}, {"parents", {"a", "nobody"}}};
  const Json wrong = {{"task", "Relu"}, {"source", "int z = ;"}, {"parents", "a"}};
  ASSERT_TRUE(
      write_file(batch, first.dump() + "\n" + second.dump() + "\n" + orphan.dump() + "\n" + wrong.dump() + "\n").ok());
  const Answer answer = run({"eval", "--batch", batch, "--author", "A", "--quiet"});
  EXPECT_EQ(answer.code, kBroken);
  EXPECT_NE(answer.out.find("its parent \\\"nobody\\\" is no earlier line's id"), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("is a list of the ids"), std::string::npos) << answer.out;
  const auto store = store::Store::open_existing(folder_.path() / "record");
  EXPECT_EQ(*store->database().number("SELECT count(*) FROM parent JOIN candidate AS child ON child.id = "
                                      "parent.candidate JOIN candidate AS parents ON parents.id = parent.parent WHERE "
                                      "child.author = 'B' AND parents.author = 'A' AND parents.notes = 'a first try'"),
            1);
}

TEST_F(SlowResume, SaysThatNothingCanBeRecordedHere) {
  const std::string batch = (folder_.path() / "batch.jsonl").string();
  ASSERT_TRUE(write_file(batch, Json{{"task", "Relu"}, {"source", kRight}}.dump() + "\n").ok());
  const Answer answer = run({"eval", "--batch", batch, "--store", "/proc/nowhere"});
  EXPECT_EQ(answer.code, kBroken);
  EXPECT_NE(answer.err.find("--no-store"), std::string::npos) << answer.err;
}

// A run that somebody else began, and that asks for a program, files and prompts of its own.
TEST(Resume, RunsNothingThatAForeignRecordNames) {
  const ScratchFolder folder;
  const fs::path trace = folder.path() / "trace";
  auto store = store::Store::open(folder.path());
  ASSERT_TRUE(store.ok());
  const std::string command = "command:touch " + trace.string();
  const Json agents = {{"author", "oneshot"}, {"model", command}, {"repo", "/etc"}, {"prompts", "/etc"}};
  const Json rules = {{"agents", agents}, {"tasks", Json::array()}};
  ASSERT_TRUE(
      store
          ->begin_run(
              {.command = "x", .author = "oneshot with " + command, .strategy = "rounds", .rules = rules.dump()}, {})
          .ok());
  ASSERT_TRUE(store->database().execute("UPDATE run SET seal = ''").ok());
  std::ostringstream out, err;
  EXPECT_EQ(run_program({"resume", "r1", "--store", folder.path().string()}, out, err), kBroken);
  EXPECT_NE(err.str().find("was not begun here, and would use 'command:touch"), std::string::npos) << err.str();
  EXPECT_NE(err.str().find("--allow 'command:touch " + trace.string() + "'"), std::string::npos) << err.str();
  EXPECT_EQ(run_program({"resume", "r1", "--store", folder.path().string(), "--allow", command}, out, err), kBroken);
  EXPECT_NE(err.str().find("would use '/etc'"), std::string::npos) << err.str();
  EXPECT_FALSE(fs::exists(trace));
}

// A run that somebody else began, and that would leave its kernel in a folder of the user's.
TEST(Resume, WritesNowhereThatAForeignRecordNames) {
  const ScratchFolder folder;
  auto store = store::Store::open(folder.path());
  ASSERT_TRUE(store.ok());
  const fs::path target = folder.path() / "home";
  const Json rules = {{"search", {{"budget", "1s"}}}, {"out", target.string()}, {"tasks", Json::array()}};
  ASSERT_TRUE(
      store->begin_run({.command = "x", .author = "templates", .strategy = "auto", .rules = rules.dump()}, {}).ok());
  ASSERT_TRUE(store->database().execute("UPDATE run SET seal = ''").ok());
  std::ostringstream out, err;
  EXPECT_EQ(run_program({"resume", "r1", "--store", folder.path().string()}, out, err), kBroken);
  EXPECT_NE(err.str().find("was not begun here, and would use '" + target.string()), std::string::npos) << err.str();
}

}  // namespace
}  // namespace kw::cli
