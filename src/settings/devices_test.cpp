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

TEST_F(DevicesByName, NameTheFrameworksThatLieOnThem) {
  say("kernelwright/kw.toml",
      "[device.phone]\non = \"adb:R58\"\ncore = 7\npython = \"python3.12\"\nmnn = \"/data/local/tmp/libMNN.so\"\n"
      "[device.board]\non = \"ssh:b\"\nncnn = \"libncnn.so\"\n");
  const auto there = frameworks_on("adb:R58#7");
  ASSERT_FALSE(there.ok()) << "the board's table is wrong";
  EXPECT_NE(there.error().message.find("ncnn is a path on the device, from / on"), std::string::npos);
  say("kernelwright/kw.toml",
      "[device.phone]\non = \"adb:R58\"\ncore = 7\npython = \"python3.12\"\nmnn = \"/data/local/tmp/libMNN.so\"\n");
  EXPECT_EQ(frameworks_on("adb:R58#7")->python, "python3.12");
  EXPECT_EQ(frameworks_on("adb:R58#7")->libraries,
            (std::map<std::string, std::string>{{"mnn", "/data/local/tmp/libMNN.so"}}));
  EXPECT_TRUE(frameworks_on("adb:R58")->libraries.empty());
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

// Nor may it have its kernels run on a device of the user's, by the user's own name for it.
TEST_F(DevicesByName, AreNotAFoldersToChoose) {
  say("kernelwright/kw.toml", "[device.phone]\non = \"adb:R58\"\n[device.small]\non = \"emulated:aarch64\"\n");
  say("kw.toml", "target = \"phone\"\n");
  EXPECT_EQ(setting("target"), "");
  say("kw.toml", "target = \"small\"\n");
  EXPECT_EQ(setting("target"), "small");
  // The user's own file may.
  say("kw.toml", "");
  say("kernelwright/kw.toml", "target = \"phone\"\n[device.phone]\non = \"adb:R58\"\n");
  EXPECT_EQ(setting("target"), "phone");
}

}  // namespace
}  // namespace kw::settings
