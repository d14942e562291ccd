// kw-lm: runs language models for kw, which starts it. Requests come on standard input, answers go to standard output
// (src/lm_torch/requests.h).
#include <iostream>
#include <string>

#include "lm_torch/requests.h"

int main() {
  std::ios::sync_with_stdio(false);
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
