// Any text may come as a suite: its tasks are read and resolved, or refused, and nothing worse.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ops/graph.h"
#include "suites/suite.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto suite = kw::suites::parse_suite({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!suite.ok()) return 0;
  for (const kw::Task& task : suite->tasks) {
    const auto graph = kw::ops::resolve(task);
    static_cast<void>(graph.ok());
  }
  return 0;
}
