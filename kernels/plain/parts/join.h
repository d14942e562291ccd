#pragma once

#include <kernelwright.h>

#include "wide.h"

// Calls f with the function that joins an update with what is there, as the attribute `reduction` says.
template <class T, class F>
void with_join(const kw::Node& node, F f) {
  if (node.is("reduction", "add")) {
    f([](T& value, T update) { value = T(Wide<T>(value) + Wide<T>(update)); });
  } else if (node.is("reduction", "mul")) {
    f([](T& value, T update) { value = T(Wide<T>(value) * Wide<T>(update)); });
  } else if (node.is("reduction", "max")) {
    f([](T& value, T update) { value = std::max(value, update); });
  } else if (node.is("reduction", "min")) {
    f([](T& value, T update) { value = std::min(value, update); });
  } else {
    f([](T& value, T update) { value = update; });
  }
}
