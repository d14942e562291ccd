// Whether tests that are made from the tasks of the suites may be among those that this program is to run.
//
// Tests with parameters are made when the program starts, whichever of them run, and ctest starts it once for each of
// two thousand tests: reading all suites each time would take most of a small one's time.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace kw {

// False: the filter names single tests, and none of this test suite.
inline bool is_asked_for(const std::string& test_suite) {
  const std::string filter = GTEST_FLAG_GET(filter);
  return filter.find('*') != std::string::npos || filter.find(test_suite) != std::string::npos;
}

}  // namespace kw
