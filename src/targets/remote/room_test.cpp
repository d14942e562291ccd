#include "targets/remote/room.h"

#include <gtest/gtest.h>

namespace kw::remote {
namespace {

targets::Instance one_to_one(std::int64_t rows, std::int64_t columns) {
  const std::vector<TensorType> types = {{DType::float32, Shape{rows, columns}}};
  return {.graph = {}, .inputs = types, .constant = {false}, .outputs = types};
}

TEST(RoomInAProcess, EndsAtSomeMegabytesWith32Bits) {
  const targets::Instance small = one_to_one(1000, 1000), large = one_to_one(10'000, 1000);
  EXPECT_TRUE(fits_in_process(small, 32).ok());
  EXPECT_TRUE(fits_in_process(large, 64).ok());
  const Status refused = fits_in_process(large, 32);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message.find("its tensors take 77 MB"), 0u) << refused.error().message;
}

TEST(RoomInAProcess, LiesWhereA32BitAddressLeads) {
  const targets::Instance instance = one_to_one(1000, 1000);
  const std::vector<targets::Placement> places(64, targets::Placement::shifted);
  Random random(3);
  const std::uint64_t base = draw_first_address(random, 32);
  const auto layout = lay_out_in_process(instance, places, random, base, 1, 32);
  ASSERT_TRUE(layout.ok()) << layout.error().message;
  for (const host::Region& region : layout->regions) EXPECT_LT(region.address + region.size_bytes, 1u << 31);
  const std::vector<targets::Placement> many(200, targets::Placement::shifted);
  EXPECT_FALSE(lay_out_in_process(instance, many, random, base, 1, 32).ok());
  EXPECT_TRUE(lay_out_in_process(instance, many, random, base, 1, 64).ok());
}

}  // namespace
}  // namespace kw::remote
