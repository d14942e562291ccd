#include "targets/cuda/resources.h"

#include <gtest/gtest.h>

namespace kw::cuda {
namespace {

constexpr char kSaid[] = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'tiles' for 'sm_90a'
ptxas info    : Function properties for tiles
ptxas         .     400 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 400 bytes cumulative stack size, 256 bytes smem
ptxas info    : Compiling entry function 'add' for 'sm_90a'
ptxas info    : Function properties for add
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 30 registers, used 0 barriers
)";

TEST(CudaResources, AreReadFromWhatTheAssemblerSays) {
  const auto kernels = resources_in(kSaid);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].kernel, "add");
  EXPECT_EQ(kernels[0].registers, 30);
  EXPECT_EQ(kernels[0].static_shared_bytes, 0);
  EXPECT_EQ(kernels[1].registers, 128);
  EXPECT_EQ(kernels[1].stack_bytes, 400);
  EXPECT_EQ(kernels[1].spill_store_bytes, 24);
  EXPECT_EQ(kernels[1].spill_load_bytes, 32);
  EXPECT_EQ(kernels[1].static_shared_bytes, 256);
  EXPECT_NE(notes_on(kernels).text.find("SPILLS 24 bytes out and 32 in"), std::string::npos);
  EXPECT_TRUE(resources_in("").empty());
}

// As NVIDIA's occupancy calculator has it for compute capability 9.0.
TEST(CudaResources, DecideHowManyWarpsFit) {
  KernelResources kernel{.kernel = "k", .registers = 32};
  EXPECT_EQ(resident_warps(kernel, 256), 64);
  EXPECT_EQ(resident_warps(kernel, 32), 32);  // 32 blocks at most
  kernel.registers = 128;
  EXPECT_EQ(resident_warps(kernel, 256), 16);
  kernel.registers = 40;
  EXPECT_EQ(resident_warps(kernel, 256), 48);
  EXPECT_EQ(resident_warps(kernel, 256, 100 << 10), 16);
  EXPECT_EQ(resident_warps(kernel, 256, 228 << 10), 0);
  EXPECT_EQ(resident_warps(kernel, 2048), 0);
}

}  // namespace
}  // namespace kw::cuda
