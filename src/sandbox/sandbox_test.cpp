// What the sandbox lets through, tried from inside with a shell: the role "tool" runs any program.
#include "sandbox/sandbox.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>

namespace kw::sandbox {
namespace {

using namespace std::chrono_literals;

std::filesystem::path warden() { return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kw-warden"; }

class InSandbox : public testing::Test {
 protected:
  void SetUp() override {
    auto started = Sandbox::start(warden(), {{"/usr/include", "/shown"}});
    ASSERT_TRUE(started.ok()) << started.error().message;
    sandbox_ = std::make_unique<Sandbox>(*std::move(started));
    if (!sandbox_->isolation().full())
      GTEST_SKIP() << "this machine gives the isolation " << sandbox_->isolation().name() << " only";
  }

  struct Result {
    std::optional<Ending> ending;
    std::string said;
    std::string made;
  };

  Result shell(const std::string& script, Limits limits = {.processes = 8}, std::chrono::milliseconds time = 5s) {
    std::string arguments;
    for (const std::string& word :
         {std::string("script"), std::string("made"), std::string("/bin/sh"), std::string("-c"), script}) {
      arguments += word + '\0';
    }
    const Descriptor source = *memory_file(std::string_view("the source\n"));
    ::lseek(source.get(), 0, SEEK_SET);
    const Descriptor made = *memory_file(std::uint64_t{0}), said = *memory_file(std::uint64_t{0});
    const int descriptors[] = {source.get(), made.get(), said.get()};
    auto child = sandbox_->run("tool", limits, std::as_bytes(std::span(arguments)), descriptors);
    EXPECT_TRUE(child.ok());
    Result result;
    result.ending = child->wait(Clock::now() + time);
    if (!result.ending) {
      child->kill();
      EXPECT_TRUE(child->wait(Clock::now() + 1s)) << "could not be killed";
      return result;
    }
    result.said = *content_of(said, 1 << 20);
    result.made = *content_of(made, 1 << 20);
    return result;
  }

  std::unique_ptr<Sandbox> sandbox_;
};

TEST_F(InSandbox, RunsAToolOnAFileAndHandsBackWhatItMade) {
  const Result result = shell("cat script script > made; echo told");
  ASSERT_TRUE(result.ending && result.ending->well());
  EXPECT_EQ(result.made, "the source\nthe source\n");
  EXPECT_EQ(result.said, "told\n");
}

TEST_F(InSandbox, ShowsNothingOfTheMachineButWhatToolsNeed) {
  const Result result =
      shell("ls -d /etc/passwd /root /home /proc /sys /var /run 2>/dev/null; ls /shown/stdio.h; touch made");
  EXPECT_EQ(result.said, "/shown/stdio.h\n");
}

TEST_F(InSandbox, LetsNothingBeWrittenOutsideTheWorkFolder) {
  const Result result = shell(
      "for d in / /usr /usr/bin /dev /shown /etc; do echo x > $d/x && echo wrote $d; done 2>/dev/null; touch made");
  EXPECT_EQ(result.said, "");
}

TEST_F(InSandbox, HasNoRights) {
  const Result result = shell(
      "id -u; mount -t tmpfs none /work 2>/dev/null && echo mounted; chroot / true 2>/dev/null && echo rooted; touch "
      "made");
  EXPECT_NE(result.said.substr(0, 2), "0\n");
  EXPECT_EQ(result.said.find("mounted"), std::string::npos);
  EXPECT_EQ(result.said.find("rooted"), std::string::npos);
}

TEST_F(InSandbox, EndsWithAllItsProcesses) {
  const Result result = shell("sleep 1000 & sleep 1000 & touch made", {.processes = 8});
  EXPECT_TRUE(result.ending && result.ending->well());
}

TEST_F(InSandbox, HoldsTheLimitOfProcesses) {
  const Result result = shell("bomb() { bomb | bomb & }; bomb; sleep 0.2; touch made", {.processes = 8});
  EXPECT_TRUE(result.ending.has_value());
}

TEST_F(InSandbox, HoldsTheLimitOfDisk) {
  const Result result =
      shell("cat /dev/zero > big; stat -c %s big; rm big; touch made", {.disk_bytes = 1 << 20, .processes = 8});
  ASSERT_TRUE(result.ending.has_value());
  EXPECT_LE(std::atol(result.said.substr(result.said.rfind('\n', result.said.size() - 2) + 1).c_str()), 1 << 20);
}

TEST_F(InSandbox, HoldsTheLimitOfTime) {
  const auto begin = Clock::now();
  const Result result = shell("while :; do :; done", {.processes = 8}, 200ms);
  EXPECT_FALSE(result.ending.has_value());
  EXPECT_LT(Clock::now() - begin, 1200ms);
}

TEST_F(InSandbox, HoldsTheLimitOfCpuTime) {
  const Result result = shell("while :; do :; done", {.processes = 8, .cpu_seconds = 1});
  ASSERT_TRUE(result.ending.has_value());
  EXPECT_FALSE(result.ending->well());
}

TEST_F(InSandbox, EndsAChildThatNobodyWaitsFor) {
  int pid = 0;
  {
    std::string arguments;
    for (const char* word : {"s", "made", "/bin/sleep", "1000"}) arguments += std::string(word) + '\0';
    const Descriptor one = *memory_file(std::uint64_t{0}), two = *memory_file(std::uint64_t{0}),
                     three = *memory_file(std::uint64_t{0});
    const int descriptors[] = {one.get(), two.get(), three.get()};
    auto child = sandbox_->run("tool", {.processes = 8}, std::as_bytes(std::span(arguments)), descriptors);
    ASSERT_TRUE(child.ok());
    pid = child->pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  for (int i = 0; i < 200 && ::kill(pid, 0) == 0; ++i) ::usleep(5000);
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(Sandbox, SaysThatItsWardenIsMissing) {
  const auto started = Sandbox::start("/nowhere/kw-warden", {});
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find("/nowhere/kw-warden"), std::string::npos);
}

TEST(Isolation, TellsWhatEachMissingPartNeeds) {
  Isolation isolation;
  EXPECT_EQ(isolation.name(), "weak");
  for (const Isolation::Part& part : isolation.parts()) EXPECT_FALSE(part.there || part.needs.empty());
  isolation.seccomp = true;
  isolation.landlock = 1;
  EXPECT_EQ(isolation.name(), "filtered");
  isolation.processes = isolation.view = isolation.network = isolation.user = true;
  EXPECT_EQ(isolation.name(), "full");
}

}  // namespace
}  // namespace kw::sandbox
