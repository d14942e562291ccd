#pragma once

#include <kernelwright.h>

// DepthToSpace: channels become blocks of pixels; in mode DCR the block counts first in a channel's number, else last.
template <class T>
void DepthToSpace(const kw::Node& node, kw::Tensor<const T> x, kw::Tensor<T>& y) {
  const int64_t block = node.integer("blocksize");
  const bool block_first = !node.is("mode", "CRD");
  const int64_t channels = x.shape(1) / (block * block);
  const int64_t height = x.shape(2);
  const int64_t width = x.shape(3);
  y.allocate({x.shape(0), channels, height * block, width * block});
  for (int64_t n = 0; n < x.shape(0); ++n) {
    for (int64_t from_channel = 0; from_channel < x.shape(1); ++from_channel) {
      const int64_t in_block = block_first ? from_channel / channels : from_channel % (block * block);
      const int64_t channel = block_first ? from_channel % channels : from_channel / (block * block);
      const T* from = x.data() + (n * x.shape(1) + from_channel) * height * width;
      T* plane = y.data() + (n * channels + channel) * y.shape(2) * y.shape(3);
      for (int64_t h = 0; h < height; ++h) {
        T* to = plane + (h * block + in_block / block) * y.shape(3) + in_block % block;
        for (int64_t w = 0; w < width; ++w) to[w * block] = from[h * width + w];
      }
    }
  }
}
