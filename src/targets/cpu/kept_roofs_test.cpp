#include "targets/cpu/kept_roofs.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/scratch.h"

namespace kw::cpu {
namespace {
namespace fs = std::filesystem;

// Each test has a cache folder of its own, which is not there yet.
class KeptRoofs : public testing::Test {
 protected:
  static void write_kept(const std::string& text) {
    fs::create_directories(kept_roofs_file().parent_path());
    ASSERT_TRUE(write_file(kept_roofs_file(), text).ok());
  }

  const ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path() / "cache";
  const ScratchVariable variable_{"XDG_CACHE_HOME", folder_.string()};
};

Figure figure(double best) { return {.best = best, .spread = 0.25, .runs = {best, best / 2}}; }

Roofs some_roofs() {
  return {.measured_at = "2026-01-31T12:00:00Z",
          .fma_gflops = figure(100),
          .levels = {{.name = "L1",
                      .size_bytes = 4096,
                      .working_set_bytes = 2048,
                      .read_gbps = figure(10),
                      .write_gbps = figure(20),
                      .copy_gbps = figure(30),
                      .triad_gbps = figure(40)},
                     {.name = "memory",
                      .working_set_bytes = 1 << 20,
                      .read_gbps = figure(1),
                      .write_gbps = figure(2),
                      .copy_gbps = figure(3),
                      .triad_gbps = figure(4)}}};
}

TEST_F(KeptRoofs, ComeBackAsTheyWere) {
  ASSERT_TRUE(keep_roofs(some_roofs()).ok());
  const Result<Roofs> back = known_roofs();
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(roofs_as_json(*back), roofs_as_json(some_roofs()));
  EXPECT_EQ(back->levels[0].triad_gbps.best, 40);
  EXPECT_EQ(back->levels[1].size_bytes, 0u);
}

TEST_F(KeptRoofs, SayWhatToDoWhereThereAreNone) {
  const Result<Roofs> roofs = known_roofs();
  ASSERT_FALSE(roofs.ok());
  EXPECT_EQ(roofs.error().message, "this machine's roofs have not been measured; run 'kw doctor' to measure them");
}

TEST_F(KeptRoofs, AreNotTakenFromAnotherMachine) {
  CpuFacts other = read_cpu_facts();
  other.logical_cores += 1;
  ASSERT_TRUE(keep_roofs(some_roofs(), other).ok());
  const Result<Roofs> roofs = known_roofs();
  ASSERT_FALSE(roofs.ok());
  EXPECT_NE(roofs.error().message.find("another machine"), std::string::npos) << roofs.error().message;
}

TEST_F(KeptRoofs, AreRefusedWhereTheFileIsDamaged) {
  ASSERT_TRUE(keep_roofs(some_roofs()).ok());
  const std::string whole = *read_file(kept_roofs_file());
  for (std::size_t length = 0; length + 2 < whole.size(); length += 7) {
    write_kept(whole.substr(0, length));
    EXPECT_FALSE(known_roofs().ok()) << length;
  }
  for (const char* text : {"[]", "null", "{\"machine\": 1}", "{\"roofs\": []}", "\xff\xfe"}) {
    write_kept(text);
    EXPECT_FALSE(known_roofs().ok()) << text;
  }
}

TEST_F(KeptRoofs, AreRefusedWhereAFigureIsNoSpeed) {
  Roofs roofs = some_roofs();
  roofs.levels[0].copy_gbps.best = 0;
  ASSERT_TRUE(keep_roofs(roofs).ok());
  EXPECT_FALSE(known_roofs().ok());
  roofs = some_roofs();
  roofs.levels.pop_back();
  ASSERT_TRUE(keep_roofs(roofs).ok());
  EXPECT_FALSE(known_roofs().ok()) << "memory is always there";
}

TEST_F(KeptRoofs, TellWhereTheyCannotBeKept) {
  ASSERT_TRUE(write_file(folder_, "a file where the folder should be").ok());
  const Status status = keep_roofs(some_roofs());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find(folder_.string()), std::string::npos) << status.error().message;
}

}  // namespace
}  // namespace kw::cpu
