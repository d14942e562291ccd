#include "lm_torch/requests.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "base/files.h"
#include "lm/chat_template.h"
#include "lm/prompt_form.h"
#include "lm/tokenizer.h"
#include "lm_torch/compress.h"
#include "lm_torch/diffusion.h"
#include "lm_torch/evaluate.h"
#include "lm_torch/generate.h"
#include "lm_torch/network.h"
#include "lm_torch/placement.h"
#include "lm_torch/reinforce_run.h"
#include "lm_torch/train.h"

namespace kw::lm {

struct Requests::Loaded {
  ModelFiles files;
  PromptForm form;
  Network network;
  std::string where;               // device and type of numbers, as the request said them
  std::optional<Decoder> decoder;  // once something is generated

  const Tokenizer& tokenizer() const { return form.tokenizer(); }
};

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Tokens may end within a character: what is given out ends with a whole one.
class WholeCharacters {
 public:
  std::string add(const std::string& bytes) {
    pending_ += bytes;
    std::size_t whole = pending_.size();
    std::size_t lead = whole;
    while (lead > 0 && whole - lead < 3 && (static_cast<unsigned char>(pending_[lead - 1]) & 0xC0) == 0x80) --lead;
    if (lead > 0) {
      const auto first = static_cast<unsigned char>(pending_[lead - 1]);
      const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
      if (lead - 1 + length > whole) whole = lead - 1;
    }
    std::string given = pending_.substr(0, whole);
    pending_.erase(0, whole);
    return given;
  }

 private:
  std::string pending_;
};

Result<Json> info(const Json& request) {
  KW_TRY(const ModelFiles files, open_model(request["model"].get<std::string>()));
  const ModelConfig& config = files.config;
  std::map<std::string, std::int64_t> types;
  for (const auto& [name, tensor] : files.tensors) ++types[facts_of(tensor.type).name];
  std::int64_t linear = 0;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    for (const LinearShape& shape : linear_layers(config, layer)) {
      for (const char* part : {".weight", ".down.weight", ".up.weight"}) {
        const auto found = files.tensors.find(shape.name + part);
        if (found != files.tensors.end()) linear += found->second.elements();
      }
    }
  }
  Json answer = {{"family", name_of(config.family)},
                 {"layers", config.layers},
                 {"width", config.width},
                 {"inner_width", config.inner_width},
                 {"heads", config.heads},
                 {"key_value_heads", config.kv_heads},
                 {"head_size", config.head_size},
                 {"vocabulary", config.vocabulary},
                 {"context", config.context},
                 {"tied_embeddings", config.tied_embeddings},
                 {"parameters", files.parameters()},
                 {"linear_parameters", linear},
                 {"factored_layers", config.low_rank.size()},
                 {"stored_bytes", files.stored_bytes()},
                 {"tensors", types}};
  if (!config.predicts_next()) {
    answer["block_length"] = config.block_length;
    answer["mask_token"] = *config.mask_id;
  }
  const auto json = tokenizer_json_of(files);
  const auto tokenizer = json.ok() ? Tokenizer::from_json(*json) : Result<Tokenizer>(json.error());
  answer["tokenizer"] = tokenizer.ok() ? Json(tokenizer->size()) : Json(tokenizer.error().message);
  const auto chat = chat_of(files);
  answer["chat_template"] = chat.ok() ? "yes" : chat.error().message;
  return answer;
}

template <class Loaded>
Result<Json> perplexity(const Loaded& model, const Json& request, const Requests::Tell& tell) {
  const std::int64_t window = request.value("window", std::int64_t{512});
  KW_TRY(const auto ids, tokens_of_file(model.tokenizer(), request["text"].get<std::string>(),
                                        request.value("most_tokens", std::int64_t{0})));
  const std::int64_t windows = std::max<std::int64_t>(1, std::ssize(ids) / std::max<std::int64_t>(window, 1));
  KW_TRY(const Perplexity measured, perplexity_of(model.network, ids, window, [&](const Perplexity& so_far) {
           tell({{"progress",
                  {{"done", so_far.windows},
                   {"of", windows},
                   {"perplexity", so_far.value()},
                   {"seconds", so_far.seconds}}}});
           return true;
         }));
  return Json{{"perplexity", measured.value()},
              {"mean_loss", measured.mean_loss},
              {"tokens", measured.tokens},
              {"windows", measured.windows},
              {"window", window},
              {"seconds", measured.seconds}};
}

// What is to be written after or between.
struct Wanted {
  std::vector<Blank> blanks;
  std::string prefix, suffix;  // of a hole
};

template <class Loaded>
Result<Wanted> wanted_of(const Loaded& model, const Json& request) {
  std::vector<std::vector<std::int32_t>> prompts;
  const Json* const infill = request.find("infill");
  if (const Json* messages = request.find("messages")) {
    KW_TRY(const ModelChat chat, chat_of(model.files));
    KW_TRY(prompts.emplace_back(), model.form.of_messages(*messages));
  } else if (const Json* questions = request.find("questions")) {
    for (const Json& question : *questions) {
      KW_TRY(prompts.emplace_back(), model.form.of_question(question.text()));
    }
  } else if (const Json* texts = request.find("prompts")) {
    for (const Json& prompt : *texts) {
      KW_TRY(std::vector<std::int32_t> ids, model.tokenizer().encode(prompt.text()));
      prompts.push_back(model.tokenizer().around(std::move(ids)));
    }
  } else if (infill != nullptr) {
    prompts.emplace_back();
  }
  Wanted wanted;
  for (auto& prompt : prompts) wanted.blanks.push_back({.before = std::move(prompt)});
  if (infill != nullptr) {
    wanted.prefix = (*infill)["prefix"].text();
    wanted.suffix = (*infill)["suffix"].text();
    const auto length = infill->value("length", std::int64_t{0});
    const bool diffusion = !model.files.config.predicts_next();
    if (length > 0 && !diffusion) {
      return fail("a hole of a fixed length is for block-diffusion models; a {} model ends it itself",
                  name_of(model.files.config.family));
    }
    for (Blank& blank : wanted.blanks) {
      blank.length = length;
      if (model.form.can_ask_between()) {
        KW_TRY(blank.before, model.form.asking_between(std::move(blank.before), wanted.prefix, wanted.suffix));
        continue;
      }
      if (length == 0) {
        return fail(
            "{}: its tokenizer has no <|fim_prefix|>, <|fim_suffix|> and <|fim_middle|>, so the model cannot "
            "tell where a hole ends: say how many tokens it has",
            model.files.path.string());
      }
      KW_TRY(const auto before, model.form.plain(wanted.prefix));
      blank.before.insert(blank.before.end(), before.begin(), before.end());
      KW_TRY(blank.after, model.form.plain(wanted.suffix));
    }
  }
  const auto samples = request.value("samples", std::int64_t{1});
  if (samples > 1) {
    std::vector<Blank> once = std::move(wanted.blanks);
    wanted.blanks.clear();
    for (const Blank& blank : once) wanted.blanks.insert(wanted.blanks.end(), static_cast<std::size_t>(samples), blank);
  }
  return wanted;
}

// What makes no sense to any model.
Status check_request(const Json& request) {
  for (const char* name : {"block", "steps", "samples"}) {
    const auto given = request.value(name, std::int64_t{0});
    if (given < 0 || given > 1 << 20) return fail("{} is {}", name, given);
  }
  return {};
}

Result<Denoising> denoising_of(const Json& request) {
  KW_TRY(const Unmask unmask, unmask_named(request.value("unmask", "dynamic")));
  return Denoising{.block = request.value("block", std::int64_t{0}),
                   .steps = request.value("steps", std::int64_t{0}),
                   .unmask = unmask,
                   .threshold = request.value("threshold", Denoising().threshold)};
}

template <class Loaded>
Result<Json> generated(Loaded& model, const Json& request, const Requests::Tell& tell) {
  KW_CHECK(check_request(request));
  KW_TRY(const Wanted wanted, wanted_of(model, request));
  const Sampling sampling{.most_tokens = request.value("most_tokens", std::int64_t{128}),
                          .temperature = request.value("temperature", 0.0),
                          .top_k = request.value("top_k", std::int64_t{0}),
                          .top_p = request.value("top_p", 1.0),
                          .seed = request.value("seed", std::uint64_t{1})};
  std::vector<WholeCharacters> parts(wanted.blanks.size());
  const auto begin = Clock::now();
  double first_s = 0;
  const auto told = [&](std::size_t prompt, std::int32_t id) {
    if (first_s == 0) first_s = seconds_since(begin);
    const std::string text = parts[prompt].add(model.tokenizer().decode(std::vector{id}, Tokenizer::Show::all));
    if (!text.empty()) tell({{"token", text}, {"prompt", prompt}});
    return true;
  };
  Json answer = Json::object(), texts = Json::array(), wholes = Json::array(), ended = Json::array();
  std::size_t made = 0, given = 0;
  const auto take = [&](const std::vector<std::int32_t>& ids, bool by_itself) {
    texts.push_back(model.tokenizer().decode(ids, Tokenizer::Show::all));
    wholes.push_back(wanted.prefix + texts.back().text() + wanted.suffix);
    ended.push_back(by_itself);
    made += ids.size();
  };
  for (const Blank& blank : wanted.blanks) given += blank.before.size() + blank.after.size();
  if (!model.decoder && model.files.config.is_causal() && model.where == "cpu F32") {
    KW_TRY(model.decoder, Decoder::open(model.files));
  }
  Decoder* const decoder = model.decoder ? &*model.decoder : nullptr;
  if (!model.files.config.predicts_next()) {
    KW_TRY(const Denoising denoising, denoising_of(request));
    KW_TRY(const Diffused diffused, diffuse(model.network, wanted.blanks, sampling, denoising, told, decoder));
    for (const Filled& filled : diffused.texts) take(filled.ids, filled.ended);
    answer["passes"] = diffused.passes;
    answer["decoded_passes"] = diffused.decoded;
  } else {
    for (const char* name : {"block", "steps", "unmask", "threshold"}) {
      if (request.contains(name)) {
        return fail("{} is for block-diffusion models; this is a {} model", name, name_of(model.files.config.family));
      }
    }
    std::vector<std::vector<std::int32_t>> prompts;
    for (const Blank& blank : wanted.blanks) prompts.push_back(blank.before);
    KW_TRY(const auto answers, generate(model.network, prompts, sampling, told, decoder));
    for (const Generated& one : answers) take(one.ids, one.ended);
  }
  if (decoder != nullptr) answer["bytes_a_pass"] = decoder->bytes_a_pass();
  answer["texts"] = texts;
  if (request.contains("infill")) answer["wholes"] = wholes;
  answer["ended"] = ended;
  answer["prompt_tokens"] = given;
  answer["tokens"] = made;
  answer["first_s"] = first_s;
  answer["seconds"] = seconds_since(begin);
  return answer;
}

}  // namespace

Requests::Requests() = default;
Requests::~Requests() = default;

Result<Requests::Loaded*> Requests::load(const Json& request) {
  const std::filesystem::path path = request["model"].get<std::string>();
  const std::string device = request.value("device", "cpu"), numbers = request.value("numbers", "F32");
  const bool same = loaded_ && loaded_->files.path == path && loaded_->where == device + " " + numbers;
  if (same) return loaded_.get();
  loaded_.reset();
  KW_TRY(const at::TensorOptions options, placement(device, numbers));
  KW_TRY(ModelFiles files, open_model(path));
  KW_TRY(PromptForm form, PromptForm::of(files));
  KW_TRY(Network network, Network::load(files, options));
  loaded_ = std::make_unique<Loaded>(
      Loaded{std::move(files), std::move(form), std::move(network), device + " " + numbers, {}});
  return loaded_.get();
}

Result<Json> Requests::answer_checked(const Json& request, const Tell& tell) {
  const std::string what = request["do"].get<std::string>();
  if (what == "info") return info(request);
  if (what == "train") {
    std::optional<Clock::time_point> told;
    const auto tell_now_and_then = [&](const Json& progress) {
      if (progress.contains("checkpoint")) {
        tell(progress);
        return true;
      }
      if (!told || seconds_since(*told) > 1 || progress["done"] == progress["of"]) {
        tell({{"progress", progress}});
        told = Clock::now();
      }
      return true;
    };
    if (request.contains("reward")) {
      KW_TRY(const ReinforceOptions options, reinforce_options(request));
      return reinforce(options, tell_now_and_then);
    }
    KW_TRY(const TrainOptions options, train_options(request));
    return train(options, tell_now_and_then);
  }
  if (what == "compress" && request.value("numbers", "F32") != "F32") {
    return fail("a model is compressed in F32, not in {}", request["numbers"].get<std::string>());
  }
  KW_TRY(Loaded* const model, load(request));
  if (what == "perplexity") return perplexity(*model, request, tell);
  if (what == "generate") return generated(*model, request, tell);
  if (what == "compress") {
    KW_TRY(const CompressOptions options, compress_options(request));
    return compress(model->files, model->tokenizer(), model->network, options, [&](const Json& progress) {
      tell({{"progress", progress}});
    });
  }
  return fail("kw-lm cannot do '{}'", what);
}

Result<Json> Requests::answer(const Json& request, const Tell& tell) {
  try {
    return answer_checked(request, tell);
  } catch (const JsonError& error) {
    return fail("the request: {}", error.what());
  } catch (const c10::OutOfMemoryError&) {
    return fail("the device's memory is full: ask for fewer texts or rows at once; checkpoints are kept");
  } catch (const c10::Error& error) {
    return fail("LibTorch: {}", error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return fail("there is not enough memory for this");
  }
}

}  // namespace kw::lm
