#include "cli/engine_at_terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "llm/engine.h"
#include "llm/engine_facts.h"

namespace kw::cli {

Result<Json> ask_engine_at_terminal(const Json& request, int threads,
                                    const std::function<void(const Json& line)>& also) {
  const bool live = ::isatty(STDERR_FILENO);
  KW_TRY(const Json done, llm::ask_engine(request, threads, [&](const Json& line) {
           if (also) also(line);
           const Json* progress = line.find("progress");
           if (progress == nullptr) return;
           fmt::print(stderr, "{}kw: {}{}", live ? "\r" : "", llm::progress_text(*progress), live ? "\x1b[K" : "\n");
         }));
  if (live) fmt::print(stderr, "\r\x1b[K");
  return done;
}

}  // namespace kw::cli
