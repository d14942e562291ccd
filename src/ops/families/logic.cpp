// Truth: logic of bools, comparisons, logic of bits, and choosing by a condition.
#include <algorithm>
#include <cstring>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

// A number next to the element: what a comparison that allows for rounding takes for equal.
void nudge(Tensor& tensor, std::int64_t index, Random& random) {
  if (is_float(tensor.dtype())) {
    tensor.set_real(index, tensor.real(index) * (1 + random.sign() * 2 * unit_roundoff(tensor.dtype())));
  } else if (is_integer(tensor.dtype())) {
    tensor.set_integer(index, tensor.integer(index) ^ 1);
  }
}

// Numbers drawn apart are hardly ever equal, so that `false` would pass for Equal and < for <=. A third of the pairs
// is made equal; among the edges some of these differ in the last bit again. Now and then pairs stay as they are: all
// of one order, or all equal but one.
void draw_ties(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> in) {
  constexpr double kAsTheyAre = 0.25;
  if (!in[0] && !in[1]) return;
  if (input_class != InputClass::typical && random.chance(kAsTheyAre)) return;
  const std::size_t changed = !in[1] || (in[0] && in[0]->count() > in[1]->count()) ? 0 : 1;
  const std::size_t kept = 1 - changed;
  const Tensor* model = in[kept] ? in[kept] : call.constants[kept];
  if (!model) return;
  Tensor& tensor = *in[changed];
  const std::size_t size = size_bytes(tensor.dtype());
  BroadcastWalk(call.outputs[0].shape, {call.shape(0), call.shape(1)}).each([&](std::size_t, const std::size_t* at) {
    if (!random.chance(0.35)) return;
    std::memmove(tensor.bytes().data() + at[changed] * size, model->bytes().data() + at[kept] * size, size);
    if (input_class == InputClass::edges && random.chance(0.4)) {
      nudge(tensor, static_cast<std::int64_t>(at[changed]), random);
    }
  });
}

template <class Compare>
Op comparison(std::string name, std::string meaning, int since, DTypes types) {
  Op op = predicate({.name = std::move(name),
                     .meaning = std::move(meaning),
                     .since = since,
                     .real = [](double a, double b) { return Compare{}(a, b); },
                     .integer = [](std::int64_t a, std::int64_t b) { return Compare{}(a, b); },
                     .types = types,
                     .draw = draw_ties});
  for (InputSpec& input : op.inputs) input.domain = whole_line();
  return op;
}

Op logical(std::string name, std::string meaning, bool (*f)(std::int64_t, std::int64_t)) {
  return predicate({.name = std::move(name), .meaning = std::move(meaning), .integer = f, .types = kBool});
}

Op bitwise(std::string name, std::string meaning, std::int64_t (*f)(std::int64_t, std::int64_t)) {
  return binary({.name = std::move(name),
                 .meaning = std::move(meaning),
                 .since = 18,
                 .integer = [f](const Call&, std::int64_t a, std::int64_t b) { return f(a, b); },
                 .types = kIntegers});
}

Status choose(const Call&, WideInputs in, std::span<WideTensor> out) {
  const WideTensor& condition = *in[0];
  WideTensor& chosen = out[0];
  const bool exact = in[1]->exact() && in[2]->exact();
  if (!exact) chosen.add_slack();
  BroadcastWalk(chosen.shape, {condition.shape, in[1]->shape, in[2]->shape})
      .each([&](std::size_t i, const std::size_t* at) {
        const std::size_t side = condition.integers[at[0]] ? 1 : 2;
        if (is_float(chosen.dtype)) {
          chosen.reals[i] = in[side]->reals[at[side]];
          if (!exact) chosen.slack[i] = in[side]->slack_at(at[side]);
        } else {
          chosen.integers[i] = in[side]->integers[at[side]];
        }
      });
  return {};
}

Op where() {
  Op op;
  op.name = "Where";
  op.meaning = "X where the condition holds, Y elsewhere";
  op.since = 9;
  op.inputs = {{.name = "condition", .types = kBool, .group = "B"},
               {.name = "X", .types = kAnyType, .domain = whole_line()},
               {.name = "Y", .types = kAnyType, .domain = whole_line()}};
  op.outputs = {{"output"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const Shape sides, broadcast(call.shape(1), call.shape(2)));
    KW_TRY(Shape shape, broadcast(call.shape(0), sides));
    return Types{{call.dtype(1), std::move(shape)}};
  };
  op.reference = choose;
  op.flops = output_count;
  op.sample = [](Random& random) {
    Sample sample;
    const DType type = sample_type(random, kAnyType);
    const Shape shape = sample_shape(random, 0, 4, true);
    const auto part = [&] { return random.chance(0.5) ? shape : sample_broadcast(random, shape); };
    sample.input(DType::boolean, part()).input(type, part()).input(type, part());
    return sample;
  };
  return op;
}

}  // namespace

std::vector<Op> logic() {
  return {
      logical("And", "whether both are true", [](std::int64_t a, std::int64_t b) { return a && b; }),
      bitwise("BitwiseAnd", "the bits that both have", [](std::int64_t a, std::int64_t b) { return a & b; }),
      bitwise("BitwiseOr", "the bits that either has", [](std::int64_t a, std::int64_t b) { return a | b; }),
      bitwise("BitwiseXor", "the bits that one of them has", [](std::int64_t a, std::int64_t b) { return a ^ b; }),
      comparison<std::equal_to<>>("Equal", "whether A equals B", 13, kAnyType),
      comparison<std::greater<>>("Greater", "whether A is above B", 13, kNumbers),
      comparison<std::greater_equal<>>("GreaterOrEqual", "whether A is not below B; never of a NaN", 16, kNumbers),
      comparison<std::less<>>("Less", "whether A is below B", 13, kNumbers),
      comparison<std::less_equal<>>("LessOrEqual", "whether A is not above B; never of a NaN", 16, kNumbers),
      logical("Or", "whether either is true", [](std::int64_t a, std::int64_t b) { return a || b; }),
      where(),
      logical("Xor", "whether exactly one is true", [](std::int64_t a, std::int64_t b) { return !a != !b; }),
  };
}

}  // namespace kw::ops::families
