#include "cli/engine_at_terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/terminal.h"
#include "llm/engine.h"
#include "llm/engine_facts.h"

namespace kw::cli {
namespace {

// A line that the next one replaces. Straight to the terminal: what `stderr` gets has its escape sequences shown.
void show_live(const std::string& text) {
  const std::string line = "\r" + fit_for_a_line(text) + "\x1b[K";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

Result<Json> ask_engine_at_terminal(const Json& request, int threads,
                                    const std::function<void(const Json& line)>& also) {
  const bool live = ::isatty(STDERR_FILENO);
  auto done = llm::ask_engine(request, threads, [&](const Json& line) {
    if (also) also(line);
    const Json* progress = line.find("progress");
    if (progress == nullptr) return;
    const std::string text = "kw: " + llm::progress_text(*progress);
    live ? show_live(text) : fmt::print(stderr, "{}\n", text);
  });
  if (live) show_live("");
  return done;
}

}  // namespace kw::cli
