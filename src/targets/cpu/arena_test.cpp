#include "targets/cpu/arena.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace kw::cpu {
namespace {

// 0: the error was told, and memory that is there can still be written.
int lay_out_with_little_room() {
  ::signal(SIGXFSZ, SIG_IGN);
  auto arena = Arena::make(false);
  if (!arena.ok() || !arena->make_room(1 << 16).ok()) return 2;
  const rlimit little{1 << 20, 1 << 20};  // of a file, and the arena is one
  ::setrlimit(RLIMIT_FSIZE, &little);
  const Status status = arena->make_room(std::uint64_t{64} << 20);
  if (status.ok() || status.error().message.find("no memory for the task's tensors (64 MB)") == std::string::npos) {
    return 1;
  }
  *arena->at((1 << 16) - 1) = std::byte{1};
  return 0;
}

TEST(AnArena, SaysThatThereIsNoMemoryAndEndsNobody) {
  EXPECT_EXIT(std::_Exit(lay_out_with_little_room()), testing::ExitedWithCode(0), "");
}

TEST(AnArena, KeepsALittleMemoryAndGivesBackMuch) {
  auto arena = Arena::make(false);
  ASSERT_TRUE(arena.ok());
  ASSERT_TRUE(arena->make_room(1 << 20).ok());
  *arena->at(1 << 19) = std::byte{7};
  ASSERT_TRUE(arena->make_room(1 << 12).ok());
  EXPECT_EQ(*arena->at(1 << 19), std::byte{7}) << "the next case would have to take it anew";
  ASSERT_TRUE(arena->make_room(std::uint64_t{64} << 20).ok());
  ASSERT_TRUE(arena->make_room(1 << 12).ok());
  struct stat about {};
  ASSERT_EQ(::fstat(arena->descriptor(), &about), 0);
  EXPECT_EQ(about.st_size, 1 << 12);
}

TEST(AnArena, RefusesMoreThanItsCapacity) {
  auto arena = Arena::make(false);
  ASSERT_TRUE(arena.ok());
  EXPECT_FALSE(arena->make_room(Arena::kCapacity + 1).ok());
}

TEST(ALayout, HasOutputsBelowInputsAsOftenAsAbove) {
  const std::vector<TensorType> one = {{DType::float32, Shape{100}}};
  const std::vector<Placement> places(64, Placement::shifted);
  Random random(1);
  const Layout layout = lay_out(one, {false}, one, places, random, std::uint64_t{1} << 40, 1);
  int below = 0;
  for (const Layout::Call& call : layout.calls) below += call.outputs[0].address < call.inputs[0].address;
  EXPECT_GT(below, 16);
  EXPECT_LT(below, 48);
}

TEST(ALayout, KeepsToTheRoomThatThereIs) {
  constexpr std::uint64_t kRoom = std::uint64_t{64} << 20, kBase = 1 << 30;
  const std::vector<TensorType> one = {{DType::float32, Shape{100'000}}};
  const std::vector<Placement> places(64, Placement::shifted);
  const auto gap = gap_within(kRoom, one, one, places.size());
  ASSERT_TRUE(gap.has_value());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    for (const host::Region& region : lay_out(one, {false}, one, places, random, kBase, 1, *gap).regions) {
      EXPECT_GE(region.address, kBase);
      EXPECT_LE(region.address + region.size_bytes, kBase + kRoom);
    }
  }
  EXPECT_FALSE(gap_within(kRoom, one, one, 100).has_value()) << "the tensors alone take more";
}

}  // namespace
}  // namespace kw::cpu
