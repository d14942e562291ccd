#pragma once

#include "common.cuh"

// Einsum: sums of products of the operands' elements over the indices that the equation does not keep.
struct EinsumIndices {
  int64_t count;
  int64_t lengths[8], steps[4][8];  // of each operand
};
struct Einsum_node {
  int64_t operands;
  EinsumIndices kept, summed;
  int64_t terms;  // of a sum
};

#ifdef __CUDACC__
__device__ inline void add_places(const EinsumIndices& of, int64_t i, int64_t* places) {
  for (int64_t k = of.count - 1; k >= 0; --k) {
    const int64_t at = i % of.lengths[k];
    i /= of.lengths[k];
    for (int64_t x = 0; x < 4; ++x) places[x] += at * of.steps[x][k];
  }
}

template <class T, class... More>
__device__ T Einsum(const Einsum_node& of, int64_t i, const T* x, const More*... more) {
  const T* operands[] = {x, more...};
  int64_t first[4] = {0, 0, 0, 0};
  add_places(of.kept, i, first);
  Wide<T> sum = 0;
  for (int64_t term = 0; term < of.terms; ++term) {
    int64_t at[4] = {first[0], first[1], first[2], first[3]};
    add_places(of.summed, term, at);
    Wide<T> product = 1;
    for (int64_t k = 0; k < of.operands; ++k) product *= Wide<T>(operands[k][at[k]]);
    sum += product;
  }
  return T(sum);
}
#else
// The indices of a term of an equation, one a character; the axes under "..." are '\1', '\2' and so on, from the last.
struct EinsumTerm {
  char names[16] = {};
  int count = 0;
  bool has(char name) const { return std::find(names, names + count, name) != names + count; }
};

// Reads a term up to a comma, an arrow or the end. `rank`: of its operand; 0 of the result's term.
inline const char* read_term(const char* text, int rank, int* hidden, EinsumTerm* term) {
  const char* end = text;
  int letters = 0;
  for (; *end != 0 && *end != ',' && *end != '-'; ++end) letters += *end != ' ' && *end != '.';
  for (; text != end; ++text) {
    if (*text == ' ') continue;
    if (*text != '.') {
      term->names[term->count++] = *text;
      continue;
    }
    if (rank > 0) *hidden = rank - letters;
    for (int back = rank > 0 ? rank - letters : *hidden; back > 0; --back) term->names[term->count++] = char(back);
    text += 2;
  }
  return end;
}

template <class... More>
Einsum_node Einsum_plan(const kw::Node& node, kw::Shape* y, const Given& x, const More&... more) {
  static_assert(sizeof...(More) < 4, "the plain CUDA kernel of Einsum has up to four operands");
  const Given* given[] = {&x, &more...};
  constexpr int kOperands = 1 + sizeof...(More);
  const char* at = node.text("equation");
  EinsumTerm terms[kOperands], result;
  int hidden = 0;
  for (int k = 0; k < kOperands; ++k) {
    at = read_term(at, given[k]->shape.rank, &hidden, &terms[k]);
    if (*at == ',') ++at;
  }
  if (*at == '-') {
    read_term(at + 2, 0, &hidden, &result);
  } else {
    // The implied result: the axes under "..." and the letters that occur once, in alphabetical order.
    for (int back = hidden; back > 0; --back) result.names[result.count++] = char(back);
    for (int name = 'A'; name <= 'z'; ++name) {
      int64_t uses = 0;
      for (const EinsumTerm& term : terms) uses += std::count(term.names, term.names + term.count, char(name));
      if (uses == 1) result.names[result.count++] = char(name);
    }
  }
  Einsum_node of{};
  of.operands = kOperands;
  of.terms = 1;
  const auto add = [&](EinsumIndices& indices, char name) {
    const int64_t index = indices.count++;
    indices.lengths[index] = 1;
    for (int k = 0; k < kOperands; ++k) {
      const kw::Shape& shape = given[k]->shape;
      for (int axis = 0; axis < terms[k].count; ++axis) {
        if (terms[k].names[axis] != name || shape[axis] == 1) continue;
        indices.lengths[index] = shape[axis];
        indices.steps[k][index] += shape.count(axis + 1, shape.rank);  // a name that comes twice walks the diagonal
      }
    }
    return indices.lengths[index];
  };
  *y = kw::Shape();
  for (int i = 0; i < result.count; ++i) y->push(add(of.kept, result.names[i]));
  EinsumTerm seen = result;
  for (const EinsumTerm& term : terms) {
    for (int i = 0; i < term.count; ++i) {
      if (seen.has(term.names[i])) continue;
      seen.names[seen.count++] = term.names[i];
      of.terms *= add(of.summed, term.names[i]);
    }
  }
  return of;
}
#endif
