// Axes in another order: those that stay together are one axis; then whole runs are moved, or blocks of 8 x 8 elements
// are turned in registers.
//
// serves: Transpose, DepthToSpace, SpaceToDepth
#include "parts/runs.h"
#include "parts/vector.h"

// Rows of `from` become columns of `to`; both are `pitch` elements apart.
template <class T>
inline void turn_matrix(const T* from, int64_t rows, int64_t columns, int64_t from_pitch, T* to, int64_t to_pitch) {
  constexpr int64_t kBlock = 8;
  int64_t r = 0;
  for (; r + kBlock <= rows; r += kBlock) {
    int64_t c = 0;
    for (; c + kBlock <= columns; c += kBlock) {
      const T* at = from + r * from_pitch + c;
      T* put = to + c * to_pitch + r;
#if defined(__AVX__)
      if constexpr (sizeof(T) == 4) {
        const auto pair = [&](int row) {  // the halves of a row beside those of the row four below
          struct Halves {
            __m256 low, high;
          };
          const __m256 upper = _mm256_loadu_ps(reinterpret_cast<const float*>(at + row * from_pitch));
          const __m256 lower = _mm256_loadu_ps(reinterpret_cast<const float*>(at + (row + 4) * from_pitch));
          return Halves{_mm256_permute2f128_ps(upper, lower, 0x20), _mm256_permute2f128_ps(upper, lower, 0x31)};
        };
        const auto a = pair(0), b = pair(1), c4 = pair(2), d = pair(3);
        const auto four = [&](__m256 p, __m256 q, __m256 s, __m256 t, int column) {
          const __m256 low0 = _mm256_unpacklo_ps(p, q), high0 = _mm256_unpackhi_ps(p, q);
          const __m256 low1 = _mm256_unpacklo_ps(s, t), high1 = _mm256_unpackhi_ps(s, t);
          const __m256 turned[4] = {_mm256_shuffle_ps(low0, low1, 0x44), _mm256_shuffle_ps(low0, low1, 0xee),
                                    _mm256_shuffle_ps(high0, high1, 0x44), _mm256_shuffle_ps(high0, high1, 0xee)};
          for (int k = 0; k < 4; ++k) {
            _mm256_storeu_ps(reinterpret_cast<float*>(put + (column + k) * to_pitch), turned[k]);
          }
        };
        four(a.low, b.low, c4.low, d.low, 0);
        four(a.high, b.high, c4.high, d.high, 4);
        continue;
      }
#endif
      for (int64_t j = 0; j < kBlock; ++j) {
        for (int64_t i = 0; i < kBlock; ++i) put[j * to_pitch + i] = at[i * from_pitch + j];
      }
    }
    for (; c < columns; ++c) {
      for (int64_t i = 0; i < kBlock; ++i) to[c * to_pitch + r + i] = from[(r + i) * from_pitch + c];
    }
  }
  for (; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to[c * to_pitch + r] = from[r * from_pitch + c];
  }
}

// Fills `to` in order with a tensor of this shape whose elements are `steps` apart in `from`, no two the same.
template <class T>
inline void permute(const T* from, const kw::Shape& shape, const kw::Shape& steps, T* to) {
  kw::Shape lengths, strides, pitches;  // the last axis first; pitches: in `to`
  int64_t pitch = 1;
  for (int axis = shape.rank - 1; axis >= 0; --axis) {
    const int last = lengths.rank - 1;
    if (shape[axis] != 1 && last >= 0 && steps[axis] == lengths.dims[last] * strides.dims[last]) {
      lengths.dims[last] *= shape[axis];
    } else if (shape[axis] != 1) {
      lengths.push(shape[axis]);
      strides.push(steps[axis]);
      pitches.push(pitch);
    }
    pitch *= shape[axis];
  }
  int run = 0;  // the axis that follows in `from`
  while (run < lengths.rank && strides.dims[run] != 1) ++run;
  if (run == 0 || run == lengths.rank) {
    copy_in_runs(from, shape, steps, to);
    return;
  }
  int64_t at[KW_MAX_RANK] = {};
  for (;;) {
    turn_matrix(from, lengths.dims[0], lengths.dims[run], strides.dims[0], to, pitches.dims[run]);
    int axis = 1;
    for (; axis < lengths.rank; ++axis) {
      if (axis == run) continue;
      from += strides.dims[axis];
      to += pitches.dims[axis];
      if (++at[axis] < lengths.dims[axis]) break;
      from -= strides.dims[axis] * lengths.dims[axis];
      to -= pitches.dims[axis] * lengths.dims[axis];
      at[axis] = 0;
    }
    if (axis == lengths.rank) return;
  }
}

template <class T>
void Transpose(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  const kw::List<int64_t> perm = node.integers("perm");
  const kw::Shape strides = strides_of(x.shape());
  kw::Shape shape, steps;
  for (int i = 0; i < x.rank(); ++i) {
    const int axis = perm.empty() ? x.rank() - 1 - i : static_cast<int>(perm[i]);
    shape.push(x.shape(axis));
    steps.push(strides[axis]);
  }
  y.allocate(shape);
  if (y.count() > 0) permute(x.data(), shape, steps, y.data());
}

template <class T>
void DepthToSpace(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  const int64_t block = node.integer("blocksize");
  const int64_t channels = x.shape(1) / (block * block), height = x.shape(2), width = x.shape(3);
  y.allocate({x.shape(0), channels, height * block, width * block});
  if (y.count() == 0) return;
  const int64_t plane = height * width;
  const bool block_first = !node.is("mode", "CRD");
  const int64_t of_channel = block_first ? plane : block * block * plane;
  const int64_t of_block = block_first ? channels * plane : plane;
  permute(x.data(), {x.shape(0), channels, height, block, width, block},
          {x.shape(1) * plane, of_channel, width, block * of_block, 1, of_block}, y.data());
}

template <class T>
void SpaceToDepth(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  const int64_t block = node.integer("blocksize");
  const int64_t channels = x.shape(1), height = x.shape(2) / block, width = x.shape(3) / block;
  y.allocate({x.shape(0), channels * block * block, height, width});
  if (y.count() == 0) return;
  const int64_t line = x.shape(3), plane = x.shape(2) * line;
  if (node.is("mode", "CRD")) {
    permute(x.data(), {x.shape(0), channels, block, block, height, width},
            {channels * plane, plane, line, 1, block * line, block}, y.data());
  } else {
    permute(x.data(), {x.shape(0), block, block, channels, height, width},
            {channels * plane, line, 1, plane, block * line, block}, y.data());
  }
}
