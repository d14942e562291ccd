// What a blocked kernel does step by step, and where its images lie: data that blocked_graph.cpp writes as tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "compose/blocked_nodes.h"

namespace kw::compose {

struct PlannedImage {
  std::int64_t channels = 0, height = 0, width = 0;
  int inside_of = -1;  // another image, from its channel `channel0` on
  std::int64_t channel0 = 0;
  std::int64_t margin = 0;
  bool planes = false;             // channel by channel, as it came
  int written = 0;                 // the step that completes it; -1: it is an input
  int open = -1;                   // the step that may take up what follows; -1: none
  int first = 1 << 30, last = -1;  // the steps between which its memory is in use
  std::int64_t offset = 0;         // in floats
};

struct PlannedFinish {
  Elementwise how;
  std::vector<Elementwise> recipes;  // of "affine"
  int other = -1;                    // an image
  std::int64_t kept = 0;             // of "affine"
};

struct PlannedStep {
  std::string kind;   // as in blocked::Kind
  std::string about;  // the node's name
  int in = -1, out = -1;
  Slot weights = -1, bias = -1;
  std::int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1}, pad[2] = {0, 0};
  std::int64_t out_stride = 1, out_y = 0, out_x = 0;
  std::int64_t tile_rows = 0;  // of minimal filtering, at a time; tiles where it goes along a row
  std::int64_t packed = 0;     // in floats
  std::vector<Elementwise> recipes;
  std::vector<PlannedFinish> finishes;
  bool flag = false, last = true;

  bool is_convolution() const { return weights >= 0; }
  bool goes_along_rows() const { return kind == "filter_line"; }
};

struct BlockedPlan {
  std::vector<PlannedImage> images;
  std::vector<PlannedStep> steps;
  std::vector<std::pair<Slot, int>> entering;        // input, image
  std::vector<std::pair<int, std::size_t>> leaving;  // image, output
  std::int64_t memory_floats = 0, work_floats = 0, kept_floats = 0;
};

Result<BlockedPlan> blocked_plan(const ops::Graph& graph);

// Gives every image its place; those that are never in use at once may share it.
void place_images(BlockedPlan& plan);

}  // namespace kw::compose
