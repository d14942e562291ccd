// kw-lm: runs language models for kw, which starts it. Requests come on standard input, answers go to standard output
// (src/lm_torch/requests.h).
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <thread>

#include "lm_torch/requests.h"

namespace {

// kw speaks over a socket; when its end is gone, nobody waits for what is being computed. A pipe says nothing of the
// kind: its writer may be done and still wait for answers.
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

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  end_when_nobody_listens();
  kw::lm::Requests requests;
  const auto tell = [](const kw::Json& line) { std::cout << line.dump() << std::endl; };
  for (std::string line; std::getline(std::cin, line);) {
    const kw::Json request = kw::Json::parse_quietly(line);
    const auto done = requests.answer(request, tell);
    done.ok() ? tell({{"done", *done}}) : tell({{"error", done.error().message}});
    if (!std::cout) return 2;  // nobody listens any more
  }
  return 0;
}
