#include "targets/cpu/facts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/scratch.h"

namespace kw::cpu {
namespace {
namespace fs = std::filesystem;

// A /proc and a /sys of our own.
class FakeSystem {
 public:
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_.path() / path).parent_path());
    std::ofstream(root_.path() / path) << text;
  }
  void add_cache(int index, const std::string& level, const std::string& type, const std::string& size,
                 const std::string& cores) {
    const std::string folder = "sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    write(folder + "level", level + "\n");
    write(folder + "type", type + "\n");
    write(folder + "size", size + "\n");
    write(folder + "shared_cpu_list", cores + "\n");
  }
  CpuFacts facts() const { return read_cpu_facts(root_.path()); }

 private:
  ScratchFolder root_;
};

TEST(CpuFacts, ReadsModelCachesAndMemory) {
  FakeSystem system;
  system.write(
      "proc/cpuinfo",
      "processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: Some CPU @ 3 GHz\n\nmodel name\t: Another\n");
  system.write("proc/meminfo", "MemTotal:       1024 kB\nMemFree: 1 kB\nMemAvailable:    512 kB\n");
  system.add_cache(0, "3", "Unified", "16M", "0-3,8-9");
  system.add_cache(1, "1", "Data", "48K", "0");
  system.add_cache(2, "1", "Instruction", "32K", "0,4");

  const CpuFacts facts = system.facts();
  EXPECT_EQ(facts.model, "Some CPU @ 3 GHz");
  EXPECT_EQ(facts.core, "family 26, model 2") << "a name such as AMD EPYC does not tell a Zen 3 from a Zen 5";
  EXPECT_EQ(facts.memory_bytes, 1024u << 10);
  EXPECT_EQ(facts.memory_available_bytes, 512u << 10);
  ASSERT_EQ(facts.caches.size(), 3u);
  EXPECT_EQ(facts.caches[0].name(), "L1");
  EXPECT_EQ(facts.caches[0].size_bytes, 48u << 10);
  EXPECT_EQ(facts.caches[0].shared_by, 1);
  EXPECT_EQ(facts.caches[1].name(), "L1i");
  EXPECT_FALSE(facts.caches[1].holds_data());
  EXPECT_EQ(facts.caches[1].shared_by, 2);
  EXPECT_EQ(facts.caches[2].name(), "L3");
  EXPECT_EQ(facts.caches[2].size_bytes, 16u << 20);
  EXPECT_EQ(facts.caches[2].shared_by, 6);
}

TEST(CpuFacts, NamesAnArmProcessorByItsNumbers) {
  FakeSystem system;
  system.write("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
  EXPECT_EQ(system.facts().model, "implementer 0x41 part 0xd0c");
}

TEST(CpuFacts, GoesOnWithoutProcAndSys) {
  const CpuFacts facts = FakeSystem().facts();
  EXPECT_TRUE(facts.model.starts_with("unknown"));
  EXPECT_GE(facts.logical_cores, 1);
  EXPECT_GE(facts.usable_cores, 1);
  EXPECT_EQ(facts.memory_bytes, 0u);
}

TEST(CpuFacts, SkipsCachesThatMakeNoSense) {
  FakeSystem system;
  system.add_cache(0, "one", "Data", "48K", "0");
  system.add_cache(1, "1", "Data", "", "0");
  system.add_cache(2, "77", "Unified", "1M", "0");
  system.add_cache(3, "2", "Unified", "1M", "3-1,x,");
  const CpuFacts facts = system.facts();
  ASSERT_EQ(facts.caches.size(), 1u);
  EXPECT_EQ(facts.caches[0].name(), "L2");
  EXPECT_EQ(facts.caches[0].shared_by, 1);
}

TEST(CpuFacts, CountsOnlyTheMemoryThatTheContainerLeaves) {
  FakeSystem system;
  system.write("proc/meminfo", "MemTotal: 4096 kB\nMemAvailable: 4096 kB\n");
  system.write("sys/fs/cgroup/memory.max", "1048576\n");
  system.write("sys/fs/cgroup/memory.current", "1000000\n");
  EXPECT_EQ(system.facts().memory_available_bytes, 48576u);
  system.write("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(system.facts().memory_available_bytes, 4096u << 10);
}

}  // namespace
}  // namespace kw::cpu
