#pragma once

#include "common.cuh"

// DepthToSpace: channels become blocks of pixels; in mode DCR the block counts first in a channel's number, else last.
struct DepthToSpace_node {
  int64_t block, block_first;
  int64_t channels, height, width;  // channels of the shallow image, pixels of the deep one
};

#ifdef __CUDACC__
template <class T>
__device__ T DepthToSpace(const DepthToSpace_node& of, int64_t i, const T* x) {
  const int64_t w = i % (of.width * of.block), h = i / (of.width * of.block) % (of.height * of.block);
  const int64_t channel = i / (of.width * of.block) / (of.height * of.block) % of.channels;
  const int64_t n = i / (of.width * of.block) / (of.height * of.block) / of.channels;
  const int64_t in_block = h % of.block * of.block + w % of.block, blocks = of.block * of.block;
  const int64_t deep = of.block_first != 0 ? in_block * of.channels + channel : channel * blocks + in_block;
  return x[((n * of.channels * blocks + deep) * of.height + h / of.block) * of.width + w / of.block];
}
#else
inline DepthToSpace_node DepthToSpace_plan(const kw::Node& node, kw::Shape* y, const Given& x) {
  const int64_t block = node.integer("blocksize", 1);
  const int64_t channels = x.shape[1] / (block * block), height = x.shape[2], width = x.shape[3];
  *y = kw::Shape{x.shape[0], channels, height * block, width * block};
  return {block, node.is("mode", "CRD") ? 0 : 1, channels, height, width};
}
#endif
