#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "targets/cpu/host/roles.h"

namespace kw::host {
namespace {

constexpr std::size_t kMostSaidBytes = 1 << 20;

// As far as there is something to copy and room for it.
bool copy(int from, int to, std::size_t most_bytes) {
  char block[65536];
  while (most_bytes > 0) {
    const ssize_t got = ::read(from, block, std::min(sizeof block, most_bytes));
    if (got < 0) return false;
    if (got == 0) break;
    for (ssize_t done = 0; done < got;) {
      const ssize_t written = ::write(to, block + done, static_cast<std::size_t>(got - done));
      if (written <= 0) return false;
      done += written;
    }
    most_bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

constexpr int kNoRoom = 110;
constexpr int kNoTool = 111;
constexpr int kNothingMade = 112;

// The arguments' words, which stay where they are.
std::vector<char*> words_of(sandbox::Job& job) {
  std::vector<char*> words;
  char* text = reinterpret_cast<char*>(job.arguments.data());
  for (std::size_t at = 0; at < job.arguments.size(); at += std::char_traits<char>::length(text + at) + 1) {
    words.push_back(text + at);
  }
  return words;
}

int run_agent(sandbox::Job& job) {
  std::vector<char*> words = words_of(job);
  if (words.empty() || job.descriptors.size() < 4) return kNoTool;
  words.push_back(nullptr);
  const int file = ::open("agent", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
  if (file < 0 || ::lseek(job.descriptors[0], 0, SEEK_SET) != 0 || !copy(job.descriptors[0], file, ~std::size_t{0})) {
    return kNoRoom;
  }
  ::close(file);
  for (int i = 0; i < 3; ++i) ::dup2(job.descriptors[static_cast<std::size_t>(i) + 1], i);
  for (int fd : job.descriptors) ::close(fd);
  const char* environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", nullptr};
  ::execve(words[0], words.data(), const_cast<char**>(environment));
  return kNoTool;
}

int run_tool(sandbox::Job& job) {
  std::vector<char*> words = words_of(job);
  if (words.size() < 3 || job.descriptors.size() < 3) return kNoTool;
  words.push_back(nullptr);
  const int source = job.descriptors[0], made = job.descriptors[1], said = job.descriptors[2];

  const int file = ::open(words[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0 || !copy(source, file, ~std::size_t{0})) return kNoRoom;
  ::close(file);

  const pid_t tool = ::fork();
  if (tool < 0) return kNoTool;
  if (tool == 0) {
    const int out = ::open("said", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    ::dup2(out, 1);
    ::dup2(out, 2);
    const std::string temporary = "TMPDIR=" + job.work_folder;
    const char* environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", temporary.c_str(), nullptr};
    for (int fd : job.descriptors) ::close(fd);
    ::execve(words[2], words.data() + 2, const_cast<char**>(environment));
    ::_exit(kNoTool);
  }
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended == tool) break;
    if (ended < 0 && errno != EINTR) return kNoTool;
  }
  if (const int out = ::open("said", O_RDONLY | O_CLOEXEC); out >= 0) copy(out, said, kMostSaidBytes);
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  if (WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
  const int result = ::open(words[1], O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (result < 0) return kNothingMade;
  return copy(result, made, ~std::size_t{0}) ? 0 : kNoRoom;
}

}  // namespace

sandbox::Role tool_role() {
  return {.name = "tool", .files = sandbox::Files::tools, .filter = sandbox::Filter::tools, .run = run_tool};
}

sandbox::Role agent_role() {
  return {.name = "agent", .files = sandbox::Files::tools, .filter = sandbox::Filter::tools, .run = run_agent};
}

}  // namespace kw::host
