// Devices behind a link, on real ones: a shell of this machine (command:sh), an emulated processor, and a real ssh
// server on loopback. Links that break and devices without room are made by the program that gives the shell.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "base/files.h"
#include "base/scratch.h"
#include "judge/judge.h"
#include "judge/verdict_json.h"
#include "ops/graph.h"
#include "runs/drafts.h"
#include "runs/judges.h"
#include "suites/catalog.h"
#include "targets/remote/connect.h"
#include "targets/target.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr char kRelu[] = R"(
#include <kernelwright.h>
KW_KERNEL(call) {
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
}
)";

// Relu with this before it and this in its body.
std::string relu_with(const std::string& before, const std::string& body) {
  std::string text = before + kRelu;
  const std::size_t at = text.find("  for (int64_t i");
  return text.substr(0, at) + body + text.substr(at);
}

class Devices : public testing::Test {
 protected:
  // A program that gives a shell, made for the test.
  std::string device_of(const std::string& script) {
    const fs::path file = folder_.path() / "shell";
    std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(file, fs::perms(0700));
    return "command:" + file.string();
  }

  Result<Verdict> judged(const std::string& device, const std::string& source, bool timed = false) {
    task_ = *suites::find_task("Relu");
    for (auto& [name, value] : task_.lengths) value = std::min<std::int64_t>(value, 40);
    runs::Judges judges(device);
    // The fewest rounds that carry an interval: it is not the times that are tested here.
    const judge::Case one{.device = device, .task = &task_, .source = {"relu.cpp", source}, .pairs = 8, .timed = timed};
    return runs::judge_until_sure(judges, [&](judge::Judge& judge) { return judge.judge(one); });
  }

  ScratchFolder folder_;
  Task task_;
};

using SlowDevices = Devices;

TEST_F(Devices, JudgeAndTimeAKernel) {
  const auto verdict = judged("command:sh", kRelu, true);
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict->accepted()) << text_of(verdict->reason);
  EXPECT_GT(verdict->time_ns.value_or(0), 0);
  EXPECT_EQ(verdict->target, "command:sh");
  ASSERT_TRUE(verdict->conditions.has_value()) << "it was watched meanwhile";
  EXPECT_GE(verdict->conditions->slowest, 1);
  EXPECT_GT(verdict->coverage.shapes, 50);
}

TEST_F(Devices, KeepNothingButTheAgentAndThatIsRemoved) {
  const std::string device = device_of("HOME=" + folder_.path().string() + " exec sh");
  const auto files = [&] {
    std::size_t count = 0;
    for (const auto& one : fs::recursive_directory_iterator(folder_.path() / ".cache")) count += one.is_regular_file();
    return count;
  };
  { ASSERT_TRUE(judged(device, kRelu).ok()); }
  EXPECT_EQ(files(), 1u) << "the agent";
  const auto folder = remote::clean(*remote::address_of(device));
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  EXPECT_TRUE(folder->starts_with(folder_.path().string())) << *folder;
  EXPECT_FALSE(fs::exists(*folder));
}

// Whoever made the folder could have put an agent of their own there.
TEST_F(Devices, AreGivenNothingInAFolderThatIsNotTheUsers) {
  const std::string device = device_of("HOME=" + folder_.path().string() + " exec sh");
  const fs::path cache = folder_.path() / ".cache", elsewhere = folder_.path() / "elsewhere";
  const fs::path folder = cache / ("kw-device-" + std::to_string(::getuid()));
  fs::create_directories(cache);
  fs::create_directories(elsewhere);
  fs::create_directory_symlink(elsewhere, folder);
  auto used = remote::clean(*remote::address_of(device));
  EXPECT_FALSE(used.ok() && used->starts_with(folder_.path().string())) << "a link: " << *used;
  if (::geteuid() != 0) return;  // only root can give a folder away
  fs::remove(folder);
  fs::create_directories(folder);
  ASSERT_EQ(::chown(folder.c_str(), 12345, 12345), 0);
  used = remote::clean(*remote::address_of(device));
  EXPECT_FALSE(used.ok() && used->starts_with(folder_.path().string())) << "another user's: " << *used;
  EXPECT_TRUE(fs::exists(folder));
}

TEST_F(Devices, FilterSystemCallsOfKernelsAndOfTheirConstructors) {
  const std::string open = R"(static_cast<void>(open("/etc/passwd", 0)))";
  const auto in_call = judged("command:sh", relu_with("#include <fcntl.h>\n", open + ";\n"));
  ASSERT_TRUE(in_call.ok()) << in_call.error().message;
  EXPECT_EQ(in_call->reason.code, ReasonCode::system_call) << text_of(in_call->reason);
  EXPECT_EQ(in_call->reason.params.value("name", std::string()), "openat");
  const auto before =
      judged("command:sh",
             relu_with("#include <sys/socket.h>\nstatic const int early = socket(AF_INET, SOCK_STREAM, 0);\n", ""));
  ASSERT_TRUE(before.ok()) << before.error().message;
  EXPECT_EQ(before->reason.code, ReasonCode::system_call) << text_of(before->reason);
}

// A function that is called like one of the C library's is the kernel's own: what is ours there goes on with the
// library's.
TEST_F(Devices, DoNotLetAKernelReplaceTheLibrary) {
  const std::string replaced = R"(
extern "C" long write(int, const void*, unsigned long) { __builtin_trap(); }
extern "C" void* memset(void* to, int, unsigned long) { return to; }
extern "C" int main() { __builtin_trap(); }
)";
  const auto verdict = judged("command:sh", relu_with(replaced, ""));
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict->accepted()) << text_of(verdict->reason);
}

// Android 10 has the calls of Linux 4.14. What came later is answered there with ENOSYS, as it is here by a filter:
// whatever the agent or a kernel's process uses of that must have a fallback.
TEST_F(Devices, NeedNoSystemCallThatLinux414DoesNotHave) {
  const std::string device = device_of("exec python3 " KW_SOURCE_DIR "/tests/devices/linux_4_14.py sh");
  const auto verdict = judged(device, kRelu, true);
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict->accepted()) << text_of(verdict->reason);
  EXPECT_EQ(verdict->isolation, "filtered");
}

TEST_F(Devices, GetSmallPrograms) {
  constexpr std::size_t kMostBytes = 6 << 20;
  const auto builder = remote::Builder::open();
  ASSERT_TRUE(builder.ok()) << builder.error().message;
  for (const remote::Architecture& architecture : remote::all_architectures()) {
    if (!remote::missing_for(architecture, false).empty()) continue;
    const auto agent = (*builder)->agent(architecture);
    ASSERT_TRUE(agent.ok()) << agent.error().message;
    EXPECT_LT(agent->program.size(), kMostBytes) << architecture.name;
    const auto built = (*builder)->build(architecture, {}, {"relu.cpp", kRelu}, {.flags = {"-O2"}});
    ASSERT_TRUE(built.ok()) << built.error().message;
    EXPECT_LT((*built)->program.size(), kMostBytes) << architecture.name;
    EXPECT_GT((*built)->program.size(), 0u) << text_of((*built)->reason);
  }
}

// The roofs are measured there and kept here; then verdicts and least times know them.
TEST_F(SlowDevices, AreMeasuredForTheirRoofs) {
  const std::string device = device_of("exec sh");
  const targets::Target target = *targets::target_of(device);
  EXPECT_FALSE(target.known_roofs(device).ok());
  const auto measured = target.measure_roofs(device);
  ASSERT_TRUE(measured.ok()) << measured.error().message;
  EXPECT_TRUE(target.known_roofs(device).ok());
  const auto least = target.least_time(device, {.flops = 1e9, .read_bytes = 1e6, .written_bytes = 1e6}, 1);
  ASSERT_TRUE(least.ok()) << least.error().message;
  EXPECT_GT(least->arithmetic_ns, 1e6);  // no core does a PFLOP/s
  EXPECT_GT(least->moving_ns, 0);
}

TEST_F(Devices, ShowTheCodeThatTheyWouldRun) {
  const auto target = *targets::target_of("emulated:aarch64");
  if (const std::string why = target.missing("emulated:aarch64"); !why.empty()) GTEST_SKIP() << why;
  const auto device = targets::open_device("emulated:aarch64");
  ASSERT_TRUE(device.ok()) << device.error().message;
  const auto built = (*device)->build({"relu.cpp", kRelu}, {.compiler = "g++", .flags = {"-O3"}});
  ASSERT_TRUE(built.ok() && (*built)->ok());
  const auto notes = (*device)->look_into(**built, {.core = "a55"});
  ASSERT_TRUE(notes.ok()) << notes.error().message;
  EXPECT_NE(notes->text.find("vectorised, 128 bits"), std::string::npos) << notes->text;
  EXPECT_FALSE((*device)->look_into(**built, {.core = "z80"}).ok());
}

// Where a processor's own instructions stand in for portable code (kernels/cpu/parts/vector.h), they do the same.
constexpr char kVectorsAreRight[] = R"(
#include <kw/turn.h>
#include <kw/vector.h>
template <int... kFrom>
static bool shuffles(const float* from) {
  float got[8];
  const int numbers[] = {kFrom...};
  simd::store(got, simd::shuffled<kFrom...>(simd::load_as<simd::Eight>(from), simd::load_as<simd::Eight>(from + 8)));
  bool right = true;
  for (int i = 0; i < 8; ++i) right = right && got[i] == from[numbers[i]];
  return right;
}
// The first `count` elements and nothing else, in memory too.
[[gnu::noinline]] static bool parts_are_right(const float* from, int64_t count) {
  float got[simd::kLanes], put[simd::kLanes + 1];
  simd::store(got, simd::load_some(from, count, -7.0f));
  for (float& one : put) one = -8;
  simd::store_some(put, simd::load(from), count);
  bool right = true;
  for (int i = 0; i < simd::kLanes; ++i) {
    right = right && got[i] == (i < count ? from[i] : -7.0f) && put[i] == (i < count ? from[i] : -8.0f);
  }
  return right && put[simd::kLanes] == -8;
}
// Rows become columns, of elements of any size: whole blocks, and what is left beside them.
template <class T>
[[gnu::noinline]] static bool turns() {
  constexpr int kRows = 19, kColumns = 21;
  T from[kRows * kColumns], to[kColumns * kRows];
  for (int i = 0; i < kRows * kColumns; ++i) from[i] = T(i * 7 + i / 31);
  turn_matrix(from, kRows, kColumns, kColumns, to, kRows);
  bool right = true;
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) right = right && to[c * kRows + r] == from[r * kColumns + c];
  }
  return right;
}
[[gnu::noinline]] static bool vectors_are_right(const float* from) {
  bool right = turns<uint8_t>() && turns<uint16_t>() && turns<float>() && turns<double>();
  right = right && shuffles<0, 8, 1, 9, 4, 12, 5, 13>(from) && shuffles<2, 3, 10, 11, 6, 7, 14, 15>(from) &&
               shuffles<0, 2, 4, 6, 8, 10, 12, 14>(from) && shuffles<4, 12, 5, 13, 6, 14, 7, 15>(from) &&
               shuffles<4, 5, 6, 7, 12, 13, 14, 15>(from) && shuffles<7, 6, 5, 4, 3, 2, 1, 0>(from);
  float got[simd::kLanes];
  simd::store(got, simd::sqrt(simd::load(from)));
  float most = from[0];
  for (int i = 0; i < simd::kLanes; ++i) {
    right = right && got[i] == __builtin_sqrtf(from[i]);
    most = from[i] > most ? from[i] : most;
  }
  const auto larger = [](auto a, auto b) { return a > b ? a : b; };
  right = right && simd::combined(simd::load(from), larger) == most;
  right = right && simd::sum(simd::load(from)) == simd::kLanes * (simd::kLanes + 1) / 2;
  for (int i = 0; i < simd::kLanes; ++i) right = right && simd::any(simd::load(from) == simd::splat(float(i + 1)));
  for (int count = 0; count <= simd::kLanes + 1; ++count) right = right && parts_are_right(from, count);
  return right && !simd::any(simd::load(from) < simd::splat(0.5f));
}
)";

TEST_F(Devices, HaveTheSameVectorsAsThisMachine) {
  const std::string source =
      relu_with(kVectorsAreRight,
                "  float numbers[16];\n  for (int i = 0; i < 16; ++i) numbers[i] = float(i + 1);\n"
                "  if (!vectors_are_right(numbers)) __builtin_trap();\n");
  for (const char* device : {"cpu", "emulated:aarch64"}) {
    const auto target = *targets::target_of(device);
    if (target.missing && !target.missing(device).empty()) continue;
    const auto verdict = judged(device, source);
    ASSERT_TRUE(verdict.ok()) << verdict.error().message;
    EXPECT_TRUE(verdict->accepted()) << device << ": " << text_of(verdict->reason);
  }
}

// The same of what techniques write in NEON's own instructions; large angles leave the vectors. kw_device_bench goes
// over all techniques.
TEST_F(Devices, RunTechniquesWithInstructionsOfTheirOwn) {
  constexpr char kDevice[] = "emulated:aarch64";
  const auto target = *targets::target_of(kDevice);
  if (const std::string why = target.missing(kDevice); !why.empty()) GTEST_SKIP() << why;
  const auto techniques = runs::techniques_for(kDevice);
  ASSERT_TRUE(techniques.ok()) << techniques.error().message;
  std::vector<Task> tasks;
  std::vector<judge::Case> cases;
  for (const char* name : {"MatMulInteger_prompt", "Pow", "QLinearConv_1x1", "Sin", "Where", "Cast"})
    tasks.push_back(*suites::find_task(name));
  for (Task& task : tasks) {
    for (auto& [name, value] : task.lengths) value = std::min<std::int64_t>(value, 20);
    const auto kernels = runs::kernels_for(kDevice, *ops::resolve(task), *techniques);
    ASSERT_TRUE(kernels.ok()) << kernels.error().message;
    const search::Kernel& first = kernels->front();
    ASSERT_FALSE(first.last_resort) << task.name << " has a technique";
    cases.push_back(
        {.device = kDevice, .task = &task, .source = {first.file, first.source}, .plain = false, .timed = false});
  }
  runs::Judges judges(kDevice);
  const Status judged = runs::judge_many(
      judges, cases,
      [&](std::size_t i, const Result<Verdict>& verdict) -> Status {
        EXPECT_TRUE(verdict.ok() && verdict->accepted())
            << tasks[i].name << ": " << (verdict.ok() ? text_of(verdict->reason) : verdict.error().message);
        return {};
      },
      [](std::size_t, const char*) {});
  EXPECT_TRUE(judged.ok()) << judged.error().message;
}

TEST_F(Devices, SayWhatAnEmulatedVerdictDoesNotClaim) {
  const auto target = *targets::target_of("emulated:aarch64");
  if (const std::string why = target.missing("emulated:aarch64"); !why.empty()) GTEST_SKIP() << why;
  const auto verdict = judged("emulated:aarch64", kRelu, true);
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict->accepted()) << text_of(verdict->reason);
  for (const Speedup& one : verdict->speedups) EXPECT_FALSE(one.claimed);
  EXPECT_NE(judge::verdict_as_json(*verdict).find(R"("speed_claimed":false)"), std::string::npos);
}

TEST_F(Devices, SeeWhereAnEmulatedKernelReadsBeyondATensor) {
  const auto target = *targets::target_of("emulated:aarch64");
  if (const std::string why = target.missing("emulated:aarch64"); !why.empty()) GTEST_SKIP() << why;
  const auto verdict =
      judged("emulated:aarch64", relu_with("", "  volatile float far = x[x.count() + 2000]; (void)far;\n"));
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_EQ(verdict->reason.code, ReasonCode::touched_memory) << text_of(verdict->reason);
  EXPECT_NE(verdict->reason.params.value("place", std::string()).find("past the end of input 0"), std::string::npos);
}

// Judges Relu on a device whose agent meets with something soon after the first judgement began; how often it was
// judged.
struct Disturbed {
  Result<Verdict> verdict;
  int times = 0;
};
Disturbed judged_while(const std::string& device, const fs::path& agent_number,
                       const std::function<void(pid_t agent)>& something) {
  runs::Judges judges(device);
  const Task task = *suites::find_task("Relu");
  const judge::Case one{.device = device, .task = &task, .source = {"relu.cpp", kRelu}, .budget_s = 1};
  int times = 0;
  auto verdict = runs::judge_until_sure(judges, [&](judge::Judge& judge) {
    std::thread other;
    if (++times == 1) {
      other = std::thread([&] {
        ::usleep(300'000);
        something(std::atoi(read_file(agent_number)->c_str()));
      });
    }
    auto judged = judge.judge(one);
    if (other.joinable()) other.join();
    return judged;
  });
  return {std::move(verdict), times};
}

// The agent is killed while the first judgement runs: it is judged again, and nothing is lost.
TEST_F(Devices, AreJudgedOnAgainAfterTheLinkBroke) {
  const fs::path number = folder_.path() / "agent";
  const auto [verdict, times] = judged_while(device_of("echo $$ > " + number.string() + "; exec sh"), number,
                                             [](pid_t agent) { ::kill(agent, SIGKILL); });
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict->accepted()) << text_of(verdict->reason);
  EXPECT_EQ(times, 2);
}

// One that starts again with an empty folder: the agent, too, is sent again.
TEST_F(Devices, MayForgetAllThatTheyWereSent) {
  const fs::path number = folder_.path() / "agent", home = folder_.path() / "home";
  fs::create_directories(home / ".cache");
  const std::string device = device_of("echo $$ > " + number.string() + "; HOME=" + home.string() + " exec sh");
  const auto [verdict, times] = judged_while(device, number, [&](pid_t agent) {
    ::kill(agent, SIGKILL);
    fs::remove_all(home / ".cache");
  });
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict->accepted()) << text_of(verdict->reason);
  EXPECT_EQ(times, 2);
}

// One that sleeps for a while is waited for: what was asked is answered when it wakes up.
TEST_F(Devices, MaySleepAmidAJudgement) {
  const fs::path number = folder_.path() / "agent";
  const auto begin = targets::Clock::now();
  const auto [verdict, times] =
      judged_while(device_of("echo $$ > " + number.string() + "; exec sh"), number, [](pid_t agent) {
        ::kill(agent, SIGSTOP);
        ::usleep(2'000'000);
        ::kill(agent, SIGCONT);
      });
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict->accepted()) << text_of(verdict->reason);
  EXPECT_EQ(times, 1);
  EXPECT_GT(targets::Clock::now() - begin, 2s);
}

TEST_F(Devices, ThatAreGoneForGoodAreAnErrorInTime) {
  const std::string device = device_of("exec false");
  const auto begin = targets::Clock::now();
  const auto verdict = judged(device, kRelu);
  ASSERT_FALSE(verdict.ok());
  EXPECT_LT(targets::Clock::now() - begin, 20s);
}

TEST_F(Devices, WithoutRoomSaySo) {
  // Files of 8 KB at most: not even the agent fits.
  const std::string device = device_of("HOME=" + folder_.path().string() + "; ulimit -f 16; trap '' XFSZ; exec sh");
  const auto opened = targets::open_device(device);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("File too large"), std::string::npos) << opened.error().message;
}

// There was room for the agent, but there is none for a kernel: that is said, and is not held against the kernel.
TEST_F(Devices, ThatFillUpSaySo) {
  const std::string home = folder_.path().string();
  const std::string device = device_of("exec unshare -rm sh -c 'mount -t tmpfs -o size=1000k none " + home +
                                       " && mkdir " + home + "/.cache && HOME=" + home + " exec sh'");
  const auto opened = targets::open_device(device);
  if (!opened.ok() && opened.error().message.find("No space left") == std::string::npos) {
    GTEST_SKIP() << "no file systems of one's own here: " << opened.error().message;
  }
  ASSERT_TRUE(opened.ok()) << "the agent has grown: " << opened.error().message;
  const auto verdict = judged(device, kRelu);
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(may_be_killed_from_outside(verdict->reason)) << text_of(verdict->reason);
  EXPECT_NE(text_of(verdict->reason).find("No space left"), std::string::npos) << text_of(verdict->reason);
}

TEST_F(Devices, RefuseACoreThatTheyDoNotHave) {
  const auto opened = targets::open_device("command:sh#4000");
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("no core 4000"), std::string::npos) << opened.error().message;
}

// The link breaks while the agent is sent: half of it must not be taken for it the next time.
TEST_F(Devices, AreUsableAfterTheLinkBrokeWhileTheAgentWasSent) {
  const std::string home = folder_.path().string(), once = (folder_.path() / "once").string();
  const std::string device = device_of("export HOME=" + home + "\nif mkdir " + once +
                                       " 2>/dev/null; then dd bs=4096 count=20 2>/dev/null | sh; else exec sh; fi");
  EXPECT_FALSE(targets::open_device(device).ok());
  ASSERT_TRUE(fs::exists(once));
  const auto opened = targets::open_device(device);
  EXPECT_TRUE(opened.ok()) << opened.error().message;
}

TEST_F(Devices, KeepNoOlderAgents) {
  const std::string device = device_of("HOME=" + folder_.path().string() + " exec sh");
  const fs::path kept = folder_.path() / ".cache" / fmt::format("kw-device-{}", ::geteuid());
  fs::create_directories(kept);
  std::ofstream(kept / "agent-x86_64-of-last-year") << "old";
  ASSERT_TRUE(targets::open_device(device).ok());
  EXPECT_FALSE(fs::exists(kept / "agent-x86_64-of-last-year"));
}

TEST_F(Devices, MayPrintWhateverTheyLikeBeforeTheShell) {
  const auto opened = targets::open_device(device_of("echo Welcome; printf 'no line'; exec sh"));
  EXPECT_TRUE(opened.ok()) << opened.error().message;
}

// A real server, as this user, on loopback.
class SshServer {
 public:
  explicit SshServer(const fs::path& folder) : folder_(folder), port_(20000 + ::getpid() % 20000) {
    run("ssh-keygen -q -t ed25519 -N '' -f " + (folder / "host").string());
    run("ssh-keygen -q -t ed25519 -N '' -f " + (folder / "user").string());
    std::ofstream(folder / "sshd_config")
        << "Port " << port_ << "\nListenAddress 127.0.0.1\nHostKey " << (folder / "host").string()
        << "\nAuthorizedKeysFile " << (folder / "user.pub").string()
        << "\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\n";
    std::ofstream(folder / "config") << "Host *\n  IdentityFile " << (folder / "user").string()
                                     << "\n  IdentitiesOnly yes\n  UserKnownHostsFile " << (folder / "known").string()
                                     << "\n  StrictHostKeyChecking accept-new\n";
    if (::geteuid() == 0) fs::create_directories("/run/sshd");
    pid_ = ::fork();
    if (pid_ == 0) {
      // ssh keeps its connection for a minute, and for as long the server's process for it lives: that must not hold
      // the pipe which whoever runs this test reads to its end.
      const int nowhere = ::open("/dev/null", O_RDWR);
      for (int descriptor : {0, 1, 2}) ::dup2(nowhere, descriptor);
      ::execl("/usr/sbin/sshd", "/usr/sbin/sshd", "-D", "-E", (folder / "log").c_str(), "-f",
              (folder / "sshd_config").c_str(), nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 50 && !fs::exists(folder / "log"); ++i) ::usleep(100'000);
    ::usleep(300'000);
  }
  ~SshServer() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::string device(const std::string& host = "127.0.0.1") const { return fmt::format("ssh:{}:{}", host, port_); }
  std::string config() const { return (folder_ / "config").string(); }

 private:
  static void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0); }

  fs::path folder_;
  int port_;
  pid_t pid_ = 0;
};

// The real adb client and server; the phone at the end is a double (devices/adbd_double.py).
class AdbPhone {
 public:
  explicit AdbPhone(const fs::path& folder) : port_(40000 + ::getpid() % 10000) {
    ::setenv("ANDROID_ADB_SERVER_PORT", std::to_string(port_ + 10000).c_str(), 1);
    ::setenv("ANDROID_USER_HOME", folder.c_str(), 1);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::execlp("python3", "python3", KW_SOURCE_DIR "/tests/devices/adbd_double.py", std::to_string(port_).c_str(),
               nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 50 && !connected_; ++i) {
      ::usleep(200'000);
      connected_ = std::system(fmt::format("adb connect 127.0.0.1:{} 2>&1 | grep -q '^connected'", port_).c_str()) == 0;
    }
  }
  ~AdbPhone() {
    if (std::system("adb kill-server") != 0) ADD_FAILURE() << "adb's server stays";
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::unsetenv("ANDROID_ADB_SERVER_PORT");
    ::unsetenv("ANDROID_USER_HOME");
  }
  bool connected() const { return connected_; }
  std::string device() const { return fmt::format("adb:127.0.0.1:{}", port_); }

 private:
  int port_;
  pid_t pid_ = 0;
  bool connected_ = false;
};

TEST_F(Devices, AreReachedByTheRealAdbClientWithADoubleOfAPhone) {
  if (::access("/usr/bin/adb", X_OK) != 0) GTEST_SKIP() << "no adb here: apt-get install adb";
  const AdbPhone phone(folder_.path());
  ASSERT_TRUE(phone.connected());
  const auto verdict = judged(phone.device(), kRelu, true);
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict->accepted()) << text_of(verdict->reason);
  EXPECT_GT(verdict->time_ns.value_or(0), 0);
  const auto missing = targets::open_device("adb:NOTHERE");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("not found"), std::string::npos) << missing.error().message;
}

TEST_F(Devices, AreReachedByARealSshServer) {
  if (::access("/usr/sbin/sshd", X_OK) != 0) GTEST_SKIP() << "no sshd here: apt-get install openssh-server";
  const SshServer server(folder_.path());
  const ScratchVariable config("KW_SSH_CONFIG", server.config());
  const auto verdict = judged(server.device(), kRelu, true);
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict->accepted()) << text_of(verdict->reason);
  EXPECT_GT(verdict->time_ns.value_or(0), 0);
  // What ssh says of a key that is not known there is passed on.
  fs::remove(folder_.path() / "user.pub");
  const auto refused = targets::open_device(server.device("localhost"));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("Permission denied"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace kw
