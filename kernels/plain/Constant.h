#pragma once

#include <kernelwright.h>

// Constant: the numbers that its one attribute says.
template <class T>
void Constant(const kw::Node& node, kw::Tensor<T>& y) {
  const auto fill = [&](const auto& numbers) {
    std::transform(numbers.begin(), numbers.end(), y.data(), [](auto number) { return T(number); });
  };
  if (node.has("value")) {
    const kw::List<int64_t> integers = node.integers("value");
    const kw::List<double> reals = node.reals("value");
    // The attribute is the list of the tensor's elements; the shape comes with the output.
    y.allocate(y.given() ? y.shape() : kw::Shape{integers.size() + reals.size()});
    fill(integers);
    fill(reals);
  } else if (node.has("value_ints")) {
    y.allocate({node.integers("value_ints").size()});
    fill(node.integers("value_ints"));
  } else if (node.has("value_floats")) {
    y.allocate({node.reals("value_floats").size()});
    fill(node.reals("value_floats"));
  } else {
    y.allocate({});
    y[0] = node.has("value_int") ? T(node.integer("value_int")) : T(node.real("value_float"));
  }
}
