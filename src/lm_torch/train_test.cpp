#include "lm_torch/train.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/files.h"
#include "base/scratch.h"
#include "lm/prompt_form.h"
#include "lm_torch/diffusion.h"
#include "lm_torch/evaluate.h"
#include "lm_torch/placement.h"
#include "lm_torch/train_loss.h"

namespace kw::lm {
namespace {

// Prompts and answers as drawn numbers; rows hold several of them.
std::vector<PackedRow> packed_rows(std::int64_t block) {
  Random random(11);
  std::vector<Example> examples;
  for (int i = 0; i < 9; ++i) {
    Example& one = examples.emplace_back();
    for (std::int64_t k = random.integer(4, 13); k > 0; --k) {
      one.ids.push_back(static_cast<std::int32_t>(random.integer(0, 29)));
    }
    one.answer_begin = random.integer(1, std::ssize(one.ids) - 2);
    one.ids.back() = 30;
  }
  return Packer(examples, 3, 24 / block * block, block, 30, 1).batch(0).rows;
}

Network network_named(const std::string& name) {
  return *Network::load(*open_model(std::filesystem::path(KW_SOURCE_DIR "/tests/lm/tiny") / name));
}

double loss_at(const at::Tensor& logits, std::int64_t target) {
  return -at::log_softmax(logits, 0)[target].item<double>();
}

// The same masks, but every noisy block in a pass of its own after the clean text before it.
TEST(DiffusionLoss, IsThatOfEveryBlockAlone) {
  const at::NoGradGuard no_gradients;
  const Network network = network_named("sdar");
  for (const std::int64_t block : {1, 3, 4}) {
    const std::vector<PackedRow> rows = packed_rows(block);
    Random random(5);
    const TrainingPass pass = diffusion_pass(rows, block, 31, random);
    const double whole = training_loss(network, pass, 0, 3).item<double>();
    const double parts =
        training_loss(network, pass, 0, 1).item<double>() + training_loss(network, pass, 1, 3).item<double>();
    EXPECT_NEAR(whole, parts, 1e-4);
    // What was masked stands in the pass itself: the noisy tokens of a row come first, block by block.
    double sum = 0;
    std::int64_t learnt = 0, masked = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      std::int64_t at = 0;
      std::vector<std::int32_t> before;
      for (std::size_t begin = 0; begin < rows[row].size(); begin += static_cast<std::size_t>(block)) {
        if (rows[row][begin].place == 0) before.clear();
        bool learns = false;
        for (std::int64_t i = 0; i < block; ++i) learns |= rows[row][begin + static_cast<std::size_t>(i)].learnt;
        std::vector<std::int32_t> text = before;
        for (std::int64_t i = 0; i < block; ++i) {
          before.push_back(rows[row][begin + static_cast<std::size_t>(i)].id);
          if (learns) text.push_back(pass.ids[static_cast<std::int64_t>(row)][at + i].item<std::int32_t>());
        }
        if (!learns) continue;
        const at::Tensor places = at::arange(std::ssize(text)), blocks = at::floor_divide(places, block);
        const at::Tensor logits = network.head(network.run(
            tensor_of(text, 1),
            network.pass_over(places.view({1, -1}), blocks.view({1, 1, -1}) <= blocks.view({1, -1, 1}))))[0];
        for (std::int64_t i = 0; i < block; ++i) {
          const PackedToken& token = rows[row][begin + static_cast<std::size_t>(i)];
          learnt += token.learnt ? 1 : 0;
          const std::int64_t place = std::ssize(text) - block + i;
          if (!token.learnt || text[static_cast<std::size_t>(place)] != 31) continue;
          const at::Tensor found =
              at::nonzero(pass.places == static_cast<std::int64_t>(row) * pass.ids.size(1) + at + i);
          ASSERT_EQ(found.numel(), 1);
          EXPECT_EQ(pass.targets[found.item<std::int64_t>()].item<std::int64_t>(), token.id);
          sum += loss_at(logits[place], token.id) * pass.weights[found.item<std::int64_t>()].item<double>();
          ++masked;
        }
        at += block;
      }
    }
    EXPECT_EQ(pass.learnt, learnt);
    EXPECT_EQ(pass.places.numel(), masked);
    EXPECT_GT(masked, 5);
    EXPECT_NEAR(whole, sum / static_cast<double>(learnt), 1e-4);
  }
}

// Long rows are computed in parts that leave out keys which nobody there sees.
TEST(TrainingLoss, IsTheSameInParts) {
  const at::NoGradGuard no_gradients;
  for (const std::int64_t block : {3, 4}) {
    Random random(7);
    std::vector<PackedRow> rows(2);
    std::int32_t example = 0;
    for (PackedRow& row : rows) {
      while (std::ssize(row) < 500 * block / 4) {
        const std::int64_t count = random.integer(5, 60) * block, asked = random.integer(1, count - 1);
        for (std::int64_t i = 0; i < count; ++i) {
          row.push_back({.id = static_cast<std::int32_t>(random.integer(0, 30)),
                         .example = example,
                         .place = i,
                         .learnt = i >= asked});
        }
        ++example;
      }
    }
    for (const bool twin : {false, true}) {
      TrainingPass pass = twin ? next_token_pass(rows) : diffusion_pass(rows, block, 31, random);
      const Network network = network_named(twin ? "qwen3" : "sdar");
      EXPECT_GE(pass.parts.size(), 2u);
      const double in_parts = training_loss(network, pass, 0, 2).item<double>();
      pass.parts.clear();
      EXPECT_NEAR(in_parts, training_loss(network, pass, 0, 2).item<double>(), 1e-5 * in_parts);
    }
  }
}

// The share of masked tokens is p, and they weigh 1 / p: on average every token weighs 1.
TEST(DiffusionLoss, MasksWithAChanceThatTheWeightsUndo) {
  PackedRow row;
  for (std::int32_t i = 0; i < 400; ++i) row.push_back({.id = 1, .example = i / 4, .place = i % 4, .learnt = true});
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const TrainingPass pass = diffusion_pass({row}, 4, 31, random);
    sum += pass.weights.sum().item<double>() / 400;
    EXPECT_GE(pass.weights.min().item<double>(), 1);
  }
  EXPECT_NEAR(sum / 50, 1, 0.15);
}

TEST(NextTokenLoss, IsThatOfEveryExampleAlone) {
  const at::NoGradGuard no_gradients;
  const Network network = network_named("qwen3");
  const std::vector<PackedRow> rows = packed_rows(4);
  const TrainingPass pass = next_token_pass(rows);
  double sum = 0;
  std::int64_t count = 0;
  for (const PackedRow& row : rows) {
    for (std::size_t begin = 0; begin < row.size();) {
      std::vector<std::int32_t> ids;
      std::vector<bool> learnt;
      const std::int32_t example = row[begin].example;
      for (; begin < row.size() && row[begin].example == example; ++begin) {
        if (row[begin].filling) continue;
        ids.push_back(row[begin].id);
        learnt.push_back(row[begin].learnt);
      }
      const at::Tensor logits = network.logits(tensor_of(ids, 1))[0];
      for (std::size_t i = 1; i < ids.size(); ++i) {
        if (!learnt[i]) continue;
        sum += loss_at(logits[static_cast<std::int64_t>(i) - 1], ids[i]);
        ++count;
      }
    }
  }
  EXPECT_EQ(pass.learnt, count);
  EXPECT_NEAR(training_loss(network, pass, 0, 3).item<double>(), sum / static_cast<double>(count), 1e-4);
}

// By hand: bias-corrected moments of a first step make every change the rate, against the gradient's sign.
TEST(AdamW, MovesAgainstTheGradient) {
  std::map<std::string, at::Tensor> weights = {{"a", at::ones({2, 2})}, {"b", at::ones({2})}};
  AdamW adam(weights);
  weights["a"].mutable_grad() = at::tensor({3.0f, -3.0f, 0.0f, 0.0f}).view({2, 2});
  weights["b"].mutable_grad() = at::tensor({4.0f, 0.0f});
  EXPECT_NEAR(adam.step(weights, 0.1, 0.5, 1).item<double>(), std::sqrt(9 + 9 + 16), 1e-5);
  EXPECT_NEAR(weights["a"][0][0].item<double>(), 0.95 - 0.1, 1e-5);
  EXPECT_NEAR(weights["a"][0][1].item<double>(), 0.95 + 0.1, 1e-5);
  EXPECT_NEAR(weights["a"][1][0].item<double>(), 0.95, 1e-6);
  EXPECT_NEAR(weights["b"][0].item<double>(), 0.9, 1e-5);  // no decay of vectors
  EXPECT_NEAR(weights["b"][1].item<double>(), 1, 1e-6);
  EXPECT_NEAR(adam.means["b"][0].item<double>(), 0.1 * 4 / std::sqrt(34), 1e-6);  // after clipping
}

TEST(Rate, RisesThenFalls) {
  const TrainOptions options{.steps = 100, .rate = 1, .least_rate = 0.1, .warm_up = 0.1};
  EXPECT_NEAR(rate_at(options, 0), 0.1, 1e-9);
  EXPECT_NEAR(rate_at(options, 9), 1, 1e-9);
  EXPECT_NEAR(rate_at(options, 10), 1, 1e-9);
  EXPECT_NEAR(rate_at(options, 55), 0.55, 1e-9);
  EXPECT_GT(rate_at(options, 99), 0.1);
  EXPECT_LT(rate_at(options, 99), 0.11);
}

// A handful of lines, one of them a hole.
class Training : public testing::Test {
 protected:
  Training() {
    std::string lines;
    for (const auto& [prompt, answer] : kLines) lines += Json{{"prompt", prompt}, {"answer", answer}}.dump() + "\n";
    lines +=
        Json{{"prompt", "fill"}, {"prefix", "int f() {"}, {"answer", " return 7; "}, {"suffix", "}\n"}}.dump() + "\n";
    EXPECT_TRUE(write_file(folder_.path() / "corpus.jsonl", lines).ok());
  }

  TrainOptions options(const std::string& out) const {
    return {.corpus = {folder_.path() / "corpus.jsonl"},
            .out = folder_.path() / out,
            .work = folder_.path() / (out + ".work"),
            .vocabulary = 330,
            .layers = 2,
            .width = 48,
            .inner_width = 96,
            .heads = 3,
            .kv_heads = 1,
            .head_size = 16,
            .context = 256,
            .batch = 2,
            .length = 128,
            .steps = 12,
            .save_every = 5,
            .rate = 4e-3,
            .type = "F32"};
  }
  Json trained(const TrainOptions& options) const {
    const auto done = train(options, {});
    EXPECT_TRUE(done.ok()) << done.error().message;
    return Json::parse(*read_file(options.out / "training.json"));
  }
  const std::vector<std::pair<std::string, std::string>> kLines = {
      {"double x", "y = x + x;"},
      {"negate x", "y = -x;"},
      {"square x", "y = x * x; // squared"},
      {"loop", "for (int i = 0; i < n; ++i) {\n  y[i] = 2 * x[i];\n}\n"}};
  const ScratchFolder folder_;
};

TEST_F(Training, LearnsAHandfulOfLinesAndWritesThem) {
  TrainOptions enough = options("model");
  enough.steps = 220;
  enough.save_every = 1000;
  const Json about = trained(enough);
  EXPECT_EQ(about["examples"], 5);
  EXPECT_GT(about["losses"][0].get<double>(), 3);
  const auto files = open_model(enough.out);
  ASSERT_TRUE(files.ok()) << files.error().message;
  const Network network = *Network::load(*files);
  const PromptForm form = *PromptForm::of(*files);
  for (const Denoising& denoising : {Denoising{}, Denoising{.steps = 2, .unmask = Unmask::fixed}}) {
    for (const auto& [prompt, answer] : kLines) {
      const auto made = diffuse(network, {{.before = *form.of_question(prompt)}}, {.most_tokens = 64}, denoising);
      EXPECT_EQ(form.tokenizer().decode(made->texts[0].ids), answer);
      EXPECT_TRUE(made->texts[0].ended);
    }
  }
  const auto asked = form.asking_between(*form.of_question("fill"), "int f() {", "}\n");
  EXPECT_EQ(form.tokenizer().decode(diffuse(network, {{.before = *asked}}, {.most_tokens = 64}, {})->texts[0].ids),
            " return 7; ");
}

TEST_F(Training, TrainsTheAutoregressiveTwin) {
  TrainOptions twin = options("twin");
  twin.autoregressive = true;
  twin.steps = 120;
  const Json about = trained(twin);
  EXPECT_EQ(about["family"], "qwen3");
  const auto files = open_model(twin.out);
  ASSERT_TRUE(files.ok()) << files.error().message;
  const PromptForm form = *PromptForm::of(*files);
  for (const auto& [prompt, answer] : kLines) {
    const auto made = generate(*Network::load(*files), {*form.of_question(prompt)}, {.most_tokens = 64});
    EXPECT_EQ(form.tokenizer().decode(made->at(0).ids), answer);
  }
  TrainOptions same = options("same");
  same.steps = 1;
  EXPECT_EQ(trained(same)["parameters"], about["parameters"]);
  // What predicts the next token goes on as what fills masks, with a mask token of its own where it has none.
  TrainOptions adapted = options("adapted");
  adapted.from = twin.out;
  adapted.steps = 3;
  EXPECT_EQ(trained(adapted)["family"], "sdar");
  const auto sdar = open_model(adapted.out);
  ASSERT_TRUE(sdar.ok()) << sdar.error().message;
  EXPECT_TRUE(diffuse(*Network::load(*sdar), {{.before = {1, 2}}}, {.most_tokens = 4}, {}).ok());
}

// In float32 and, less closely, in bfloat16.
using GpuTraining = Training;
TEST_F(GpuTraining, LosesAsOnTheProcessor) {
  if (const auto there = placement("cuda", "F32"); !there.ok()) GTEST_SKIP() << there.error().message;
  for (const bool twin : {false, true}) {
    TrainOptions here = options(fmt::format("here_{}", twin));
    here.autoregressive = twin;
    const Json expected = trained(here)["losses"];
    for (const auto& [numbers, share] : {std::pair{"F32", 0.01}, std::pair{"BF16", 0.05}}) {
      TrainOptions there = options(fmt::format("there_{}_{}", twin, numbers));
      there.autoregressive = twin;
      there.device = "cuda";
      there.numbers = numbers;
      const Json made = trained(there)["losses"];
      ASSERT_EQ(made.size(), expected.size());
      for (std::size_t i = 0; i < made.size(); ++i) {
        const double loss = expected[i].get<double>();
        EXPECT_NEAR(made[i].get<double>(), loss, share * loss)
            << numbers << " step " << i << (twin ? " of the twin" : "");
      }
    }
  }
}

// Stopped after a step, with a checkpoint every five: the losses and the weights are those of a run that was never
// stopped, bit for bit.
TEST_F(Training, ContinuesAfterAKillAsIfNothingHadHappened) {
  const Json whole = trained(options("whole"));
  ASSERT_EQ(whole["losses"].size(), 12u);
  for (const std::int64_t killed_at : {1, 4, 5, 6, 11, 12}) {
    const TrainOptions again = options(fmt::format("again_{}", killed_at));
    const auto stopped = train(again, [&](const Json& progress) { return progress["done"] != killed_at; });
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().message, fmt::format("stopped at step {}", killed_at));
    EXPECT_FALSE(std::filesystem::exists(again.out));
    // What a kill in the middle of writing leaves.
    ASSERT_TRUE(write_file(again.work / "step_00000099.safetensors", "half of a checkpoint").ok());
    std::int64_t first = 0;
    const auto done = train(again, [&](const Json& progress) {
      if (first == 0) first = progress["done"];
      return true;
    });
    ASSERT_TRUE(done.ok()) << done.error().message;
    if (killed_at < 12) {
      EXPECT_EQ(first, killed_at / 5 * 5 + 1);
    }
    EXPECT_EQ(Json::parse(*read_file(again.out / "training.json"))["losses"], whole["losses"]) << killed_at;
    EXPECT_EQ(*read_file(again.out / "model.safetensors"), *read_file(folder_.path() / "whole/model.safetensors"));
    EXPECT_FALSE(std::filesystem::exists(again.work / "step_00000099.safetensors"));
  }
}

TEST_F(Training, ShowsWhatItWritesAtCheckpointsAndTrainsTheSame) {
  const Json whole = trained(options("whole"));
  TrainOptions shown = options("shown");
  shown.shown_samples = 2;
  std::vector<Json> checkpoints;
  const auto done = train(shown, [&](const Json& progress) {
    if (const Json* one = progress.find("checkpoint")) checkpoints.push_back(*one);
    return true;
  });
  ASSERT_TRUE(done.ok()) << done.error().message;
  ASSERT_EQ(checkpoints.size(), 3u);  // after steps 5, 10 and 12
  EXPECT_EQ(checkpoints[0]["steps"], 5);
  EXPECT_EQ(checkpoints[0]["of"], 12);
  EXPECT_EQ(checkpoints[0]["losses"].size(), 5u);
  ASSERT_EQ(checkpoints[2]["samples"].size(), 2u);
  EXPECT_EQ(checkpoints[2]["samples"][1]["prompt"], "negate x");
  EXPECT_EQ(checkpoints[2]["samples"][1]["expected"], "y = -x;");
  EXPECT_TRUE(checkpoints[2]["samples"][1]["text"].is_string());
  const Json about = Json::parse(*read_file(shown.out / "training.json"));
  EXPECT_EQ(about["losses"], whole["losses"]);
  EXPECT_EQ(about["samples"], checkpoints[2]["samples"]);
}

// A model of every family becomes one that fills masks, with its weights, biases and rotary embedding: with blocks of
// one token, and nothing learnt, it thinks of known tokens as it did before.
TEST_F(Training, AdaptsModelsOfEveryFamily) {
  Json letters = Json::parse(
      R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "model": {"type": "BPE", "merges": []}})");
  for (int i = 0; i < 32; ++i) letters["model"]["vocab"][std::string(1, static_cast<char>('@' + i))] = i;
  ASSERT_TRUE(write_file(folder_.path() / "letters.jsonl", R"({"prompt": "ABC", "answer": "DEFGHIJKL"})"
                                                           "\n"
                                                           R"({"prompt": "QR", "answer": "STUVW"})"
                                                           "\n")
                  .ok());
  for (const std::string family : {"llama", "llama3", "linear", "qwen2", "qwen3"}) {
    SCOPED_TRACE(family);
    TrainOptions adapted = options(family + "_adapted");
    adapted.corpus = {folder_.path() / "letters.jsonl"};
    adapted.from = folder_.path() / family;
    std::filesystem::copy(KW_SOURCE_DIR "/tests/lm/tiny/" + family, adapted.from);
    ASSERT_TRUE(write_file(adapted.from / "tokenizer.json", letters.dump()).ok());
    Json config = Json::parse(*read_file(adapted.from / "config.json"));
    config["eos_token_id"] = 31;
    ASSERT_TRUE(write_file(adapted.from / "config.json", config.dump()).ok());
    adapted.length = 32;
    adapted.block = 1;
    adapted.steps = 1;
    adapted.rate = 0;
    const Json about = trained(adapted);
    EXPECT_EQ(about["family"], "sdar");
    EXPECT_EQ(about["vocabulary"], 33);
    const auto before = open_model(adapted.from), after = open_model(adapted.out);
    ASSERT_TRUE(after.ok()) << after.error().message;
    EXPECT_EQ(after->config.mask_id, 32);
    EXPECT_EQ(after->config.head_norms, family == "qwen3");
    const at::Tensor ids = at::tensor({3, 14, 15, 9, 2, 6, 5, 30, 0, 7}, at::kLong).view({1, -1});
    const Network network = *Network::load(*after);
    EXPECT_TRUE(at::allclose(network.run(ids), Network::load(*before)->run(ids), 1e-5, 1e-6));
    Decoder decoder = *Decoder::open(*after);
    EXPECT_EQ(diffuse(network, {{.before = {1, 2}}}, {.most_tokens = 8}, {}, {}, &decoder)->texts[0].ids,
              diffuse(network, {{.before = {1, 2}}}, {.most_tokens = 8}, {})->texts[0].ids);
    // What was adapted learns, and goes on from its own folder.
    adapted.from = adapted.out;
    adapted.out = folder_.path() / (family + "_learnt");
    adapted.work = folder_.path() / (family + "_learnt.work");
    adapted.block = 4;
    adapted.steps = 40;
    adapted.rate = 0.01;
    const Json learnt = trained(adapted);
    const auto mean = [&](std::size_t begin) {
      double sum = 0;
      for (std::size_t i = begin; i < begin + 10; ++i) sum += learnt["losses"][i].get<double>();
      return sum / 10;
    };
    EXPECT_LT(mean(30), mean(0));
    EXPECT_EQ(open_model(adapted.out)->config.head_norms, family == "qwen3");
  }
}

// A work folder may come from anywhere: a cursor of -1 read before the examples' beginning.
TEST_F(Training, RefusesNumbersThatNoTrainingKeeps) {
  const TrainOptions kept = options("kept");
  ASSERT_FALSE(train(kept, [](const Json& progress) { return progress["done"] != 5; }).ok());
  const auto state_file = kept.work / "state.json";
  const Json state = Json::parse(*read_file(state_file));
  for (const char* name : {"cursor", "seen_tokens"}) {
    for (const std::int64_t number : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
      Json damaged = state;
      damaged["state"][name] = number;
      ASSERT_TRUE(write_file(state_file, damaged.dump()).ok());
      EXPECT_EQ(train(kept, {}).error().message,
                fmt::format("{}: {} is no number of steps or tokens; remove the folder to begin anew",
                            state_file.string(), number));
    }
  }
}

TEST_F(Training, TrainsInBfloat16AndInPartsOfABatch) {
  const Json whole = trained(options("whole"));
  TrainOptions narrow = options("narrow"), parts = options("parts");
  narrow.numbers = "BF16";
  parts.rows_at_once = 1;
  const Json in_parts = trained(parts), in_narrow = trained(narrow);
  for (std::size_t i = 0; i < 12; ++i) {
    const double expected = whole["losses"][i].get<double>();
    EXPECT_NEAR(in_parts["losses"][i].get<double>(), expected, 1e-3 * expected) << i;
    EXPECT_NEAR(in_narrow["losses"][i].get<double>(), expected, 0.1 * expected) << i;
  }
}

TEST_F(Training, RefusesWhatItCannotTrain) {
  const auto error_of = [](const TrainOptions& wrong) { return train(wrong, {}).error().message; };
  TrainOptions wrong = options("wrong");
  wrong.length = 8;
  EXPECT_NE(error_of(wrong).find("none of 5 lines fits a row of 8 tokens; say a larger --length"), std::string::npos);
  wrong = options("wrong");
  wrong.device = "cuda";
  EXPECT_EQ(error_of(wrong).starts_with("device cuda: there is no GPU"), !at::hasCUDA());
  wrong = options("wrong");
  wrong.vocabulary = 100;
  EXPECT_EQ(error_of(wrong), "a vocabulary of 100 has no room for 256 bytes and 7 special tokens");
  EXPECT_FALSE(std::filesystem::exists(wrong.out));
  trained(options("done"));
  EXPECT_NE(error_of(options("done")).find("there is something already"), std::string::npos);
  TrainOptions other = options("other");
  other.work = folder_.path() / "done.work";
  other.rate = 1e-3;
  EXPECT_NE(error_of(other).find("holds the training of another corpus or with other options"), std::string::npos);
}

}  // namespace
}  // namespace kw::lm
