#include "llm/engine_facts.h"

#include <fmt/format.h>

#include <algorithm>

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

std::string formats_text(const Json& formats) {
  std::string text;
  for (const auto& [name, value] : formats.items()) {
    std::string all = value.is_string() ? value.text() : "";
    for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) all += (i > 0 ? ", " : "") + value.at(i).text();
    text += fmt::format("{:<12} {}\n", name, all);
  }
  return text;
}

std::string info_text(const Json& info) {
  std::string text;
  for (const auto& [name, value] : info.items()) {
    std::string shown = name;
    std::ranges::replace(shown, '_', ' ');
    std::string all = value.is_string() ? value.text() : value.is_object() ? "" : value.dump();
    if (value.is_object()) {
      for (const auto& [type, count] : value.items()) all += (all.empty() ? "" : ", ") + count.dump() + " " + type;
    }
    text += fmt::format("{:<18} {}\n", shown, all);
  }
  return text;
}

std::string perplexity_text(const Json& done) {
  return fmt::format("perplexity {:.4f} over {} tokens in {} windows of {} ({:.1f} s)\n",
                     done.at("perplexity").get<double>(), done.at("tokens").get<std::int64_t>(),
                     done.at("windows").get<std::int64_t>(), done.at("window").get<std::int64_t>(),
                     done.at("seconds").get<double>());
}

std::string compressed_text(const Json& done) {
  std::string text = fmt::format(
      "{}: {:.1f} of {:.1f} million numbers of linear layers left, {:.1f} % saved; {:.1f} million in all, embeddings "
      "included ({:.0f} s)\n",
      done["out"].text(), done["linear_parameters"].get<double>() / 1e6,
      done["linear_parameters_before"].get<double>() / 1e6, 100 * done["saved"].get<double>(),
      done["parameters"].get<double>() / 1e6, done["seconds"].get<double>());
  for (const auto& [name, values] : done["perplexity"].items()) {
    text += fmt::format("perplexity of {}: {:.2f}, before {:.2f}\n", name, values["compressed"].get<double>(),
                        values["original"].get<double>());
  }
  for (const auto& [name, values] : done["agreement"].items()) {
    text += fmt::format(
        "means of hidden states on {}: cosine {:.4f} to the original's (least {:.4f}), {:.1f} % of {} windows have the "
        "same nearest one\n",
        name, values["cosine"].get<double>(), values["least_cosine"].get<double>(),
        100 * values["same_nearest"].get<double>(), values["windows"].get<std::int64_t>());
  }
  return text;
}

std::string trained_text(const Json& done) {
  const std::string& folder = done.at("out").text();
  const auto steps = done.at("steps").get<std::int64_t>();
  const auto seconds = done.at("seconds").get<double>();
  if (const Json* last = done.find("last")) {
    return fmt::format("{}: {} steps of learning from rewards, mean reward of the last {:.3f} ({:.0f} s)\n", folder,
                       steps, last->value("reward", 0.0), seconds);
  }
  std::string text =
      fmt::format("{}: {} model of {:.2f} million parameters, {} steps over {} lines, loss {:.4f} ({:.0f} s)\n", folder,
                  done.at("family").text(), done.at("parameters").get<double>() / 1e6, steps,
                  done.at("examples").get<std::int64_t>(), done.at("last_loss").get<double>(), seconds);
  if (const auto left_out = done.at("left_out").get<std::int64_t>(); left_out > 0)
    text += fmt::format("{} lines were left out: longer than a row (--length)\n", left_out);
  return text;
}

Result<Json> cut_at_hole(const std::string& path, const std::string& text, const std::string& mark) {
  if (mark.empty()) return fail("--hole is empty: say the text that marks the hole");
  const std::size_t begin = text.find(mark);
  if (begin == std::string::npos) return fail("{}: nothing in it is marked as the hole with {}", path, mark);
  if (text.find(mark, begin + mark.size()) != std::string::npos) return fail("{}: {} is in it twice", path, mark);
  return Json{{"prefix", text.substr(0, begin)}, {"suffix", text.substr(begin + mark.size())}};
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
