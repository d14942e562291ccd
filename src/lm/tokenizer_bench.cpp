// Token ids of a text, and how long they took: kw_tokenizer_bench TOKENIZER TEXT [IDS]
//
// TOKENIZER is a tokenizer.json, a .gguf file or a .tiktoken file (with Qwen's pattern and special tokens). IDS is
// written with one id a line; bench/lm_tokenizers.py holds it against Python's `tokenizers`.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "base/files.h"
#include "lm/pattern.h"
#include "lm/tokenizer.h"

namespace {

kw::Result<kw::Json> read_tokenizer(const std::filesystem::path& path) {
  if (path.extension() == ".gguf") {
    KW_TRY(const kw::lm::Gguf gguf, kw::lm::open_gguf(path));
    return kw::lm::tokenizer_json_of(gguf);
  }
  KW_TRY(const std::string text, kw::read_file(path));
  if (path.extension() != ".tiktoken") return kw::Json::parse(text);
  return kw::lm::tokenizer_json_of_tiktoken(text, kw::lm::kQwen2Pattern, true,
                                            {"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

kw::Result<int> run(const std::vector<std::string>& words) {
  if (words.size() < 2) return kw::fail("usage: kw_tokenizer_bench TOKENIZER TEXT [IDS]");
  auto begin = std::chrono::steady_clock::now();
  KW_TRY(const kw::Json json, read_tokenizer(words[0]));
  const double read_s = seconds_since(begin);
  begin = std::chrono::steady_clock::now();
  KW_TRY(const auto tokenizer, kw::lm::Tokenizer::from_json(json));
  const double made_s = seconds_since(begin);
  KW_TRY(const std::string text, kw::read_file(words[1]));
  begin = std::chrono::steady_clock::now();
  KW_TRY(const auto ids, tokenizer.encode(text));
  const double encoded_s = seconds_since(begin);
  fmt::print("read {:.2f} s, made {:.2f} s; {} bytes are {} tokens in {:.2f} s: {:.1f} MB/s\n", read_s, made_s,
             text.size(), ids.size(), encoded_s, static_cast<double>(text.size()) / encoded_s / 1e6);
  if (words.size() < 3) return 0;
  std::string lines;
  for (const std::int32_t id : ids) lines += fmt::format("{}\n", id);
  KW_CHECK(kw::write_file(words[2], lines));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto code = run({argv + 1, argv + argc});
  if (!code.ok()) fmt::print(stderr, "{}\n", code.error().message);
  return code.ok() ? *code : 2;
}
