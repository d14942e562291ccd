#pragma once

#include "common.cuh"

// SpaceToDepth: blocks of pixels become channels; in mode DCR the block counts first in a channel's number, else last.
struct SpaceToDepth_node {
  int64_t block, block_first;
  int64_t channels, height, width;  // channels of the shallow image, pixels of the deep one
};

#ifdef __CUDACC__
template <class T>
__device__ T SpaceToDepth(const SpaceToDepth_node& of, int64_t i, const T* x) {
  const int64_t w = i % of.width, h = i / of.width % of.height, blocks = of.block * of.block;
  const int64_t deep = i / of.width / of.height % (of.channels * blocks);
  const int64_t n = i / of.width / of.height / (of.channels * blocks);
  const int64_t in_block = of.block_first != 0 ? deep / of.channels : deep % blocks;
  const int64_t channel = of.block_first != 0 ? deep % of.channels : deep / blocks;
  const int64_t row = (n * of.channels + channel) * of.height * of.block + h * of.block + in_block / of.block;
  return x[row * of.width * of.block + w * of.block + in_block % of.block];
}
#else
inline SpaceToDepth_node SpaceToDepth_plan(const kw::Node& node, kw::Shape* y, const Given& x) {
  const int64_t block = node.integer("blocksize", 1);
  const int64_t channels = x.shape[1], height = x.shape[2] / block, width = x.shape[3] / block;
  *y = kw::Shape{x.shape[0], channels * block * block, height, width};
  return {block, node.is("mode", "CRD") ? 0 : 1, channels, height, width};
}
#endif
