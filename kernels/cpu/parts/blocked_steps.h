#pragma once

#include <kernelwright.h>

#include "blocked_convolution.h"
#include "blocked_line.h"
#include "blocked_winograd.h"

// A graph of convolutions, pools, resizes and what is done element by element, run step by step over images in blocks
// of channels (blocked_layout.h). The steps and where their images lie are tables that kw writes
// (compose/blocked_graph.h).

namespace blocked {

enum class Kind {
  convolve,
  convolve_by_channel,
  filter_minimally,
  filter_line,
  max_pool,
  average_pool,    // `flag`: what lies outside counts too
  global_average,  // of all pixels
  resize,          // each pixel several times: kernel_h by kernel_w
  copy,
  place,  // into another image, from channel conv.top on, wherever that lies in a block
};

struct Step {
  Kind kind;
  Convolution conv;  // pools and the like use its images, kernel, strides and padding
  int first_finish, finishes;
  bool flag;
  bool last;  // of its output's: of a transposed convolution, which is several steps, only the last finishes it
};

// What a weight becomes, channel by channel: v -> v * scale + shift.
struct Recipe {
  enum class Kind { normalize, multiply, divide, add, subtract } kind;
  int inputs[4];  // of the call: gamma, beta, mean, variance; or one tensor of one number or one a channel
  float epsilon;
};

// Per channel numbers that follow from constants alone.
struct ChannelNumbers {
  int64_t at;  // where they are kept
  int channels;
  int first_recipe, recipes;
};

struct Graph {
  const Place* places;
  const Step* steps;
  int step_count;
  const Finish* finishes;
  const Recipe* recipes;
  const ChannelNumbers* numbers;
  int number_count;
  const int (*entering)[2];  // input of the call, image
  int entering_count;
  const int (*leaving)[2];  // image, output of the call
  int leaving_count;
  int64_t memory_floats, work_floats, kept_floats;
};

inline float constant_at(const kw_call* call, int input, int channel) {
  const kw_tensor& tensor = call->inputs[input];
  return static_cast<const float*>(tensor.data)[tensor.count == 1 ? 0 : channel];
}

// scale and shift of a channel, by all recipes in turn.
inline void follow(const kw_call* call, const Recipe* recipes, int count, int channel, double& scale, double& shift) {
  scale = 1;
  shift = 0;
  for (int i = 0; i < count; ++i) {
    const Recipe& recipe = recipes[i];
    const double number = constant_at(call, recipe.inputs[0], channel);
    switch (recipe.kind) {
      case Recipe::Kind::normalize: {
        const double factor =
            number / std::sqrt(double{constant_at(call, recipe.inputs[3], channel)} + double{recipe.epsilon});
        scale *= factor;
        shift = (shift - constant_at(call, recipe.inputs[2], channel)) * factor +
                constant_at(call, recipe.inputs[1], channel);
        break;
      }
      case Recipe::Kind::multiply:
        scale *= number;
        shift *= number;
        break;
      case Recipe::Kind::divide:
        scale /= number;
        shift /= number;
        break;
      case Recipe::Kind::add:
        shift += number;
        break;
      case Recipe::Kind::subtract:
        shift -= number;
        break;
    }
  }
}

// Weights as the tiles read them: of each pair of output blocks, of each input block, row and column of the kernel and
// channel, a vector of each of the two blocks. Before them the biases.
inline void pack(const kw_call* call, const Graph& graph, const Step& step, float* kept) {
  const Convolution& conv = step.conv;
  const Place &in = graph.places[conv.in], &out = graph.places[conv.out];
  const bool by_channel = step.kind == Kind::convolve_by_channel, transposed = conv.out_stride > 1;
  const int blocks = out.blocks(), fan = by_channel ? 1 : in.channels;
  const int64_t window = int64_t{conv.kernel_h} * conv.kernel_w, all = int64_t{conv.out_stride} * conv.out_stride;
  const float* const weights = static_cast<const float*>(call->inputs[conv.weights].data);
  float* const bias = kept + conv.packed;
  float* to = bias + int64_t{blocks} * kBlock;
  const int most = by_channel ? 1 : kMostBlocks;
  for (int block = 0; block < blocks; block += most) {
    const int n = std::min(most, blocks - block);
    double scales[kMostBlocks * kBlock] = {};
    for (int k = 0; k < n * kBlock; ++k) {
      const int channel = block * kBlock + k;
      double shift = 0;
      if (channel < out.channels) {
        follow(call, graph.recipes + conv.first_recipe, conv.recipes, channel, scales[k], shift);
        if (conv.bias >= 0) shift += scales[k] * constant_at(call, conv.bias, channel);
      }
      bias[channel] = static_cast<float>(shift);
    }
    if (step.kind == Kind::filter_minimally) {
      const int64_t part = int64_t{blocks} * fan * kBlock;
      for (int i = 0; i < fan * n * kBlock; ++i) {
        const int c = i / (n * kBlock), k = i % (n * kBlock);
        const int64_t channel = block * kBlock + k;
        static constexpr float kNone[9] = {};
        transform_weights(channel < out.channels ? weights + (channel * fan + c) * window : kNone, scales[k],
                          to + int64_t{block} * fan * kBlock + i, part);
      }
      continue;
    }
    if (step.kind == Kind::filter_line) {
      const int64_t part = int64_t{blocks} * fan * kBlock;
      for (int i = 0; i < fan * n * kBlock; ++i) {
        const int c = i / (n * kBlock), k = i % (n * kBlock);
        const int64_t channel = block * kBlock + k;
        static constexpr float kNone[5] = {};
        transform_line_weights(channel < out.channels ? weights + (channel * fan + c) * window : kNone, conv.kernel_w,
                               scales[k], to + int64_t{block} * fan * kBlock + i, part);
      }
      continue;
    }
    const int chunk = in.planes ? fan : kBlock;  // channels of an input block
    for (int first = 0; first < fan; first += chunk) {
      for (int64_t tap = 0; tap < window; ++tap) {
        for (int c = first; c < std::min(fan, first + chunk); ++c) {
          for (int k = 0; k < n * kBlock; ++k) {
            const int64_t channel = block * kBlock + k;
            float weight = 0;
            if (channel < out.channels) {
              weight =
                  transposed
                      ? weights[(int64_t{c} * out.channels + channel) * all + conv.out_y * conv.out_stride + conv.out_x]
                      : weights[(channel * fan + c) * window + tap];
            }
            *to++ = static_cast<float>(weight * scales[k]);
          }
        }
      }
    }
  }
}

// Scale and shift of each channel, a vector of each for every block.
inline void keep_numbers(const kw_call* call, const Graph& graph, const ChannelNumbers& numbers, float* kept) {
  for (int first = 0; first < numbers.channels; first += kBlock) {
    float* const to = kept + numbers.at + int64_t{first} * 2;
    for (int k = 0; k < kBlock; ++k) {
      double scale = 0, shift = 0;
      if (first + k < numbers.channels)
        follow(call, graph.recipes + numbers.first_recipe, numbers.recipes, first + k, scale, shift);
      to[k] = static_cast<float>(scale);
      to[kBlock + k] = static_cast<float>(shift);
    }
  }
}

inline int prepare(kw_call* call, const Graph& graph) {
  float* const kept = static_cast<float*>(kw_keep(call, graph.kept_floats * 4));
  if (kept == nullptr) {
    memcpy(call->message, "no room for the weights", 24);
    return KW_FAILED;
  }
  for (int i = 0; i < graph.step_count; ++i) {
    const Step& step = graph.steps[i];
    if (step.conv.weights >= 0) pack(call, graph, step, kept);
  }
  for (int i = 0; i < graph.number_count; ++i) keep_numbers(call, graph, graph.numbers[i], kept);
  return KW_OK;
}

inline int64_t floats_of(const Place& place) {
  return int64_t{place.height} * place.width * place.blocks() * (place.planes ? 1 : kBlock);
}

// Each output pixel from the part of its window that lies in the image: f(window's sum or maximum, pixels in it).
template <class Combine, class Last>
inline void pool(const Room& room, const Step& step, const Finish* finish, Floats start, Combine combine, Last last) {
  const Convolution& conv = step.conv;
  const Image in = room.image(conv.in), out = room.image(conv.out);
  const int64_t cost = floats_of(out.place) * conv.kernel_h * conv.kernel_w;
  each_part(room, out.place, cost, kFewestFloats, [&](int block, int first, int last_row) {
    for (int y = first; y < last_row; ++y) {
      const int top = y * conv.stride_h - conv.top;
      const int y0 = std::max(0, top), y1 = std::min(in.place.height, top + conv.kernel_h);
      float* const row = out.at(block, y, 0);
      for (int x = 0; x < out.place.width; ++x) {
        const int left = x * conv.stride_w - conv.left;
        const int x0 = std::max(0, left), x1 = std::min(in.place.width, left + conv.kernel_w);
        Floats value = start;
        for (int from = y0; from < y1; ++from) {
          const float* const pixels = in.at(block, from, 0);
          for (int k = x0; k < x1; ++k) value = combine(value, simd::load(pixels + k * kBlock));
        }
        simd::store(row + x * kBlock, last(value, (y1 - y0) * (x1 - x0)));
      }
      finish_row(room, finish, step.finishes, row, out.place.width, block, y, 0);
    }
  });
}

inline void global_average(const Room& room, const Step& step, const Finish* finish) {
  const Image in = room.image(step.conv.in), out = room.image(step.conv.out);
  const float count = static_cast<float>(in.place.height) * static_cast<float>(in.place.width);
  each_part(room, out.place, floats_of(in.place), kFewestFloats, [&](int block, int, int) {
    Floats sums[4] = {};
    for (int y = 0; y < in.place.height; ++y) {
      const float* const row = in.at(block, y, 0);
      int x = 0;
      for (; x + 4 <= in.place.width; x += 4) {
        for (int k = 0; k < 4; ++k) sums[k] += simd::load(row + (x + k) * kBlock);
      }
      for (; x < in.place.width; ++x) sums[0] += simd::load(row + x * kBlock);
    }
    float* const to = out.at(block, 0, 0);
    simd::store(to, (sums[0] + sums[1] + (sums[2] + sums[3])) / count);
    finish_row(room, finish, step.finishes, to, 1, block, 0, 0);
  });
}

inline void resize(const Room& room, const Step& step, const Finish* finish) {
  const Image in = room.image(step.conv.in), out = room.image(step.conv.out);
  const int times = step.conv.kernel_w;
  each_part(room, out.place, floats_of(out.place), kFewestFloats, [&](int block, int y0, int y1) {
    for (int y = y0; y < y1; ++y) {
      const float* from = in.at(block, y / step.conv.kernel_h, 0);
      float* const row = out.at(block, y, 0);
      for (float* to = row; to < row + int64_t{out.place.width} * kBlock; from += kBlock) {
        const Floats pixel = simd::load(from);
        for (int k = 0; k < times; ++k, to += kBlock) simd::store(to, pixel);
      }
      finish_row(room, finish, step.finishes, row, out.place.width, block, y, 0);
    }
  });
}

inline void copy(const Room& room, const Step& step, const Finish* finish) {
  const Image in = room.image(step.conv.in), out = room.image(step.conv.out);
  each_part(room, out.place, floats_of(out.place), kFewestFloats, [&](int block, int y0, int y1) {
    for (int y = y0; y < y1; ++y) {
      float* const row = out.at(block, y, 0);
      memcpy(row, in.at(block, y, 0), static_cast<size_t>(out.place.width) * kBlock * sizeof(float));
      finish_row(room, finish, step.finishes, row, out.place.width, block, y, 0);
    }
  });
}

inline void place(const Room& room, const Step& step) {
  const Image in = room.image(step.conv.in), out = room.image(step.conv.out);
  for (int c = 0; c < in.place.channels;) {
    const int from = c % kBlock, to = (step.conv.top + c) % kBlock;
    const int run = std::min({kBlock - from, kBlock - to, in.place.channels - c});
    for (int y = 0; y < in.place.height; ++y) {
      const float* const source = in.at(c / kBlock, y, 0) + from;
      float* const target = out.at((step.conv.top + c) / kBlock, y, 0) + to;
      for (int x = 0; x < in.place.width; ++x) {
        memcpy(target + x * kBlock, source + x * kBlock, static_cast<size_t>(run) * sizeof(float));
      }
    }
    c += run;
  }
}

inline void take(const Room& room, const Step& step, const Finish* finishes) {
  const Finish* const finish = finishes + step.first_finish;
  switch (step.kind) {
    case Kind::convolve:
      convolve(room, step.conv, finish, step.conv.out_stride > 1 ? 0 : step.finishes);
      if (step.conv.out_stride > 1 && step.last) {
        const Image out = room.image(step.conv.out);
        each_part(room, out.place, floats_of(out.place), kFewestFloats, [&](int block, int y0, int y1) {
          for (int y = y0; y < y1; ++y) {
            finish_row(room, finish, step.finishes, out.at(block, y, 0), out.place.width, block, y, 0);
          }
        });
      }
      break;
    case Kind::convolve_by_channel:
      convolve_by_channel(room, step.conv, finish, step.finishes);
      break;
    case Kind::filter_minimally:
      filter_minimally(room, step.conv, finish, step.finishes);
      break;
    case Kind::filter_line:
      filter_line(room, step.conv, finish, step.finishes);
      break;
    case Kind::max_pool:
      pool(
          room, step, finish, simd::splat(-std::numeric_limits<float>::infinity()),
          [](Floats a, Floats b) { return simd::max(a, b); }, [](Floats value, int) { return value; });
      break;
    case Kind::average_pool: {
      const int all = step.conv.kernel_h * step.conv.kernel_w;
      pool(
          room, step, finish, Floats{}, [](Floats a, Floats b) { return a + b; },
          [&](Floats sum, int count) { return sum / static_cast<float>(step.flag ? all : count); });
      break;
    }
    case Kind::global_average:
      global_average(room, step, finish);
      break;
    case Kind::resize:
      resize(room, step, finish);
      break;
    case Kind::copy:
      copy(room, step, finish);
      break;
    case Kind::place:
      place(room, step);
      break;
  }
  if (step.last) clear_margin(room, room.image(step.conv.out));
}

inline int run(kw_call* call, const Graph& graph) {
  float* const memory = static_cast<float*>(kw_scratch(call, (graph.memory_floats + graph.work_floats) * 4));
  if (memory == nullptr || call->prepared == nullptr) {
    memcpy(call->message, "no memory", 10);
    return KW_FAILED;
  }
  const Room room{memory, memory + graph.memory_floats, static_cast<const float*>(call->prepared), graph.places, call};
  const int64_t images = graph.leaving_count == 0 ? 0 : call->outputs[graph.leaving[0][1]].shape[0];
  for (int64_t n = 0; n < images; ++n) {
    for (int i = 0; i < graph.entering_count; ++i) {
      const kw_tensor& tensor = call->inputs[graph.entering[i][0]];
      from_plain(room, static_cast<const float*>(tensor.data) + n * (tensor.count / images),
                 room.image(graph.entering[i][1]));
    }
    for (int i = 0; i < graph.step_count; ++i) take(room, graph.steps[i], graph.finishes);
    for (int i = 0; i < graph.leaving_count; ++i) {
      const kw_tensor& tensor = call->outputs[graph.leaving[i][1]];
      to_plain(room, room.image(graph.leaving[i][0]), static_cast<float*>(tensor.data) + n * (tensor.count / images));
    }
  }
  return KW_OK;
}

}  // namespace blocked
