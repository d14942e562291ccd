#pragma once

#include <kernelwright.h>

// SpaceToDepth: blocks of pixels become channels; in mode DCR the block counts first in a channel's number, else last.
template <class T>
void SpaceToDepth(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  const int64_t block = node.integer("blocksize");
  const bool block_first = !node.is("mode", "CRD");
  const int64_t channels = x.shape(1);
  const int64_t height = x.shape(2) / block;
  const int64_t width = x.shape(3) / block;
  y.allocate({x.shape(0), channels * block * block, height, width});
  for (int64_t n = 0; n < x.shape(0); ++n) {
    for (int64_t to_channel = 0; to_channel < y.shape(1); ++to_channel) {
      const int64_t in_block = block_first ? to_channel / channels : to_channel % (block * block);
      const int64_t channel = block_first ? to_channel % channels : to_channel / (block * block);
      const T* plane = x.data() + (n * channels + channel) * x.shape(2) * x.shape(3);
      T* to = y.data() + (n * y.shape(1) + to_channel) * height * width;
      for (int64_t h = 0; h < height; ++h) {
        const T* from = plane + (h * block + in_block / block) * x.shape(3) + in_block % block;
        for (int64_t w = 0; w < width; ++w) to[h * width + w] = from[w * block];
      }
    }
  }
}
