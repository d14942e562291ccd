#pragma once

#include <kernelwright.h>

#include "math_exp.h"
#include "vector.h"

// Images in blocks of channels: of each block of as many channels as a vector has lanes, the pixels lie row by row, the
// channels of a pixel side by side. So a convolution multiplies one number of its input with a vector of weights, and
// writes a vector of its output, whatever the image's size; and several operators can follow one another in this layout
// without changing it. Around an image lies a margin of zeros as wide as the widest padding of its readers.

namespace blocked {

using simd::Floats;

inline constexpr int kBlock = simd::kLanes;

// Where an image lies in the memory of a call, counted in floats. Memory is planned for blocks of 16 channels: with
// narrower vectors an image takes no more than that.
struct Place {
  int64_t offset;
  int channel0;  // the first of its channels in the image that lies at `offset`: a multiple of 16
  int channels, height, width;
  int margin;
  bool planes;  // not in blocks: channel by channel, as it came; for inputs of few channels

  int64_t row() const { return int64_t{width + 2 * margin} * (planes ? 1 : kBlock); }
  int64_t plane() const { return row() * (height + 2 * margin); }
  int blocks() const { return planes ? channels : (channels + kBlock - 1) / kBlock; }
};

// An image with its memory.
struct Image {
  float* data;  // the first pixel of its first channel, inside of the margin
  Place place;

  Image(float* memory, const Place& at) : place(at) {
    const int64_t inside = at.margin * at.row() + at.margin * (at.planes ? 1 : kBlock);
    data = memory + at.offset + at.channel0 / kBlock * at.plane() + inside;
  }
  float* at(int block, int y, int x) const {
    return data + block * place.plane() + y * place.row() + int64_t{x} * (place.planes ? 1 : kBlock);
  }
};

// The images and kept numbers of a call, and its threads.
struct Room {
  float* memory;
  float* work;  // for one step
  const float* kept;
  const Place* places;
  const kw_call* call;

  Image image(int number) const { return Image(memory, places[number]); }
  int threads() const { return call->parallel == nullptr ? 1 : call->threads; }

  // work(i) for each i below count, in turn or at once. What one of them writes no other reads or writes.
  template <class Work>
  void each(int count, Work&& work) const {
    if (threads() <= 1 || count <= 1) {
      for (int i = 0; i < count; ++i) work(i);
      return;
    }
    using Same = std::remove_reference_t<Work>;
    void* const data = const_cast<void*>(static_cast<const void*>(&work));
    call->parallel(
        call, count, [](void* all, int32_t i) { (*static_cast<Same*>(all))(i); }, data);
  }
};

inline constexpr int kPiecesOfThread = 4;                     // so that one who is late holds up the others for little
inline constexpr int64_t kFewestFloats = 16 << 10;            // of what is moved, to be worth several threads
inline constexpr int64_t kFewestProducts = int64_t{1} << 18;  // likewise of multiplications

// The rows of all blocks of an image as pieces: work(block, first row, row behind the last). A piece has whole blocks
// where one thread works, or there are enough of them.
template <class Work>
inline void each_part(const Room& room, const Place& place, int64_t cost, int64_t fewest, Work&& work) {
  const int blocks = place.blocks(), wanted = cost < fewest ? 1 : room.threads() * kPiecesOfThread;
  const int cuts =
      room.threads() <= 1 || cost < fewest ? 1 : std::clamp((wanted + blocks - 1) / blocks, 1, place.height);
  const auto piece = [&](int i) {
    const int cut = i % cuts;
    work(i / cuts, static_cast<int>(int64_t{place.height} * cut / cuts),
         static_cast<int>(int64_t{place.height} * (cut + 1) / cuts));
  };
  if (cost < fewest) {
    for (int i = 0; i < blocks; ++i) piece(i);
  } else {
    room.each(blocks * cuts, piece);
  }
}

inline void zero(float* from, float* to) {
  if (to > from) memset(from, 0, static_cast<size_t>(to - from) * sizeof(float));
}

// The margins of its blocks as zeros.
inline void clear_margin(const Room& room, const Image& image) {
  const Place& place = image.place;
  if (place.margin == 0) return;
  const int64_t pixel = place.planes ? 1 : kBlock, side = place.margin * pixel, inner = place.width * pixel;
  const int64_t cost = (int64_t{place.height} + place.width) * place.margin * 2 * pixel * place.blocks();
  each_part(room, place, cost, kFewestFloats, [&](int block, int y0, int y1) {
    float* const first = image.at(block, 0, 0) - place.margin * place.row() - side;
    if (y0 == 0) zero(first, first + place.margin * place.row() + side);
    for (int y = y0; y < y1; ++y) {
      float* const behind = image.at(block, y, 0) + inner;
      zero(behind, y + 1 < place.height ? behind + 2 * side : first + place.plane());
    }
  });
}

// From rows of single channels, as tensors come.
inline void from_plain(const Room& room, const float* from, const Image& to) {
  const Place& place = to.place;
  const int64_t plane = int64_t{place.height} * place.width;
  each_part(room, place, plane * place.channels, kFewestFloats, [&](int block, int y0, int y1) {
    if (place.planes) {
      for (int y = y0; y < y1; ++y) {
        memcpy(to.at(block, y, 0), from + block * plane + int64_t{y} * place.width,
               static_cast<size_t>(place.width) * 4);
      }
      return;
    }
    const int lanes = std::min(kBlock, place.channels - block * kBlock);
    const float* const first = from + block * kBlock * plane;
    for (int y = y0; y < y1; ++y) {
      const float* const row = first + int64_t{y} * place.width;
      float* const out = to.at(block, y, 0);
      for (int x = 0; x < place.width; ++x) {
        for (int c = 0; c < lanes; ++c) out[x * kBlock + c] = row[c * plane + x];
        for (int c = lanes; c < kBlock; ++c) out[x * kBlock + c] = 0;
      }
    }
  });
  clear_margin(room, to);
}

inline void to_plain(const Room& room, const Image& from, float* to) {
  const Place& place = from.place;
  const int64_t plane = int64_t{place.height} * place.width;
  each_part(room, place, plane * place.channels, kFewestFloats, [&](int block, int y0, int y1) {
    const int lanes = std::min(kBlock, place.channels - block * kBlock);
    float* const first = to + block * kBlock * plane;
    for (int y = y0; y < y1; ++y) {
      const float* const row = from.at(block, y, 0);
      float* const out = first + int64_t{y} * place.width;
      for (int c = 0; c < lanes; ++c) {
        for (int x = 0; x < place.width; ++x) out[c * plane + x] = row[x * kBlock + c];
      }
    }
  });
}

// What is done to numbers right after they were computed, while they are near.
enum class Touch {
  affine,        // times a number of the channel, plus another one: kept at `at`
  relu,          // max(v, 0)
  leaky,         // v < 0 ? a * v : v
  clip,          // min(max(v, a), b)
  sigmoid,       // 1 / (1 + exp(-v))
  swish,         // v * sigmoid(v)
  hard_sigmoid,  // min(max(a * v + b, 0), 1)
  hard_swish,    // v * hard_sigmoid(v)
  add,           // another image of the same size, number `at`
  multiply,
  add_each,  // an image of one pixel, number `at`: its channel's number
  multiply_each,
};
struct Finish {
  Touch touch;
  float a, b;
  int64_t at;
};

// To about 3 units in the last place; what is below the normal numbers may be zero. It is what most layers of a model
// end with, so that it has no division and no branch where the processor has better: the exponential as a power of two.
inline Floats sigmoid(Floats v) {
#if defined(__AVX512F__)
  if constexpr (sizeof(Floats) == 64) {
    const Floats x = simd::max(v, simd::splat(-86.0f));  // NaN stays
    const Floats n = simd::to_whole<simd::Whole::nearest>(x * -simd::kLog2OfE), r = simd::fma(x, -simd::kLog2OfE, -n);
    Floats power = simd::fma(r, 0x1.5bba22p-10f, 0x1.3cea92p-7f);
    power = simd::fma(power, r, 0x1.c6b754p-5f);
    power = simd::fma(power, r, 0x1.ebf9bcp-3f);
    power = simd::fma(power, r, 0x1.62e42ap-1f);
    power = simd::fma(power, r, 1.0f);
    const Floats sum = Floats(_mm512_maskz_scalef_ps(simd::kAll, __m512(power), __m512(n))) + 1;
    const Floats guess = Floats(_mm512_maskz_rcp14_ps(simd::kAll, __m512(sum)));
    return simd::fma(guess, simd::fma(-sum, guess, 1.0f), guess);
  }
#endif
  const Floats e = simd::exp_of_negative(-simd::abs(v));
  return (v < 0 ? e : simd::splat(1.0f)) / (1 + e);
}

inline Floats hard_gate(Floats v, const Finish& how) {
  return simd::min(simd::max(simd::fma(v, how.a, how.b), simd::splat(0.0f)), simd::splat(1.0f));
}

// One thing done to neighbouring vectors of a block. `beside`: what else it reads, the first vector's.
template <int kCount>
[[gnu::always_inline]] inline void touch(const Finish& how, const float* beside, Floats* v) {
  const auto each = [&](auto&& f) __attribute__((always_inline)) {
    KW_UNROLL for (int i = 0; i < kCount; ++i) v[i] = f(v[i], i);
  };
  switch (how.touch) {
    case Touch::affine: {
      const Floats scale = simd::load(beside), shift = simd::load(beside + kBlock);
      each([&](Floats x, int) { return simd::fma(x, scale, shift); });
      break;
    }
    case Touch::relu:
      each([](Floats x, int) { return simd::max(x, simd::splat(0.0f)); });
      break;
    case Touch::leaky:
      each([&](Floats x, int) { return x < 0 ? x * how.a : x; });
      break;
    case Touch::clip:
      each([&](Floats x, int) { return simd::min(simd::max(x, simd::splat(how.a)), simd::splat(how.b)); });
      break;
    case Touch::sigmoid:
      each([](Floats x, int) { return sigmoid(x); });
      break;
    case Touch::swish:
      each([](Floats x, int) { return x * sigmoid(x); });
      break;
    case Touch::hard_sigmoid:
      each([&](Floats x, int) { return hard_gate(x, how); });
      break;
    case Touch::hard_swish:
      each([&](Floats x, int) { return x * hard_gate(x, how); });
      break;
    case Touch::add:
      each([&](Floats x, int i) { return x + simd::load(beside + i * kBlock); });
      break;
    case Touch::multiply:
      each([&](Floats x, int i) { return x * simd::load(beside + i * kBlock); });
      break;
    case Touch::add_each: {
      const Floats other = simd::load(beside);
      each([&](Floats x, int) { return x + other; });
      break;
    }
    case Touch::multiply_each: {
      const Floats other = simd::load(beside);
      each([&](Floats x, int) { return x * other; });
      break;
    }
  }
}

// What a finish reads beside the pixel (y, x) of a block, and how far apart that is from pixel to pixel.
struct Beside {
  const float* data;
  int64_t pixel;

  Beside() = default;
  Beside(const Room& room, const Finish& how, int block, int y, int x) : data(nullptr), pixel(0) {
    switch (how.touch) {
      case Touch::affine:
        data = room.kept + how.at + int64_t{block} * 2 * kBlock;
        break;
      case Touch::add:
      case Touch::multiply:
        data = room.image(static_cast<int>(how.at)).at(block, y, x);
        pixel = kBlock;
        break;
      case Touch::add_each:
      case Touch::multiply_each:
        data = room.image(static_cast<int>(how.at)).at(block, 0, 0);
        break;
      default:
        break;
    }
  }
};

inline constexpr int kFinishesAtOnce = 8, kVectorsAtOnce = simd::kNatural == 16 ? 8 : 4;

template <int kCount>
inline void finish_vectors(const Finish* all, int steps, const Beside* besides, float* row, int first) {
  Floats v[kCount];
  KW_UNROLL for (int i = 0; i < kCount; ++i) v[i] = simd::load(row + (first + i) * kBlock);
  for (int k = 0; k < steps; ++k) touch<kCount>(all[k], besides[k].data + first * besides[k].pixel, v);
  KW_UNROLL for (int i = 0; i < kCount; ++i) simd::store(row + (first + i) * kBlock, v[i]);
}

// Of `count` pixels of a row of one block, from pixel x on: everything while a few vectors are in registers.
inline void finish_row(const Room& room, const Finish* all, int steps, float* row, int count, int block, int y, int x) {
  for (; steps > 0; all += kFinishesAtOnce, steps -= kFinishesAtOnce) {
    const int now = std::min(steps, kFinishesAtOnce);
    Beside besides[kFinishesAtOnce];
    for (int k = 0; k < now; ++k) besides[k] = Beside(room, all[k], block, y, x);
    int i = 0;
    for (; i + kVectorsAtOnce <= count; i += kVectorsAtOnce) {
      finish_vectors<kVectorsAtOnce>(all, now, besides, row, i);
    }
    for (; i + 4 <= count; i += 4) finish_vectors<4>(all, now, besides, row, i);
    for (; i + 2 <= count; i += 2) finish_vectors<2>(all, now, besides, row, i);
    for (; i < count; ++i) finish_vectors<1>(all, now, besides, row, i);
  }
}

}  // namespace blocked
