// What kw-lm is asked for and what it answers: one JSON object a line each way.
//
//   {"do": "info", "model": PATH}
//   {"do": "perplexity", "model": PATH, "text": PATH, "window": 512, "most_tokens": 50000}
//   {"do": "generate", "model": PATH, "prompts": [TEXT...], "most_tokens": 128, "temperature": 0, "top_k": 0, "top_p":
//   1,
//    "seed": 1, "samples": 1}
//     in place of prompts also "questions": [TEXT...], each through the chat template, or one conversation as
//     "messages": [{"role", "content"}...]
//     of block-diffusion models also "block", "steps", "unmask": "static" | "dynamic" | "sequential", "threshold"
//     with "infill": {"prefix": TEXT, "suffix": TEXT, "length": 0} what stands between, after a prompt or none; a
//     length of 0 is open
//     "device": "cpu" | "cuda:0", "numbers": "F32" | "BF16" | "F16": where and in which numbers it is computed
//   {"do": "compress", ...}: src/lm_torch/compress.h
//   {"do": "train", "corpus": [PATH...], "out": PATH, ...}: src/lm_torch/train.h; with "reward": [WORD...], a program,
//     src/lm_torch/reinforce_run.h; with "shown_samples" each checkpoint also tells {"checkpoint": {...}}
//
// While it works come lines such as {"progress": {...}} and {"token": TEXT, "prompt": 0}; the last line of a request is
// {"done": {...}} or {"error": TEXT}. The model of the last request stays loaded.
#pragma once

#include <functional>
#include <memory>

#include "base/json.h"
#include "base/result.h"

namespace kw::lm {

class Requests {
 public:
  using Tell = std::function<void(const Json& line)>;

  Requests();
  ~Requests();
  // What `done` holds.
  Result<Json> answer(const Json& request, const Tell& tell);

 private:
  struct Loaded;
  Result<Json> answer_checked(const Json& request, const Tell& tell);
  Result<Loaded*> load(const Json& request);
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace kw::lm
