// Which names of devices lead to a program of the user's is known in one place, Target::schemes: a target that is added
// is held to the rules of trust with no further edit. The made-up one of tests/targets/ stands for it.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/scratch.h"
#include "runs/left.h"
#include "settings/settings.h"
#include "store/store.h"
#include "targets/names.h"
#include "targets/target.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

TEST(DeviceNames, LeadToAProgramWhereATargetsSchemesSaySo) {
  std::size_t schemes = 0;
  for (const targets::Target& target : targets::all_targets()) {
    EXPECT_FALSE(targets::reached_by_a_program(target.name)) << target.name;
    for (const std::string& scheme : target.schemes) {
      ++schemes;
      for (const char* rest : {"", ":host", ":me@host#3", "#3", ":", ":a:b"}) {
        EXPECT_TRUE(targets::reached_by_a_program(scheme + rest)) << scheme << rest;
      }
      EXPECT_FALSE(targets::reached_by_a_program(scheme + "x:host")) << scheme;
    }
  }
  EXPECT_EQ(schemes, 4u) << "ssh, adb, command, and the made-up far";
}

// A name that is opened by a program and not known as such would be a hole in the rules of trust.
TEST(DeviceNames, OpenNoOtherTargetThanTheirScheme) {
  for (const char* name : {"SSH:host", " ssh:host", "ss:h", "emulated#ssh:host", "cpu#ssh:host", "phone", ""}) {
    EXPECT_FALSE(targets::reached_by_a_program(name)) << name;
    const auto target = targets::target_of(name);
    EXPECT_TRUE(!target.ok() || target->schemes.empty() || targets::scheme_of(name) == target->name) << name;
  }
}

TEST(DeviceNames, OfANewTargetAreNeitherAFoldersNorAForeignRunsToChoose) {
  const ScratchFolder folder;
  const ScratchVariable config("XDG_CONFIG_HOME", (folder.path() / "config").string());
  const fs::path before = fs::current_path();
  fs::create_directories(folder.path() / "cloned");
  fs::current_path(folder.path() / "cloned");
  ASSERT_TRUE(write_file("kw.toml", "target = \"far:away\"\n").ok());
  EXPECT_EQ(settings::setting("target"), "");
  ASSERT_TRUE(write_file("kw.toml", "target = \"made_up\"\n").ok());
  EXPECT_EQ(settings::setting("target"), "made_up");
  fs::current_path(before);
  const auto reach = [](const std::string& rules) { return runs::reach_of({.id = 1, .about = {.rules = rules}}); };
  EXPECT_EQ(reach(R"({"device": "far:away"})"), (std::vector<std::string>{"far:away"}));
  EXPECT_EQ(reach(R"({"search": {"device": "far:away"}})"), (std::vector<std::string>{"far:away"}));
  EXPECT_TRUE(reach(R"({"device": "made_up"})").empty());
}

}  // namespace
}  // namespace kw
