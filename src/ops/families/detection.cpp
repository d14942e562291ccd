// The last step of object detection: of boxes that cover the same thing, the one with the best score.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/walk.h"

namespace kw::ops::families {
namespace {

enum Input : std::size_t { kBoxes, kScores, kMost, kOverlap, kLeastScore };

struct Box {
  double y_min, x_min, y_max, x_max;

  double height() const { return y_max - y_min; }
  double width() const { return x_max - x_min; }
  double area() const { return height() * width(); }
};

// From any two opposite corners (y, x, y, x), or from centre and size (x, y, width, height).
Box box_of(double a, double b, double c, double d, bool centred) {
  if (centred) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

// The area that both boxes cover over the area that any of them covers; 0 where they do not overlap. What both cover
// is taken `wider` on each axis than it is.
double overlap(const Box& a, const Box& b, double wider = 0) {
  const double height = std::min(a.y_max, b.y_max) - std::max(a.y_min, b.y_min) + wider;
  const double width = std::min(a.x_max, b.x_max) - std::max(a.x_min, b.x_min) + wider;
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return 0;
  return height * width / (a.area() + b.area() - height * width);
}

// How boxes, scores and results are laid out.
struct Detection {
  std::int64_t batches, classes, boxes;
  bool centred;

  explicit Detection(const Call& call)
      : batches(call.shape(kScores)[0]),
        classes(call.shape(kScores)[1]),
        boxes(call.shape(kScores)[2]),
        centred(call.integer("center_point_box") != 0) {}
};

Result<Types> infer_suppression(const Call& call) {
  const Shape& boxes = call.shape(kBoxes);
  const Shape& scores = call.shape(kScores);
  if (boxes.rank() != 3 || boxes[2] != 4) return fail("boxes {} must be [batches, boxes, 4]", boxes.text());
  if (scores.rank() != 3 || scores[0] != boxes[0] || scores[2] != boxes[1]) {
    return fail("scores {} must be [batches, classes, boxes], with boxes {}", scores.text(), boxes.text());
  }
  KW_CHECK(call.check_one_number({kMost, kOverlap, kLeastScore}));
  std::int64_t most = call.has(kMost) ? boxes[1] : 0;
  if (call.has(kMost) && call.constants[kMost]) {
    most = std::clamp<std::int64_t>(call.constants[kMost]->integer(0), 0, boxes[1]);
  }
  return Types{{DType::int64, Shape{scores[0] * scores[1] * most, 3}, true}};
}

// The boxes of one class that stay, best first; of equal scores the smaller index comes first.
std::vector<std::int64_t> kept_boxes(std::span<const Box> boxes, std::span<const double> scores, std::int64_t most,
                                     double overlap_limit, double least_score) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < std::ssize(scores); ++i) {
    if (scores[size_of(i)] >= least_score) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::int64_t i) { return scores[size_of(i)]; });
  std::vector<std::int64_t> kept;
  for (std::int64_t candidate : order) {
    if (std::ssize(kept) >= most) break;
    const auto covers = [&](std::int64_t better) {
      return overlap(boxes[size_of(better)], boxes[size_of(candidate)]) > overlap_limit;
    };
    if (std::ranges::none_of(kept, covers)) kept.push_back(candidate);
  }
  return kept;
}

Status suppress(const Call& call, WideInputs in, std::span<WideTensor> out) {
  const Detection shape(call);
  const std::int64_t most = call.has(kMost) ? in[kMost]->integers[0] : 0;
  const double overlap_limit = call.has(kOverlap) ? in[kOverlap]->reals[0] : 0;
  const double least_score = call.has(kLeastScore) ? in[kLeastScore]->reals[0] : -INFINITY;
  if (!(overlap_limit >= 0 && overlap_limit <= 1)) return fail("iou_threshold is {}, not in [0, 1]", overlap_limit);
  std::vector<Box> boxes;
  for (std::size_t i = 0; i < in[kBoxes]->reals.size(); i += 4) {
    const double* corner = &in[kBoxes]->reals[i];
    boxes.push_back(box_of(corner[0], corner[1], corner[2], corner[3], shape.centred));
  }
  std::vector<std::int64_t> rows;
  for (std::int64_t batch = 0; batch < shape.batches; ++batch) {
    const std::span<const Box> own(boxes.data() + batch * shape.boxes, size_of(shape.boxes));
    for (std::int64_t c = 0; c < shape.classes; ++c) {
      const double* first = in[kScores]->reals.data() + (batch * shape.classes + c) * shape.boxes;
      for (std::int64_t box : kept_boxes(own, {first, size_of(shape.boxes)}, most, overlap_limit, least_score)) {
        rows.insert(rows.end(), {batch, c, box});
      }
    }
  }
  out[0] = WideTensor(TensorType{DType::int64, Shape{std::ssize(rows) / 3, 3}});
  out[0].integers = std::move(rows);
  return {};
}

// ---- Inputs that leave no doubt: no equal scores, and no overlap so near the limit that rounding decides.

// A number that is drawn or given by the task; none: left out, or an earlier node's.
std::optional<double> scalar_of(const Call& call, std::span<Tensor* const> inputs, std::size_t input) {
  if (!call.has(input)) return std::nullopt;
  if (inputs[input]) return inputs[input]->real(0);
  if (call.constants[input]) return call.constants[input]->real(0);
  return std::nullopt;
}

void draw_distinct_scores(const Detection& shape, std::optional<double> least_score, Random& random, Tensor& scores) {
  for (std::int64_t row = 0; row < shape.batches * shape.classes; ++row) {
    std::set<double> seen;
    if (least_score) seen.insert(static_cast<float>(*least_score));
    for (std::int64_t i = row * shape.boxes; i < (row + 1) * shape.boxes; ++i) {
      while (!seen.insert(scores.real(i)).second) scores.set_real(i, random.unit());
    }
  }
}

class BoxDrawer {
 public:
  BoxDrawer(Tensor& boxes, const Detection& shape, double limit, Random& random)
      : boxes_(boxes), shape_(shape), limit_(limit), random_(random) {}

  void draw() {
    for (std::int64_t batch = 0; batch < shape_.batches; ++batch) {
      drawn_.clear();
      for (std::int64_t i = 0; i < shape_.boxes; ++i) draw_box(batch * shape_.boxes + i);
    }
  }

 private:
  // A part of the boxes lies close to an earlier one, as a detector's do: those are what suppression is about.
  void draw_box(std::int64_t box) {
    constexpr int kTries = 64;
    if (!drawn_.empty() && random_.chance(0.3)) move_near(box, box - random_.integer(1, std::ssize(drawn_)));
    for (int tries = 0; in_doubt(at(box)); ++tries) {
      for (int k = 0; k < 4; ++k) boxes_.set_real(4 * box + k, random_.unit());
      if (tries == kTries) move_away(box);
    }
    drawn_.push_back(at(box));
  }

  void move_near(std::int64_t box, std::int64_t other) {
    for (int k = 0; k < 4; ++k) boxes_.set_real(4 * box + k, boxes_.real(4 * other + k) + 0.05 * random_.normal());
  }

  // Far from all others; either format gives a box of size 1.
  void move_away(std::int64_t box) {
    const double place = 8 + 4 * static_cast<double>(drawn_.size());
    for (int k = 0; k < 4; ++k) boxes_.set_real(4 * box + k, k < 2 ? place : shape_.centred ? 1 : place + 1);
  }

  Box at(std::int64_t box) const {
    const std::int64_t i = 4 * box;
    return box_of(boxes_.real(i), boxes_.real(i + 1), boxes_.real(i + 2), boxes_.real(i + 3), shape_.centred);
  }

  bool in_doubt(const Box& box) const {
    constexpr double kLeastSide = 0.01;  // below, the rounding of coordinates shows in the area
    constexpr double kSameSide = 1e-5, kSameOverlap = 1e-4;
    if (box.height() < kLeastSide || box.width() < kLeastSide) return true;
    return std::ranges::any_of(drawn_, [&](const Box& other) {
      if (overlap(box, other, kSameSide) == 0) return false;
      return std::fabs(overlap(box, other) - limit_) < kSameOverlap;
    });
  }

  Tensor& boxes_;
  const Detection& shape_;
  double limit_;
  Random& random_;
  std::vector<Box> drawn_;  // of this batch
};

void draw_detections(const Call& call, InputClass input_class, Random& random, std::span<Tensor* const> inputs) {
  const Detection shape(call);
  if (inputs[kScores]) {
    draw_distinct_scores(shape, scalar_of(call, inputs, kLeastScore), random, *inputs[kScores]);
  }
  if (inputs[kBoxes]) {
    const double overlap = scalar_of(call, inputs, kOverlap).value_or(0);
    BoxDrawer(*inputs[kBoxes], shape, overlap, random).draw();
    // Now and then all are one.
    const bool alike = input_class != InputClass::typical && overlap < 0.99 && random.chance(0.1);
    for (std::int64_t i = 4; alike && i < inputs[kBoxes]->count(); ++i) {
      inputs[kBoxes]->set_real(i, inputs[kBoxes]->real(i % 4));
    }
  }
}

Sample sample_suppression(Random& random) {
  Sample sample;
  const std::int64_t batches = random.integer(1, 2), classes = random.integer(1, 3), boxes = random.integer(1, 60);
  sample.input(DType::float32, {batches, boxes, 4}).input(DType::float32, {batches, classes, boxes});
  if (random.chance(0.5)) sample.attribute("center_point_box", random.integer(0, 1));
  const Shape one = random.chance(0.5) ? Shape{1} : Shape{};
  if (random.chance(0.7)) {
    sample.constant(Tensor::of_integers({random.integer(1, 20)}));
  } else {
    sample.input(DType::int64, one);
  }
  if (random.chance(0.2)) return sample;
  if (random.chance(0.7)) {
    sample.constant(Tensor::scalar(random.uniform(0.1, 0.9)));
  } else {
    sample.input(DType::float32, one);
  }
  if (random.chance(0.3)) return sample;
  if (random.chance(0.5)) {
    sample.constant(Tensor::scalar(random.uniform(0, 0.5)));
  } else {
    sample.input(DType::float32, one);
  }
  return sample;
}

Op suppression_op() {
  Op op;
  op.name = "NonMaxSuppression";
  op.meaning =
      "for every batch and class the boxes that overlap no better one by more than a limit, best first, as rows of "
      "batch, class and box";
  op.since = 11;
  op.attributes = {{.name = "center_point_box", .fallback = std::int64_t{0}}};
  const DTypes real{DType::float32};
  const Domain unit{.low = 0, .high = 1};
  op.inputs = {
      {.name = "boxes", .types = real, .domain = unit},
      {.name = "scores", .types = real, .domain = unit},
      {.name = "max_output_boxes_per_class",
       .types = kInt64,
       .group = "",
       .domain = {.low = 1, .high = 100},
       .optional = true},
      {.name = "iou_threshold", .types = real, .domain = {.low = 0.1, .high = 0.9}, .optional = true},
      {.name = "score_threshold", .types = real, .domain = {.low = 0, .high = 0.5}, .optional = true},
  };
  op.outputs = {{"selected_indices"}};
  op.infer = infer_suppression;
  op.reference = suppress;
  // At least every score is compared once, and every box that stays with every other that does.
  op.flops = [](const Call& call) {
    constexpr double kPerOverlap = 12;
    const Detection shape(call);
    const auto rows = static_cast<double>(shape.batches * shape.classes);
    const double kept = static_cast<double>(call.outputs[0].shape[0]) / std::max(rows, 1.0);
    return rows * (static_cast<double>(shape.boxes) + kPerOverlap * kept * std::max(kept - 1, 0.0) / 2);
  };
  op.draw = draw_detections;
  op.sample = sample_suppression;
  return op;
}

}  // namespace

std::vector<Op> detection() { return {suppression_op()}; }

}  // namespace kw::ops::families
