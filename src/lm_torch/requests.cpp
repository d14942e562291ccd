#include "lm_torch/requests.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "base/files.h"
#include "lm/chat_template.h"
#include "lm/tokenizer.h"
#include "lm_torch/compress.h"
#include "lm_torch/evaluate.h"
#include "lm_torch/generate.h"
#include "lm_torch/network.h"

namespace kw::lm {

struct Requests::Loaded {
  ModelFiles files;
  Tokenizer tokenizer;
  Network network;
  std::optional<Decoder> decoder;  // once something is generated
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
  KW_TRY(const auto ids, tokens_of_file(model.tokenizer, request["text"].get<std::string>(),
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

template <class Loaded>
Result<Json> generated(Loaded& model, const Json& request, const Requests::Tell& tell) {
  std::vector<std::vector<std::int32_t>> prompts;
  if (const Json* messages = request.find("messages")) {
    KW_TRY(const ModelChat chat, chat_of(model.files));
    KW_TRY(const std::string text, chat.render(*messages));
    KW_TRY(prompts.emplace_back(), model.tokenizer.encode(text));
  } else {
    for (const Json& prompt : request["prompts"]) {
      KW_TRY(std::vector<std::int32_t> ids, model.tokenizer.encode(prompt.text()));
      prompts.push_back(model.tokenizer.around(std::move(ids)));
    }
  }
  const Sampling sampling{.most_tokens = request.value("most_tokens", std::int64_t{128}),
                          .temperature = request.value("temperature", 0.0),
                          .top_k = request.value("top_k", std::int64_t{0}),
                          .top_p = request.value("top_p", 1.0),
                          .seed = request.value("seed", std::uint64_t{1})};
  if (!model.decoder && prompts.size() == 1 && model.files.config.is_causal() && model.files.config.predicts_next()) {
    KW_TRY(model.decoder, Decoder::open(model.files));
  }
  std::vector<WholeCharacters> parts(prompts.size());
  const auto begin = Clock::now();
  double first_s = 0;
  KW_TRY(const auto answers, generate(
                                 model.network, prompts, sampling,
                                 [&](std::size_t prompt, std::int32_t id) {
                                   if (first_s == 0) first_s = seconds_since(begin);
                                   const std::string text =
                                       parts[prompt].add(model.tokenizer.decode(std::vector{id}, Tokenizer::Show::all));
                                   if (!text.empty()) tell({{"token", text}, {"prompt", prompt}});
                                   return true;
                                 },
                                 model.decoder ? &*model.decoder : nullptr));
  Json texts = Json::array(), ended = Json::array();
  std::size_t made = 0, given = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    texts.push_back(model.tokenizer.decode(answers[i].ids, Tokenizer::Show::all));
    ended.push_back(answers[i].ended);
    made += answers[i].ids.size();
    given += prompts[i].size();
  }
  return Json{{"texts", texts}, {"ended", ended},     {"prompt_tokens", given},
              {"tokens", made}, {"first_s", first_s}, {"seconds", seconds_since(begin)}};
}

}  // namespace

Requests::Requests() = default;
Requests::~Requests() = default;

Result<Requests::Loaded*> Requests::load(const std::filesystem::path& path) {
  if (!loaded_ || loaded_->files.path != path) {
    loaded_.reset();
    KW_TRY(ModelFiles files, open_model(path));
    KW_TRY(const Json json, tokenizer_json_of(files));
    auto tokenizer = Tokenizer::from_json(json);
    if (!tokenizer.ok()) return at(path.string(), tokenizer.error());
    KW_TRY(Network network, Network::load(files));
    loaded_ = std::make_unique<Loaded>(Loaded{std::move(files), *std::move(tokenizer), std::move(network), {}});
  }
  return loaded_.get();
}

Result<Json> Requests::answer_checked(const Json& request, const Tell& tell) {
  const std::string what = request["do"].get<std::string>();
  if (what == "info") return info(request);
  KW_TRY(Loaded* const model, load(request["model"].get<std::string>()));
  if (what == "perplexity") return perplexity(*model, request, tell);
  if (what == "generate") return generated(*model, request, tell);
  if (what == "compress") {
    KW_TRY(const CompressOptions options, compress_options(request));
    return compress(model->files, model->tokenizer, model->network, options, [&](const Json& progress) {
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
  } catch (const c10::Error& error) {
    return fail("LibTorch: {}", error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return fail("there is not enough memory for this");
  }
}

}  // namespace kw::lm
