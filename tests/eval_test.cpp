// kw eval as its users meet it: good kernels, bad ones, and input that is no kernel at all.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <set>
#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "base/scratch.h"
#include "cli/program.h"
#include "rivals/catalog.h"

namespace kw::cli {
namespace {

constexpr char kRight[] = R"(#include <kernelwright.h>
KW_TUNE(UNROLL, 2, 1, 2, 4);
KW_REQUIRE(UNROLL <= 8);
KW_KERNEL(call) {
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  int64_t i = 0;
  for (; i + UNROLL <= x.count(); i += UNROLL) {
    for (int k = 0; k < UNROLL; ++k) y[i + k] = x[i + k] < 0 ? 0 : x[i + k];
  }
  for (; i < x.count(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
}
)";

class SlowEval : public testing::Test {
 protected:
  struct Answer {
    int code = 0;
    std::string out;
    std::string err;
    double seconds = 0;
    Json json() const { return Json::parse_quietly(out); }
  };

  Answer eval(std::vector<std::string> words) {
    words.insert(words.begin(), "eval");
    std::ostringstream out, err;
    const auto begin = std::chrono::steady_clock::now();
    Answer answer;
    answer.code = run_program(words, out, err);
    answer.out = out.str();
    answer.err = err.str();
    answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return answer;
  }

  std::string file(const std::string& name, const std::string& text) {
    const auto path = folder_.path() / name;
    EXPECT_TRUE(write_file(path, text).ok());
    return path.string();
  }
  // A kernel with this body.
  Answer eval_body(const std::string& body, const std::string& before = "") {
    return eval({"Relu",
                 file("kernel.cpp", "#include <kernelwright.h>\n" + before + "\nKW_KERNEL(call) {\n" + body + "\n}\n"),
                 "--untimed", "--json"});
  }

  const ScratchFolder folder_;
  const ScratchVariable cache_{"XDG_CACHE_HOME", shared_cache()};
  const ScratchVariable store_{"KW_STORE", (folder_.path() / "record").string()};

 private:
  // One for all tests of a process: a precompiled header takes a second.
  static std::string shared_cache() {
    static const ScratchFolder folder;
    return folder.path().string();
  }
};

TEST_F(SlowEval, AcceptsARightKernelAndTimesIt) {
  const Answer answer = eval({"Relu", file("relu.cpp", kRight), "--budget", "0.2", "--json"});
  ASSERT_EQ(answer.code, kYes) << answer.out << answer.err;
  const Json json = answer.json();
  EXPECT_EQ(json["stage"], "accepted");
  EXPECT_GT(json["time_ns"].get<double>(), 0);
  EXPECT_GT(json["speedup"]["plain"]["median"].get<double>(), 0);
  EXPECT_LE(json["speedup"]["plain"]["low"].get<double>(), json["speedup"]["plain"]["high"].get<double>());
  EXPECT_FALSE(json["kept"]);
  const Answer again = eval({"Relu", file("relu.cpp", kRight), "--budget", "0.2", "--json"});
  EXPECT_TRUE(again.json()["kept"]);
  EXPECT_EQ(again.json()["time_ns"], json["time_ns"]);
}

TEST_F(SlowEval, SpeaksToPeople) {
  const Answer answer = eval({"Relu", file("relu.cpp", kRight), "--budget", "0.1", "--cold"});
  EXPECT_EQ(answer.code, kYes);
  EXPECT_NE(answer.out.find("accepted"), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("cold caches"), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("against plain"), std::string::npos) << answer.out;
}

TEST_F(SlowEval, SetsTunablesCompilerAndFlags) {
  const std::string relu = file("relu.cpp", kRight);
  EXPECT_EQ(eval({"Relu", relu, "--untimed", "--set", "UNROLL=4", "--set", "flags=-O1"}).code, kYes);
  EXPECT_EQ(eval({"Relu", relu, "--untimed", "--set", "compiler=clang++"}).code, kYes);
  EXPECT_NE(eval({"Relu", relu, "--set", "UNROLL=16"}).err.find("KW_REQUIRE"), std::string::npos);
  EXPECT_NE(eval({"Relu", relu, "--set", "UNRLL=4"}).err.find("nearest: UNROLL"), std::string::npos);
}

TEST_F(SlowEval, BuildsWithEveryCompilerWhateverAKernelIncludes) {
  const std::string kernel = file("text.cpp", "#include <string>\n" + std::string(kRight));
  for (const char* compiler : {"g++", "clang++"}) {
    const Answer answer = eval({"Relu", kernel, "--untimed", "--set", std::string("compiler=") + compiler});
    EXPECT_EQ(answer.code, kYes) << compiler << answer.out << answer.err;
  }
}

TEST_F(SlowEval, ComparesWithAFile) {
  const Answer answer =
      eval({"Relu", file("relu.cpp", kRight), "--against", file("rival.cpp", kRight), "--budget", "0.1", "--json"});
  EXPECT_TRUE(answer.json()["speedup"].contains("rival.cpp")) << answer.out << answer.err;
}

TEST_F(SlowEval, TakesKernelsInC) {
  const Answer answer = eval({"Relu", file("relu.c", R"(#include <kernelwright.h>
KW_TUNE(STEP, 1, 1);
KW_EXPORT int kw_run(kw_call* call) {
  const float* x = call->inputs[0].data;
  float* y = call->outputs[0].data;
  for (int64_t i = 0; i < call->inputs[0].count; i += STEP) y[i] = x[i] < 0 ? 0 : x[i];
  return KW_OK;
}
)"),
                              "--untimed"});
  EXPECT_EQ(answer.code, kYes) << answer.out << answer.err;
}

TEST_F(SlowEval, LetsAKernelPrepareItsWeights) {
  const Answer answer = eval({"PRelu", file("prelu.cpp", R"(#include <kernelwright.h>
KW_PREPARE(call) {
  const auto slope = call.input<float>(1);
  if (call.input<float>(0).given()) call.fail("prepare must not see the input");
  float* kept = call.keep<float>(slope.count());
  for (int64_t i = 0; i < slope.count(); ++i) kept[i] = slope[i];
}
KW_KERNEL(call) {
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  const float* slope = call.prepared<float>();
  const int64_t n = call.input<float>(1).count();
  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] < 0 ? x[i] * slope[i % n] : x[i];
}
)"),
                              "--budget", "0.1"});
  EXPECT_EQ(answer.code, kYes) << answer.out << answer.err;
}

TEST_F(SlowEval, ShowsTheLinesOfACompilersErrors) {
  const Answer answer = eval_body("  int x = ;");
  EXPECT_EQ(answer.code, kNo);
  const Json json = answer.json();
  EXPECT_EQ(json["stage"], "build");
  EXPECT_EQ(json["errors"][0]["line"], 4);
  EXPECT_EQ(json["errors"][0]["file"], "kernel.cpp");
  EXPECT_NE(json["errors"][0]["around"].get<std::string>().find(">    4 |   int x = ;"), std::string::npos)
      << answer.out;
}

TEST_F(SlowEval, ShowsTheElementsThatAreWrong) {
  const Answer answer = eval_body("auto y = call.output<float>(0); for (int64_t i = 0; i < y.count(); ++i) y[i] = 1;");
  EXPECT_EQ(answer.json()["stage"], "verify");
  EXPECT_NE(answer.json()["reason"].get<std::string>().find("got 1, expected"), std::string::npos) << answer.out;
}

TEST_F(SlowEval, PassesOnWhatAKernelSays) {
  const Answer answer = eval_body("call.fail(\"only for even lengths\");");
  EXPECT_NE(answer.json()["reason"].get<std::string>().find("only for even lengths"), std::string::npos) << answer.out;
}

TEST_F(SlowEval, RefusesWhatIsNoSource) {
  EXPECT_EQ(eval({"Relu", (folder_.path() / "missing.cpp").string()}).code, kBroken);
  EXPECT_EQ(eval({"Relu", folder_.path().string()}).code, kBroken);
  const Answer binary = eval({"Relu", file("binary.cpp", std::string("\x7f"
                                                                     "ELF\0\0\0",
                                                                     7))});
  EXPECT_EQ(binary.code, kBroken);
  EXPECT_NE(binary.err.find("no source text"), std::string::npos) << binary.err;
  const auto huge = folder_.path() / "huge.cpp";
  std::ofstream(huge).put('x');
  std::filesystem::resize_file(huge, 100'000'000);
  const Answer large = eval({"Relu", huge.string()});
  EXPECT_EQ(large.code, kBroken);
  EXPECT_LT(large.seconds, 1);
  EXPECT_EQ(eval({"Relu"}).code, kBroken);
  EXPECT_EQ(eval({"Rlu", file("relu.cpp", kRight)}).code, kBroken);
  EXPECT_EQ(eval({"Relu", file("relu.cpp", kRight), "--budget", "soon"}).code, kBroken);
  EXPECT_EQ(eval({"Relu", file("relu.cpp", kRight), "--against", "missing.cpp"}).code, kBroken);
}

TEST_F(SlowEval, EmptySourceIsRejectedNotBroken) {
  EXPECT_EQ(eval({"Relu", file("empty.cpp", ""), "--untimed"}).code, kNo);
}

// Each of these ends with a verdict, within its limit and a second.
TEST_F(SlowEval, HoldsItsLimits) {
  struct Bad {
    std::string name, body, before, stage, reason;
  };
  // Limits are 5 s and 10 s; other tests may keep the machine busy.
  constexpr double kMost_s = 40;
  for (const Bad& bad : {
           Bad{"a file it may not read", "", "#include \"/etc/passwd\"", "build", "No such file"},
           Bad{"endless loop", "for (volatile int i = 0;;) i = i;", "", "verify", "did not end in time"},
           Bad{"early exit", "asm volatile(\"syscall\" : : \"a\"(231), \"D\"(0));", "", "verify",
               "ended its own process"},
           Bad{"fork", "long r; asm volatile(\"syscall\" : \"=a\"(r) : \"a\"(57) : \"rcx\", \"r11\", \"memory\");", "",
               "behaviour", "system call fork"},
           Bad{"sleep",
               "long t[2] = {9, 0}; long r; asm volatile(\"syscall\" : \"=a\"(r) : \"a\"(35), \"D\"(t), \"S\"(0) : "
               "\"rcx\", "
               "\"r11\", \"memory\");",
               "", "behaviour", "system call nanosleep"},
           Bad{"print",
               "for (;;) { long r; asm volatile(\"syscall\" : \"=a\"(r) : \"a\"(1), \"D\"(1), \"S\"(\"x\"), \"d\"(1) : "
               "\"rcx\", "
               "\"r11\", \"memory\"); }",
               "", "behaviour", "system call write"},
           Bad{"signals", "signal(11, SIG_IGN);", "#include <csignal>", "load", "signal"},
           Bad{"all memory", "for (;;) { char* p = (char*)malloc(1 << 24); if (!p) abort(); memset(p, 1, 1 << 24); }",
               "", "verify", "aborted"},
           Bad{"recursion", "struct R { static int f(volatile int n) { return f(n + 1) + n; } }; R::f(0);",
               "#pragma GCC optimize(\"O0\")", "verify", "of stack"},
       }) {
    const Answer answer = eval_body(bad.body, bad.before);
    EXPECT_EQ(answer.code, kNo) << bad.name << ": " << answer.out << answer.err;
    if (answer.code != kNo) continue;
    EXPECT_EQ(answer.json()["stage"], bad.stage) << bad.name << ": " << answer.out;
    EXPECT_NE(answer.json()["reason"].get<std::string>().find(bad.reason), std::string::npos)
        << bad.name << ": " << answer.out;
    EXPECT_LT(answer.seconds, kMost_s) << bad.name;
  }
}

TEST_F(SlowEval, WorksOnOneCore) {
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (unsigned core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const Answer answer = eval({"Relu", file("relu.cpp", kRight), "--budget", "0.2", "--json"});
  ::sched_setaffinity(0, sizeof before, &before);
  ASSERT_EQ(answer.code, kYes) << answer.out << answer.err;
  EXPECT_GT(answer.json()["time_ns"].get<double>(), 0);
}

TEST_F(SlowEval, WorksWhereNothingCanBeKept) {
  const ScratchVariable nowhere("XDG_CACHE_HOME", "/proc/nowhere");
  const Answer answer = eval({"Relu", file("relu.cpp", kRight), "--untimed", "--json"});
  EXPECT_EQ(answer.code, kYes) << answer.out << answer.err;
}

TEST_F(SlowEval, JudgesABatchInOrderOfCompletion) {
  const std::string relu = file("relu.cpp", kRight);
  Json good = {{"task", "Relu"}, {"file", relu}, {"id", "a"}};
  Json set = {{"task", "Relu"}, {"source", kRight}, {"set", {{"UNROLL", 4}}}, {"id", 7}};
  Json wrong = {{"task", "Relu"}, {"source", "#include <kernelwright.h>\nKW_KERNEL(call) {}\n"}};
  const std::string batch = file("batch.jsonl", good.dump() + "\n\n" + set.dump() + "\n" + wrong.dump() + "\n");
  const Answer answer = eval({"--batch", batch, "--budget", "0.1"});
  EXPECT_EQ(answer.code, kNo) << answer.err;
  std::map<int, Json> by_line;
  std::istringstream lines(answer.out);
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    by_line[json["line"]] = json;
  }
  ASSERT_EQ(by_line.size(), 3u);
  EXPECT_TRUE(by_line[1]["accepted"]);
  EXPECT_EQ(by_line[1]["id"], "a");
  EXPECT_TRUE(by_line[3]["accepted"]);
  EXPECT_EQ(by_line[3]["id"], 7);
  EXPECT_EQ(by_line[4]["stage"], "verify");
}

TEST_F(SlowEval, ABatchReadsNothingOutsideOfItsFolder) {
  const ScratchFolder elsewhere;
  const std::string secret = (elsewhere.path() / "secret.cpp").string();
  ASSERT_TRUE(write_file(secret, kRight).ok());
  std::filesystem::create_symlink(secret, folder_.path() / "link.cpp");
  std::string lines;
  for (const std::string& name : {secret, (folder_.path() / "link.cpp").string(), std::string("/etc/passwd"),
                                  (folder_.path() / ".." / elsewhere.path().filename() / "secret.cpp").string()}) {
    lines += Json{{"task", "Relu"}, {"file", name}}.dump() + "\n";
  }
  lines += Json{{"task", secret + ".onnx:0"}, {"source", kRight}}.dump() + "\n";
  // A folder with the name of a model, and behind it the way out.
  std::filesystem::create_directory(folder_.path() / "a.toml");
  ASSERT_TRUE(write_file(elsewhere.path() / "s.toml",
                         "suite = \"s\"\nabout = \"x\"\n[[task]]\nname = \"Mine\"\ncategory = \"c\"\n"
                         "inputs = [\"x: float32[N=4]\"]\nnodes = [\"y = Relu(x)\"]\n")
                  .ok());
  const auto way_out = folder_.path() / "a.toml" / ".." / ".." / elsewhere.path().filename() / "s.toml";
  lines += Json{{"task", way_out.string() + ":Mine"}, {"source", kRight}}.dump() + "\n";
  const std::string batch = file("outside.jsonl", lines);
  const Answer answer = eval({"--batch", batch, "--untimed", "--no-store"});
  EXPECT_EQ(answer.code, kBroken);
  EXPECT_EQ(std::ranges::count(answer.out, '\n'), 6) << answer.out;
  EXPECT_EQ(answer.out.find("accepted"), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("outside of the batch's folder"), std::string::npos) << answer.out;
  const std::string one = file("one.jsonl", Json{{"task", "Relu"}, {"file", secret}}.dump() + "\n");
  EXPECT_EQ(eval({"--batch", one, "--untimed", "--no-store", "--files", elsewhere.path().string()}).code, kYes);
}

TEST_F(SlowEval, GoesOnBehindABrokenLineOfABatch) {
  const std::string batch =
      file("batch.jsonl", "nonsense\n{\"task\": \"Rlu\", \"file\": \"x\"}\n{\"task\": \"Relu\"}\n" +
                              Json{{"task", "Relu"}, {"source", kRight}}.dump() + "\n");
  const Answer answer = eval({"--batch", batch, "--untimed"});
  EXPECT_EQ(answer.code, kBroken);
  EXPECT_NE(answer.out.find("\"line\":1,\"error\":\"not a JSON object\""), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("nearest"), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("\"accepted\":true"), std::string::npos) << answer.out;
  EXPECT_EQ(eval({"--batch", file("empty.jsonl", "\n")}).code, kBroken);
  EXPECT_EQ(eval({"--batch", "missing.jsonl"}).code, kBroken);
}

std::set<int> wardens() {
  std::set<int> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream name(entry.path() / "comm");
    std::string word;
    if (name >> word && word == "kw-warden") all.insert(std::atoi(entry.path().filename().c_str()));
  }
  return all;
}

// What a judge that is killed leaves behind: nothing. Other tests may run at the same time, so only what outlives them
// for seconds counts.
TEST_F(SlowEval, LeavesNothingBehindWhenItIsKilled) {
  const std::string endless =
      file("endless.cpp", "#include <kernelwright.h>\nKW_KERNEL(call) { for (volatile int i = 0;;) i = i; }\n");
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kw";
  const std::set<int> before = wardens();
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl(program.c_str(), "kw", "eval", "Relu", endless.c_str(), "--untimed", nullptr);
    ::_exit(1);
  }
  // The header is compiled first; then the loop begins.
  std::set<int> ours;
  for (int i = 0; i < 100 && ours.size() < 2; ++i) {
    ::usleep(100'000);
    for (int pid : wardens()) {
      if (!before.contains(pid)) ours.insert(pid);
    }
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (int i = 0; i < 100; ++i) {
    const std::set<int> now = wardens();
    if (std::ranges::none_of(ours, [&](int pid) { return now.contains(pid); })) return;
    ::usleep(50'000);
  }
  FAIL() << "processes of the killed judge are still there";
}

// Whoever kills a candidate's process from outside does it no wrong: it is judged again.
TEST_F(SlowEval, JudgesAgainWhatSomebodyElseKilled) {
  const std::string slow = file("slow.cpp", R"(#include <kernelwright.h>
KW_KERNEL(call) {
  for (volatile int i = 0; i < 5000000;) i = i + 1;
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
}
)");
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kw";
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open("/dev/null", O_WRONLY), 1);
    ::execl(program.c_str(), "kw", "eval", "Relu", slow.c_str(), "--untimed", "--no-store", nullptr);
    ::_exit(99);
  }
  const auto is_of_the_child = [&](int pid) {
    for (int depth = 0; pid > 1 && depth < 8; ++depth) {
      if (pid == child) return depth >= 2;  // what its warden started
      std::ifstream stat(fmt::format("/proc/{}/stat", pid));
      std::string text;
      std::getline(stat, text);
      const std::size_t end = text.rfind(')');
      pid = end == std::string::npos ? 0 : std::atoi(text.c_str() + std::min(end + 4, text.size()));
    }
    return false;
  };
  bool killed = false;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    ::usleep(20'000);
    for (int pid : wardens()) {
      if (killed || !is_of_the_child(pid)) continue;
      killed = ::kill(pid, SIGKILL) == 0;
    }
  }
  EXPECT_TRUE(killed);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kYes);
}

// A verdict names which frameworks were to be compared with and were not there.
TEST_F(SlowEval, NamesTheRivalsThatAreMissing) {
  const ScratchFolder cache_folder;
  const ScratchVariable cache("XDG_CACHE_HOME", cache_folder.path().string());
  const ScratchVariable forbidden("KW_INSTALL", "no");
  const std::string kernel = file("relu.cpp", "");
  std::filesystem::remove(kernel);
  std::ostringstream out, err;
  ASSERT_EQ(run_program({"init", "Relu", "--out", kernel}, out, err), kYes) << err.str();
  out.str("");
  // A half-installed one: it cannot be started.
  const rivals::RivalFile half = *rivals::find_rival("ncnn");
  std::filesystem::create_directories(half.environment() / "bin");
  ASSERT_TRUE(write_file(half.python(), "").ok());
  ASSERT_TRUE(write_file(half.environment() / "installed.txt", rivals::stamp_of(half)).ok());
  ASSERT_EQ(run_program({"eval", "Relu", kernel, "--rival", "mnn,ncnn", "--budget", "0.1", "--json"}, out, err), kYes)
      << err.str();
  const auto verdict = Json::parse(out.str());
  EXPECT_EQ(verdict["speedup"].size(), 1u) << verdict["speedup"].dump();
  EXPECT_NE(verdict["left_out"]["mnn"]["why"].get<std::string>().find("not installed"), std::string::npos);
  EXPECT_NE(verdict["left_out"]["ncnn"]["why"].get<std::string>().find("cannot be started"), std::string::npos);
}

}  // namespace
}  // namespace kw::cli
