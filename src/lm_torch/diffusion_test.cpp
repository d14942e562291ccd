#include "lm_torch/diffusion.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/random.h"
#include "base/scratch.h"
#include "lm_torch/evaluate.h"
#include "lm_torch/placement.h"

namespace kw::lm {
namespace {

const std::filesystem::path kTiny = KW_SOURCE_DIR "/tests/lm/tiny/sdar";

Network tiny_network(const std::vector<std::int64_t>& end_ids = {}, const at::TensorOptions& options = at::kFloat) {
  auto files = open_model(kTiny);
  EXPECT_TRUE(files.ok()) << files.error().message;
  files->config.end_ids = end_ids;
  auto network = Network::load(*files, options);
  EXPECT_TRUE(network.ok()) << network.error().message;
  return *std::move(network);
}

Decoder tiny_decoder() {
  auto decoder = Decoder::open(*open_model(kTiny));
  EXPECT_TRUE(decoder.ok()) << decoder.error().message;
  return *std::move(decoder);
}

std::vector<std::int32_t> drawn_ids(Random& random, std::int64_t count) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(random.integer(0, 30)));
  return ids;
}

// The logits of every place, in one pass over the whole text under its block-causal mask.
at::Tensor logits_without_cache(const Network& network, const std::vector<std::int32_t>& ids, std::int64_t block) {
  const at::NoGradGuard no_gradients;
  const at::Tensor places = at::arange(std::ssize(ids)), blocks = at::floor_divide(places, block);
  const Pass pass = network.pass_over(places.view({1, -1}), blocks.view({1, 1, -1}) <= blocks.view({1, -1, 1}));
  return network.head(network.run(tensor_of(ids, 1), pass))[0].to(at::kFloat);
}

// As diffuse() says, for one text, with nothing kept between passes.
std::vector<std::int32_t> filled_without_cache(const Network& network, const Blank& blank, std::size_t text,
                                               const Sampling& sampling, const Denoising& denoising) {
  const std::int64_t block = denoising.block > 0 ? denoising.block : network.config().block_length;
  const auto mask = static_cast<std::int32_t>(*network.config().mask_id);
  const auto& ends = network.config().end_ids;
  const std::size_t begin = blank.before.size();
  std::vector<std::int32_t> ids = blank.before, made;
  const std::int64_t length = blank.length > 0 ? blank.length : sampling.most_tokens;
  ids.resize(begin + static_cast<std::size_t>(length), mask);
  const std::size_t end = ids.size();
  ids.insert(ids.end(), blank.after.begin(), blank.after.end());
  while (blank.length == 0 && std::ssize(ids) % block != 0) ids.push_back(mask);
  const std::size_t last = blank.length > 0 ? end : ids.size();
  for (std::size_t from = begin / block * block; from < last; from += block) {
    const std::size_t to = std::min(from + static_cast<std::size_t>(block), ids.size());
    for (std::int64_t step = 0;; ++step) {
      std::vector<std::size_t> places;
      std::vector<Chosen> chosen;
      const at::Tensor logits = logits_without_cache(network, {ids.begin(), ids.begin() + to}, block);
      for (std::size_t place = std::max(from, begin); place < std::min(to, last); ++place) {
        if (ids[place] != mask) continue;
        at::Tensor of_place = logits[static_cast<std::int64_t>(place)].clone();
        of_place[mask] = -INFINITY;
        for (const std::int64_t id : ends) {
          if (blank.length > 0) of_place[id] = -INFINITY;
        }
        places.push_back(place);
        chosen.push_back(choose_with_share(of_place, sampling,
                                           number_for(sampling.seed, text, static_cast<std::int64_t>(place), step)));
      }
      if (places.empty()) break;
      const std::int64_t steps = denoising.steps > 0 ? std::min(denoising.steps, block) : block;
      for (const std::size_t kept : kept_after(chosen, block, step, steps, denoising)) {
        ids[places[kept]] = chosen[kept].id;
      }
    }
    for (std::size_t place = std::max(from, begin); place < std::min(to, end); ++place) {
      if (std::ranges::find(ends, ids[place]) != ends.end()) return made;
      made.push_back(ids[place]);
    }
  }
  return made;
}

// tests/lm/record_diffusion.py recorded them with numpy, which transformers agrees with.
TEST(Diffusion, WritesWhatNumpyWrites) {
  const Json cases = Json::parse(*read_file(kTiny / "diffusion.json"));
  EXPECT_EQ(cases.size(), 18u);
  for (const Json& one : cases) {
    const Network network = tiny_network(one["ends"].get<std::vector<std::int64_t>>());
    Blank blank{.before = one["before"].get<std::vector<std::int32_t>>(),
                .after = one["after"].get<std::vector<std::int32_t>>()};
    Sampling sampling;
    const std::int64_t length = one["length"];
    (one["ends"].empty() ? blank.length : sampling.most_tokens) = length;
    const Denoising denoising{.block = one["block"],
                              .steps = one["steps"],
                              .unmask = *unmask_named(one["unmask"].get<std::string>()),
                              .threshold = one["threshold"]};
    Decoder decoder = tiny_decoder();
    for (Decoder* const with : {static_cast<Decoder*>(nullptr), &decoder}) {
      const auto made = diffuse(network, {blank}, sampling, denoising, {}, with);
      ASSERT_TRUE(made.ok()) << made.error().message;
      EXPECT_EQ(made->texts[0].ids, one["ids"].get<std::vector<std::int32_t>>()) << one;
      EXPECT_EQ(made->texts[0].steps, one["passes"].get<std::vector<std::int32_t>>()) << one;
      EXPECT_EQ(made->decoded, with != nullptr ? made->passes : 0);
    }
    std::vector<std::int32_t> masked = blank.before;
    for (std::size_t i = 0; i < one["logits"].size(); ++i) masked.push_back(31);
    const at::Tensor logits = logits_without_cache(network, masked, denoising.block);
    for (std::size_t i = 0; i < one["logits"].size(); ++i) {
      for (std::int64_t id = 0; id < 32; ++id) {
        ASSERT_NEAR(logits[static_cast<std::int64_t>(blank.before.size() + i)][id].item<double>(),
                    one["logits"][i][id].get<double>(), 1e-4);
      }
    }
  }
}

class EveryUnmasking : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Ways, EveryUnmasking, testing::Values("static", "dynamic", "sequential"));

// Prompts of all lengths around a block (but none: masks alone are all equal, and rounding would choose among them),
// open ends and holes, drawn tokens and likeliest ones, in one batch whose members end at different times.
TEST_P(EveryUnmasking, WritesTheSameWithACacheAsWithout) {
  const Network network = tiny_network({9, 14});
  Random random(3);
  for (const double temperature : {0.0, 1.0}) {
    for (const std::int64_t block : {1, 3, 4, 8}) {
      std::vector<Blank> blanks;
      for (std::int64_t length = 1; length < 11; ++length) {
        Blank blank{.before = drawn_ids(random, length)};
        if (length % 3 == 1) {
          blank.after = drawn_ids(random, random.integer(0, 6));
          blank.length = random.integer(1, 9);
        }
        blanks.push_back(blank);
      }
      const Sampling sampling{.most_tokens = 22, .temperature = temperature, .seed = 5};
      const Denoising denoising{.block = block, .steps = 3, .unmask = *unmask_named(GetParam()), .threshold = 0.2};
      const auto made = diffuse(network, blanks, sampling, denoising);
      ASSERT_TRUE(made.ok()) << made.error().message;
      std::set<std::size_t> lengths;
      for (std::size_t i = 0; i < blanks.size(); ++i) {
        EXPECT_EQ(made->texts[i].ids, filled_without_cache(network, blanks[i], i, sampling, denoising))
            << block << " " << temperature << " " << i;
        lengths.insert(made->texts[i].ids.size());
        if (blanks[i].length > 0) {
          EXPECT_EQ(std::ssize(made->texts[i].ids), blanks[i].length);
        }
      }
      EXPECT_GT(lengths.size(), 3u);
    }
  }
}

// The same by the decoder, in batches of few texts, which it takes, and of many, of which it takes what is left when
// most have ended.
TEST_P(EveryUnmasking, WritesTheSameByTheDecoder) {
  const Network network = tiny_network({9, 14});
  Decoder decoder = tiny_decoder();
  Random random(11);
  std::int64_t decoded = 0, passes = 0;
  for (const double temperature : {0.0, 1.0}) {
    for (const std::int64_t block : {1, 3, 4, 8}) {
      for (const std::int64_t texts : {1, 2, 3, 20}) {
        std::vector<Blank> blanks;
        for (std::int64_t i = 0; i < texts; ++i) {
          Blank blank{.before = drawn_ids(random, random.integer(1, 10))};
          if (random.integer(0, 2) == 0) {
            blank.after = drawn_ids(random, random.integer(0, 6));
            blank.length = random.integer(1, 9);
          }
          blanks.push_back(blank);
        }
        const Sampling sampling{.most_tokens = 22, .temperature = temperature, .seed = 5};
        const Denoising denoising{.block = block, .steps = 3, .unmask = *unmask_named(GetParam()), .threshold = 0.2};
        const auto expected = diffuse(network, blanks, sampling, denoising);
        const auto made = diffuse(network, blanks, sampling, denoising, {}, &decoder);
        ASSERT_TRUE(made.ok()) << made.error().message;
        for (std::size_t i = 0; i < blanks.size(); ++i) {
          EXPECT_EQ(made->texts[i].ids, expected->texts[i].ids) << block << " " << temperature << " " << texts;
          EXPECT_EQ(made->texts[i].steps, expected->texts[i].steps);
        }
        EXPECT_EQ(made->passes, expected->passes);
        if (texts == 1) {
          EXPECT_EQ(made->decoded, made->passes);
        }
        decoded += made->decoded;
        passes += made->passes;
      }
    }
  }
  EXPECT_GT(decoded, 0);
  EXPECT_LT(decoded, passes);
}

TEST(Decoder, ReadsEachWeightOnceAPass) {
  const auto files = open_model(kTiny);
  const Decoder decoder = tiny_decoder();
  std::int64_t matrices = 0;
  for (const auto& [name, tensor] : files->tensors) {
    if (tensor.shape.size() == 2) matrices += std::ssize(tensor.bytes);
  }
  const auto embedding = std::ssize(files->tensors.at("model.embed_tokens.weight").bytes);
  EXPECT_EQ(decoder.bytes_a_pass(), files->config.tied_embeddings ? matrices : matrices - embedding);
}

TEST(Diffusion, KeepsTheSurestOfAPass) {
  const std::vector<Chosen> chosen = {{1, 0.5}, {2, 0.95}, {3, 0.2}, {4, 0.92}};
  using Kept = std::vector<std::size_t>;
  EXPECT_EQ(kept_after(chosen, 4, 0, 4, {.unmask = Unmask::fixed}), (Kept{1}));
  EXPECT_EQ(kept_after(chosen, 4, 0, 2, {.unmask = Unmask::fixed}), (Kept{1, 3}));
  EXPECT_EQ(kept_after(chosen, 4, 0, 3, {.unmask = Unmask::fixed}), (Kept{1, 3}));  // the remainder comes first
  EXPECT_EQ(kept_after(chosen, 4, 1, 3, {.unmask = Unmask::fixed}), (Kept{1}));
  EXPECT_EQ(kept_after(chosen, 4, 0, 2, {.unmask = Unmask::sequential}), (Kept{0, 1}));
  EXPECT_EQ(kept_after(chosen, 4, 0, 4, {.unmask = Unmask::dynamic, .threshold = 0.9}), (Kept{1, 3}));
  EXPECT_EQ(kept_after(chosen, 4, 0, 4, {.unmask = Unmask::dynamic, .threshold = 0.99}), (Kept{1}));
  EXPECT_EQ(kept_after(chosen, 4, 0, 1, {.unmask = Unmask::dynamic, .threshold = 0.9}), (Kept{1, 3, 0, 2}));
}

TEST(Diffusion, NeedsFewerPassesWhereTheModelIsSure) {
  const Network network = tiny_network();
  const Sampling sampling{.most_tokens = 32};
  const auto passes = [&](const Denoising& denoising) {
    return diffuse(network, {{.before = {3, 14, 15, 9}}}, sampling, denoising)->passes;
  };
  // The pass that stores a block is the first that fills the next one.
  EXPECT_EQ(passes({.unmask = Unmask::fixed}), 8 * 4);
  EXPECT_EQ(passes({.steps = 1, .unmask = Unmask::fixed}), 8);
  EXPECT_EQ(passes({.unmask = Unmask::dynamic, .threshold = 0}), 8);
  EXPECT_EQ(passes({.unmask = Unmask::dynamic, .threshold = 1}), 8 * 4);
}

TEST(Diffusion, RepeatsWithItsSeed) {
  const Network network = tiny_network();
  const auto drawn = [&](std::uint64_t seed) {
    return diffuse(network, {{.before = {1, 2, 3}}, {.before = {1, 2, 3}}},
                   {.most_tokens = 24, .temperature = 1, .seed = seed}, {})
        ->texts;
  };
  EXPECT_EQ(drawn(7)[0].ids, drawn(7)[0].ids);
  EXPECT_NE(drawn(7)[0].ids, drawn(8)[0].ids);
  EXPECT_NE(drawn(7)[0].ids, drawn(7)[1].ids);  // two answers to one prompt
}

TEST(Diffusion, RunsInOtherTypesOfNumbers) {
  const std::vector<Blank> blanks = {{.before = {3, 14, 15, 9, 2}}, {.before = {6, 5}, .after = {7}, .length = 6}};
  const Sampling sampling{.most_tokens = 20};
  const auto as_float = diffuse(tiny_network(), blanks, sampling, {});
  const auto as_double = diffuse(tiny_network({}, at::kDouble), blanks, sampling, {});
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(as_float->texts[i].ids, as_double->texts[i].ids);
  const Network narrow = tiny_network({}, at::kBFloat16);
  EXPECT_EQ(diffuse(narrow, blanks, sampling, {})->texts[0].ids.size(), 20u);
  const std::vector<std::int32_t> ids = {3, 14, 15, 9, 2, 6, 5, 30};
  const at::Tensor whole = logits_without_cache(tiny_network(), ids, 4);
  EXPECT_LT((logits_without_cache(narrow, ids, 4) - whole).abs().max().item<double>(),
            0.1 * whole.abs().max().item<double>());
}

TEST(Diffusion, RefusesWhatItCannotDo) {
  const auto other = Network::load(*open_model(kTiny.parent_path() / "qwen3"));
  EXPECT_EQ(diffuse(*other, {{.before = {1}}}, {}, {}).error().message,
            "a qwen3 model is no block-diffusion model: it does not fill masks");
  const Network network = tiny_network();
  EXPECT_EQ(diffuse(network, {{.before = {32}}}, {}, {}).error().message,
            "the token 32 is outside of the model's vocabulary of 32");
  const std::vector<std::int32_t> many(60, 1);
  EXPECT_EQ(diffuse(network, {{.before = many, .after = {1}, .length = 8}}, {}, {}).error().message,
            "the text has 61 tokens around a hole of 8, the model takes 64");
  EXPECT_EQ(diffuse(network, {{.before = many}}, {}, {})->texts[0].ids.size(), 4u);  // up to the context's end
  EXPECT_TRUE(unmask_named("dynamc").error().message.starts_with(
      "there is no way of unmasking 'dynamc': static, dynamic or sequential; nearest: dynamic"));
}

TEST(Network, RefusesWeightsThatAreNoNumbers) {
  const ScratchFolder folder;
  std::filesystem::copy(kTiny, folder.path(), std::filesystem::copy_options::recursive);
  std::string weights = *read_file(kTiny / "model.safetensors");
  weights.replace(weights.size() - 4, 4, std::string("\x00\x00\xC0\x7F", 4));
  ASSERT_TRUE(write_file(folder.path() / "model.safetensors", weights).ok());
  const auto refused = Network::load(*open_model(folder.path()));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("holds values that are no numbers"), std::string::npos)
      << refused.error().message;
}

// Texts that stand together and texts that do not, with masks and choices made there. Two tokens may be as likely as
// each other but for rounding: one text of twelve may differ.
TEST(GpuDiffusion, WritesWhatTheProcessorWrites) {
  const auto there = placement("cuda", "F32");
  if (!there.ok()) GTEST_SKIP() << there.error().message;
  const Network here = tiny_network(), on_gpu = tiny_network({}, *there);
  Random random(3);
  for (const bool together : {true, false}) {
    std::vector<Blank> blanks;
    for (std::int64_t i = 0; i < 12; ++i) blanks.push_back({.before = drawn_ids(random, together ? 9 : 5 + i)});
    for (const Unmask unmask : {Unmask::fixed, Unmask::dynamic, Unmask::sequential}) {
      const auto expected = diffuse(here, blanks, {.most_tokens = 16}, {.unmask = unmask});
      const auto made = diffuse(on_gpu, blanks, {.most_tokens = 16}, {.unmask = unmask});
      ASSERT_TRUE(expected.ok() && made.ok());
      int same = 0;
      for (std::size_t i = 0; i < blanks.size(); ++i) same += made->texts[i].ids == expected->texts[i].ids;
      EXPECT_GE(same, 11) << together;
    }
  }
}

}  // namespace
}  // namespace kw::lm
