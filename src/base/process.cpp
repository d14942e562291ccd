#include "base/process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

#include "base/files.h"

extern char** environ;

namespace kw {
namespace fs = std::filesystem;
namespace {

constexpr char kNeutralFolder[] = "/";
constexpr int kFirstUnmeant = 4;

// What a program needs to find its files, speak the user's language and reach the network. Nothing that loads code
// (LD_PRELOAD, PYTHONSTARTUP), and no secrets.
constexpr std::string_view kPassed[] = {"HOME",
                                        "USER",
                                        "LOGNAME",
                                        "LANG",
                                        "LC_ALL",
                                        "LC_CTYPE",
                                        "TZ",
                                        "TMPDIR",
                                        "http_proxy",
                                        "https_proxy",
                                        "no_proxy",
                                        "all_proxy",
                                        "HTTP_PROXY",
                                        "HTTPS_PROXY",
                                        "NO_PROXY",
                                        "ALL_PROXY",
                                        "SSL_CERT_DIR",
                                        "SSL_CERT_FILE",
                                        "PIP_CERT",
                                        "PIP_INDEX_URL",
                                        "XDG_CACHE_HOME",
                                        "REQUESTS_CA_BUNDLE"};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> environment_of(const Program& program) {
  if (program.only_these_variables) return program.variables;
  std::vector<std::string> all;
  if (program.surroundings == Surroundings::users) {
    for (char** one = environ; *one != nullptr; ++one) all.emplace_back(*one);
  } else {
    all.push_back("PATH=" + absolute_path_entries(variable("PATH")));
    for (const std::string_view name : kPassed) {
      if (const char* value = std::getenv(std::string(name).c_str())) all.push_back(fmt::format("{}={}", name, value));
    }
  }
  for (const std::string& given : program.variables) {
    const std::string name = given.substr(0, given.find('=') + 1);
    std::erase_if(all, [&](const std::string& one) { return one.starts_with(name); });
    all.push_back(given);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

void set_limit(int which, const std::optional<std::uint64_t>& most) {
  if (!most) return;
  const rlimit limit{*most, *most};
  ::setrlimit(static_cast<__rlimit_resource>(which), &limit);
}

// Between fork and exec: only what a signal handler may do. Tells `report` why it did not come to be.
[[noreturn]] void become(const Program& program, const char* path, char* const* words, char* const* environment,
                         int report) {
  if (program.ends_with_us) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  // Out of the way of the numbers 0 to 3 first, so that none is overwritten before it is used.
  report = ::fcntl(report, F_DUPFD_CLOEXEC, 16);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  int meant[kFirstUnmeant] = {program.in, program.out, program.err, program.third};
  for (int& fd : meant) {
    if (fd < 0 && &fd == &meant[3]) continue;
    fd = ::fcntl(fd < 0 ? nothing : fd, F_DUPFD_CLOEXEC, 16);
  }
  for (int i = 0; i < kFirstUnmeant; ++i) {
    if (meant[i] >= 0) ::dup2(meant[i], i);
  }
  const int first = meant[3] >= 0 ? kFirstUnmeant : kFirstUnmeant - 1;
  ::close_range(static_cast<unsigned>(first), ~0u, CLOSE_RANGE_CLOEXEC);
  if (program.surroundings == Surroundings::neutral) [[maybe_unused]]
    const int there = ::chdir(kNeutralFolder);
  if (program.off_network && ::unshare(CLONE_NEWNET) != 0) {
    // Without the right to do so, as the only user of a world of its own.
    [[maybe_unused]] const int off = ::unshare(CLONE_NEWUSER | CLONE_NEWNET);
  }
  set_limit(RLIMIT_DATA, program.memory_bytes);
  set_limit(RLIMIT_FSIZE, program.file_bytes);
  if (program.memory_bytes) set_limit(RLIMIT_CORE, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::execve(path, words, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t told = ::write(report, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

std::string absolute_path_entries(const std::string& folders) {
  std::stringstream list(folders);
  std::string absolute;
  for (std::string folder; std::getline(list, folder, ':');) {
    if (folder.starts_with('/')) absolute += (absolute.empty() ? "" : ":") + folder;
  }
  return absolute;
}

std::string program_in(const std::string& folders, const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos) return {};
  std::stringstream list(absolute_path_entries(folders));
  for (std::string folder; std::getline(list, folder, ':');) {
    const fs::path path = fs::path(folder) / name;
    std::error_code code;
    if (::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, code)) return path.string();
  }
  return {};
}

Result<std::string> find_program(const std::string& name) {
  if (name.starts_with('/')) return name;
  if (name.find('/') != std::string::npos) {
    return fail("{}: a program is named by its path from / or by a name that is in PATH", name);
  }
  std::string path = program_in(variable("PATH"), name);
  if (path.empty()) return fail("{}: not found in the folders of PATH (those that begin with /)", name);
  return path;
}

Result<pid_t> start_program(const Program& program) {
  assert(!program.words.empty());
  KW_TRY(const std::string path, find_program(program.words[0]));
  std::vector<std::string> words = program.words, variables = environment_of(program);
  words[0] = path;
  const std::vector<char*> arguments = pointers_to(words), environment = pointers_to(variables);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("{}: cannot be started: {}", path, std::strerror(errno));
  const Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return fail("{}: cannot be started: {}", path, std::strerror(errno));
  if (pid == 0) become(program, path.c_str(), arguments.data(), environment.data(), theirs.get());
  // Parent and child both do it, so that it is done whichever runs first.
  ::setpgid(pid, pid);
  theirs.close_now();
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(ours.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (got != sizeof error) return pid;
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return fail("{}: cannot be started: {}", path, std::strerror(error));
}

Result<int> run_program(const std::vector<std::string>& words, const fs::path& log, bool append,
                        std::chrono::seconds most_time) {
  return run_program(Program{.words = words}, log, append, most_time);
}

Result<int> run_program(Program program, const fs::path& log, bool append, std::chrono::seconds most_time) {
  const std::vector<std::string>& words = program.words;
  std::error_code code;
  if (!append) fs::remove(log, code);
  KW_TRY(const Descriptor out, open_to_append(log));
  program.out = program.err = out.get();
  KW_TRY(const pid_t pid, start_program(program));
  const auto deadline = std::chrono::steady_clock::now() + most_time;
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) break;
    if (ended < 0 && errno != EINTR) return fail("{}: was lost: {}", words[0], std::strerror(errno));
    if (std::chrono::steady_clock::now() > deadline) {
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      return fail("{}: did not end within {} s", words[0], most_time.count());
    }
    ::usleep(10'000);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace kw
