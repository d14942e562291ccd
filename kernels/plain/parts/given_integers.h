#pragma once

#include <kernelwright.h>

// Integers that newer opsets give as an input and older ones as an attribute; none where neither is given.
template <class I>
kw::List<int64_t> given_integers(const kw::Node& node, kw::Tensor<const I> input, const char* attribute) {
  if (!input.given()) return node.integers(attribute);
  if constexpr (std::is_same_v<I, int64_t>) {
    return {input.data(), input.count()};
  } else {
    int64_t* values = node.scratch<int64_t>(input.count());
    std::copy(input.begin(), input.end(), values);
    return {values, input.count()};
  }
}
