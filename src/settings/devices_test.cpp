#include "settings/devices.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/scratch.h"
#include "settings/settings.h"

namespace kw::settings {
namespace {

class DevicesByName : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_.path() / "kernelwright");
    std::filesystem::current_path(folder_.path());
  }
  void TearDown() override { std::filesystem::current_path("/"); }
  void say(const std::string& file, const std::string& text) const {
    ASSERT_TRUE(write_file(folder_.path() / file, text).ok());
    std::filesystem::permissions(folder_.path() / file, std::filesystem::perms(0600));
  }

  ScratchFolder folder_;
  ScratchVariable config_{"XDG_CONFIG_HOME", folder_.path().string()};
};

TEST_F(DevicesByName, AreWhatTheirTableSays) {
  say("kernelwright/kw.toml", "[device.phone]\non = \"adb:R58\"\ncore = 7\n[device.board]\non = \"ssh:me@board\"\n");
  EXPECT_EQ(*device_named("phone"), "adb:R58#7");
  EXPECT_EQ(*device_named("board"), "ssh:me@board");
  EXPECT_EQ(*device_named("cpu"), "cpu");
  EXPECT_EQ(tables_of("device"), (std::vector<std::string>{"board", "phone"}));
}

TEST_F(DevicesByName, SayWhatIsWrongWithTheirTable) {
  say("kernelwright/kw.toml", "[device.phone]\ncore = 7\n[device.board]\non = \"ssh:b\"\nkey = \"x\"\n");
  EXPECT_NE(device_named("phone").error().message.find("on is missing"), std::string::npos);
  EXPECT_NE(device_named("board").error().message.find("'key' is not one of its settings"), std::string::npos);
}

// A folder from anywhere must not choose a program that is run.
TEST_F(DevicesByName, OfAFolderNeedTrust) {
  say("kw.toml", "target = \"command:evil\"\n[device.phone]\non = \"command:evil\"\n");
  EXPECT_EQ(*device_named("phone"), "phone");
  EXPECT_EQ(setting("target"), "");
  const auto reaching = settings_that_need_trust({folder_.path() / "kw.toml", *read_file(folder_.path() / "kw.toml")});
  EXPECT_EQ(reaching->size(), 2u);
  say("kw.toml", "target = \"emulated:aarch64\"\n");
  EXPECT_EQ(setting("target"), "emulated:aarch64");
}

}  // namespace
}  // namespace kw::settings
