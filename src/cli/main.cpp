#include <malloc.h>

#include <iostream>

#include "cli/program.h"

// Tensors of many megabytes come and go: memory that was given back to the system has to be cleared by it, page by
// page, before it comes again, which takes longer than all that is done with it.
void keep_memory() {
#ifdef M_MMAP_MAX
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

int main(int argc, char** argv) {
  keep_memory();
  std::ios::sync_with_stdio(false);
  const int code = kw::cli::run_program({argv + 1, argv + argc}, std::cout, std::cerr);
  std::cout.flush();
  return std::cout.good() ? code : kw::cli::kBroken;
}
