#pragma once

#include <kernelwright.h>

#include <map>
#include <string>
#include <vector>

#include "parts/strides.h"
#include "parts/wide.h"

// An index of an equation: how far it runs, and how far every operand, and last the result, moves with it.
struct EinsumIndex {
  char name;
  int64_t length = 1;
  std::vector<int64_t> steps;
};

// The indices of a term, one a character; the `hidden` axes under "..." are '\1', '\2' and so on, from the last.
inline std::string einsum_indices(std::string term, int hidden) {
  std::string axes;
  for (int back = hidden; back > 0; --back) axes += static_cast<char>(back);
  const std::size_t dots = term.find("...");
  return dots == std::string::npos ? term : term.replace(dots, 3, axes);
}

// The indices of every operand, and last of the result.
inline std::vector<std::string> einsum_terms(std::string equation, const std::vector<kw::Shape>& operands) {
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::vector<std::string> terms;
  std::size_t begin = 0;
  int hidden = 0;
  for (const kw::Shape& operand : operands) {
    const std::size_t end = std::min(left.find(',', begin), left.size());
    const std::string term = left.substr(begin, end - begin);
    if (term.find("...") != std::string::npos) hidden = operand.rank - static_cast<int>(term.size() - 3);
    terms.push_back(einsum_indices(term, hidden));
    begin = end + 1;
  }
  if (arrow != std::string::npos) {
    terms.push_back(einsum_indices(equation.substr(arrow + 2), hidden));
    return terms;
  }
  // The implied result: the axes under "..." and the letters that occur once, in alphabetical order.
  std::map<char, int> uses;
  for (char letter : left) ++uses[letter];
  std::string result = uses.contains('.') ? "..." : "";
  for (const auto& [letter, count] : uses) {
    if (letter != '.' && letter != ',' && count == 1) result += letter;
  }
  terms.push_back(einsum_indices(result, hidden));
  return terms;
}

// The sum that an equation describes, as loops over its indices. Innermost goes the index along which memory lies
// closest; before it those of the result in their order, then those that are summed.
struct EinsumLoops {
  kw::Shape result;
  std::vector<EinsumIndex> outer;
  EinsumIndex inner;
};

inline EinsumLoops einsum_loops(const char* equation, const std::vector<kw::Shape>& operands) {
  const std::vector<std::string> terms = einsum_terms(equation, operands);
  const std::size_t terms_count = terms.size();
  EinsumLoops loops;
  const auto index_of = [&](char name) -> EinsumIndex& {
    for (EinsumIndex& index : loops.outer) {
      if (index.name == name) return index;
    }
    return loops.outer.emplace_back(EinsumIndex{name, 1, std::vector<int64_t>(terms_count)});
  };
  for (char name : terms.back()) index_of(name);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const kw::Shape strides = strides_of(operands[k]);
    for (int axis = 0; axis < operands[k].rank; ++axis) {
      EinsumIndex& index = index_of(terms[k][static_cast<std::size_t>(axis)]);
      if (operands[k][axis] == 1) continue;  // repeated
      index.length = operands[k][axis];
      index.steps[k] += strides[axis];  // a name that comes twice walks the diagonal
    }
  }
  for (char name : terms.back()) loops.result.push(index_of(name).length);
  const kw::Shape strides = strides_of(loops.result);
  for (int axis = 0; axis < strides.rank; ++axis)
    loops.outer[static_cast<std::size_t>(axis)].steps.back() = strides[axis];

  loops.inner = {0, 1, std::vector<int64_t>(terms_count)};
  int64_t closest = INT64_MAX;
  for (const EinsumIndex& index : loops.outer) {
    int64_t apart = 0;
    for (int64_t step : index.steps) apart += step;
    if (index.length == 1 || apart >= closest) continue;
    closest = apart;
    loops.inner = index;
  }
  std::erase_if(loops.outer, [&](const EinsumIndex& index) { return index.name == loops.inner.name; });
  return loops;
}

// Einsum: sums of products of the operands' elements over the indices that the equation does not keep.
template <class T>
void Einsum(const kw::Node& node, const std::vector<kw::Tensor<const T>>& xs, kw::Tensor<T>& y) {
  using W = Wide<T>;
  const std::size_t operands = xs.size();
  std::vector<kw::Shape> shapes;
  std::vector<const T*> data;
  for (const auto& x : xs) {
    shapes.push_back(x.shape());
    data.push_back(x.data());
  }
  const auto [result, outer, inner] = einsum_loops(node.text("equation"), shapes);
  y.allocate(result);
  W* sums = nullptr;
  if constexpr (std::is_same_v<W, T>) {
    sums = y.data();
  } else {
    sums = node.scratch<W>(y.count());
  }
  std::fill_n(sums, y.count(), W(0));

  std::vector<int64_t> at(operands + 1);  // where every operand, and last the result, is
  const int64_t inner_length = inner.length, sum_step = inner.steps.back();
  const auto add_row = [&](auto product) {
    W* to = sums + at.back();
    if (sum_step == 0) {
      W sum = 0;
      for (int64_t i = 0; i < inner_length; ++i) sum += product(i);
      *to += sum;
    } else {
      for (int64_t i = 0; i < inner_length; ++i) to[i * sum_step] += product(i);
    }
  };
  const auto factor = [&, &steps = inner.steps](std::size_t k) {
    return [x = data[k] + at[k], step = steps[k]](int64_t i) { return W(x[i * step]); };
  };
  int64_t rows = 1;
  for (const EinsumIndex& index : outer) rows *= index.length;
  std::vector<int64_t> counts(outer.size());
  for (int64_t row = 0; row < rows; ++row) {
    if (operands == 1) {
      add_row(factor(0));
    } else if (operands == 2) {
      add_row([a = factor(0), b = factor(1)](int64_t i) { return a(i) * b(i); });
    } else {
      add_row([&](int64_t i) {
        W product = 1;
        for (std::size_t k = 0; k < operands; ++k) product *= factor(k)(i);
        return product;
      });
    }
    for (std::size_t k = outer.size(); k-- > 0;) {  // to the next row
      const bool again = ++counts[k] < outer[k].length;
      for (std::size_t t = 0; t < at.size(); ++t) at[t] += (again ? 1 : 1 - outer[k].length) * outer[k].steps[t];
      if (again) break;
      counts[k] = 0;
    }
  }
  if constexpr (!std::is_same_v<W, T>) {
    for (int64_t i = 0; i < y.count(); ++i) y[i] = T(sums[i]);
  }
}
