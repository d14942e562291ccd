#pragma once

#include <kernelwright.h>

struct NmsBox {
  float y_min, x_min, y_max, x_max;

  float area() const { return (y_max - y_min) * (x_max - x_min); }
};

// From any two opposite corners (y, x, y, x), or from centre and size (x, y, width, height).
inline NmsBox nms_box(const float* b, bool centred) {
  if (centred) return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

// The area that both boxes cover over the area that any of them covers.
inline float nms_overlap(const NmsBox& a, const NmsBox& b) {
  const float height = std::min(a.y_max, b.y_max) - std::max(a.y_min, b.y_min);
  const float width = std::min(a.x_max, b.x_max) - std::max(a.x_min, b.x_min);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return 0;
  return height * width / (a.area() + b.area() - height * width);
}

// NonMaxSuppression: for every batch and class the boxes that overlap no better one by more than a limit, best first,
// as rows of batch, class and box.
inline void NonMaxSuppression(const kw::Node& node, kw::Tensor<const float> boxes, kw::Tensor<const float> scores,
                              kw::Tensor<const int64_t> max_boxes, kw::Tensor<const float> iou_threshold,
                              kw::Tensor<const float> score_threshold, kw::Tensor<int64_t>& selected) {
  const int64_t batches = scores.shape(0), classes = scores.shape(1), count = scores.shape(2);
  const bool centred = node.integer("center_point_box") != 0;
  const int64_t most = max_boxes.given() ? std::clamp<int64_t>(max_boxes[0], 0, count) : 0;
  const float limit = iou_threshold.given() ? iou_threshold[0] : 0;
  const float least_score = score_threshold.given() ? score_threshold[0] : -INFINITY;
  NmsBox* own = node.scratch<NmsBox>(count);
  int64_t* order = node.scratch<int64_t>(count);
  int64_t* kept = node.scratch<int64_t>(count);
  int64_t* rows = node.scratch<int64_t>(3 * batches * classes * most);
  int64_t* end = rows;
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t i = 0; i < count; ++i) own[i] = nms_box(boxes.data() + (batch * count + i) * 4, centred);
    for (int64_t c = 0; c < classes; ++c) {
      const float* score = scores.data() + (batch * classes + c) * count;
      int64_t candidates = 0;
      for (int64_t i = 0; i < count; ++i) {
        if (score[i] >= least_score) order[candidates++] = i;
      }
      // The best first; of equal ones the smaller index.
      std::sort(order, order + candidates,
                [&](int64_t a, int64_t b) { return score[a] > score[b] || (score[a] == score[b] && a < b); });
      int64_t stay = 0;
      for (int64_t i = 0; i < candidates && stay < most; ++i) {
        const auto covers = [&](int64_t better) { return nms_overlap(own[better], own[order[i]]) > limit; };
        if (std::any_of(kept, kept + stay, covers)) continue;
        kept[stay++] = order[i];
        *end++ = batch;
        *end++ = c;
        *end++ = order[i];
      }
    }
  }
  selected.allocate({(end - rows) / 3, 3});
  std::copy(rows, end, selected.data());
}
