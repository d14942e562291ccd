// The declarations of driver_api.h against CUDA's own header, where a machine has it.
#include "targets/cuda/driver_api.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

namespace kw::cuda::api {
namespace {

TEST(DriverApi, IsLaidOutAsInCudasOwnHeader) {
#ifdef CUDA_VERSION
  EXPECT_EQ(sizeof(LaunchConfiguration), sizeof(CUlaunchConfig));
  EXPECT_EQ(offsetof(LaunchConfiguration, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(LaunchConfiguration, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(sizeof(LaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(LaunchAttribute, bytes), offsetof(CUlaunchAttribute, value));
  EXPECT_EQ(sizeof(AllocationProperties), sizeof(CUmemAllocationProp));
  EXPECT_EQ(sizeof(Access), sizeof(CUmemAccessDesc));
  EXPECT_EQ(sizeof(EncodedTensorMap), sizeof(CUtensorMap));
  EXPECT_EQ(int{kClusterDimension}, int{CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION});
  EXPECT_EQ(int{kMaxSharedPerBlockOptin}, int{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN});
  EXPECT_EQ(int{kL2CacheBytes}, int{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE});
  EXPECT_EQ(int{kFunctionMaxDynamicShared}, int{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES});
#else
  GTEST_SKIP() << "CUDA's header cuda.h is not on this machine";
#endif
}

}  // namespace
}  // namespace kw::cuda::api
