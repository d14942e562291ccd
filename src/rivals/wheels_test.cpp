#include "rivals/wheels.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kw::rivals {
namespace {

TEST(Wheels, AreThoseThatTheDevicesCLibraryTakes) {
  const Json answer =
      Json::parse(R"({"version": "3.11", "libc": ["glibc", "2.28"], "path": ["/a", "/b"], "has": false})");
  const auto python = device_python_in(answer, "aarch64");
  ASSERT_TRUE(python.ok()) << python.error().message;
  EXPECT_EQ(python->path, "/a:/b");
  const std::vector<std::string> platforms = platforms_of(*python);
  EXPECT_EQ(platforms.front(), "manylinux_2_28_aarch64");
  EXPECT_EQ(platforms.back(), "manylinux2014_aarch64");
  EXPECT_EQ(std::ranges::count(platforms, "manylinux_2_29_aarch64"), 0) << "made for a later library";
}

// Of a device anything may come.
TEST(Wheels, AreNotLookedForByWordsThatNoPythonSays) {
  for (const char* text : {R"({})", R"({"version": "3"})", R"({"version": "3.11; rm"})", R"({"version": ["3.11"]})",
                           R"({"version": "--pre"})"}) {
    EXPECT_FALSE(device_python_in(Json::parse(text), "aarch64").ok()) << text;
  }
  const auto musl = device_python_in(Json::parse(R"({"version": "3.12", "libc": ["", ""], "has": 1})"), "aarch64");
  ASSERT_TRUE(musl.ok());
  EXPECT_FALSE(musl->has);
  EXPECT_TRUE(platforms_of(*musl).empty());
  RivalFile rival{.name = "some", .about = "some", .file = "some.py"};
  EXPECT_NE(wheels_for(rival, *musl).error().message.find("no C library that wheels are made for"), std::string::npos);
}

}  // namespace
}  // namespace kw::rivals
