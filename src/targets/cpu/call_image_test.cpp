#include "targets/cpu/call_image.h"

#include <gtest/gtest.h>

#include <cstring>

#include "targets/cpu/host/call_layout.h"

namespace kw::targets {
namespace {

template <class T>
T at(const std::vector<std::byte>& image, std::size_t offset) {
  T value;
  EXPECT_LE(offset + sizeof value, image.size());
  std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

// What a process with addresses of this size finds in it.
template <class Address>
void expect_a_call_of_one_node(const std::vector<std::byte>& image) {
  const auto call = at<CallLayout<Address>>(image, 0);
  EXPECT_EQ(call.threads, 3);
  EXPECT_EQ(call.attribute_count, 2);
  const auto input = at<TensorLayout<Address>>(image, call.inputs);
  EXPECT_EQ(input.rank, 2);
  EXPECT_EQ(input.shape[1], 7);
  EXPECT_EQ(input.count, 35);
  std::string texts;
  for (int i = 0; i < call.attribute_count; ++i) {
    const auto one = at<AttributeLayout<Address>>(image, call.attributes + i * sizeof(AttributeLayout<Address>));
    const std::string name(reinterpret_cast<const char*>(image.data() + one.name));
    if (name == "opset") {
      EXPECT_EQ(at<std::int64_t>(image, one.integers), 17);
    }
    if (name != "words") continue;
    for (int k = 0; k < one.count; ++k) {
      texts += reinterpret_cast<const char*>(image.data() + at<Address>(image, one.texts + k * sizeof(Address)));
    }
  }
  EXPECT_EQ(texts, "onetwo");
}

TEST(ACallImage, IsLaidOutAsTheProcessHasItsAddresses) {
  Attributes node;
  node.set("words", std::vector<std::string>{"one", "two"});
  const std::vector<TensorType> types = {{DType::float32, Shape{5, 7}}};
  const CallShape shape{.inputs = types, .outputs = types, .nodes = {node}, .threads = 3};
  expect_a_call_of_one_node<std::uint64_t>(call_image(shape));
  expect_a_call_of_one_node<std::uint32_t>(call_image(shape, 32));
  EXPECT_LT(sizeof(CallLayout<std::uint32_t>), sizeof(CallLayout<std::uint64_t>));
}

}  // namespace
}  // namespace kw::targets
