#include "ops/window.h"

#include <gtest/gtest.h>

namespace kw::ops {
namespace {

using Integers = std::vector<std::int64_t>;

// A call over one or more spatial axes with these attributes beside the defaults.
Call call_with(std::vector<std::pair<std::string, Attribute>> attributes) {
  Call call;
  call.attributes.set("auto_pad", std::string("NOTSET"));
  for (auto& [name, value] : attributes) call.attributes.set(name, std::move(value));
  return call;
}

WindowAxis only_axis(const Result<Window>& window) {
  EXPECT_TRUE(window.ok()) << window.error().message;
  return window->front();
}

TEST(SlidingWindow, CountsWholeWindowsUnlessAskedToCeil) {
  const Call call = call_with({{"strides", Integers{2}}});
  EXPECT_EQ(only_axis(sliding_window(call, {6}, {3}, false)).output, 2);
  EXPECT_EQ(only_axis(sliding_window(call, {6}, {3}, true)).output, 3);
}

TEST(SlidingWindow, StartsNoWindowInTheLastPadding) {
  // Windows would start at 0, 3 and 6 of a padded length of 7, but 6 lies beyond the input.
  const Call call = call_with({{"strides", Integers{3}}, {"pads", Integers{1, 1}}});
  EXPECT_EQ(only_axis(sliding_window(call, {5}, {2}, true)).output, 2);
}

TEST(SlidingWindow, ServesAWindowLongerThanTheInputWhenAskedToCeil) {
  const Call call = call_with({{"strides", Integers{3}}});
  EXPECT_FALSE(sliding_window(call, {5}, {7}, false).ok());
  EXPECT_EQ(only_axis(sliding_window(call, {5}, {7}, true)).output, 1);
}

TEST(SlidingWindow, PutsTheOddPaddingWhereAutoPadSays) {
  const WindowAxis upper =
      only_axis(sliding_window(call_with({{"auto_pad", std::string("SAME_UPPER")}}), {5}, {2}, false));
  EXPECT_EQ(upper.output, 5);
  EXPECT_EQ(upper.pad_begin, 0);
  EXPECT_EQ(upper.pad_end, 1);
  const WindowAxis lower =
      only_axis(sliding_window(call_with({{"auto_pad", std::string("SAME_LOWER")}}), {5}, {2}, false));
  EXPECT_EQ(lower.pad_begin, 1);
  EXPECT_EQ(lower.pad_end, 0);
}

TEST(SlidingWindow, RefusesWhatCannotBeAWindow) {
  EXPECT_FALSE(sliding_window(call_with({{"strides", Integers{0}}}), {5}, {2}, false).ok());
  EXPECT_FALSE(sliding_window(call_with({{"strides", Integers{1, 1}}}), {5}, {2}, false).ok());
  EXPECT_FALSE(sliding_window(call_with({{"pads", Integers{-1, 0}}}), {5}, {2}, false).ok());
  EXPECT_FALSE(sliding_window(call_with({{"dilations", Integers{std::int64_t{1} << 62}}}), {5}, {2}, false).ok());
  EXPECT_FALSE(sliding_window(call_with({}), {5}, {0}, false).ok());
  EXPECT_FALSE(sliding_window(call_with({}), {0}, {1}, false).ok());
  EXPECT_FALSE(sliding_window(call_with({}), {}, {}, false).ok());
  EXPECT_FALSE(
      sliding_window(call_with({{"auto_pad", std::string("VALID")}, {"pads", Integers{1, 0}}}), {5}, {2}, false).ok());
}

TEST(WindowAxis, TellsTapsOnTheInputFromThoseOnPadding) {
  // Taps of window 0 lie on -1, 1, 3, those of window 2 on 3, 5, 7; the padded input reaches from -1 to 5.
  const WindowAxis axis{.input = 5, .output = 3, .kernel = 3, .stride = 2, .dilation = 2, .pad_begin = 1, .pad_end = 1};
  EXPECT_EQ(axis.taps_on_input(0).begin, 1);
  EXPECT_EQ(axis.taps_on_input(0).end, 3);
  EXPECT_EQ(axis.taps_on_padded(0).count(), 3);
  EXPECT_EQ(axis.taps_on_input(2).count(), 1);
  EXPECT_EQ(axis.taps_on_padded(2).count(), 2);
  EXPECT_EQ(axis.windows_on_input(0).begin, 1);
  EXPECT_EQ(axis.windows_on_input(2).count(), 1);
}

TEST(TransposedWindow, GrowsByStrideKernelAndOutputPadding) {
  const Call call = call_with({{"strides", Integers{2}}, {"pads", Integers{1, 1}}, {"output_padding", Integers{1}}});
  EXPECT_EQ(only_axis(transposed_window(call, {64}, {3})).input, 128);
}

TEST(TransposedWindow, FindsThePadsOfAWantedLength) {
  // The whole result has 6 elements; of the one too many, the beginning loses it unless SAME_UPPER says the end.
  EXPECT_EQ(only_axis(transposed_window(call_with({{"output_shape", Integers{5}}}), {3}, {4})).pad_begin, 1);
  const Call upper = call_with({{"output_shape", Integers{5}}, {"auto_pad", std::string("SAME_UPPER")}});
  EXPECT_EQ(only_axis(transposed_window(upper, {3}, {4})).pad_begin, 0);
}

TEST(TransposedWindow, RefusesPadsThatLeaveNothing) {
  EXPECT_FALSE(transposed_window(call_with({{"pads", Integers{3, 3}}}), {3}, {4}).ok());
  EXPECT_FALSE(transposed_window(call_with({{"output_padding", Integers{1}}}), {3}, {4}).ok());
}

}  // namespace
}  // namespace kw::ops
