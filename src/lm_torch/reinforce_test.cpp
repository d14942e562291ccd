#include "lm_torch/reinforce.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lm_torch/diffusion.h"
#include "lm_torch/reward_process.h"

namespace kw::lm {
namespace {

TEST(Advantages, AreZScoresAndNoneWhereAllAreEqual) {
  const std::vector<double> rewards = {0, 0, 1, 3};
  const auto made = group_advantages(rewards);
  const double deviation = std::sqrt((1 + 1 + 0 + 4) / 4.0);
  ASSERT_EQ(made.size(), 4u);
  EXPECT_NEAR(made[0], -1 / deviation, 1e-12);
  EXPECT_NEAR(made[2], 0, 1e-12);
  EXPECT_NEAR(made[3], 2 / deviation, 1e-12);
  EXPECT_TRUE(group_advantages(std::vector<double>{0, 0, 0}).empty());
  EXPECT_TRUE(group_advantages(std::vector<double>{2, 2}).empty());
  EXPECT_TRUE(group_advantages(std::vector<double>{5}).empty());
}

// By hand: token by token, and which of them still pull.
TEST(PolicyLoss, ClipsTheRatioAndAddsTheDivergence) {
  const at::Tensor before = at::zeros({4});
  at::Tensor now = at::tensor({0.0f, 0.5f, -0.5f, 0.5f});
  now.set_requires_grad(true);
  const at::Tensor advantages = at::tensor({1.0f, 1.0f, 1.0f, -1.0f});
  const auto k3 = [](double difference) { return std::exp(-difference) - 1 + difference; };
  const at::Tensor loss = policy_loss(now, before, advantages, {.clip = 0.2, .divergence = 0.1});
  const double expected = -(1 + 1.2 + std::exp(-0.5) - std::exp(0.5)) + 0.1 * (2 * k3(0.5) + k3(-0.5));
  EXPECT_NEAR(loss.item<double>(), expected, 1e-5);
  loss.backward();
  const auto pull = [&](std::int64_t i) { return now.grad()[i].item<double>(); };
  EXPECT_NEAR(pull(0), -1, 1e-5);                          // no divergence yet
  EXPECT_NEAR(pull(1), 0.1 * (1 - std::exp(-0.5)), 1e-5);  // past the clip: nothing but the divergence
  EXPECT_NEAR(pull(2), -std::exp(-0.5) + 0.1 * (1 - std::exp(0.5)), 1e-5);
  EXPECT_NEAR(pull(3), std::exp(0.5) + 0.1 * (1 - std::exp(-0.5)),
              1e-5);  // a bad one that became likelier is pushed back
}

Network tiny_network() { return *Network::load(*open_model(KW_SOURCE_DIR "/tests/lm/tiny/sdar")); }

TracedAnswer traced(const Blank& blank, const Filled& filled) {
  return {.before = blank.before, .trace = filled.trace, .steps = filled.steps};
}

// Where the likeliest token was taken, it is the likeliest of what a round shows: a round shows what the pass saw.
TEST(TracePass, ShowsWhatThePassSaw) {
  const at::NoGradGuard no_gradients;
  const Network network = tiny_network();
  for (const char* way : {"static", "dynamic", "sequential"}) {
    const std::vector<Blank> blanks = {{.before = {3, 14, 15, 9, 2}}, {.before = {6, 5, 8, 9}}, {.before = {7}}};
    const Denoising denoising{.steps = 3, .unmask = *unmask_named(way), .threshold = 0.2};
    const auto made = diffuse(network, blanks, {.most_tokens = 18}, denoising);
    std::vector<TracedAnswer> answers;
    std::int64_t written = 0, learnt = 0;
    for (std::size_t i = 0; i < blanks.size(); ++i) {
      answers.push_back(traced(blanks[i], made->texts[i]));
      written += std::ssize(answers.back().trace);
    }
    for (std::int32_t round = 0; round < 4; ++round) {
      const TrainingPass pass = trace_pass(answers, {1, 2, 3}, 4, 31, round);
      learnt += pass.learnt;
      if (pass.learnt == 0) continue;
      const at::Tensor states =
          network.run(pass.ids, network.pass_over(pass.positions, pass.seen(0, 3, at::kCPU, pass.ids.size(1))));
      at::Tensor logits = network.head(states.reshape({-1, states.size(-1)}).index_select(0, pass.places));
      logits.select(1, 31).fill_(-INFINITY);
      EXPECT_TRUE(logits.argmax(1).equal(pass.targets)) << way << " " << round;
    }
    EXPECT_EQ(learnt, written) << way;  // every token once
  }
}

TEST(LearnFromTraces, MakesBetterAnswersLikelier) {
  const auto files = open_model(KW_SOURCE_DIR "/tests/lm/tiny/sdar");
  std::map<std::string, at::Tensor> weights;
  for (const auto& [name, stored] : files->tensors) weights[name] = load_tensor(stored)->set_requires_grad(true);
  const auto network = [&] { return Network::of_tensors(files->config, weights); };
  const Blank blank{.before = {3, 14, 15, 9, 2}};
  const std::vector<Blank> blanks(4, blank);
  const auto drawn = diffuse(network(), blanks, {.most_tokens = 12, .temperature = 1}, {});
  std::vector<TracedAnswer> answers;
  for (const Filled& text : drawn->texts) answers.push_back(traced(blank, text));
  const std::vector<double> advantages = group_advantages(std::vector<double>{0, 1, 0, 1});
  const auto likelihood = [&](std::size_t answer) {
    const at::NoGradGuard no_gradients;
    double sum = 0;
    for (std::int32_t round = 0; round < 4; ++round) {
      const TrainingPass pass = trace_pass({answers[answer]}, {1}, 4, 31, round);
      if (pass.learnt > 0) sum += guesses(network(), pass, 0, 1).logs.sum().item<double>();
    }
    return sum;
  };
  std::vector<double> before;
  for (std::size_t i = 0; i < 4; ++i) before.push_back(likelihood(i));
  AdamW adam(weights);
  for (int step = 0; step < 5; ++step) {
    learn_from_traces(answers, advantages, network, weights, adam, 1e-3, {.rows_at_once = 3, .decay = 0}, {});
  }
  EXPECT_GT(likelihood(1) + likelihood(3), before[1] + before[3] + 0.5);
  EXPECT_LT(likelihood(0) + likelihood(2), before[0] + before[2] - 0.5);
}

// Answers lines with the length of "source" as the reward; what `sh` does with a line is `body`.
RewardProcess judge_doing(const std::string& body) {
  const std::string script =
      "while read -r line; do id=$(echo \"$line\" | sed 's/.*\"id\":\\([0-9]*\\).*/\\1/'); " + body + "; done";
  return {{"/bin/sh", "-c", script}, {.silence_s = 5, .pause_s = 0.01, .tries = 3}};
}
std::vector<Json> three_requests() {
  return {
      {{"source", "a"}, {"task", "Relu"}}, {{"source", "b"}, {"task", "Relu"}}, {{"source", "c"}, {"task", "Relu"}}};
}

TEST(RewardProcess, MatchesRewardsToRequests) {
  RewardProcess judge = judge_doing(
      "case $line in *'\"a\"'*) r='\"reward\":1.5';; *'\"b\"'*) r='\"error\":\"no such task\"';; *) r='\"reward\":0';; "
      "esac; "
      "echo 'chatter'; echo \"{\\\"id\\\":$id,$r}\"");
  for (int again = 0; again < 2; ++again) {
    const auto made = judge.rewards(three_requests());
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ(made->at(0), 1.5);
    EXPECT_EQ(made->at(1), std::nullopt);
    EXPECT_EQ(made->at(2), 0);
  }
}

TEST(RewardProcess, IsStartedAnewWhereItEnds) {
  RewardProcess judge = judge_doing("echo \"{\\\"id\\\":$id,\\\"reward\\\":2}\"; exit 1");  // after every answer
  const auto made = judge.rewards(three_requests());
  ASSERT_TRUE(made.ok()) << made.error().message;
  for (const auto& reward : *made) EXPECT_EQ(reward, 2);
  RewardProcess dead = judge_doing("exit 1");
  EXPECT_EQ(dead.rewards(three_requests()).error().message,
            "/bin/sh ended or was silent 3 times without a reward; what was trained is kept");
  RewardProcess missing({"/nowhere/judge"});
  EXPECT_FALSE(missing.rewards(three_requests()).ok());
}

}  // namespace
}  // namespace kw::lm
