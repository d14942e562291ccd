// Einstein sums: an equation names the indices of every operand and of the result, and what the result does not name is
// summed over.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "ops/bilinear.h"
#include "ops/elementwise.h"
#include "ops/families.h"

namespace kw::ops::families {
namespace {

// One operand's or the result's part of an equation: its letters in order, and where among them "..." stands.
struct Term {
  std::string letters;
  std::optional<std::size_t> ellipsis;
};

struct Equation {
  std::vector<Term> operands;
  std::optional<Term> result;  // none: implied
};

Result<Term> read_term(const std::string& text, const std::string& equation) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z')) {
      term.letters += letter;
    } else if (text.compare(i, 3, "...") == 0 && !term.ellipsis) {
      term.ellipsis = term.letters.size();
      i += 2;
    } else {
      return fail("equation \"{}\": '{}' in \"{}\" is neither a letter nor the only \"...\"", equation, letter, text);
    }
  }
  return term;
}

Result<Equation> read_equation(const std::string& text) {
  std::string dense;
  std::ranges::copy_if(text, std::back_inserter(dense), [](char c) { return c != ' '; });
  const std::size_t arrow = dense.find("->");
  Equation equation;
  if (arrow != std::string::npos) {
    KW_TRY(equation.result, read_term(dense.substr(arrow + 2), text));
    dense.resize(arrow);
  }
  for (std::size_t begin = 0; begin <= dense.size();) {
    const std::size_t end = std::min(dense.find(',', begin), dense.size());
    KW_TRY(Term term, read_term(dense.substr(begin, end - begin), text));
    equation.operands.push_back(std::move(term));
    begin = end + 1;
  }
  return equation;
}

// An index of the sum: a letter, or an axis under "..." counted from the last (-1, -2, ...).
using Index = int;

std::vector<Index> indices_of(const Term& term, int ellipsis_rank) {
  std::vector<Index> result(term.letters.begin(), term.letters.end());
  if (!term.ellipsis) return result;
  std::vector<Index> hidden;
  for (int back = ellipsis_rank; back > 0; --back) hidden.push_back(-back);
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(*term.ellipsis), hidden.begin(), hidden.end());
  return result;
}

// The sum that a call describes: its indices, first those of the result in its order and then the summed ones, and how
// far each operand moves with each of them (0: not at all).
struct Contraction {
  Shape lengths;
  int kept = 0;
  std::vector<std::vector<std::int64_t>> strides;

  std::int64_t terms() const { return lengths.count(kept, lengths.rank()); }
};

// How many axes "..." stands for: the same in every operand.
Result<int> ellipsis_rank(const Call& call, const Equation& equation) {
  std::optional<int> rank;
  for (std::size_t i = 0; i < equation.operands.size(); ++i) {
    const Term& term = equation.operands[i];
    const int hidden = call.shape(i).rank() - static_cast<int>(term.letters.size());
    if (hidden < 0 || (hidden > 0 && !term.ellipsis)) {
      return fail("term {} of equation \"{}\" has {} letters, but its operand is {}", i + 1, call.text("equation"),
                  term.letters.size(), call.shape(i).text());
    }
    if (!term.ellipsis) continue;
    if (rank && *rank != hidden) {
      return fail("\"...\" stands for {} axes in one operand and {} in another", *rank, hidden);
    }
    rank = hidden;
  }
  return rank.value_or(0);
}

// The result's indices: as written, or those of "..." and then the letters that occur once, in alphabetical order.
Result<std::vector<Index>> result_indices(const Call& call, const Equation& equation, int ellipsis) {
  if (!equation.result) {
    std::map<char, int> uses;
    bool has_ellipsis = false;
    for (const Term& term : equation.operands) {
      has_ellipsis |= term.ellipsis.has_value();
      for (char letter : term.letters) ++uses[letter];
    }
    Term implied;
    if (has_ellipsis) implied.ellipsis = 0;
    for (const auto& [letter, count] : uses) {
      if (count == 1) implied.letters += letter;
    }
    return indices_of(implied, ellipsis);
  }
  std::string letters = equation.result->letters;
  std::ranges::sort(letters);
  if (const auto twice = std::ranges::adjacent_find(letters); twice != letters.end()) {
    return fail("equation \"{}\" names '{}' twice in the result", call.text("equation"), *twice);
  }
  for (char letter : letters) {
    if (std::ranges::none_of(equation.operands,
                             [&](const Term& t) { return t.letters.find(letter) != t.letters.npos; })) {
      return fail("equation \"{}\" wants '{}' in the result, but no operand has it", call.text("equation"), letter);
    }
  }
  return indices_of(*equation.result, ellipsis);
}

Result<Contraction> contraction_of(const Call& call) {
  KW_TRY(const Equation equation, read_equation(call.text("equation")));
  if (equation.operands.size() != call.inputs.size()) {
    return fail("equation \"{}\" has {} terms for {} operands", call.text("equation"), equation.operands.size(),
                call.inputs.size());
  }
  KW_TRY(const int ellipsis, ellipsis_rank(call, equation));
  std::map<Index, std::int64_t> lengths;  // as operands have them; 1 broadcasts
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const std::vector<Index> own = indices_of(equation.operands[i], ellipsis);
    for (std::size_t axis = 0; axis < own.size(); ++axis) {
      const std::int64_t length = call.shape(i)[static_cast<int>(axis)];
      const auto [known, first] = lengths.emplace(own[axis], length);
      if (known->second == 1) known->second = length;
      if (length != 1 && length != known->second) {
        return fail("equation \"{}\": one index has length {} in one place and {} in another", call.text("equation"),
                    known->second, length);
      }
    }
  }
  KW_TRY(std::vector<Index> order, result_indices(call, equation, ellipsis));
  Contraction result;
  result.kept = static_cast<int>(order.size());
  for (const auto& [index, length] : lengths) {
    if (std::ranges::find(order, index) == order.end()) order.push_back(index);
  }
  for (Index index : order) result.lengths.append(lengths.contains(index) ? lengths[index] : 1);
  KW_CHECK(check_shape(result.lengths));
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const std::vector<Index> own = indices_of(equation.operands[i], ellipsis);
    const std::vector<std::int64_t> steps = call.shape(i).strides();
    std::vector<std::int64_t> strides(order.size(), 0);
    for (std::size_t axis = 0; axis < own.size(); ++axis) {
      const auto place = static_cast<std::size_t>(std::ranges::find(order, own[axis]) - order.begin());
      // A repeated letter walks the diagonal: its steps add up.
      if (call.shape(i)[static_cast<int>(axis)] != 1) strides[place] += steps[axis];
    }
    result.strides.push_back(std::move(strides));
  }
  return result;
}

// Calls f(result index, operands' indices) for every term of every sum, a sum's terms one after another.
template <class F>
void each_term(const Contraction& sum, F&& f) {
  if (sum.lengths.count() == 0) return;
  const auto rank = static_cast<std::size_t>(sum.lengths.rank());
  const std::int64_t terms = sum.terms();
  std::vector<std::int64_t> at(rank, 0);
  std::vector<std::size_t> operands(sum.strides.size(), 0);
  for (std::int64_t i = 0, left = sum.lengths.count(); left > 0; ++i, --left) {
    f(static_cast<std::size_t>(i / terms), std::as_const(operands));
    for (std::size_t axis = rank; axis-- > 0;) {
      const bool again = ++at[axis] < sum.lengths[static_cast<int>(axis)];
      const std::int64_t steps = again ? 1 : 1 - at[axis];
      for (std::size_t k = 0; k < operands.size(); ++k) {
        operands[k] = static_cast<std::size_t>(static_cast<std::int64_t>(operands[k]) + steps * sum.strides[k][axis]);
      }
      if (again) break;
      at[axis] = 0;
    }
  }
}

// A product of some of more than two factors may lie below the normal range, where it is rounded coarsely, before
// others bring it back; or beyond the range, in one order and not in another.
double lost_between(WideInputs in, const std::vector<std::size_t>& at, DType dtype) {
  double growth = 1;
  for (std::size_t k = 0; k < at.size(); ++k) {
    const double factor = std::fabs(in[k]->reals[at[k]]);
    if (!std::isfinite(factor)) return 0;
    growth *= std::max(factor, 1.0);
  }
  if (growth > largest_finite(dtype)) return std::numeric_limits<double>::infinity();
  return static_cast<double>(at.size() - 2) * smallest_subnormal(dtype) * growth;
}

Status sum_products(const Call& call, WideInputs in, std::span<WideTensor> out) {
  KW_TRY(const Contraction sum, contraction_of(call));
  WideTensor& y = out[0];
  if (!is_float(y.dtype)) {
    each_term(sum, [&](std::size_t o, const std::vector<std::size_t>& at) {
      std::int64_t product = 1;
      for (std::size_t k = 0; k < at.size(); ++k) product = times(product, in[k]->integers[at[k]]);
      y.integers[o] = wrap(plus(y.integers[o], product), y.dtype);
    });
    return {};
  }
  const bool exact = std::ranges::all_of(in, [](const WideTensor* x) { return x->exact(); });
  std::vector<double> squares(y.reals.size(), 0), carried(y.reals.size(), 0);
  each_term(sum, [&](std::size_t o, const std::vector<std::size_t>& at) {
    double product = 1;
    for (std::size_t k = 0; k < at.size(); ++k) product *= in[k]->reals[at[k]];
    y.reals[o] += product;
    squares[o] += product * product;
    if (in.size() > 2) carried[o] += lost_between(in, at, y.dtype);
    if (exact) return;
    double farthest = 1;
    for (std::size_t k = 0; k < at.size(); ++k) farthest *= std::fabs(in[k]->reals[at[k]]) + in[k]->slack_at(at[k]);
    carried[o] += farthest - std::fabs(product);
  });
  const bool only_moves = in.size() == 1 && sum.terms() <= 1;
  if (only_moves && exact) return {};
  // Each product of several factors rounds once for each further factor.
  const std::int64_t roundings = sum.terms() + std::ssize(in) - 1;
  y.add_slack();
  for (std::size_t i = 0; i < y.reals.size(); ++i) {
    y.slack[i] = carried[i] + (only_moves ? 0 : product_sum_bound(roundings, y.reals[i], squares[i], y.dtype));
  }
  return {};
}

Sample sample_einsum(Random& random) {
  struct Case {
    const char* equation;
    std::vector<Shape> shapes;
  };
  const std::int64_t i = random.integer(1, 6), j = random.integer(1, 17), k = random.integer(1, 9);
  const std::array<Case, 14> cases{{{"ij,jk->ik", {{i, j}, {j, k}}},
                                    {"ij,jk", {{i, j}, {j, k}}},
                                    {"ij->", {{i, j}}},
                                    {"ij->ji", {{i, j}}},
                                    {"ba", {{i, j}}},
                                    {"ii->i", {{j, j}}},
                                    {"ii", {{j, j}}},
                                    {"ij,ij->ij", {{i, j}, {i, j}}},
                                    {" i , j -> i j ", {{i}, {j}}},
                                    {"bij,bjk->bik", {{k, i, j}, {k, j, i}}},
                                    {"...ij,...jk->...ik", {{2, k, i, j}, {2, k, j, 3}}},
                                    {"...ij->...", {{k, i, j}}},
                                    {"aB,Bc,cd->da", {{i, j}, {j, k}, {k, 2}}},
                                    {"bhid,bhjd->bhij", {{2, k, i, 8}, {2, k, j, 8}}}}};
  const Case& chosen = random.pick(cases);
  Sample sample;
  sample.attribute("equation", std::string(chosen.equation));
  const DType type = sample_type(random, {DType::float32, DType::float64, DType::int32, DType::int64});
  for (const Shape& shape : chosen.shapes) sample.input(type, shape);
  return sample;
}

Op einsum_op() {
  Op op;
  op.name = "Einsum";
  op.meaning = "sums of products of the operands' elements over the indices that the equation does not keep";
  op.since = 12;
  op.attributes = {{.name = "equation", .kind = AttributeKind::text, .required = true}};
  op.inputs = {{.name = "Inputs", .types = kNumbers, .variadic = true}};
  op.outputs = {{"Output"}};
  op.infer = [](const Call& call) -> Result<Types> {
    KW_TRY(const Contraction sum, contraction_of(call));
    const std::vector<std::int64_t>& lengths = sum.lengths.lengths();
    return Types{{call.dtype(0), Shape(std::vector<std::int64_t>(lengths.begin(), lengths.begin() + sum.kept))}};
  };
  op.reference = sum_products;
  op.flops = [](const Call& call) {
    const Contraction sum = *contraction_of(call);
    const double per_term = static_cast<double>(call.inputs.size() - 1) + (sum.terms() > 1 ? 1 : 0);
    return per_term * static_cast<double>(sum.lengths.count());
  };
  // What an overflow leaves of an integer sum depends on where it was held: stay clear of it.
  op.draw = [](const Call&, InputClass, Random&, std::span<Tensor* const> inputs) {
    for (Tensor* input : inputs) {
      if (!input || is_float(input->dtype())) continue;
      for (std::int64_t i = 0; i < input->count(); ++i) input->set_integer(i, input->integer(i) % 100);
    }
  };
  op.sample = sample_einsum;
  return op;
}

}  // namespace

std::vector<Op> einsum() { return {einsum_op()}; }

}  // namespace kw::ops::families
