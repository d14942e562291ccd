// Text from a block-diffusion model (SDAR's form): a block of masks is filled in a few passes, several tokens at a
// time, then the next block.
//
// Position i predicts token i, and a token sees its own block and all blocks before. So a block that is whole never
// changes again: its keys and values are kept from one last pass, and every pass is over one block a text. Texts of a
// batch stand at their own places: each is filled, stored and ended without waiting for the others, and one that has
// ended leaves the batch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lm_torch/decoder.h"
#include "lm_torch/generate.h"
#include "lm_torch/network.h"

namespace kw::lm {

// Which tokens of a block stay after a pass.
enum class Unmask {
  fixed,       // the surest ones, as many in each pass as makes `steps` passes ("static")
  dynamic,     // all that are surer than `threshold`; where these are fewer than with `fixed`, as with `fixed`
  sequential,  // as many as with `fixed`, from left to right
};
Result<Unmask> unmask_named(const std::string& name);

struct Denoising {
  std::int64_t block = 0;  // tokens; 0: as the model says
  std::int64_t steps = 0;  // passes that fill a block, at most; 0: a token a pass
  Unmask unmask = Unmask::dynamic;
  double threshold = 0.9;
};

// A text with a hole. What is before and after stays as it is; of what is after, the hole sees what shares its last
// block.
struct Blank {
  std::vector<std::int32_t> before, after;
  std::int64_t length = 0;  // of the hole; 0: open, to the first end token, and nothing is after it
};

struct Filled {
  std::vector<std::int32_t> ids;  // of the hole, without the token that ended it
  bool ended = false;             // by itself, not by a limit
  // All that was written with the pass of its block that wrote it, the end token and what follows it in its block
  // included: what an update of the model by reward needs.
  std::vector<std::int32_t> trace, steps;
};

struct Diffused {
  std::vector<Filled> texts;
  std::int64_t passes = 0;   // over one block of every text that is not done
  std::int64_t decoded = 0;  // of these, by the decoder
};

// `tell` is given each token of a block that is whole, in order; false stops. What is drawn depends on the seed, the
// text's index and the place alone, so that a batch does not change its members. A `decoder` of the same model, which
// then is in float32 on the CPU, makes the passes that are short enough for it.
Result<Diffused> diffuse(const Network& network, const std::vector<Blank>& blanks, const Sampling& sampling,
                         const Denoising& denoising,
                         const std::function<bool(std::size_t text, std::int32_t id)>& tell = {},
                         Decoder* decoder = nullptr);

// Of these masked places and what each would become, those that stay after pass `step` of `steps` over a block.
std::vector<std::size_t> kept_after(const std::vector<Chosen>& chosen, std::int64_t block, std::int64_t step,
                                    std::int64_t steps, const Denoising& denoising);
// In [0, 1), for one place of one text in one pass.
double number_for(std::uint64_t seed, std::size_t text, std::int64_t place, std::int64_t step);

}  // namespace kw::lm
