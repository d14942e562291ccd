#pragma once

#include "common.cuh"

// NonMaxSuppression: for every batch and class the boxes that overlap no better one by more than a limit, best first, as
// rows of batch, class and box. One thread.
struct NonMaxSuppression_node {
  int64_t rows, room;
  int64_t batches, classes, count, centred;
};

#ifdef __CUDACC__
struct NmsBox {
  float y_min, x_min, y_max, x_max;
  __device__ float area() const { return (y_max - y_min) * (x_max - x_min); }
};
// From any two opposite corners (y, x, y, x), or from centre and size (x, y, width, height).
__device__ inline NmsBox nms_box(const float* b, bool centred) {
  if (centred) return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return {fminf(b[0], b[2]), fminf(b[1], b[3]), fmaxf(b[0], b[2]), fmaxf(b[1], b[3])};
}
// The area that both boxes cover over the area that any of them covers.
__device__ inline float nms_overlap(const NmsBox& a, const NmsBox& b) {
  const float height = fminf(a.y_max, b.y_max) - fmaxf(a.y_min, b.y_min);
  const float width = fminf(a.x_max, b.x_max) - fmaxf(a.x_min, b.x_min);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return 0;
  return height * width / (a.area() + b.area() - height * width);
}

template <class M, class L, class S, class I>
__device__ void NonMaxSuppression_row(const NonMaxSuppression_node& of, int64_t, const float* boxes,
                                      const float* scores, const M* most_boxes, const L* limit, const S* least, I* y,
                                      int64_t* found, uint8_t*) {
  const int64_t most = most_boxes == nullptr ? 0 : int64_t(most_boxes[0]);
  const float overlap = limit == nullptr ? 0 : float(limit[0]);
  int64_t end = 0;
  for (int64_t batch = 0; batch < of.batches; ++batch) {
    const float* own = boxes + batch * of.count * 4;
    for (int64_t c = 0; c < of.classes; ++c) {
      const float* score = scores + (batch * of.classes + c) * of.count;
      const int64_t first = end;
      int64_t last = -1;
      for (int64_t n = 0; n < of.count && end - first < most; ++n) {
        // The best of all that come after the last one; of equal ones the smaller index.
        int64_t best = -1;
        for (int64_t i = 0; i < of.count; ++i) {
          if (least != nullptr && !(score[i] >= float(least[0]))) continue;
          if (last >= 0 && !(score[last] > score[i] || (score[last] == score[i] && last < i))) continue;
          if (best < 0 || score[i] > score[best]) best = i;
        }
        if (best < 0) break;
        last = best;
        bool covered = false;
        for (int64_t k = first; k < end && !covered; ++k) {
          covered = nms_overlap(nms_box(own + int64_t(y[3 * k + 2]) * 4, of.centred != 0),
                                nms_box(own + best * 4, of.centred != 0)) > overlap;
        }
        if (covered) continue;
        y[3 * end] = I(batch);
        y[3 * end + 1] = I(c);
        y[3 * end + 2] = I(best);
        ++end;
      }
    }
  }
  found[0] = 2;
  found[1] = end;
  found[2] = 3;
}
#else
inline NonMaxSuppression_node NonMaxSuppression_plan(const kw::Node& node, kw::Shape* y, const Given&,
                                                     const Given& scores, const Given&, const Given&, const Given&) {
  *y = {scores.shape.count(), 3};
  return {1, 0, scores.shape[0], scores.shape[1], scores.shape[2], node.integer("center_point_box")};
}
#endif
