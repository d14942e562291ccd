// kw-lm: runs language models for kw, which starts it. Requests come on standard input, answers go to standard output
// (src/lm_torch/requests.h).
#include <dlfcn.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <thread>

#include "lm_torch/requests.h"

namespace {

// kw speaks over a socket; when its end is gone, what is being computed is not wanted any more. A pipe says nothing of
// the kind: its writer may be done and still wait for answers.
void end_when_nobody_listens() {
  struct stat about = {};
  if (::fstat(STDIN_FILENO, &about) != 0 || !S_ISSOCK(about.st_mode)) return;
  std::thread([] {
    for (;;) {
      struct pollfd other_end = {.fd = STDIN_FILENO, .events = 0, .revents = 0};
      if (::poll(&other_end, 1, -1) > 0 && (other_end.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) ::_exit(3);
    }
  }).detach();
}

// OpenBLAS of Debian 12 takes every processor that came after it for one with SSE3 alone, and its products then take
// three times as long; and it knows no AVX-512 of AMD's, with which they take 0.6 of the time (Zen 5). It chooses when
// it is loaded, so the program starts once more with the choice made.
void choose_blas_core(char** arguments) {
#if defined(__x86_64__)
  using CoreName = char* (*)();
  const auto core_name = reinterpret_cast<CoreName>(::dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  if (::getenv("OPENBLAS_CORETYPE") != nullptr || core_name == nullptr) return;
  const std::string chosen = core_name();
  const bool narrow = chosen == "Haswell" || chosen == "Zen";
  if (!narrow && chosen != "Prescott" && chosen != "Generic") return;
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (!wide && (narrow || !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")))) return;
  ::setenv("OPENBLAS_CORETYPE", wide ? "SkylakeX" : "Haswell", 1);
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  ::execv(self.c_str(), arguments);
#endif
}

}  // namespace

int main(int, char** arguments) {
  choose_blas_core(arguments);
  // Large tensors come and go: memory that is given back to the system each time must be cleared by it each time.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ::signal(SIGXFSZ, SIG_IGN);  // a limit on files is an error of writing, as a full disk is
  std::ios::sync_with_stdio(false);
  end_when_nobody_listens();
  kw::lm::Requests requests;
  const auto tell = [](const kw::Json& line) { std::cout << line.dump() << std::endl; };
  for (std::string line; std::getline(std::cin, line);) {
    const kw::Json request = kw::Json::parse_quietly(line);
    const auto done = requests.answer(request, tell);
    done.ok() ? tell({{"done", *done}}) : tell({{"error", done.error().message}});
    if (!std::cout) return 2;  // the reader is gone
  }
  return 0;
}
