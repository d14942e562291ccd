#include "lm_torch/train.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <deque>
#include <numbers>
#include <optional>

#include "base/folder_lock.h"
#include "lm/examples.h"
#include "lm/learn_byte_pairs.h"
#include "lm_torch/checkpoint.h"
#include "lm_torch/compress.h"
#include "lm_torch/diffusion.h"
#include "lm_torch/generate.h"
#include "lm_torch/placement.h"
#include "lm_torch/train_loss.h"

namespace kw::lm {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Weights = std::map<std::string, at::Tensor>;

constexpr const char* kMaskToken = "<|MASK|>";
const std::vector<std::string> kSpecials = {"<|endoftext|>",  "<|im_start|>",   "<|im_end|>", "<|fim_prefix|>",
                                            "<|fim_suffix|>", "<|fim_middle|>", kMaskToken};
constexpr const char* kEndToken = "<|im_end|>";
constexpr const char* kChatTemplate =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
constexpr std::int64_t kMostShownTokens = 128;                        // of a text that people look at
constexpr std::uintmax_t kTokenizerBytes = std::uintmax_t{64} << 20;  // of a corpus, that tokens are learnt from
constexpr std::size_t kLinesAtOnce = 4096;
constexpr std::int64_t kHeldOutRows = 16;  // of held-out lines, at most this many batches' rows are measured

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// What a model is besides its weights.
struct Setup {
  ModelConfig config;
  Json config_json, tokenizer_json;
  std::optional<ModelFiles> from;
  std::optional<PromptForm> form;
  std::int32_t end_id = 0;
};

// Where weights come from, and how a corpus becomes tokens.
Result<Json> learnt_tokenizer(const TrainOptions& options) {
  KW_TRY(const ChatTemplate shape, ChatTemplate::parse(kChatTemplate));
  KW_TRY(BytePairLearner learner, BytePairLearner::begin());
  // Of a large corpus every so many lines: more of it would change the last tokens at most.
  std::uintmax_t bytes = 0;
  std::error_code failed;
  for (const fs::path& file : options.corpus) {
    const std::uintmax_t size = fs::file_size(file, failed);
    if (!failed) bytes += size;
  }
  const auto stride = static_cast<std::int64_t>(bytes / kTokenizerBytes + 1);
  std::int64_t line = 0;
  KW_CHECK(read_example_texts(options.corpus, [&](const ExampleText& text) -> Status {
    if (line++ % stride != 0) return {};
    KW_TRY(const std::string asked,
           shape.render({{"messages", Json::array({{{"role", "user"}, {"content", text.prompt}}})},
                         {"add_generation_prompt", true}}));
    KW_CHECK(learner.add(asked));
    for (const auto& part : {text.prefix, text.suffix, std::optional(text.answer)}) {
      if (part) KW_CHECK(learner.add(*part));
    }
    return {};
  }));
  return learner.learn(options.vocabulary, kSpecials);
}

Result<Setup> setup_from_scratch(const TrainOptions& options) {
  Setup setup;
  KW_TRY(setup.tokenizer_json, learnt_tokenizer(options));
  KW_TRY(Tokenizer tokenizer, Tokenizer::from_json(setup.tokenizer_json));
  KW_TRY(ChatTemplate shape, ChatTemplate::parse(kChatTemplate));
  const std::int32_t end = *tokenizer.id_of(kEndToken), mask = *tokenizer.id_of(kMaskToken);
  setup.config_json = {{"model_type", options.autoregressive ? "qwen3" : "sdar"},
                       {"hidden_size", options.width},
                       {"intermediate_size", options.inner_width},
                       {"num_hidden_layers", options.layers},
                       {"num_attention_heads", options.heads},
                       {"num_key_value_heads", options.kv_heads},
                       {"head_dim", options.head_size},
                       {"vocab_size", tokenizer.size()},
                       {"max_position_embeddings", options.context},
                       {"rms_norm_eps", 1e-6},
                       {"rope_theta", 1e4},
                       {"hidden_act", "silu"},
                       {"attention_bias", false},
                       {"tie_word_embeddings", true},
                       {"eos_token_id", end}};
  if (options.autoregressive) {
    setup.config_json["architectures"] = Json::array({"Qwen3ForCausalLM"});
  } else {
    setup.config_json["mask_token_id"] = mask;
    setup.config_json["block_size"] = options.block;
  }
  setup.form.emplace(std::move(tokenizer), ModelChat{std::move(shape), Json::object()});
  setup.end_id = end;
  return setup;
}

// What SDAR's form has to be told of a model of another family: Qwen3's layers are its own.
void say_as_sdar(const ModelConfig& config, Json& json) {
  json["model_type"] = "sdar";
  json.erase("architectures");
  json["head_dim"] = config.head_size;
  if (config.family == Family::qwen3) return;
  json["head_norms"] = false;
  json["attention_bias"] = config.output_bias;
  json["qkv_bias"] = config.qkv_bias;
  json["mlp_bias"] = config.mlp_bias;
}

// A model that predicts the next token becomes one that fills masks: the same weights, and a mask token.
Result<Setup> setup_from_folder(const TrainOptions& options) {
  Setup setup;
  KW_TRY(setup.from, open_model(options.from));
  const ModelFiles& files = *setup.from;
  const bool adapted = !options.autoregressive && files.config.predicts_next();
  const bool fits = files.config.is_causal() && (files.config.predicts_next() || !options.autoregressive);
  if (!fits || !files.config.low_rank.empty()) {
    return fail("{}: training goes on from llama, qwen2, qwen3{} models that are not compressed", files.path.string(),
                options.autoregressive ? "" : " and sdar");
  }
  if (files.config.end_ids.empty()) return fail("{}: it names no token that ends a text", files.path.string());
  KW_TRY(setup.tokenizer_json, tokenizer_json_of(files));
  KW_TRY(setup.config_json, config_json_of(files));
  setup.end_id = static_cast<std::int32_t>(files.config.end_ids.front());
  KW_TRY(PromptForm form, PromptForm::of(files));
  if (adapted) {
    say_as_sdar(files.config, setup.config_json);
    auto mask = form.tokenizer().id_of(kMaskToken);
    if (!mask) {
      mask = static_cast<std::int32_t>(form.tokenizer().size());
      setup.tokenizer_json["added_tokens"].push_back({{"id", *mask},
                                                      {"content", kMaskToken},
                                                      {"single_word", false},
                                                      {"lstrip", false},
                                                      {"rstrip", false},
                                                      {"normalized", false},
                                                      {"special", true}});
    }
    setup.config_json["mask_token_id"] = *mask;
    setup.config_json["vocab_size"] = std::max<std::int64_t>(files.config.vocabulary, *mask + 1);
  }
  if (!options.autoregressive) {
    setup.config_json.erase("block_length");
    setup.config_json["block_size"] = options.block;
  }
  setup.form.emplace(std::move(form));
  return setup;
}

Result<Setup> setup_of(const TrainOptions& options) {
  KW_TRY(Setup setup, options.from.empty() ? setup_from_scratch(options) : setup_from_folder(options));
  KW_TRY(setup.config, config_from_json(setup.config_json));
  if (options.length > setup.config.context) {
    return fail("rows of {} tokens are longer than the model's context of {}", options.length, setup.config.context);
  }
  return setup;
}

Result<Weights> weights_of(const Setup& setup, const TrainOptions& options) {
  if (!setup.from) return first_weights(setup.config, options.seed);
  Weights weights;
  const auto expected = expected_tensors(setup.config);
  for (const auto& [name, stored] : setup.from->tensors) {
    if (!expected.contains(name)) continue;
    const auto tensor = load_tensor(stored);
    if (!tensor.ok()) return at(options.from.string() + ": " + name, tensor.error());
    if (!at::isfinite(*tensor).all().item<bool>()) {
      return fail("{}: {} holds values that are no numbers (NaN or infinite)", options.from.string(), name);
    }
    weights[name] = *tensor;
    // A vocabulary that grew: what is new begins as the mean of all others.
    const std::int64_t rows = tensor->size(0), more = expected.at(name).shape[0] - rows;
    if (more > 0) {
      const at::Tensor mean = at::mm(at::full({more, rows}, 1 / static_cast<double>(rows), at::kFloat), *tensor);
      weights[name] = at::cat({*tensor, mean});
    }
  }
  if (setup.config.tied_embeddings) weights.erase("lm_head.weight");
  weights.erase("rope_freqs.weight");
  return weights;
}

// Some thousand lines at a time become tokens on all threads: a corpus may have hundreds of megabytes.
Result<std::vector<Example>> examples_of(const std::vector<fs::path>& files, const Setup& setup) {
  std::vector<Example> examples;
  std::vector<ExampleText> waiting;
  const auto take = [&]() -> Status {
    const std::size_t first = examples.size();
    examples.resize(first + waiting.size());
    std::vector<Status> read(waiting.size());
    at::parallel_for(0, std::ssize(waiting), 16, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        Result<Example> made = example_of(waiting[i], *setup.form, setup.end_id);
        made.ok() ? void(examples[first + i] = *std::move(made)) : void(read[i] = made.error());
      }
    });
    waiting.clear();
    for (const Status& one : read) KW_CHECK(one);
    return {};
  };
  KW_CHECK(read_example_texts(files, [&](const ExampleText& text) -> Status {
    waiting.push_back(text);
    return waiting.size() == kLinesAtOnce ? take() : Status();
  }));
  KW_CHECK(take());
  return examples;
}

// The first lines of what is held out, or else of the corpus.
Result<std::vector<ExampleText>> lines_to_show(const TrainOptions& options) {
  std::vector<ExampleText> lines;
  if (options.shown_samples == 0) return lines;
  KW_CHECK(read_example_texts(options.held_out.empty() ? options.corpus : options.held_out,
                              [&](const ExampleText& text) -> Status {
                                if (std::ssize(lines) < options.shown_samples) lines.push_back(text);
                                return {};
                              }));
  return lines;
}

// What a run must have in common with the one that it continues.
Json key_of(const TrainOptions& options) {
  Json key = {{"from", options.from.string()},
              {"autoregressive", options.autoregressive},
              {"sizes", Json::array({options.vocabulary, options.layers, options.width, options.inner_width,
                                     options.heads, options.kv_heads, options.head_size, options.context})},
              {"block", options.block},
              {"batch", options.batch},
              {"length", options.length},
              {"rows_at_once", options.rows_at_once},
              {"steps", options.steps},
              {"rates", Json::array({options.rate, options.least_rate, options.warm_up, options.clip, options.decay})},
              {"seed", options.seed},
              {"numbers", options.numbers}};
  return key;
}

class Trainer {
 public:
  Trainer(const TrainOptions& options, const TellTraining& tell, const Setup& setup, const at::TensorOptions& where,
          Packer packer, std::optional<Packer> held_out, Weights weights, std::vector<ExampleText> shown)
      : options_(options),
        tell_(tell),
        setup_(setup),
        where_(where),
        packer_(std::move(packer)),
        held_out_(std::move(held_out)),
        shown_(std::move(shown)),
        weights_(on_device(std::move(weights))),
        adam_(weights_),
        checkpoints_(options.work) {}

  // Goes on where the work folder says.
  Status resume() {
    KW_TRY(const auto kept, checkpoints_.resume(key(), weights_, adam_));
    if (!kept) return {};
    try {
      step_ = adam_.steps;
      cursor_ = (*kept)["cursor"];
      spent_s_ = (*kept)["seconds"];
      losses_ = (*kept)["losses"].get<std::vector<double>>();
      seen_tokens_ = (*kept)["seen_tokens"];
      learnt_tokens_ = (*kept)["learnt_tokens"];
      held_out_losses_ = (*kept)["held_out"];
      constexpr std::int64_t kMost = std::int64_t{1} << 48;
      for (const std::int64_t count : {step_, cursor_, seen_tokens_, learnt_tokens_}) {
        if (count < 0 || count > kMost) throw JsonError(fmt::format("{} is no number of steps or tokens", count));
      }
    } catch (const JsonError& error) {
      return fail("{}: {}; remove the folder to begin anew", (options_.work / "state.json").string(), error.what());
    }
    return {};
  }

  Status run() {
    checkpoints_.remove_others(step_);
    for (auto& [name, weight] : weights_) weight.set_requires_grad(true);
    begin_ = Clock::now();
    begun_at_ = step_;
    for (bool last = step_ >= options_.steps; !last;) {
      one_step();
      last = step_ == options_.steps || time_is_over(options_, seconds_since(begin_));
      const bool saves = last || step_ % options_.save_every == 0;
      KW_CHECK(settle(where_.device().is_cuda() && !saves ? 1 : 0));
      if (saves) {
        KW_CHECK(measure_held_out());
        KW_CHECK(save());
        if (tell_ && !shown_.empty()) {
          write_samples();
          if (!tell_({{"checkpoint", about()}})) return fail("stopped at step {}", step_);
        }
      }
      if (tell_ && !losses_.empty() && !tell_(progress())) return fail("stopped at step {}", step_);
    }
    return {};
  }

  const Weights& weights() const { return weights_; }
  Json about() const {
    Json losses = Json::array();
    for (const double loss : losses_) losses.push_back(loss);
    Json made = {{"out", options_.out.string()},
                 {"steps", step_},
                 {"of", options_.steps},
                 {"examples", packer_.examples()},
                 {"left_out", packer_.left_out()},
                 {"corpus_tokens", packer_.tokens()},
                 {"seen_tokens", seen_tokens_},
                 {"learnt_tokens", learnt_tokens_},
                 {"seconds", spent_s_},
                 {"held_out", held_out_losses_},
                 {"losses", losses}};
    if (!shown_.empty()) made["samples"] = samples_;
    return made;
  }

 private:
  Weights on_device(Weights weights) const {
    for (auto& [name, weight] : weights) weight = weight.to(where_.device()).detach().clone();
    return weights;
  }

  Json key() const {
    Json made = key_of(options_);
    made["corpus"] = fmt::format("{:016x}", packer_.fingerprint());
    return made;
  }

  // The network of a pass: in other numbers its weights are made of the float32 ones, and gradients flow back.
  Network network() const {
    if (options_.numbers == "F32") return Network::of_tensors(setup_.config, weights_);
    Weights narrow;
    for (const auto& [name, weight] : weights_) narrow[name] = weight.to(where_);
    return Network::of_tensors(setup_.config, narrow);
  }

  TrainingPass pass_of(const PackedBatch& batch, std::uint64_t draw) const {
    if (options_.autoregressive) return next_token_pass(batch.rows);
    Random random(options_.seed * 0x9E3779B97F4A7C15ull ^ draw);
    return diffusion_pass(batch.rows, options_.block, static_cast<std::int32_t>(*setup_.config.mask_id), random);
  }

  void one_step() {
    const PackedBatch batch = packer_.batch(cursor_);
    const TrainingPass pass = pass_of(batch, static_cast<std::uint64_t>(step_) + 1);
    const std::int64_t rows = pass.ids.size(0);
    const std::int64_t at_once = options_.rows_at_once > 0 ? options_.rows_at_once : rows;
    at::Tensor loss;
    for (std::int64_t begin = 0; begin < rows; begin += at_once) {
      const at::Tensor part = training_loss(network(), pass, begin, std::min(begin + at_once, rows));
      part.backward();
      loss = loss.defined() ? loss + part.detach() : part.detach();
    }
    unsettled_.push_back(loss);
    adam_.step(weights_, rate_at(options_, step_), options_.decay, options_.clip);
    ++step_;
    cursor_ += batch.examples;
    seen_tokens_ += pass.tokens;
    learnt_tokens_ += pass.learnt;
    tokens_now_ += pass.tokens;
    learnt_now_ += pass.learnt;
  }

  // Waits for the losses of all steps but the last `most`: while a GPU computes a step, the next one is prepared.
  Status settle(std::size_t most) {
    while (unsettled_.size() > most) {
      const double loss = unsettled_.front().item<double>();
      unsettled_.pop_front();
      losses_.push_back(loss);
      if (!std::isfinite(loss)) {
        return fail("the loss of step {} is no number: a smaller --rate may help; {} holds step {}", losses_.size(),
                    options_.work.string(), (std::ssize(losses_) - 1) / options_.save_every * options_.save_every);
      }
    }
    return {};
  }

  // Always the same lines with the same masks.
  Status measure_held_out() {
    if (!held_out_ || held_out_->examples() == 0) return {};
    const at::NoGradGuard no_gradients;
    double sum = 0;
    std::int64_t learnt = 0, cursor = 0;
    for (std::int64_t rows = 0; rows < kHeldOutRows && cursor < held_out_->examples(); rows += options_.batch) {
      const PackedBatch batch = held_out_->batch(cursor);
      const TrainingPass pass = pass_of(batch, ~static_cast<std::uint64_t>(rows));
      sum += training_loss(network(), pass, 0, pass.ids.size(0)).item<double>() * static_cast<double>(pass.learnt);
      learnt += pass.learnt;
      cursor += batch.examples;
    }
    held_out_losses_.push_back(
        {{"step", step_}, {"loss", sum / static_cast<double>(std::max<std::int64_t>(learnt, 1))}});
    return {};
  }

  // What the model writes now where some of the lines are asked for; a line that does not fit is passed over.
  void write_samples() {
    const at::NoGradGuard no_gradients;
    const Network now = network();
    const std::int64_t most = std::min(kMostShownTokens, options_.length);
    samples_ = Json::array();
    for (const ExampleText& text : shown_) {
      auto before = setup_.form->of_question(text.prompt);
      if (before.ok() && text.prefix) {
        before = setup_.form->asking_between(*std::move(before), *text.prefix, text.suffix.value_or(""));
      }
      if (!before.ok()) continue;
      std::vector<std::int32_t> ids;
      if (options_.autoregressive) {
        const auto made = generate(now, {*before}, {.most_tokens = most});
        if (!made.ok()) continue;
        ids = made->at(0).ids;
      } else {
        const auto made = diffuse(now, {{.before = *before}}, {.most_tokens = most}, {});
        if (!made.ok()) continue;
        ids = made->texts[0].ids;
      }
      samples_.push_back({{"prompt", text.prompt},
                          {"expected", text.answer},
                          {"text", setup_.form->tokenizer().decode(ids, Tokenizer::Show::all)}});
    }
  }

  Status save() {
    spent_s_ += seconds_since(begin_) - counted_s_;
    counted_s_ = seconds_since(begin_);
    Json losses = Json::array();
    for (const double loss : losses_) losses.push_back(loss);
    return checkpoints_.save(key(), step_, weights_, adam_,
                             {{"cursor", cursor_},
                              {"seen_tokens", seen_tokens_},
                              {"learnt_tokens", learnt_tokens_},
                              {"seconds", spent_s_},
                              {"losses", losses},
                              {"held_out", held_out_losses_}});
  }

  Json progress() const {
    const double here = seconds_since(begin_);
    const auto done = static_cast<double>(step_ - begun_at_);
    Json line = {{"what", "training"},
                 {"done", losses_.size()},
                 {"of", options_.steps},
                 {"loss", losses_.back()},
                 {"tokens_a_second", static_cast<double>(tokens_now_) / std::max(here, 1e-9)},
                 {"learnt_a_second", static_cast<double>(learnt_now_) / std::max(here, 1e-9)},
                 {"left_s", here / done * static_cast<double>(options_.steps - step_)}};
    if (!held_out_losses_.empty()) line["held_out_loss"] = held_out_losses_.back()["loss"];
    return line;
  }

  const TrainOptions& options_;
  const TellTraining& tell_;
  const Setup& setup_;
  at::TensorOptions where_;
  Packer packer_;
  std::optional<Packer> held_out_;
  std::vector<ExampleText> shown_;
  Json samples_ = Json::array();
  Weights weights_;
  AdamW adam_;
  Checkpoints checkpoints_;
  std::int64_t step_ = 0, cursor_ = 0, seen_tokens_ = 0, learnt_tokens_ = 0;
  std::vector<double> losses_;
  std::deque<at::Tensor> unsettled_;  // losses of the last steps, which the device may still compute
  Json held_out_losses_ = Json::array();
  double spent_s_ = 0, counted_s_ = 0;  // over all runs; of this run, what spent_s_ holds
  // Of this run, for what is told.
  Clock::time_point begin_;
  std::int64_t begun_at_ = 0, tokens_now_ = 0, learnt_now_ = 0;
};

}  // namespace

bool time_is_over(const TrainOptions& options, double seconds) {
  return options.minutes > 0 && seconds >= 60 * options.minutes;
}

double rate_at(const TrainOptions& options, std::int64_t step) {
  const auto warm = std::max(1.0, std::floor(options.warm_up * static_cast<double>(options.steps)));
  if (static_cast<double>(step) < warm) return options.rate * static_cast<double>(step + 1) / warm;
  const double gone = (static_cast<double>(step) - warm) / std::max(1.0, static_cast<double>(options.steps) - warm);
  const double falling = 0.5 * (1 + std::cos(std::numbers::pi * gone));
  return options.rate * (options.least_rate + (1 - options.least_rate) * falling);
}

Result<TrainOptions> train_options(const Json& request) {
  TrainOptions options;
  for (const Json& file : request["corpus"]) options.corpus.emplace_back(file.text());
  if (const Json* files = request.find("held_out")) {
    for (const Json& file : *files) options.held_out.emplace_back(file.text());
  }
  options.out = request["out"].text();
  options.work = request.value("work", options.out.string() + ".work");
  options.from = request.value("from", "");
  options.autoregressive = request.value("autoregressive", false);
  struct Whole {
    const char* name;
    std::int64_t* value;
    std::int64_t least;
  };
  for (const auto& [name, value, least] :
       {Whole{"vocabulary", &options.vocabulary, 1}, Whole{"layers", &options.layers, 1},
        Whole{"width", &options.width, 1}, Whole{"inner_width", &options.inner_width, 1},
        Whole{"heads", &options.heads, 1}, Whole{"kv_heads", &options.kv_heads, 1},
        Whole{"head_size", &options.head_size, 2}, Whole{"context", &options.context, 1},
        Whole{"block", &options.block, 1}, Whole{"batch", &options.batch, 1}, Whole{"length", &options.length, 1},
        Whole{"rows_at_once", &options.rows_at_once, 0}, Whole{"steps", &options.steps, 1},
        Whole{"save_every", &options.save_every, 1}, Whole{"shown_samples", &options.shown_samples, 0}}) {
    *value = request.value(name, *value);
    if (*value < least || *value > std::int64_t{1} << 40) return fail("{} is {}", name, *value);
  }
  struct Real {
    const char* name;
    double* value;
    double most;
  };
  for (const auto& [name, value, most] : {Real{"rate", &options.rate, 1}, Real{"least_rate", &options.least_rate, 1},
                                          Real{"warm_up", &options.warm_up, 1}, Real{"clip", &options.clip, 1e9},
                                          Real{"decay", &options.decay, 1e3}, Real{"minutes", &options.minutes, 1e6}}) {
    *value = request.value(name, *value);
    if (!(*value >= 0 && *value <= most)) return fail("{} is {}", name, *value);
  }
  options.seed = request.value("seed", options.seed);
  options.device = request.value("device", options.device);
  options.numbers = request.value("numbers", options.numbers);
  options.type = request.value("type", options.type);
  if (options.type != "F32" && options.type != "F16" && options.type != "BF16") {
    return fail("weights are written as F32, F16 or BF16, not '{}'", options.type);
  }
  if (options.numbers == "F16") return fail("training in F16 overflows; say F32 or BF16");
  if (options.corpus.empty()) return fail("there is no corpus to train on");
  options.length = options.length / options.block * options.block;
  if (options.length == 0) return fail("a row must hold a block of {} tokens", options.block);
  return options;
}

Result<Json> train(const TrainOptions& options, const TellTraining& tell) {
  std::error_code failed;
  if (fs::exists(options.out, failed)) return fail("{}: there is something already", options.out.string());
  KW_TRY(const at::TensorOptions where, placement(options.device, options.numbers));
  KW_TRY(Setup setup, setup_of(options));
  KW_TRY(std::vector<Example> examples, examples_of(options.corpus, setup));
  const auto packed = [&](std::vector<Example> some) {
    return Packer(std::move(some), options.batch, options.length, options.block, setup.end_id, options.seed);
  };
  const std::int64_t lines = std::ssize(examples);
  Packer packer = packed(std::move(examples));
  if (packer.examples() == 0) {
    return fail("{}: none of {} lines fits a row of {} tokens{}", options.corpus.front().string(), lines,
                options.length, lines > 0 ? "; say a larger --length" : "");
  }
  std::optional<Packer> held_out;
  if (!options.held_out.empty()) {
    KW_TRY(std::vector<Example> others, examples_of(options.held_out, setup));
    held_out.emplace(packed(std::move(others)));
  }
  KW_TRY(Weights weights, weights_of(setup, options));
  KW_TRY(std::vector<ExampleText> shown, lines_to_show(options));
  KW_TRY(const FolderLock working, FolderLock::take(options.work));
  Trainer trainer(options, tell, setup, where, std::move(packer), std::move(held_out), std::move(weights),
                  std::move(shown));
  KW_CHECK(trainer.resume());
  KW_CHECK(trainer.run());
  std::int64_t parameters = 0;
  for (const auto& [name, weight] : trainer.weights()) parameters += weight.numel();
  Json about = trainer.about();
  about["family"] = name_of(setup.config.family);
  about["parameters"] = parameters;
  about["vocabulary"] = setup.config.vocabulary;
  about["options"] = key_of(options);
  TrainedModel model{.config_json = setup.config_json, .tokenizer_json = setup.tokenizer_json, .type = options.type};
  if (setup.from) {
    model.tokenizer_of = &*setup.from;
  } else {
    model.tokenizer_config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                              {"model_max_length", setup.config.context},
                              {"eos_token", kEndToken},
                              {"pad_token", "<|endoftext|>"},
                              {"mask_token", kMaskToken},
                              {"chat_template", kChatTemplate}};
  }
  KW_CHECK(write_trained(options.out, std::move(model), trainer.weights(), about));
  about["last_loss"] = about["losses"].back();
  about.erase("losses");
  about.erase("samples");
  return about;
}

}  // namespace kw::lm
