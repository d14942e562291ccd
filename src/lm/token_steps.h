// What a decoder does to the numbers of one token besides its products (src/lm/row_products.h).
#pragma once

#include <span>

namespace kw::lm {

// Root mean square of `weight.size()` numbers at `x`; `y` may be `x`.
void normalise(const float* x, std::span<const float> weight, double epsilon, float* y);
// The rotary embedding of one head: element i and the one half a head after it.
void rotate(std::span<float> head, std::span<const float> cosines, std::span<const float> sines);
// Scores of one query, times `scale`, become its shares: exponentials that add up to 1.
void become_shares(std::span<float> scores, float scale);
// gate = SiLU(gate) * up.
void apply_gate(std::span<float> gate, std::span<const float> up);

}  // namespace kw::lm
