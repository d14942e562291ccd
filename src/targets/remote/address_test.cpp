#include "targets/remote/address.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kw::remote {
namespace {

TEST(DeviceAddress, IsReadFromItsName) {
  EXPECT_EQ(address_of("emulated")->name, "emulated:aarch64");
  EXPECT_EQ(address_of("emulated:aarch64")->architecture, "aarch64");
  EXPECT_EQ(address_of("adb:R58M#7")->core, 7);
  EXPECT_EQ(address_of("adb:R58M#7")->words, (std::vector<std::string>{"adb", "-s", "R58M", "shell", "-T", "exec sh"}));
  EXPECT_EQ(address_of("command:docker exec -i board sh")->words.size(), 5u);
  const std::vector<std::string> words = address_of("ssh:me@board.local:2222")->words;
  EXPECT_EQ(std::vector<std::string>(words.end() - 5, words.end()),
            (std::vector<std::string>{"-p", "2222", "--", "me@board.local", "exec sh"}));
}

TEST(DeviceAddress, SaysWhatStandsAfterTheSign) {
  for (const char* name : {"emulated:aarch64#x", "adb:R58M#", "ssh:board#big"}) {
    const auto address = address_of(name);
    ASSERT_FALSE(address.ok()) << name;
    EXPECT_NE(address.error().message.find("the number of a core"), std::string::npos) << address.error().message;
  }
}

// What a name smuggles in must become neither an option nor a command of a shell.
TEST(DeviceAddress, RefusesNamesThatAreMoreThanNames) {
  for (const char* name :
       {"ssh:", "ssh:-oProxyCommand=touch", "ssh:me@-oProxyCommand=touch", "ssh:host;reboot", "ssh:$(reboot)",
        "ssh:host name", "ssh:me@@host", "ssh:host:22x", "ssh:host:", "ssh:a\nb", "adb:", "adb:-H", "adb:x y",
        "adb:`x`", "emulated:vax", "emulated:x86_64", "command:", "command:  ", "phone"}) {
    const auto address = address_of(name);
    EXPECT_FALSE(address.ok()) << name;
  }
}

}  // namespace
}  // namespace kw::remote
