#include <iostream>

#include "cli/program.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const int code = kw::cli::run_program({argv + 1, argv + argc}, std::cout, std::cerr);
  std::cout.flush();
  return std::cout.good() ? code : kw::cli::kBroken;
}
