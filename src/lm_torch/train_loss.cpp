#include "lm_torch/train_loss.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "base/hash.h"

namespace kw::lm {
namespace {

#if __has_include(<ATen/ops/_fused_adamw.h>)
constexpr bool kHasFusedAdamW = true;
#else
constexpr bool kHasFusedAdamW = false;
#endif
constexpr double kLeastMasked = 1e-3;
constexpr double kFirstMoment = 0.9, kSecondMoment = 0.95, kTiny = 1e-8;
constexpr double kFirstDeviation = 0.02;
constexpr std::int64_t kWidthOfGpu = 128;  // rows of a GPU are filled up to multiples
constexpr std::int64_t kTokensOfPart = 256, kKeysOfPart = 64;
constexpr double kMostOfPairs = 0.8;  // of all pairs of tokens; above it, parts are not worth their calls

// A token of the doubled input.
struct Token {
  std::int64_t id = 0, place = 0, example = -1, block = 0;
  bool clean = true;
  std::int64_t target = -1;  // -1: predicts nothing
  double weight = 0;
};

at::Tensor whole_numbers(const std::vector<std::int64_t>& values, std::int64_t rows) {
  return at::tensor(values, at::kLong).view({rows, -1});
}

// Stretches of kTokensOfPart tokens with the keys that any of them sees in any row, in steps of kKeysOfPart. Empty
// where there would be one, or where they would save little.
std::vector<TokenPart> parts_of(const std::vector<std::vector<Token>>& rows, bool diffusion, std::int64_t longest) {
  const auto part_count = static_cast<std::size_t>((longest + kTokensOfPart - 1) / kTokensOfPart),
             step_count = static_cast<std::size_t>((longest + kKeysOfPart - 1) / kKeysOfPart);
  if (part_count == 1) return {};
  std::vector<std::vector<bool>> seen(part_count, std::vector<bool>(step_count));
  const auto mark = [&](std::int64_t query, std::int64_t from, std::int64_t to) {
    std::vector<bool>& of_part = seen[static_cast<std::size_t>(query / kTokensOfPart)];
    for (std::int64_t step = from / kKeysOfPart; step * kKeysOfPart < to; ++step) {
      of_part[static_cast<std::size_t>(step)] = true;
    }
  };
  for (const auto& row : rows) {
    const auto count = std::ssize(row);
    const auto at = [&](std::int64_t i) -> const Token& { return row[static_cast<std::size_t>(i)]; };
    std::map<std::int64_t, std::int64_t> firsts;  // where the clean tokens of an example begin
    for (std::int64_t i = 0; i < count; ++i) {
      if (at(i).clean) firsts.try_emplace(at(i).example, i - at(i).place);
    }
    for (std::int64_t begin = 0, end = 0; begin < count; begin = end) {
      const Token& token = at(begin);
      const auto belongs = [&](const Token& other) {
        return other.example == token.example && other.block == token.block && other.clean == token.clean;
      };
      end = begin + 1;
      while (diffusion && token.example >= 0 && end < count && belongs(at(end))) ++end;
      const std::int64_t first = token.example < 0 ? begin : firsts.at(token.example);
      for (std::int64_t i = begin; i < end; ++i) {
        mark(i, token.clean ? first : begin, end);
        if (!token.clean) mark(i, first, first + token.place);
      }
    }
    for (std::int64_t i = count; i < longest; ++i) mark(i, i, i + 1);
  }
  std::vector<TokenPart> parts;
  std::int64_t pairs = 0;
  for (std::size_t part = 0; part < part_count; ++part) {
    const std::int64_t begin = static_cast<std::int64_t>(part) * kTokensOfPart;
    parts.push_back({.begin = begin, .end = std::min(begin + kTokensOfPart, longest)});
    for (std::size_t step = 0; step < step_count; ++step) {
      if (!seen[part][step]) continue;
      const std::int64_t from = static_cast<std::int64_t>(step) * kKeysOfPart;
      auto& keys = parts.back().keys;
      if (keys.empty() || keys.back().second != from) keys.push_back({from, from});
      keys.back().second = std::min(from + kKeysOfPart, longest);
      pairs += (keys.back().second - from) * (parts.back().end - begin);
    }
  }
  const bool saves = static_cast<double>(pairs) < kMostOfPairs * static_cast<double>(longest * longest);
  return saves ? parts : std::vector<TokenPart>();
}

TrainingPass pass_of(const std::vector<std::vector<Token>>& rows, bool diffusion) {
  std::size_t longest = 1;
  for (const auto& row : rows) longest = std::max(longest, row.size());
  std::vector<std::int64_t> ids, places, examples, blocks, clean, predicting, targets;
  for (auto* const values : {&ids, &places, &examples, &blocks, &clean}) values->reserve(rows.size() * longest);
  std::vector<double> weights;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < longest; ++i) {
      const Token token = i < row.size() ? row[i] : Token{};
      if (token.target >= 0) {
        predicting.push_back(std::ssize(ids));
        targets.push_back(token.target);
        weights.push_back(token.weight);
      }
      ids.push_back(token.id);
      places.push_back(token.place);
      examples.push_back(token.example);
      blocks.push_back(token.block);
      clean.push_back(token.clean ? 1 : 0);
    }
  }
  const std::int64_t count = std::ssize(rows);
  return {.ids = whole_numbers(ids, count),
          .positions = whole_numbers(places, count),
          .examples = whole_numbers(examples, count),
          .blocks = whole_numbers(blocks, count),
          .clean = whole_numbers(clean, count) == 1,
          .in_blocks = diffusion,
          .parts = parts_of(rows, diffusion, static_cast<std::int64_t>(longest)),
          .places = at::tensor(predicting, at::kLong),
          .targets = at::tensor(targets, at::kLong),
          .weights = at::tensor(weights, at::kDouble).to(at::kFloat)};
}

}  // namespace

at::Tensor TrainingPass::seen(std::int64_t begin, std::int64_t end, const at::Device& device,
                              std::int64_t width) const {
  const auto query = [](const at::Tensor& of) { return of.unsqueeze(2); };
  const auto key = [](const at::Tensor& of) { return of.unsqueeze(1); };
  const auto part = [&](const at::Tensor& of, int otherwise = 0) {
    return at::constant_pad_nd(of.slice(0, begin, end).to(device), {0, width - of.size(1)}, otherwise);
  };
  const at::Tensor example = part(examples, -1);
  at::Tensor sees;
  if (in_blocks) {
    const at::Tensor block = part(blocks), is_clean = part(clean);
    const at::Tensor same = query(block) == key(block), before = key(block) < query(block);
    sees = (at::logical_not(query(is_clean)) & at::logical_not(key(is_clean)) & same) |
           (key(is_clean) & (before | (query(is_clean) & same)));
  } else {
    const at::Tensor place = part(positions);
    sees = key(place) <= query(place);
  }
  sees = sees & (query(example) == key(example)) & (query(example) >= 0);
  const at::Tensor all = at::arange(width, at::TensorOptions(at::kLong).device(device));
  return sees | (all.unsqueeze(1) == all.unsqueeze(0)).unsqueeze(0);
}

TrainingPass diffusion_pass(const std::vector<PackedRow>& rows, std::int64_t block, std::int32_t mask_id,
                            Random& random) {
  std::map<std::int32_t, double> chances;
  std::vector<std::vector<Token>> all;
  std::int64_t learnt = 0, tokens = 0;
  for (const PackedRow& row : rows) {
    std::vector<Token> noisy, clean;
    for (std::size_t begin = 0; begin < row.size(); begin += static_cast<std::size_t>(block)) {
      bool learns = false;
      for (std::size_t i = begin; i < begin + static_cast<std::size_t>(block); ++i) {
        const PackedToken& one = row[i];
        clean.push_back(
            {.id = one.id, .place = one.place, .example = one.example, .block = one.place / block, .clean = true});
        learns |= one.learnt;
        tokens += one.filling ? 0 : 1;
      }
      for (std::size_t i = begin; learns && i < begin + static_cast<std::size_t>(block); ++i) {
        const PackedToken& one = row[i];
        Token token = clean[i];
        token.clean = false;
        if (one.learnt) {
          ++learnt;
          const auto [chance, is_new] = chances.try_emplace(one.example, 0);
          if (is_new) chance->second = (1 - kLeastMasked) * random.unit() + kLeastMasked;
          if (random.chance(chance->second)) {
            token.target = one.id;
            token.weight = 1 / chance->second;
            token.id = mask_id;
          }
        }
        noisy.push_back(token);
      }
    }
    noisy.insert(noisy.end(), clean.begin(), clean.end());
    all.push_back(std::move(noisy));
  }
  TrainingPass pass = pass_of(all, true);
  pass.learnt = learnt;
  pass.tokens = tokens;
  return pass;
}

TrainingPass next_token_pass(const std::vector<PackedRow>& rows) {
  std::vector<std::vector<Token>> all;
  std::int64_t learnt = 0, tokens = 0;
  for (const PackedRow& row : rows) {
    std::vector<Token> made;
    for (std::size_t i = 0; i < row.size(); ++i) {
      Token token{.id = row[i].id, .place = row[i].place, .example = row[i].example};
      const bool predicts =
          i + 1 < row.size() && row[i + 1].example == row[i].example && row[i + 1].learnt && !row[i + 1].filling;
      if (predicts) {
        token.target = row[i + 1].id;
        token.weight = 1;
        ++learnt;
      }
      tokens += row[i].filling ? 0 : 1;
      made.push_back(token);
    }
    all.push_back(std::move(made));
  }
  TrainingPass pass = pass_of(all, false);
  pass.learnt = learnt;
  pass.tokens = tokens;
  return pass;
}

TrainingPass trace_pass(const std::vector<TracedAnswer>& answers, const std::vector<double>& weights,
                        std::int64_t block, std::int32_t mask_id, std::int32_t round) {
  std::vector<std::vector<Token>> all;
  std::int64_t learnt = 0, tokens = 0;
  for (std::size_t row = 0; row < answers.size(); ++row) {
    const TracedAnswer& answer = answers[row];
    std::vector<Token> noisy, clean;
    const auto begin = std::ssize(answer.before), length = begin + std::ssize(answer.trace);
    for (std::int64_t place = 0; place < length; ++place) {
      const auto written = static_cast<std::size_t>(place - begin);
      const bool given = place < begin;
      Token token{.id = given ? answer.before[static_cast<std::size_t>(place)] : answer.trace[written],
                  .place = place,
                  .example = static_cast<std::int64_t>(row),
                  .block = place / block};
      clean.push_back(token);
      if (token.block < begin / block) continue;
      token.clean = false;
      if (!given && answer.steps[written] == round) {
        token.target = token.id;
        token.weight = weights[row];
        ++learnt;
      }
      if (!given && answer.steps[written] >= round) token.id = mask_id;
      noisy.push_back(token);
    }
    tokens += length;
    noisy.insert(noisy.end(), clean.begin(), clean.end());
    all.push_back(std::move(noisy));
  }
  TrainingPass pass = pass_of(all, true);
  pass.learnt = learnt;
  pass.tokens = tokens;
  return pass;
}

Guesses guesses(const Network& network, const TrainingPass& pass, std::int64_t begin, std::int64_t end) {
  const std::int64_t length = pass.ids.size(1);
  const auto device = network.options().device();
  const at::Tensor mine = at::nonzero((pass.places >= begin * length) & (pass.places < end * length)).view({-1});
  // cuDNN plans anew for every length, so that there are few; the parts would be many more.
  const std::int64_t width = device.is_cuda() ? (length + kWidthOfGpu - 1) / kWidthOfGpu * kWidthOfGpu : length;
  const auto widened = [&](const at::Tensor& of) {
    return at::constant_pad_nd(of.slice(0, begin, end).to(device), {0, width - length});
  };
  const at::Tensor states =
      network
          .run(widened(pass.ids), network.pass_over(widened(pass.positions), pass.seen(begin, end, device, width),
                                                    device.is_cuda() ? std::vector<TokenPart>() : pass.parts))
          .slice(1, 0, length);
  const at::Tensor asked = (pass.places.index_select(0, mine) - begin * length).to(device);
  const at::Tensor logits = network.head(states.reshape({-1, states.size(-1)}).index_select(0, asked));
  const at::Tensor targets = pass.targets.index_select(0, mine).to(device).unsqueeze(1);
  return {.logs = at::log_softmax(logits, -1, at::kFloat).gather(1, targets).squeeze(1),
          .weights = pass.weights.index_select(0, mine).to(device)};
}

at::Tensor training_loss(const Network& network, const TrainingPass& pass, std::int64_t begin, std::int64_t end) {
  const Guesses made = guesses(network, pass, begin, end);
  return -(made.logs * made.weights).sum() / static_cast<double>(std::max<std::int64_t>(pass.learnt, 1));
}

AdamW::AdamW(const std::map<std::string, at::Tensor>& weights) {
  for (const auto& [name, weight] : weights) {
    means[name] = at::zeros_like(weight);
    squares[name] = at::zeros_like(weight);
  }
}

// LibTorch 2 has all of it as one kernel a few hundred tensors.
at::Tensor AdamW::step_on_gpu([[maybe_unused]] std::map<std::string, at::Tensor>& weights, [[maybe_unused]] double rate,
                              [[maybe_unused]] double decay, [[maybe_unused]] double clip) {
#if __has_include(<ATen/ops/_fused_adamw.h>)
  struct Group {
    std::vector<at::Tensor> weights, gradients, means, squares, steps;
  };
  Group matrices, others;
  std::vector<at::Tensor> all;
  ++steps;
  at::Tensor step;
  for (auto& [name, weight] : weights) {
    if (!weight.grad().defined()) continue;
    if (!step.defined()) step = at::full({}, static_cast<double>(steps), weight.options().dtype(at::kFloat));
    Group& group = weight.dim() > 1 ? matrices : others;
    all.push_back(weight.grad());
    group.weights.push_back(weight.detach());
    group.gradients.push_back(weight.grad());
    group.means.push_back(means[name]);
    group.squares.push_back(squares[name]);
    group.steps.push_back(step);
  }
  const at::Tensor length = at::stack(at::_foreach_norm(all)).pow(2).sum().sqrt();
  const at::Tensor divisor = clip > 0 ? (length / clip).clamp_min(1) : at::ones_like(length);
  for (Group* const group : {&matrices, &others}) {
    if (group->weights.empty()) continue;
    at::_fused_adamw_(group->weights, group->gradients, group->means, group->squares, {}, group->steps, rate,
                      kFirstMoment, kSecondMoment, group == &matrices ? decay : 0.0, kTiny, false, false, divisor,
                      std::nullopt);
  }
  for (auto& [name, weight] : weights) weight.mutable_grad() = at::Tensor();
  return length;
#else
  assert(false);
  return {};
#endif
}

at::Tensor AdamW::step(std::map<std::string, at::Tensor>& weights, double rate, double decay, double clip) {
  const at::NoGradGuard no_gradients;
  if (kHasFusedAdamW && !weights.empty() && weights.begin()->second.is_cuda()) {
    return step_on_gpu(weights, rate, decay, clip);
  }
  double sum = 0;
  for (const auto& [name, weight] : weights) {
    if (weight.grad().defined()) sum += weight.grad().pow(2).sum().item<double>();
  }
  const double length = std::sqrt(sum), scale = clip > 0 && length > clip ? clip / length : 1;
  ++steps;
  const double first = 1 - std::pow(kFirstMoment, static_cast<double>(steps)),
               second = 1 - std::pow(kSecondMoment, static_cast<double>(steps));
  for (auto& [name, weight] : weights) {
    if (!weight.grad().defined()) continue;
    const at::Tensor gradient = weight.grad() * scale;
    at::Tensor &mean = means[name], &square = squares[name];
    mean.mul_(kFirstMoment).add_(gradient, 1 - kFirstMoment);
    square.mul_(kSecondMoment).addcmul_(gradient, gradient, 1 - kSecondMoment);
    if (weight.dim() > 1) weight.mul_(1 - rate * decay);
    weight.addcdiv_(mean, (square / second).sqrt_().add_(kTiny), -rate / first);
    weight.mutable_grad() = at::Tensor();
  }
  return at::full({}, length, at::kDouble);
}

std::map<std::string, at::Tensor> first_weights(const ModelConfig& config, std::uint64_t seed) {
  std::map<std::string, at::Tensor> weights;
  for (const auto& [name, expected] : expected_tensors(config)) {
    if (expected.optional) continue;
    at::Tensor made = at::ones(expected.shape, at::kFloat);
    if (name.ends_with(".bias")) made.zero_();
    if (made.dim() > 1) {
      // What is added to the residual stream begins smaller, so that the sum over layers does not grow.
      const bool added = name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
      const double deviation =
          added ? kFirstDeviation / std::sqrt(2.0 * static_cast<double>(config.layers)) : kFirstDeviation;
      Random(hash_of(name, seed * 0x9E3779B97F4A7C15ull + 1))
          .fill_normal({made.data_ptr<float>(), static_cast<std::size_t>(made.numel())}, 0, deviation);
    }
    weights[name] = made;
  }
  return weights;
}

}  // namespace kw::lm
