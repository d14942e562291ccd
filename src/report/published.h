// What others have published, to stand beside our figures. Their setting is not ours, and a table that shows a number
// from here shows the setting with it.
//
// All of it is from tables 4 and 5 and figure 5 of the paper on MobileKernelBench. The figure's fast1 add up to 85 of
// 190 tasks, 44.7 %, and the table's MoKA has 46.8 %: each is repeated as it is printed.
#pragma once

#include <array>
#include <optional>

#include "report/figures.h"

namespace kw::report {

struct Published {
  const char* who;
  const char* source;
  const char* setting;
  const char* rival;  // which of our rivals theirs is to be held against
  int tasks;
  double csr;                                              // shares, 0 to 1
  double fcr;                                              // on the tasks' own shapes
  std::array<std::optional<double>, kSpeeds.size()> fast;  // as kSpeeds
};

inline constexpr char kMobileKernelBench[] = "arXiv 2603.11935";
inline constexpr char kOnAPhone[] =
    "the CPU of a Xiaomi 13 phone (Snapdragon 8 Gen 2), kernels inside MNN 3.2.2 against MNN's own operators, right "
    "within 1e-4 on the tasks' own shapes, the best kernel of a task counts; 36 and 40 tasks were held out of a "
    "training";

// A row of the paper, in its percent.
constexpr Published on_a_phone(const char* who, int tasks, double csr, double fcr, double fast05, double fast1,
                               double fast15) {
  return {.who = who,
          .source = kMobileKernelBench,
          .setting = kOnAPhone,
          .rival = "mnn",
          .tasks = tasks,
          .csr = csr / 100,
          .fcr = fcr / 100,
          .fast = {fast05 / 100, fast1 / 100, fast15 / 100, std::nullopt}};
}

// MoKA first: what it has by category is below.
inline constexpr Published kPublished[] = {
    on_a_phone("MoKA on MobileKernelBench", 190, 93.7, 75.3, 62.6, 46.8, 27.4),
    on_a_phone("Claude Sonnet 4.5, pass@10", 190, 62.1, 47.9, 41.6, 20.5, 5.3),
    on_a_phone("Claude Sonnet 4.5, once", 190, 46.3, 34.2, 31.1, 16.3, 4.7),
    on_a_phone("GPT-5, once", 190, 47.4, 33.2, 26.3, 13.7, 4.2),
    on_a_phone("Gemini 2.5 Flash, once", 190, 20.5, 15.8, 13.2, 6.8, 0.5),
    on_a_phone("Qwen3 235B, once", 190, 18.9, 13.7, 11.6, 6.3, 2.1),
    on_a_phone("DeepSeek R1, once", 190, 15.3, 10.0, 8.4, 3.2, 0.5),
    on_a_phone("Llama 3.1 405B, once", 190, 11.6, 6.3, 5.3, 4.2, 1.1),
    on_a_phone("Qwen3 32B, once", 36, 16.7, 13.9, 8.3, 2.8, 0.0),
    on_a_phone("Qwen3 32B with LoRA, once", 36, 25.0, 18.5, 11.1, 5.6, 0.0),
    on_a_phone("Qwen3 4B, once", 40, 10.0, 5.0, 5.0, 5.0, 0.0),
    on_a_phone("Qwen3 4B with GRPO, once", 40, 25.0, 7.5, 7.5, 5.0, 0.0),
};

// The suite of ours that has the same tasks in the same categories.
inline constexpr char kPublishedSuite[] = "mobilekernelbench";

struct PublishedCategory {
  const char* category;
  double csr;  // shares, 0 to 1, as above
  double fcr;
  double fast1;
};

inline constexpr PublishedCategory kMokaByCategory[] = {
    {"Activation", 1.000, 0.917, 0.083}, {"Binary", 1.000, 0.750, 0.500},    {"Convolution", 0.619, 0.429, 0.238},
    {"Logic", 0.923, 0.308, 0.154},      {"Matrix", 0.947, 0.789, 0.474},    {"Normalization", 1.000, 0.917, 0.750},
    {"Pooling", 1.000, 0.867, 0.467},    {"Reduction", 1.000, 1.000, 0.657}, {"Trigonometry", 1.000, 0.500, 0.333},
    {"Tensor", 0.964, 0.786, 0.536},     {"Unary", 1.000, 0.909, 0.455},     {"Others", 0.750, 0.250, 0.250},
};

}  // namespace kw::report
