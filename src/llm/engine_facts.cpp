#include "llm/engine_facts.h"

#include <fmt/format.h>

namespace kw::llm {

Json engine_formats() {
  return {{"families", Json::array({"llama", "qwen2", "qwen3", "sdar", "bert"})},
          {"folders", "config.json, model.safetensors or its shards, tokenizer.json"},
          {"gguf", Json::array({"F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"})},
          {"tokenizers", Json::array({"byte-level BPE", "WordPiece"})},
          {"rope", Json::array({"default", "linear", "llama3", "yarn"})}};
}

Json compression_methods() {
  return {{"svd", "truncated SVD of each weight"},
          {"fwsvd", "inputs weighted by the root of the summed squares of their weights' gradients"},
          {"asvd", "inputs weighted by the root of their mean size"},
          {"svd-llm", "whitening by the Gram matrix of the inputs"},
          {"ressvd", "svd-llm, then an SVD of what is left; only the last layers"}};
}

Json training_lines() {
  return Json::array(
      {{{"prompt", "Add one to x."}, {"answer", "x += 1;"}},
       {{"prompt", "Add one to x."}, {"prefix", "void next(int& x) { "}, {"answer", "x += 1;"}, {"suffix", " }\n"}}});
}

std::string progress_text(const Json& progress) {
  std::string text =
      fmt::format("{}: {} of {}", progress.value("what", "window"), progress.value("done", 0), progress.value("of", 0));
  if (const Json* error = progress.find("error")) text += fmt::format(", error {:.2f} %", 100 * error->get<double>());
  if (const Json* measured = progress.find("perplexity"))
    text += fmt::format(", perplexity {:.3f}", measured->get<double>());
  if (const Json* reward = progress.find("reward")) text += fmt::format(", mean reward {:.3f}", reward->get<double>());
  if (const Json* loss = progress.find("loss")) text += fmt::format(", loss {:.4f}", loss->get<double>());
  if (const Json* loss = progress.find("held_out_loss")) text += fmt::format(" (held out {:.4f})", loss->get<double>());
  if (const Json* speed = progress.find("tokens_a_second"))
    text += fmt::format(", {:.0f} tokens a second", speed->get<double>());
  if (const Json* left = progress.find("left_s")) text += fmt::format(", {:.0f} s left", left->get<double>());
  return text;
}

}  // namespace kw::llm
