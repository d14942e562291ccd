#include "targets/cuda/sanitizer.h"

#include <gtest/gtest.h>

#include "base/scratch.h"

namespace kw::cuda {
namespace {

TEST(Sanitizer, TellsEachErrorWithWhereItIs) {
  const auto found = findings_in("memcheck",
                                 "========= COMPUTE-SANITIZER\n"
                                 "========= Invalid __global__ read of size 4 bytes\n"
                                 "=========     at relu+0x70 in relu.cu:12\n"
                                 "=========     by thread (31,0,0) in block (1,0,0)\n"
                                 "=========     Address 0x7f0000000400 is out of bounds\n"
                                 "========= \n"
                                 "========= Invalid __global__ write of size 4 bytes\n"
                                 "=========     at relu+0x90 in relu.cu:13\n"
                                 "========= \n"
                                 "========= ERROR SUMMARY: 64 errors\n");
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.count, 64);
  ASSERT_EQ(found.errors.size(), 2u);
  EXPECT_EQ(found.errors[0],
            "Invalid __global__ read of size 4 bytes\nat relu+0x70 in relu.cu:12\nby thread (31,0,0) in block "
            "(1,0,0)\nAddress 0x7f0000000400 is out of bounds");
}

TEST(Sanitizer, CountsHazardsOfRaces) {
  const auto found = findings_in("racecheck",
                                 "========= COMPUTE-SANITIZER\n"
                                 "========= Error: Race reported between Write access at sum+0x40 in sum.cu:9\n"
                                 "=========     and Read access at sum+0x60 in sum.cu:11 [124 hazards]\n"
                                 "========= \n"
                                 "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n");
  EXPECT_EQ(found.count, 1);
  ASSERT_EQ(found.errors.size(), 1u);
}

TEST(Sanitizer, IsCleanOnlyWhereItFinished) {
  EXPECT_EQ(findings_in("initcheck", "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n").count, 0);
  EXPECT_NE(findings_in("initcheck", "========= COMPUTE-SANITIZER\n").problem, "");
}

TEST(Sanitizer, ThatIsMissingIsNamed) {
  const ScratchFolder folder;
  const ScratchVariable path("PATH", folder.path().string()), cuda("KW_CUDA", folder.path().string());
  const auto found = find_sanitizer();
  if (found.ok()) GTEST_SKIP() << "this machine has " << *found;
  EXPECT_NE(found.error().message.find("there is no compute-sanitizer"), std::string::npos);
}

}  // namespace
}  // namespace kw::cuda
