// Inputs that resemble those of the call before: they show a kernel that recognises inputs by a few values and returns
// a remembered answer. This file knows which values may be mixed so that every honest kernel still gets right answers.
#pragma once

#include <cstddef>
#include <vector>

#include "base/random.h"
#include "core/tensor.h"
#include "ops/draw.h"
#include "ops/graph.h"
#include "ops/wide_tensor.h"

namespace kw::judge {

// Copies the beginning of the last case's first input over this one's, whose class is the same. Its end stays, as ends
// are drawn with care. False, and nothing is copied: where one input alone may be far out (ops/reach.h), it must not
// meet another one of this case that is: their products overflow in one order of summation and not in another.
bool begin_as_the_last(const ops::Graph& graph, ops::InputClass input_class, const Tensor& last, Tensor& now);

// Typical inputs become like those of the call before, of the same shape, in one of these ways: the first one begins
// alike, or differs in one element, or in a short stretch; is the other turned round, twice as large, or its negative,
// in order, or the same but for a little noise; is what the other gave (`answer`, null: unknown); the first one alone
// is the same, or all but the first; two of one type change places; the first one is zero or another round number
// throughout, or one of the others is, as a program leaves what it does not use. Where it has no such way, they stay as
// they are.
enum class Way {
  begins,
  one_element,
  stretch,
  turned,
  doubled,
  negative,
  first_alone,
  all_but_first,
  exchanged,
  sorted,
  noise,
  fed_back,
  first_plain,
  other_plain
};
inline constexpr std::size_t kWaysAlike = 14;
void make_alike(const ops::Graph& graph, const std::vector<bool>& constant, const std::vector<Tensor>& before,
                const ops::WideTensor* answer, Way way, std::vector<Tensor>& now, Random& random);

// The first input is of floats and not constant.
bool may_be_mixed(const std::vector<bool>& constant, const std::vector<Tensor>& inputs);

// Half of the first input becomes another one's, which shows a kernel that takes the beginning for the whole.
void begin_alike(const std::vector<bool>& constant, const std::vector<Tensor>& others, std::vector<Tensor>& inputs);

// All inputs become another set's but for one element, or the first one is the other's, turned round: whoever takes
// some elements, or a sum of them, for the whole shows.
void nearly_repeat(const std::vector<bool>& constant, const std::vector<Tensor>& others, std::vector<Tensor>& inputs,
                   Random& random);

// Weights become as they are before anything is learnt, all or every other one of them, round or equal numbers,
// matrices of few numbers or with many zeros: which of these goes by `turn`. Others stay as they are.
void make_weights_plain(const ops::Graph& graph, std::size_t turn, std::vector<Tensor>& drawn, Random& random);

// Typical inputs, whose weights serve a whole crowd (exam_plan.h): one crowd of this number has them as they are drawn,
// the others plain ones.
inline constexpr std::size_t kCrowdsAsDrawn = 6;
std::vector<Tensor> draw_weights(const ops::Graph& graph, std::size_t crowd, std::uint64_t seed, Random& random);

// Constants become the others' but for two elements of each, or, in every other turn, for all of one of them.
void change_little(const std::vector<bool>& constant, std::size_t turn, const std::vector<Tensor>& others,
                   std::vector<Tensor>& inputs, Random& random);

}  // namespace kw::judge
