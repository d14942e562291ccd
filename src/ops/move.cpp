#include "ops/move.h"

#include "ops/walk.h"

namespace kw::ops {

void copy_view(const WideTensor& from, std::int64_t offset, const Shape& shape, const Integers& strides,
               WideTensor& to) {
  std::size_t target = 0;
  each_index(shape,
             [&](const Integers& at) { copy_elements(from, size_of(offset) + flat(at, strides), to, target++); });
}

Op mover(std::string name, std::string meaning, int since) {
  Op op;
  op.name = std::move(name);
  op.meaning = std::move(meaning);
  op.since = since;
  op.inputs = {{.name = "data", .types = kAnyType, .domain = whole_line()}};
  op.flops = no_flops;
  return op;
}

InputSpec integers_input(std::string name, DTypes types, bool optional) {
  return {.name = std::move(name), .types = types, .group = "", .optional = optional, .constant = true};
}

}  // namespace kw::ops
