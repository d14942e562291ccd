// The structures of kernelwright.h as a processor lays them out whose addresses have 64 bits or 32: who describes a
// call may have another one than who runs it. Every side that includes this checks its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "targets/contract.h"

namespace kw::targets {

template <class Address>
struct TensorLayout {
  Address data;
  std::int64_t shape[KW_MAX_RANK];
  std::int64_t count;
  std::int32_t rank, dtype;
};

template <class Address>
struct AttributeLayout {
  Address name;
  std::int32_t node, list;
  std::int64_t count;
  Address integers, reals, texts;
};

template <class Address>
struct CallLayout {
  std::int32_t version, threads, input_count, output_count, attribute_count, reserved;
  Address inputs, outputs, attributes, prepared, scratch;
  std::int64_t scratch_bytes, scratch_used;
  Address kept;
  std::int64_t kept_bytes, kept_used;
  char message[256];
  Address parallel, crew;
};

using OwnTensor = TensorLayout<std::uintptr_t>;
using OwnAttribute = AttributeLayout<std::uintptr_t>;
using OwnCall = CallLayout<std::uintptr_t>;
static_assert(sizeof(OwnTensor) == sizeof(kw_tensor) && offsetof(OwnTensor, shape) == offsetof(kw_tensor, shape) &&
              offsetof(OwnTensor, dtype) == offsetof(kw_tensor, dtype));
static_assert(sizeof(OwnAttribute) == sizeof(kw_attribute) &&
              offsetof(OwnAttribute, count) == offsetof(kw_attribute, count) &&
              offsetof(OwnAttribute, texts) == offsetof(kw_attribute, texts));
static_assert(sizeof(OwnCall) == sizeof(kw_call) && offsetof(OwnCall, inputs) == offsetof(kw_call, inputs) &&
              offsetof(OwnCall, scratch_bytes) == offsetof(kw_call, scratch_bytes) &&
              offsetof(OwnCall, kept) == offsetof(kw_call, kept) &&
              offsetof(OwnCall, message) == offsetof(kw_call, message) &&
              offsetof(OwnCall, crew) == offsetof(kw_call, crew));

}  // namespace kw::targets
