#include "ops/op.h"

#include <algorithm>

#include "ops/families.h"

namespace kw::ops {

std::string_view name_of(InputClass input_class) {
  switch (input_class) {
    case InputClass::typical:
      return "typical";
    case InputClass::tails:
      return "tails";
    case InputClass::ties:
      return "ties";
    case InputClass::edges:
      return "edges";
    case InputClass::special:
      return "special";
    case InputClass::wide:
      return "wide";
  }
  return "";
}

Status Call::check_one_number(std::initializer_list<std::size_t> inputs_of_one) const {
  for (std::size_t input : inputs_of_one) {
    if (!has(input) || shape(input).count() == 1) continue;
    return fail("input '{}' must be one number, not {}", op->inputs[input].name, shape(input).text());
  }
  return {};
}

Result<Integers> Call::constant_integers(std::size_t input) const {
  if (constants[input]) return constants[input]->integers();
  const std::string& name = op->inputs[std::min(input, op->inputs.size() - 1)].name;
  return fail("input '{}' decides the shape of the result and must be a constant", name);
}

Result<std::int64_t> Call::constant_integer(std::size_t input) const {
  KW_CHECK(check_one_number({input}));
  KW_TRY(const Integers values, constant_integers(input));
  return values[0];
}

Result<std::optional<Integers>> Call::given_integers(std::size_t input, std::string_view attribute) const {
  if (has(input)) {
    KW_TRY(Integers values, constant_integers(input));
    return std::optional<Integers>(std::move(values));
  }
  if (attributes.has(attribute)) return std::optional<Integers>(integers(attribute));
  return std::optional<Integers>();
}

const std::vector<Op>& all_ops() {
  static const std::vector<Op> ops = [] {
    std::vector<Op> all;
    for (const auto family : families::table) {
      for (Op& op : family()) all.push_back(std::move(op));
    }
    std::ranges::sort(all, {}, &Op::name);
    return all;
  }();
  return ops;
}

const Op* find_op(std::string_view name) {
  const auto& ops = all_ops();
  const auto found = std::ranges::lower_bound(ops, name, {}, [](const Op& op) { return std::string_view(op.name); });
  return found != ops.end() && found->name == name ? &*found : nullptr;
}

}  // namespace kw::ops
