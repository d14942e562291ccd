#include "lm_torch/reinforce_run.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/folder_lock.h"
#include "base/random.h"
#include "lm/examples.h"
#include "lm/prompt_form.h"
#include "lm_torch/checkpoint.h"
#include "lm_torch/placement.h"

namespace kw::lm {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Weights = std::map<std::string, at::Tensor>;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Problem {
  std::string prompt;
  std::vector<std::int32_t> before;
  Json asked;  // of the judge, without the answer
  bool is_hole = false;

  Json request(const std::string& answer) const {
    Json made = asked;
    made[is_hole ? "answer" : "source"] = answer;
    return made;
  }
};

// Those whose answer of `most_tokens` would not fit the model's context are left out.
Result<std::vector<Problem>> read_problems(const std::vector<fs::path>& files, const PromptForm& form,
                                           std::int64_t context, std::int64_t most_tokens) {
  std::vector<Problem> problems;
  std::int64_t left_out = 0;
  KW_CHECK(read_json_lines(files, [&](const Json& json) -> Status {
    Problem problem;
    const char* const names_task = json.contains("task_text") ? "task_text" : "task";
    for (const char* name : {"prompt", names_task}) {
      if (!json.contains(name) || !json[name].is_string()) return fail("there is no text \"{}\"", name);
    }
    problem.asked = {{names_task, json[names_task].text()}};
    problem.prompt = json["prompt"].text();
    KW_TRY(problem.before, form.of_question(problem.prompt));
    problem.is_hole = json.contains("prefix") && json.contains("suffix");
    if (problem.is_hole) {
      const std::string prefix = json["prefix"].get<std::string>(), suffix = json["suffix"].get<std::string>();
      problem.asked["prefix"] = prefix;
      problem.asked["suffix"] = suffix;
      KW_TRY(problem.before, form.asking_between(std::move(problem.before), prefix, suffix));
    }
    if (std::ssize(problem.before) + most_tokens > context) {
      ++left_out;
      return {};
    }
    problems.push_back(std::move(problem));
    return {};
  }));
  if (problems.empty() && left_out > 0) {
    return fail("{}: none of {} problems leaves room for answers of {} tokens in a context of {}; say fewer --tokens",
                files.front().string(), left_out, most_tokens, context);
  }
  if (problems.empty()) return fail("{}: there are no problems", files.front().string());
  return problems;
}

// The answers of one step with their advantages, and the step's figures.
struct Judged {
  std::vector<TracedAnswer> answers;
  std::vector<double> advantages;
  Json about;
};

class Reinforcing {
 public:
  Reinforcing(const ReinforceOptions& options, const ModelFiles& files, const PromptForm& form,
              const at::TensorOptions& where, std::vector<Problem> problems, Weights weights)
      : options_(options),
        config_(files.config),
        form_(form),
        where_(where),
        problems_(std::move(problems)),
        weights_(std::move(weights)),
        adam_(weights_),
        checkpoints_(options.training.work),
        judge_(options.reward, options.patience) {
    if (options.denoising.block > 0) config_.block_length = options.denoising.block;
  }

  Status run(const TellTraining& tell) {
    const TrainOptions& training = options_.training;
    KW_TRY(const auto kept, checkpoints_.resume(key(), weights_, adam_));
    if (kept && !kept->is_array()) {
      return fail("{}: is no state of learning from rewards; remove the folder to begin anew", training.work.string());
    }
    if (kept) curve_ = *kept;
    std::int64_t step = static_cast<std::int64_t>(curve_.size());
    checkpoints_.remove_others(step);
    for (auto& [name, weight] : weights_) weight.set_requires_grad(true);
    const auto begin = Clock::now();
    const std::int64_t first = step;
    for (bool last = step >= training.steps; !last;) {
      KW_TRY(Judged judged, one_step(step));
      judged.about["loss"] = judged.answers.empty()
                                 ? 0.0
                                 : learn_from_traces(
                                       judged.answers, judged.advantages, [this] { return network(); }, weights_, adam_,
                                       rate_at(training, step), training, options_.limits);
      curve_.push_back(judged.about);
      ++step;
      last = step == training.steps || time_is_over(training, seconds_since(begin));
      const bool saves = last || step % training.save_every == 0;
      if (saves) KW_CHECK(checkpoints_.save(key(), step, weights_, adam_, curve_));
      if (training.shown_samples > 0 && tell && saves) {
        spent_s_ = seconds_since(begin);
        if (!tell({{"checkpoint", about()}})) return fail("stopped at step {}", step);
      }
      Json progress = judged.about;
      progress["what"] = "learning from rewards";
      progress["done"] = step;
      progress["of"] = training.steps;
      progress["left_s"] =
          seconds_since(begin) / static_cast<double>(step - first) * static_cast<double>(training.steps - step);
      if (tell && !tell(progress)) return fail("stopped at step {}", step);
    }
    return {};
  }

  const Weights& weights() const { return weights_; }
  const Json& curve() const { return curve_; }
  Json about() const {
    Json made = {{"out", options_.training.out.string()},
                 {"from", options_.training.from.string()},
                 {"steps", curve_.size()},
                 {"of", options_.training.steps},
                 {"seconds", spent_s_},
                 {"curve", curve_}};
    if (options_.training.shown_samples > 0) made["samples"] = samples_;
    return made;
  }

 private:
  Json key() const {
    const TrainOptions& training = options_.training;
    return {{"from", training.from.string()},
            {"problems", problems_.size()},
            {"numbers", Json::array({training.batch, options_.samples, training.steps, options_.sampling.most_tokens,
                                     options_.denoising.steps, config_.block_length})},
            {"rates", Json::array({training.rate, options_.limits.clip, options_.limits.divergence,
                                   options_.sampling.temperature, options_.denoising.threshold})},
            {"seed", training.seed}};
  }

  Network network() const {
    if (options_.training.numbers == "F32") return Network::of_tensors(config_, weights_);
    Weights narrow;
    for (const auto& [name, weight] : weights_) narrow[name] = weight.to(where_);
    return Network::of_tensors(config_, narrow);
  }

  Result<Judged> one_step(std::int64_t step) {
    const TrainOptions& training = options_.training;
    Random random(training.seed * 0x9E3779B97F4A7C15ull + static_cast<std::uint64_t>(step));
    std::vector<const Problem*> asked;
    std::vector<Blank> blanks;
    for (std::int64_t group = 0; group < training.batch; ++group) {
      asked.push_back(&random.pick(problems_));
      for (std::int64_t i = 0; i < options_.samples; ++i) blanks.push_back({.before = asked.back()->before});
    }
    Sampling sampling = options_.sampling;
    sampling.seed = random.bits();
    KW_TRY(const Diffused drawn, diffuse(network(), blanks, sampling, options_.denoising));
    std::vector<Json> requests;
    for (std::size_t i = 0; i < drawn.texts.size(); ++i) {
      requests.push_back(asked[i / static_cast<std::size_t>(options_.samples)]->request(
          form_.tokenizer().decode(drawn.texts[i].ids, Tokenizer::Show::all)));
    }
    KW_TRY(const auto rewards, judge_.rewards(requests));
    keep_samples(asked, requests, rewards);
    return judged(blanks, drawn, rewards);
  }

  // For people to look at: of each group the answer with the highest reward and the one with the lowest.
  void keep_samples(const std::vector<const Problem*>& asked, const std::vector<Json>& requests,
                    const std::vector<std::optional<double>>& rewards) {
    samples_ = Json::array();
    const auto samples = static_cast<std::size_t>(options_.samples);
    for (std::size_t group = 0; group < asked.size(); ++group) {
      std::vector<std::size_t> known;
      for (std::size_t i = group * samples; i < (group + 1) * samples; ++i) {
        if (rewards[i]) known.push_back(i);
      }
      if (known.empty()) continue;
      const auto [worst, best] = std::ranges::minmax_element(known, {}, [&](std::size_t i) { return *rewards[i]; });
      for (const std::size_t i : {*best, *worst}) {
        if (std::ssize(samples_) >= options_.training.shown_samples) return;
        samples_.push_back({{"prompt", asked[group]->prompt},
                            {"text", requests[i][asked[group]->is_hole ? "answer" : "source"]},
                            {"reward", *rewards[i]}});
      }
    }
  }

  // Answers that could not be judged count for nothing.
  Judged judged(const std::vector<Blank>& blanks, const Diffused& drawn,
                const std::vector<std::optional<double>>& rewards) const {
    Judged made;
    double sum = 0;
    std::int64_t known = 0, rewarded = 0, kept = 0;
    const auto samples = static_cast<std::size_t>(options_.samples);
    for (std::size_t begin = 0; begin < blanks.size(); begin += samples) {
      std::vector<std::size_t> of_group;
      std::vector<double> values;
      for (std::size_t i = begin; i < begin + samples; ++i) {
        if (!rewards[i]) continue;
        of_group.push_back(i);
        values.push_back(*rewards[i]);
        sum += *rewards[i];
        rewarded += *rewards[i] > 0 ? 1 : 0;
        ++known;
      }
      const std::vector<double> advantages = group_advantages(values);
      if (!advantages.empty()) ++kept;
      for (std::size_t i = 0; i < advantages.size(); ++i) {
        const Filled& text = drawn.texts[of_group[i]];
        made.answers.push_back({.before = blanks[begin].before, .trace = text.trace, .steps = text.steps});
        made.advantages.push_back(advantages[i]);
      }
    }
    made.about = {{"reward", known > 0 ? sum / static_cast<double>(known) : 0.0},
                  {"rewarded", known > 0 ? static_cast<double>(rewarded) / static_cast<double>(known) : 0.0},
                  {"not_judged", std::ssize(rewards) - known},
                  {"groups_kept", kept},
                  {"passes", drawn.passes}};
    return made;
  }

  const ReinforceOptions& options_;
  ModelConfig config_;
  const PromptForm& form_;
  at::TensorOptions where_;
  std::vector<Problem> problems_;
  Weights weights_;
  AdamW adam_;
  Checkpoints checkpoints_;
  RewardProcess judge_;
  Json curve_ = Json::array(), samples_ = Json::array();
  double spent_s_ = 0;  // of this process
};

}  // namespace

Result<ReinforceOptions> reinforce_options(const Json& request) {
  ReinforceOptions options;
  Json training = request;
  const auto otherwise = [&](const char* name, Json value) {
    if (!training.contains(name)) training[name] = std::move(value);
  };
  otherwise("rate", 1e-6);
  otherwise("save_every", 1);
  otherwise("least_rate", 1);
  otherwise("warm_up", 0);
  otherwise("decay", 0);
  KW_TRY(options.training, train_options(training));
  options.reward = request["reward"].get<std::vector<std::string>>();
  if (options.reward.empty()) return fail("there is no program that rewards");
  if (options.training.from.empty()) return fail("rewards improve a model that is there: say which with --from");
  options.samples = request.value("samples", options.samples);
  options.sampling.most_tokens = request.value("tokens", options.sampling.most_tokens);
  options.sampling.temperature = request.value("temperature", options.sampling.temperature);
  KW_TRY(options.denoising.unmask, unmask_named(request.value("unmask", "dynamic")));
  options.denoising.steps = request.value("passes", options.denoising.steps);
  options.denoising.threshold = request.value("threshold", options.denoising.threshold);
  options.limits.clip = request.value("clip_ratio", options.limits.clip);
  options.limits.divergence = request.value("divergence", options.limits.divergence);
  options.patience.silence_s = request.value("silence_s", options.patience.silence_s);
  options.patience.pause_s = request.value("pause_s", options.patience.pause_s);
  if (options.samples < 2 || options.samples > 4096) return fail("a group of {} answers", options.samples);
  if (options.sampling.most_tokens < 1) return fail("answers of {} tokens", options.sampling.most_tokens);
  return options;
}

Result<Json> reinforce(const ReinforceOptions& options, const TellTraining& tell) {
  const TrainOptions& training = options.training;
  std::error_code failed;
  if (fs::exists(training.out, failed)) return fail("{}: there is something already", training.out.string());
  KW_TRY(const at::TensorOptions where, placement(training.device, training.numbers));
  KW_TRY(const ModelFiles files, open_model(training.from));
  if (files.config.family != Family::sdar || files.gguf || !files.config.low_rank.empty()) {
    return fail("{}: rewards improve folders of sdar models that are not compressed", files.path.string());
  }
  KW_TRY(const PromptForm form, PromptForm::of(files));
  KW_TRY(std::vector<Problem> problems,
         read_problems(training.corpus, form, files.config.context, options.sampling.most_tokens));
  Weights weights;
  for (const auto& [name, stored] : files.tensors) {
    if (name == "lm_head.weight" && files.config.tied_embeddings) continue;
    const auto tensor = load_tensor(stored);
    if (!tensor.ok()) return at(files.path.string() + ": " + name, tensor.error());
    if (!at::isfinite(*tensor).all().item<bool>()) {
      return fail("{}: {} holds values that are no numbers (NaN or infinite)", files.path.string(), name);
    }
    weights[name] = tensor->to(where.device());
  }
  KW_TRY(const FolderLock working, FolderLock::take(training.work));
  const auto begin = Clock::now();
  Reinforcing run(options, files, form, where, std::move(problems), std::move(weights));
  KW_CHECK(run.run(tell));
  KW_TRY(const Json tokenizer, tokenizer_json_of(files));
  Json about = run.about();
  about["seconds"] = seconds_since(begin);
  KW_CHECK(write_trained(
      training.out,
      {.config_json = files.config_json, .tokenizer_json = tokenizer, .tokenizer_of = &files, .type = training.type},
      run.weights(), about));
  about["last"] = run.curve().empty() ? Json() : run.curve().back();
  about.erase("curve");
  about.erase("samples");
  return about;
}

}  // namespace kw::lm
