#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/terminal.h"
#include "cli/program.h"

// Tensors of many megabytes come and go: memory that was given back to the system has to be cleared by it, page by
// page, before it comes again, which takes longer than all that is done with it.
void keep_memory() {
#ifdef M_MMAP_MAX
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

// What parts of the program print to stderr besides holds names from outside as well.
ssize_t write_fitting(void*, const char* text, std::size_t count) {
  const std::string fitting = kw::fit_for_terminal({text, count});
  for (std::size_t at = 0; at < fitting.size();) {
    const ssize_t put = ::write(STDERR_FILENO, fitting.data() + at, fitting.size() - at);
    if (put <= 0) break;
    at += static_cast<std::size_t>(put);
  }
  return static_cast<ssize_t>(count);
}

void make_stderr_fit() {
  cookie_io_functions_t functions = {};
  functions.write = write_fitting;
  if (std::FILE* fitting = ::fopencookie(nullptr, "w", functions)) {
    std::setvbuf(fitting, nullptr, _IOLBF, BUFSIZ);
    stderr = fitting;
  }
}

int main(int argc, char** argv) {
  keep_memory();
  std::ios::sync_with_stdio(false);
  make_stderr_fit();  // after the line above, which looks at stderr
  const int code = kw::cli::run_program({argv + 1, argv + argc}, std::cout, std::cerr);
  std::cout.flush();
  return std::cout.good() ? code : kw::cli::kBroken;
}
