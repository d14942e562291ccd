// A convolution as a product on Hopper's tensor cores, to the precision of float32: weights times windows, whose
// elements are gathered while they are copied to shared memory. A first launch writes down where they lie, and the
// weights in their order.
//
// A transposed one with strides is as many convolutions as there are places between two neighbours of the input: each
// has some of the taps, and no element of it is a zero between others.
//
// serves: Conv, ConvTranspose
// types: float32
// when: rank0 >= 3 && rank0 <= 5 && size1 >= 24 * length1_0 && size1 >= 24 * length1_1
// order: 4
// fuses: after
#pragma once

#include "parts/convolution.cuh"
#include "parts/split.cuh"
#include "parts/wgmma_tiles.cuh"

KW_TUNE(CONV_WGMMA_STAGES, 4, 3, 4);
KW_TUNE(CONV_WGMMA_ROWS, 128, 64, 128);
KW_TUNE(CONV_WGMMA_PART, 512, 256, 512, 1024);

constexpr int kColumns = 128, threads = 256;
constexpr int kShortest = 24;  // sums of fewer terms have a bound that three products do not keep
// Kernels: 0 to 2 with 32, 64 and 128 rows, then what comes after and before.
constexpr int kParts = 3, kPrepare = 4;
constexpr int kernels = 5;

template <int kernel>
using TileOf = WgmmaTiles<(32 << kernel), kColumns, CONV_WGMMA_STAGES, true, false>;

struct ConvNode {
  int32_t input[3], output[3], kernel[3], dilation[3], pad[3];
  int32_t step[3];    // from one window to the next
  int32_t spread[3];  // from one result of a phase to the next: as many phases there are
  int32_t phases, x_size, y_size, w_size;
  int64_t groups, out, in, images;  // features and channels of a group
  Divisor places[3];                // results of a phase along each axis
  Divisor places_size, y_divisor;
  int32_t down, across;  // tiles of a phase
  Split split;
  int64_t table, offsets, weights;  // where they lie in room
};
using Conv_node = ConvNode;
using ConvTranspose_node = ConvNode;

#ifdef __CUDACC__
// What the first launch writes down: of a phase its terms, padded to fours, and where its part begins; of a term where
// it lies, seen from the window's first element, and how far along each axis.
struct alignas(16) Phase {
  int32_t depth, padded, first, first_padded;
  int32_t low[3], high[3];  // how far terms reach along each axis
};
struct alignas(16) Term {
  int32_t offset, at[3];
};

// The taps of an axis that results of one phase have: `first`, and every `period` from there on.
struct Taps {
  int32_t first, period, count;
};
__device__ inline Taps taps_of(const ConvNode& of, int axis, int32_t phase) {
  Taps taps{0, 1, 0};
  for (int32_t k = 0; k < of.kernel[axis]; ++k) {
    if (k * of.dilation[axis] % of.spread[axis] != phase) continue;
    if (taps.count == 0) taps.first = k;
    if (taps.count == 1) taps.period = k - taps.first;
    ++taps.count;
  }
  return taps;
}
__device__ inline void phase_along(const ConvNode& of, int32_t phase, int32_t* at) {
  at[2] = phase % of.spread[2];
  at[1] = phase / of.spread[2] % of.spread[1];
  at[0] = phase / of.spread[2] / of.spread[1];
}

template <bool transposed>
__device__ void prepare(const ConvNode& of, const float* w, unsigned char* room) {
  const int32_t phase = blockIdx.y;
  Phase own{};
  Taps taps[3];
  for (int32_t p = 0; p <= phase; ++p) {
    int32_t along[3];
    phase_along(of, p, along);
    own.first += own.depth;
    own.first_padded += own.padded;
    own.depth = int32_t(of.in);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      taps[axis] = taps_of(of, axis, along[axis]);
      own.depth *= taps[axis].count;
    }
    own.padded = (own.depth + 31) / 32 * 32;
  }
  const int64_t me = int64_t(blockIdx.x) * threads + threadIdx.x, step = int64_t(gridDim.x) * threads;
  Phase* const phases = reinterpret_cast<Phase*>(room + of.table);
  Term* const table = reinterpret_cast<Term*>(phases + of.phases) + own.first;
  int32_t* const offsets = reinterpret_cast<int32_t*>(room + of.offsets) + own.first_padded;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const int32_t near = taps[axis].first * of.dilation[axis];
    const int32_t far = (taps[axis].first + (taps[axis].count - 1) * taps[axis].period) * of.dilation[axis];
    own.low[axis] = transposed ? -(far / of.spread[axis]) : near;
    own.high[axis] = transposed ? -(near / of.spread[axis]) : far;
  }
  float* const weights = reinterpret_cast<float*>(room + of.weights) + of.groups * of.out * own.first_padded;
  if (me == 0) phases[phase] = own;
  if (own.depth == 0) return;
  const int32_t count = taps[0].count * taps[1].count * taps[2].count;
  // Term k: its channel, and its tap of each axis.
  const auto term = [&](int32_t k, int32_t* tap) {
    const int32_t c = k % count;
    tap[2] = taps[2].first + c % taps[2].count * taps[2].period;
    tap[1] = taps[1].first + c / taps[2].count % taps[1].count * taps[1].period;
    tap[0] = taps[0].first + c / taps[2].count / taps[1].count * taps[0].period;
    return k / count;
  };
  for (int64_t k = me; k < own.depth; k += step) {
    int32_t tap[3];
    const int32_t channel = term(int32_t(k), tap);
    Term made;
    made.offset = 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      const int32_t far = tap[axis] * of.dilation[axis];
      made.at[axis] = transposed ? -(far / of.spread[axis]) : far;
      made.offset = made.offset * of.input[axis] + made.at[axis];
    }
    made.offset += channel * of.x_size;
    table[k] = made;
    offsets[k] = made.offset;
    // What is read beyond the last term is multiplied by 0.
    if (k == 0) {
      for (int32_t beyond = own.depth; beyond < own.padded; ++beyond) offsets[beyond] = made.offset;
    }
  }
  for (int64_t i = me; i < of.groups * of.out * own.padded; i += step) {
    const int64_t feature = i / own.padded, group = feature / of.out;
    const int32_t k = int32_t(i % own.padded);
    float weight = 0;
    if (k < own.depth) {
      int32_t tap[3];
      const int32_t channel = term(k, tap), at = (tap[0] * of.kernel[1] + tap[1]) * of.kernel[2] + tap[2];
      weight = transposed ? w[((group * of.in + channel) * of.out + feature % of.out) * of.w_size + at]
                          : w[(feature * of.in + channel) * of.w_size + at];
    }
    weights[i] = weight;
  }
}

// A window: its first element in the image, and where it lies.
struct Window {
  int64_t image;
  int32_t at[3], offset;
};

template <bool transposed, int kernel, class X, class Y>
__device__ void convolve(const ConvNode& of, const X& x, const float* w, const float* bias, const Y& y,
                         unsigned char* room) {
  const int64_t features = of.groups * of.out, results = of.images * features * of.y_size;
  if constexpr (kernel == kPrepare) {
    prepare<transposed>(of, w, room);
  } else if constexpr (kernel == kParts) {
    add_parts<threads>(of.split, results, room, [&](int64_t i, float sum) {
      y(i, bias == nullptr ? sum : sum + bias[of.y_divisor.quotient(uint32_t(i)) % features]);
    });
  } else {
    using Tile = TileOf<kernel>;
    constexpr int ROWS = 32 << kernel;
    const int32_t tiles = of.down * of.across, phase = int32_t(blockIdx.x) / tiles, tile = int32_t(blockIdx.x) % tiles;
    const int row0 = tile % of.down * ROWS, column0 = tile / of.down * kColumns;
    const int rows = int(of.out), columns = int(of.images * of.places_size.by);
    const Phase* const phases = reinterpret_cast<const Phase*>(room + of.table);
    const Phase own = phases[phase];
    const Term* const table = reinterpret_cast<const Term*>(phases + of.phases) + own.first;
    const int32_t* const offsets = reinterpret_cast<const int32_t*>(room + of.offsets) + own.first_padded;
    const int begin = int(blockIdx.y * of.split.each);
    const int end = int(begin + of.split.each < own.depth ? begin + of.split.each : own.depth);
    float* const sums = reinterpret_cast<float*>(room) + blockIdx.y * results;
    int32_t along[3];
    phase_along(of, phase, along);
    // Place j of a phase along each axis, with the window's first element and the result's place.
    const auto window_of = [&](int column, int32_t* result) {
      uint32_t place, at[3];
      Window window;
      const int64_t image = of.places_size.divide(uint32_t(column), &place);
      const uint32_t ab = of.places[2].divide(place, &at[2]);
      at[0] = of.places[1].divide(ab, &at[1]);
      window.offset = 0;
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) {
        int32_t first = -of.pad[axis], first_result = 0;
        if constexpr (transposed) {
          first_result = (along[axis] - of.pad[axis]) % of.spread[axis];
          if (first_result < 0) first_result += of.spread[axis];
          first = (first_result + of.pad[axis]) / of.spread[axis];
        }
        window.at[axis] = first + int32_t(at[axis]) * of.step[axis];
        window.offset = window.offset * of.input[axis] + window.at[axis];
        result[axis] = first_result + int32_t(at[axis]) * of.spread[axis];
      }
      window.image = image;
      return window;
    };
    const auto inside = [&](const Window& window, const Term& term) {
      return uint32_t(window.at[0] + term.at[0]) < uint32_t(of.input[0]) &&
             uint32_t(window.at[1] + term.at[1]) < uint32_t(of.input[1]) &&
             uint32_t(window.at[2] + term.at[2]) < uint32_t(of.input[2]);
    };
    for (int64_t group = blockIdx.z; group < of.groups; group += gridDim.z) {
      const float* const weights =
          reinterpret_cast<const float*>(room + of.weights) + features * own.first_padded + group * of.out * own.padded;
      const float* const from = x.from + group * of.in * of.x_size;
      const int64_t image_size = of.groups * of.in * of.x_size;
      const int mine = int(threadIdx.x) % kColumns;
      int32_t unused[3];
      const Window window = window_of(column0 + mine < columns ? column0 + mine : 0, unused);
      const float* const image = from + window.image * image_size + window.offset;
      // All that lies under it is in the image: nothing has to be checked.
      bool is_whole = true;
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) {
        is_whole =
            is_whole && window.at[axis] + own.low[axis] >= 0 && window.at[axis] + own.high[axis] < of.input[axis];
      }
      const auto exact = [&](int r, int j) {
        int32_t there[3];
        const Window one = window_of(j, there);
        float sum = 0;
        for (int k = begin; k < end; ++k) {
          const Term term = table[k];
          if (inside(one, term))
            sum += weights[int64_t(r) * own.padded + k] * from[one.image * image_size + one.offset + term.offset];
        }
        return sum;
      };
      // Where a feature's result of this window lies; -1: the phase has no such place.
      const auto place = [&](int column) {
        int32_t result[3];
        const Window one = window_of(column, result);
        const bool is_there = result[0] < of.output[0] && result[1] < of.output[1] && result[2] < of.output[2];
        const int32_t at = (result[0] * of.output[1] + result[1]) * of.output[2] + result[2];
        return is_there ? (one.image * features + group * of.out) * of.y_size + at : int64_t{-1};
      };
      const auto write = [&](int r, int64_t at, float sum) {
        if (at < 0) return;
        const int64_t i = at + int64_t(r) * of.y_size;
        if (of.split.parts > 1) {
          sums[i] = sum;
        } else {
          y(i, bias == nullptr ? sum : sum + bias[group * of.out + r]);
        }
      };
      if (own.depth < kShortest) {
        if (column0 + mine < columns) {
          const int64_t at = place(column0 + mine);
          for (int r = row0 + int(threadIdx.x) / kColumns; r < rows && r < row0 + ROWS; r += 2)
            write(r, at, exact(r, column0 + mine));
        }
        continue;
      }
      Tile::product(
          row0, column0, rows, columns, begin, end,
          [&](float* to, int k) {
            Tile::copy_left(to, weights + int64_t(row0) * own.padded + k, own.padded, rows - row0, end - k, true);
          },
          [&](float* to, int k0) {
            // Half of the threads have the first 16 terms of a column each. Where they lie is read before the copies
            // begin: the compiler does not move it ahead of them.
            constexpr int kHalf = Tile::DEPTH / 2;
            const int first = int(threadIdx.x) / kColumns * kHalf, k = k0 + first;
            float* const place = to + first * Tile::right_pitch + mine;
            if (is_whole) {
              Pack<int32_t, 4> fours[kHalf / 4];
#pragma unroll
              for (int n = 0; n < kHalf / 4; ++n) fours[n] = pack_at<4>(offsets, k + n * 4);
#pragma unroll
              for (int n = 0; n < kHalf; ++n)
                kw::copy_async<4>(place + n * Tile::right_pitch, image + fours[n / 4].at[n % 4]);
              return;
            }
#pragma unroll 1
            for (int n = 0; n < kHalf; n += 4) {
              Term terms[4];
#pragma unroll
              for (int j = 0; j < 4; ++j) terms[j] = table[k + n + j < end ? k + n + j : 0];
#pragma unroll
              for (int j = 0; j < 4; ++j) {
                const bool is_there = k + n + j < end && inside(window, terms[j]);
                kw::copy_async<4>(place + (n + j) * Tile::right_pitch, is_there ? image + terms[j].offset : x.from,
                                  is_there ? 4 : 0);
              }
            }
          },
          exact, place, write);
    }
  }
}
template <int kernel, class X, class Y>
__device__ void Conv(const ConvNode& of, const X& x, const float* w, const float* bias, const Y& y,
                     unsigned char* room) {
  convolve<false, kernel>(of, x, w, bias, y, room);
}
template <int kernel, class X, class Y>
__device__ void ConvTranspose(const ConvNode& of, const X& x, const float* w, const float* bias, const Y& y,
                              unsigned char* room) {
  convolve<true, kernel>(of, x, w, bias, y, room);
}
#else
// `windows` as the plain kernels have them: of a transposed one read backwards.
inline ConvNode plan_convolution(Steps& steps, const Windows& windows, bool transposed, int64_t groups, int64_t out,
                                 int64_t in, int64_t images) {
  ConvNode of{};
  const int64_t* const from = transposed ? windows.output : windows.input;
  const int64_t* const to = transposed ? windows.input : windows.output;
  int64_t x_size = 1, y_size = 1, w_size = 1, places = 1, phases = 1;
  // Axes that there are not come first, with one place.
  for (int i = 0; i < 3; ++i) {
    const int axis = i - (3 - static_cast<int>(windows.axes));
    const auto value = [&](const int64_t* list, int64_t otherwise) { return axis >= 0 ? list[axis] : otherwise; };
    const int64_t stride = value(windows.stride, 1), length = value(to, 1);
    of.input[i] = int32_t(value(from, 1));
    of.output[i] = int32_t(length);
    of.kernel[i] = int32_t(value(windows.kernel, 1));
    of.dilation[i] = int32_t(value(windows.dilation, 1));
    of.pad[i] = int32_t(value(windows.pad, 0));
    of.step[i] = int32_t(transposed ? 1 : stride);
    of.spread[i] = int32_t(transposed ? stride : 1);
    of.places[i] = Divisor::of(length > 0 ? kw::blocks(length, of.spread[i]) : 1);
    x_size *= value(from, 1), y_size *= length, w_size *= of.kernel[i];
    places *= of.places[i].by, phases *= of.spread[i];
  }
  const int64_t most = (int64_t{1} << 31) - kColumns, results = groups * out * images * y_size;
  if (in * x_size >= most || y_size >= most || images * places >= most || in * w_size >= most || phases > 4096 ||
      groups > 65535) {
    steps.cannot = "a convolution has more elements than this kernel counts";
    return of;
  }
  of.x_size = int32_t(x_size), of.y_size = int32_t(y_size), of.w_size = int32_t(w_size), of.phases = int32_t(phases);
  of.groups = groups, of.out = out, of.in = in, of.images = images;
  if (results == 0) return of;
  of.places_size = Divisor::of(places);
  of.y_divisor = Divisor::of(y_size);
  // As few rows as hold the features, or the most.
  int kernel = 0;
  while (32 << kernel < CONV_WGMMA_ROWS && 32 << kernel < out) ++kernel;
  of.down = int32_t(kw::blocks(out, 32 << kernel));
  of.across = int32_t(kw::blocks(images * places, kColumns));
  const int64_t tiles = phases * of.down * of.across;
  of.split = {1, in * w_size};
  if (results < most) of.split = split_of(steps, tiles * groups, in * w_size, CONV_WGMMA_PART, 32, results);
  of.table = (steps.room + 15) / 16 * 16;
  const int64_t padded = in * w_size + 31 * phases;
  of.offsets = of.table + 48 * phases + 16 * in * w_size;
  of.weights = of.offsets + (padded + 31) / 32 * 32 * 4;
  const int64_t packed = groups * out * padded;
  steps.room = of.weights + packed * 4;
  steps.add(kPrepare, kw::Dim3(few_blocks(kw::blocks(packed / phases + 1, threads), 132), phases));
  constexpr int shared[] = {TileOf<0>::shared_bytes, TileOf<1>::shared_bytes, TileOf<2>::shared_bytes};
  steps.add(kernel, kw::Dim3(tiles, of.split.parts, groups), shared[kernel]);
  if (of.split.parts > 1) steps.add(kParts, few_blocks(kw::blocks(results, threads)));
  return of;
}
inline ConvNode Conv_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x, const Given& w,
                          const Given&) {
  const PlainConv plain = plain_conv(node, y, x, w);
  return plan_convolution(steps, plain.windows, false, plain.group > 0 ? plain.features / plain.group : 0, plain.group,
                          plain.in, x.shape[0]);
}
inline ConvNode ConvTranspose_plan(const kw::Node& node, Steps& steps, kw::Shape* y, const Given& x, const Given& w,
                                   const Given&) {
  const PlainConvTranspose plain = plain_conv_transpose(node, y, x, w);
  return plan_convolution(steps, plain.windows, true, plain.out > 0 ? plain.features / plain.out : 0, plain.out,
                          plain.in, x.shape[0]);
}
#endif
