// A call that came as one block of bytes (call_image.h) gets its pointers, in place of offsets. Needs nothing but the
// contract: the process that holds the candidate has little else.
#pragma once

#include <cstddef>
#include <type_traits>

#include "targets/contract.h"
#include "targets/cpu/host/call_layout.h"

namespace kw::targets {

inline kw_call* settle(std::byte* image) {
  const auto pointer = [image](auto*& field) {
    using Field = std::remove_reference_t<decltype(field)>;
    field = field == nullptr ? nullptr : reinterpret_cast<Field>(image + reinterpret_cast<std::size_t>(field));
  };
  auto* call = reinterpret_cast<kw_call*>(image);
  pointer(call->inputs);
  pointer(call->outputs);
  pointer(call->attributes);
  for (int i = 0; i < call->attribute_count; ++i) {
    auto& attribute = const_cast<kw_attribute&>(call->attributes[i]);
    pointer(attribute.name);
    pointer(attribute.integers);
    pointer(attribute.reals);
    pointer(attribute.texts);
    for (int k = 0; attribute.texts != nullptr && k < attribute.count; ++k) {
      pointer(const_cast<const char*&>(attribute.texts[k]));
    }
  }
  return call;
}

}  // namespace kw::targets
