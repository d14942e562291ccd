#pragma once

#include <kernelwright.h>

#include "convolution.h"

// A whole Conv the direct way.

KW_TUNE(CONV_BLOCK, 32768, 4096, 8192, 16384, 32768, 65536);  // elements of the input that are copied at a time

namespace direct {

// Constant weights, tile by tile.
inline const void* prepare(const kw::Call& call, const kw::Node& node, kw::Tensor<const float> w) {
  if (!w.given() || w.count() == 0) return nullptr;
  const int64_t depth = w.count() / w.shape(0), groups = node.integer("group", 1), features = w.shape(0) / groups;
  float* packed = call.keep<float>(w.count());
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t first = g * features * depth;
    convolution::pack_weights(w.data() + first, features, depth, packed + first);
  }
  return packed;
}

// A convolution as the ways below see it: `images` of one group each, and how many threads serve it.
struct Work {
  const kw::Node& node;
  const convolution::Axes& axes;
  int64_t channels, images;
  int threads;

  // Whole images for each thread, where there are enough of them.
  bool shares_images() const { return images >= 2 * threads; }
  int inner() const { return shares_images() ? 1 : threads; }
  int slots() const { return shares_images() ? threads : 1; }
  // of(image, slot)
  template <class Of>
  void each_image(const Of& of) const {
    share(node, slots(), images, of);
  }
};

// A kernel of one element: a product, of the input as it lies, or of what is read without gaps, as much as fits into
// the cache.
template <class FeaturesOf, class From, class To>
inline void run_points(Work work, bool copy, bool clash, int32_t* offsets, const FeaturesOf& features_of,
                       const From& from_of, const To& to_of) {
  using namespace convolution;
  const Axes& axes = work.axes;
  const int64_t channels = work.channels, x_size = axes.inputs(), y_size = axes.outputs();
  const bool read = copy || clash || y_size < product::kPanel;
  int64_t most =
      copy || !read ? y_size : std::clamp<int64_t>(CONV_BLOCK / std::max<int64_t>(channels, 1) / 64 * 64, 64, y_size);
  if (read) work.threads = threads_within(work.node, work.threads, channels * unlike_cache_ways(most) * 4);
  const int inner = work.inner();
  if (inner > 1 && read && !copy) most = std::min(most, std::max<int64_t>(y_size / (2 * inner) / 64 * 64, 64));
  const int64_t pitch = read ? unlike_cache_ways(most) : x_size;
  const int64_t size = channels * pitch + product::kPanel;
  for (int64_t c = 0; c < channels; ++c) offsets[c] = int32_t(c * pitch);
  const int slots = copy ? work.slots() : work.threads;
  float* blocks = read ? work.node.scratch<float>(slots * size) : nullptr;
  work.each_image([&](int64_t image, int slot) {
    const Features those = features_of(image);
    const float* from = from_of(image);
    float* const to = to_of(image);
    if (read && !copy) {  // some columns at a time
      share(work.node, inner, (y_size + most - 1) / most, [&](int64_t piece, int inner_slot) KW_IN_PLACE {
        float* const block = blocks + (inner > 1 ? inner_slot : slot) * size;
        const int64_t first = piece * most, columns = std::min(most, y_size - first);
        for (int64_t c = 0; c < channels; ++c)
          copy_row(from + c * x_size, x_size, first, 1, columns, block + c * pitch);
        run_row(those, {block, offsets}, to + first, y_size, columns);
      });
      return;
    }
    if (copy) {
      float* const block = blocks + slot * size;
      share_ranges(work.node, inner, channels, 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
        for (int64_t c = begin; c < end; ++c) copy_channel(axes, from + c * x_size, axes[1].output, block + c * pitch);
      });
      from = block;
    }
    share_ranges(work.node, inner, y_size, 2 * product::kPanel, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
      run_row(those, {from + begin, offsets}, to + begin, y_size, end - begin);
    });
  });
}

// Rows of the output that are computed at a time: as many as their copied input fits into the cache, and pieces for all
// threads.
inline int64_t rows_at_once(const Work& work) {
  const convolution::Axes& axes = work.axes;
  const int64_t all = axes[1].output;
  if (axes[0].output != 1) return all;
  const int64_t row = work.channels * axes.copied() / std::max<int64_t>(axes[1].length, 1);
  const int64_t fit =
      std::clamp<int64_t>(CONV_BLOCK / std::max<int64_t>(row, 1) - axes[1].place(axes[1].kernel - 1), 1, all);
  const int inner = work.inner();
  if (inner <= 1) return fit;
  const int64_t pieces = ((all + fit - 1) / fit + inner - 1) / inner * inner;  // as many for each thread
  return (all + pieces - 1) / pieces;
}

// An image of several planes: all of it is copied, then rows of all planes are computed, by all threads.
inline void run_planes(const Work& work, const convolution::Axes& part, const float* x,
                       const convolution::Features& features, float* y, float* copies, const int32_t* offsets) {
  const convolution::Axes& axes = work.axes;
  const int64_t rows = axes[1].output, columns = axes[2].output;
  share_ranges(work.node, copies == nullptr ? 1 : work.threads, work.channels, 1,
               [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
                 for (int64_t c = begin; copies != nullptr && c < end; ++c) {
                   convolution::copy_channel(part, x + c * axes.inputs(), rows, copies + c * part.copied());
                 }
               });
  const float* const from = copies == nullptr ? x : copies;
  const int64_t height = copies == nullptr ? axes[1].input : part[1].length,
                width = copies == nullptr ? axes[2].input : part[2].length;
  share_ranges(work.node, work.threads, axes[0].output * rows, 1, [&](int64_t begin, int64_t end, int) KW_IN_PLACE {
    for (int64_t i = begin; i < end; ++i) {
      convolution::run_row(features, {from + (i / rows * height + i % rows) * width, offsets}, y + i * columns,
                           axes.outputs(), columns);
    }
  });
}

inline void run(const kw::Node& node, kw::Tensor<const float> x, kw::Tensor<const float> w,
                kw::Tensor<const float> bias, kw::Tensor<float>& y, const void* kept) {
  using namespace convolution;
  const Axes axes = axes_of(node, x.shape(), w.shape());
  kw::Shape shape{x.shape(0), w.shape(0)};
  for (int i = 5 - x.rank(); i < 3; ++i) shape.push(axes[i].output);
  y.allocate(shape);
  if (y.count() == 0) return;
  const int64_t groups = node.integer("group", 1), features = w.shape(0) / groups, channels = w.shape(1);
  const int64_t depth = channels * axes.taps(), x_size = axes.inputs(), y_size = axes.outputs();
  const float* weights = kept != nullptr ? static_cast<const float*>(kept) : w.data();
  const int threads = threads_for(node, y.count() * depth, kLeastSharedProducts);
  Work work{node, axes, channels, x.shape(0) * groups, threads};
  const auto features_of = [&](int64_t image) {
    const int64_t g = image % groups;
    Features those{features, depth, weights + g * features * depth, kept != nullptr, {}};
    if (bias.given()) those.finish = {.added = bias.data() + g * features, .row = 1};
    return those;
  };
  const auto from_of = [&](int64_t image) { return x.data() + image * channels * x_size; };
  const auto to_of = [&](int64_t image) { return y.data() + image * features * y_size; };
  if (y_size < product::kLanes && depth >= 8 * product::kLanes) {
    // Threads share features, of each image the same.
    work.threads = threads_within(node, threads, depth * 4);
    const int inner = work.inner();
    float* windows = node.scratch<float>(work.threads * depth);
    work.each_image([&](int64_t image, int slot) {
      share_ranges(node, inner, features, 4, [&](int64_t begin, int64_t end, int inner_slot) KW_IN_PLACE {
        Features those = features_of(image);
        those.count = end - begin;
        those.finish = those.finish.at(begin, 0);
        run_by_dots(axes, from_of(image), channels, w.data() + (image % groups * features + begin) * depth, those,
                    to_of(image) + begin * y_size, windows + (inner > 1 ? inner_slot : slot) * depth);
      });
    });
    return;
  }

  bool copy = !axes.plain();
  int32_t* offsets = node.scratch<int32_t>(depth);
  // Channels a power of two apart would drive each other out of the cache.
  const bool clash = channels > 4 && features > 8 && x_size % 512 == 0;
  if (axes.taps() == 1) return run_points(work, copy, clash, offsets, features_of, from_of, to_of);
  copy = copy || clash || axes[2].output < product::kPanel;

  if (copy) work.threads = threads_within(node, threads, channels * axes.copied() * 4);
  const int64_t all_rows = axes[1].output, rows = rows_at_once(work);
  Axes part = axes;
  part[1].length = rows + part[1].place(part[1].kernel - 1);
  find_offsets(part, channels, copy, offsets);
  const int64_t size = channels * part.copied() + product::kPanel;
  float* copies = copy ? node.scratch<float>(work.threads * size) : nullptr;
  const int inner = work.inner();
  if (inner > 1 && axes[0].output != 1) {
    return work.each_image([&](int64_t image, int) {
      run_planes(work, part, from_of(image), features_of(image), to_of(image), copies, offsets);
    });
  }
  const int64_t pieces = (all_rows + rows - 1) / rows;
  work.each_image([&](int64_t image, int slot) {
    const Features those = features_of(image);
    share(node, inner, pieces, [&](int64_t piece, int inner_slot) KW_IN_PLACE {
      const int64_t first = all_rows * piece / pieces, last = all_rows * (piece + 1) / pieces;
      run_rows(axes, from_of(image), channels, those, to_of(image),
               copies == nullptr ? nullptr : copies + (inner > 1 ? inner_slot : slot) * size, offsets, rows, first,
               last - first);
    });
  });
}

}  // namespace direct
