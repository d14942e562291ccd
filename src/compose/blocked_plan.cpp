#include "compose/blocked_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "compose/blocked_graph.h"
#include "ops/window.h"

namespace kw::compose {
namespace {

using ops::Graph;
using ops::GraphNode;

constexpr std::int64_t kWidest = 16;  // channels of a block, at most
// Of minimal filtering: pixels of a tile along an axis, products for all of them, and tiles that are worth it.
constexpr std::int64_t kTile = 4, kTileParts = 36, kFewestTiles = 20, kTilesAtATime = 56;
// Along a row: six products for each tile of 4 or 2 pixels.
constexpr std::int64_t kLineParts = 6, kFewestLineTiles = 28;
constexpr std::int64_t kFewChannels = 4;  // of an input that stays as it came

std::int64_t rounded_up(std::int64_t number, std::int64_t to) { return (number + to - 1) / to * to; }

// Several nodes that are one thing done to each number: x * sigmoid(x).
struct Joined {
  Elementwise how;
  Slot result = -1;
  int uses_of_image = 1;
  std::set<const GraphNode*> nodes;
};

class Planner {
 public:
  explicit Planner(const Graph& graph) : graph_(graph), uses_(graph.types.size(), 0), image_(graph.types.size(), -1) {
    for (const GraphNode& node : graph.nodes) {
      for (const Slot slot : node.inputs) {
        if (slot < 0) continue;
        ++uses_[at(slot)];
        readers_[slot].push_back(&node);
      }
    }
    for (const Slot slot : graph.outputs) uses_[at(slot)] += 1000;  // never only one
    turned_ = is_one_column();
  }

  Result<BlockedPlan> plan() {
    std::int64_t images = -1;
    for (const GraphNode& node : graph_.nodes) {
      if (const std::string why = blocked_obstacle(graph_, node); !why.empty())
        return fail("{}: {}", node.call.op->name, why);
      const std::int64_t here = type_of(graph_, node.outputs[0]).shape[0];
      if (images >= 0 && here != images) return fail("{}: another number of images", node.call.op->name);
      images = here;
    }
    for (const GraphNode& node : graph_.nodes) {
      if (!done_.contains(&node)) add(node);
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const int image = image_of(graph_.outputs[i]);
      plan_.leaving.emplace_back(image, i);
      use(image, static_cast<int>(plan_.steps.size()));
    }
    set_margins();
    place_images(plan_);
    keep_weights();
    return std::move(plan_);
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  PlannedImage& image(int i) { return plan_.images[at(i)]; }
  int next_step() const { return static_cast<int>(plan_.steps.size()); }

  // Whether no image is wider than one pixel. Such a column of pixels lies in memory as a row does, and is computed as
  // one: tiles go along rows.
  bool is_one_column() const {
    bool any_tall = false;
    for (const GraphNode& node : graph_.nodes) {
      for (const auto* slots : {&node.inputs, &node.outputs}) {
        for (const Slot slot : *slots) {
          if (slot < 0 || is_weight(graph_, slot) || !is_image(type_of(graph_, slot))) continue;
          if (type_of(graph_, slot).shape[3] != 1) return false;
          any_tall = any_tall || type_of(graph_, slot).shape[2] > 1;
        }
      }
    }
    return any_tall;
  }

  int new_image(const TensorType& type) {
    const int down = turned_ ? 3 : 2, across = turned_ ? 2 : 3;
    plan_.images.push_back({.channels = type.shape[1], .height = type.shape[down], .width = type.shape[across]});
    return static_cast<int>(plan_.images.size()) - 1;
  }

  // The image of a slot; an input's is made when it is first read.
  int image_of(Slot slot) {
    if (image_[at(slot)] < 0) {
      const int made = new_image(type_of(graph_, slot));
      image(made).written = -1;
      image(made).first = -1;
      const auto& readers = readers_[slot];
      image(made).planes =
          image(made).channels <= kFewChannels && std::ranges::all_of(readers, [](const GraphNode* node) {
            return node->call.op->name == "Conv" && node->call.integer("group") == 1;
          });
      plan_.entering.emplace_back(slot, made);
      image_[at(slot)] = made;
    }
    return image_[at(slot)];
  }

  // The image that an image lies in, and from which channel on.
  std::pair<int, std::int64_t> root_of(int i) {
    std::int64_t channel = 0;
    while (image(i).inside_of >= 0) {
      channel += image(i).channel0;
      i = image(i).inside_of;
    }
    return {i, channel};
  }

  void use(int i, int step) { image(i).last = std::max(image(i).last, step); }

  PlannedStep& add_step(PlannedStep step) {
    const int number = next_step();
    use(step.in, number);
    use(step.out, number);
    image(step.out).first = std::min(image(step.out).first, number);
    image(step.out).written = number;
    plan_.steps.push_back(std::move(step));
    return plan_.steps.back();
  }

  // A step from a node's first input to its first output.
  PlannedStep& add_step_of(const GraphNode& node, const std::string& kind) {
    PlannedStep step{.kind = kind, .about = graph_.names[at(node.outputs[0])], .in = image_of(node.inputs[0])};
    step.out = image_[at(node.outputs[0])] = new_image(type_of(graph_, node.outputs[0]));
    image(step.out).open = next_step();
    return add_step(std::move(step));
  }

  void add(const GraphNode& node) {
    const std::string& op = node.call.op->name;
    if (const auto how = elementwise_of(graph_, node)) {
      add_elementwise(joined_from(node, *how));
    } else if (op == "Conv") {
      add_convolution(node);
    } else if (op == "ConvTranspose") {
      add_transposed(node);
    } else if (op == "MaxPool" || op == "AveragePool") {
      PlannedStep& step = add_step_of(node, op == "MaxPool" ? "max_pool" : "average_pool");
      set_window(step, node, Shape(node.call.integers("kernel_shape")));
      step.flag = op == "AveragePool" && node.call.attributes.has("count_include_pad") &&
                  node.call.integer("count_include_pad") != 0;
    } else if (op == "GlobalAveragePool") {
      add_step_of(node, "global_average");
    } else if (op == "Resize") {
      PlannedStep& step = add_step_of(node, "resize");
      std::tie(step.kernel[0], step.kernel[1]) = *repeats_of(graph_, node);
      if (turned_) std::swap(step.kernel[0], step.kernel[1]);
    } else if (op == "Split") {
      add_split(node);
    } else {
      add_concatenation(node);
    }
  }

  void set_window(PlannedStep& step, const GraphNode& node, const Shape& kernel) {
    const bool ceil = node.call.attributes.has("ceil_mode") && node.call.integer("ceil_mode") != 0;
    const auto window =
        ops::sliding_window(node.call, ops::spatial_axes(type_of(graph_, node.inputs[0]).shape), kernel, ceil);
    assert(window.ok());  // its shape was inferred
    for (std::size_t i = 0; i < 2; ++i) {
      const ops::WindowAxis& axis = (*window)[turned_ ? 1 - i : i];
      step.kernel[i] = axis.kernel;
      step.stride[i] = axis.stride;
      step.dilation[i] = axis.dilation;
      step.pad[i] = axis.pad_begin;
    }
  }

  void add_convolution(const GraphNode& node) {
    PlannedStep& step = add_step_of(node, node.call.integer("group") == 1 ? "convolve" : "convolve_by_channel");
    step.weights = node.inputs[1];
    step.bias = node.inputs.size() > 2 ? node.inputs[2] : -1;
    set_window(step, node, ops::spatial_axes(type_of(graph_, step.weights).shape));
    filter_minimally(step);
    filter_line(step);
  }

  // 6 products in the place of 12 or 10, along rows that are long enough.
  void filter_line(PlannedStep& step) {
    const PlannedImage &from = image(step.in), &to = image(step.out);
    const bool fits = step.kernel[0] == 1 && (step.kernel[1] == 3 || step.kernel[1] == 5) && step.stride[0] == 1 &&
                      step.stride[1] == 1 && step.dilation[1] == 1 && step.pad[0] == 0;
    const std::int64_t across = (to.width + line_tile(step) - 1) / line_tile(step);
    if (!fits || step.kind != "convolve" || from.planes || from.channels < 4 * kWidest || to.channels < 4 * kWidest ||
        across < kFewestLineTiles)
      return;
    step.kind = "filter_line";
    step.tile_rows = std::min(across, kTilesAtATime);
    const std::int64_t channels = rounded_up(from.channels, kWidest) + rounded_up(to.channels, kWidest);
    plan_.work_floats = std::max(plan_.work_floats, kLineParts * channels * step.tile_rows);
  }
  // Pixels of a tile along a row.
  static std::int64_t line_tile(const PlannedStep& step) { return kLineParts + 1 - step.kernel[1]; }

  // 36 products in the place of 144, where tiles of 4 x 4 pixels are not mostly padding.
  void filter_minimally(PlannedStep& step) {
    const PlannedImage &from = image(step.in), &to = image(step.out);
    for (std::size_t i = 0; i < 2; ++i) {
      if (step.kernel[i] != 3 || step.stride[i] != 1 || step.dilation[i] != 1) return;
    }
    const std::int64_t across = (to.width + kTile - 1) / kTile, down = (to.height + kTile - 1) / kTile;
    const bool is_worth_it = across * down * kTile * kTile <= 2 * to.height * to.width && across * down >= kFewestTiles;
    if (step.kind != "convolve" || from.planes || from.channels < kWidest || to.channels < kWidest || !is_worth_it)
      return;
    step.kind = "filter_minimally";
    step.tile_rows = std::clamp<std::int64_t>(kTilesAtATime / across, 1, down);
    const std::int64_t channels = rounded_up(from.channels, kWidest) + rounded_up(to.channels, kWidest);
    plan_.work_floats = std::max(plan_.work_floats, kTileParts * channels * step.tile_rows * across);
  }

  // A product of its own for each pixel of the window.
  void add_transposed(const GraphNode& node) {
    const std::int64_t stride = node.call.integers("strides")[0];
    PlannedStep first = add_step_of(node, "convolve");
    plan_.steps.pop_back();
    first.weights = node.inputs[1];
    first.bias = node.inputs.size() > 2 ? node.inputs[2] : -1;
    first.out_stride = stride;
    for (std::int64_t i = 0; i < stride * stride; ++i) {
      first.out_y = i / stride;
      first.out_x = i % stride;
      first.last = i + 1 == stride * stride;
      add_step(first);
    }
    image(first.out).open = next_step() - 1;
  }

  void add_split(const GraphNode& node) {
    const int whole = image_of(node.inputs[0]);
    std::int64_t channel = 0;
    for (const Slot slot : node.outputs) {
      const int part = image_[at(slot)] = new_image(type_of(graph_, slot));
      image(part).inside_of = whole;
      image(part).channel0 = channel;
      image(part).written = image(whole).written;
      channel += image(part).channels;
    }
    image(whole).open = -1;
  }

  void add_concatenation(const GraphNode& node) {
    const int whole = image_[at(node.outputs[0])] = new_image(type_of(graph_, node.outputs[0]));
    std::vector<int> parts;
    std::vector<std::int64_t> begins;
    std::int64_t channel = 0;
    for (const Slot slot : node.inputs) {
      parts.push_back(image_of(slot));
      begins.push_back(channel);
      channel += image(parts.back()).channels;
    }
    int written = -1;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto [root, from] = root_of(parts[i]);
      if (root != whole && lies_whole(parts, begins, root, begins[i] - from)) {
        image(root).inside_of = whole;
        image(root).channel0 = begins[i] - from;
      }
      const auto [now, there] = root_of(parts[i]);
      if (now == whole && there == begins[i]) {
        written = std::max(written, image(parts[i]).written);
        continue;
      }
      PlannedStep step{.kind = "place", .about = graph_.names[at(node.outputs[0])], .in = parts[i], .out = whole};
      step.pad[0] = begins[i];  // its first channel there
      add_step(std::move(step));
      written = next_step() - 1;
    }
    image(whole).written = written;
  }

  // Whether an image that lies in no other one is, with all its channels and in their order, a part of the
  // concatenation from channel `begin` on.
  bool lies_whole(const std::vector<int>& parts, const std::vector<std::int64_t>& begins, int root,
                  std::int64_t begin) {
    if (begin < 0 || begin % kWidest != 0 || image(root).planes) return false;
    std::int64_t covered = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool is_there = begins[i] >= begin && begins[i] < begin + image(root).channels;
      if (!is_there) continue;
      const auto [its_root, from] = root_of(parts[i]);
      if (its_root != root || begins[i] - from != begin) return false;
      covered += image(parts[i]).channels;
    }
    return covered == image(root).channels;
  }

  const GraphNode* only_reader(Slot slot) { return uses_[at(slot)] == 1 ? readers_[slot].front() : nullptr; }

  // y = x * f(x), for f = sigmoid, a hard sigmoid, or a clipped sum.
  Joined joined_from(const GraphNode& node, const Elementwise& how) {
    Joined alone{.how = how, .result = node.outputs[0], .uses_of_image = 1, .nodes = {&node}};
    if (how.other >= 0 && how.other == how.image) alone.uses_of_image = 1000;
    const GraphNode* next = only_reader(node.outputs[0]);
    if (next == nullptr) return alone;
    Joined all{.how = how, .result = next->outputs[0], .uses_of_image = 2, .nodes = {&node, next}};
    if (how.touch == "sigmoid" && is_product_of(*next, how.image, node.outputs[0])) {
      all.how.touch = "swish";
      return all;
    }
    if (how.touch == "hard_sigmoid" && is_product_of(*next, how.image, node.outputs[0])) {
      all.how.touch = "hard_swish";
      return all;
    }
    if (how.is_affine() && how.recipe == "add") {
      const auto shift = number_in(graph_, how.weights[0]);
      const auto clip = elementwise_of(graph_, *next);
      const GraphNode* third = only_reader(next->outputs[0]);
      if (!shift || !clip || clip->touch != "clip" || clip->a != 0 || clip->b <= 0 || !third) return alone;
      const GraphNode* fourth = only_reader(third->outputs[0]);
      if (!fourth || !is_product_of(*third, how.image, next->outputs[0])) return alone;
      const auto scale = elementwise_of(graph_, *fourth);
      if (!scale || !scale->is_affine() || scale->image != third->outputs[0]) return alone;
      const auto number = number_in(graph_, scale->weights[0]);
      const bool is_mean = number && ((scale->recipe == "divide" && *number == clip->b) ||
                                      (scale->recipe == "multiply" && std::abs(*number * clip->b - 1) < 1e-6));
      if (!is_mean) return alone;
      return {.how = {.touch = "hard_swish", .a = 1 / clip->b, .b = *shift / clip->b, .image = how.image},
              .result = fourth->outputs[0],
              .uses_of_image = 2,
              .nodes = {&node, next, third, fourth}};
    }
    return alone;
  }

  static bool is_product_of(const GraphNode& node, Slot a, Slot b) {
    if (node.call.op->name != "Mul") return false;
    return (node.inputs[0] == a && node.inputs[1] == b) || (node.inputs[0] == b && node.inputs[1] == a);
  }

  // Into the step that made the image where no other step reads it, or as a step of its own.
  void add_elementwise(Joined joined) {
    done_.insert(joined.nodes.begin(), joined.nodes.end());
    Elementwise& how = joined.how;
    const bool two_images = how.other >= 0 && !how.is_affine();
    int mine = image_of(how.image), other = two_images ? image_of(how.other) : -1;
    const bool alike = two_images && !how.touch.ends_with("_each");
    if (alike && image(other).open > image(mine).open && uses_[at(how.other)] == 1) {
      std::swap(mine, other);  // the later one takes up the earlier one
      std::swap(how.image, how.other);
    }
    const bool takes_up = image(mine).open >= 0 && uses_[at(how.image)] == joined.uses_of_image && mine != other &&
                          (other < 0 || image(other).written < image(mine).open);
    if (!takes_up) {
      const int from = mine;
      mine = new_image(type_of(graph_, joined.result));
      PlannedStep step{.kind = "copy", .about = graph_.names[at(joined.result)], .in = from, .out = mine};
      image(mine).open = next_step();
      add_step(std::move(step));
    }
    const int number = image(mine).open;
    PlannedStep& step = plan_.steps[at(number)];
    if (other >= 0) use(other, number);
    image_[at(joined.result)] = mine;
    if (how.is_affine() && step.finishes.empty() && step.is_convolution() && step.out_stride == 1) {
      step.recipes.push_back(how);
    } else if (how.is_affine() && !step.finishes.empty() && step.finishes.back().how.is_affine()) {
      step.finishes.back().recipes.push_back(how);
    } else {
      step.finishes.push_back({.how = how, .recipes = {}, .other = other});
      if (how.is_affine()) step.finishes.back().recipes.push_back(how);
    }
  }

  // How far convolutions reach beyond an image; images in one another have one margin.
  void set_margins() {
    for (const PlannedStep& step : plan_.steps) {
      if (!step.is_convolution() || step.out_stride > 1) continue;
      const PlannedImage &from = image(step.in), &to = image(step.out);
      const std::int64_t lengths[2] = {from.height, from.width}, results[2] = {to.height, to.width};
      std::int64_t margin = 0;
      for (std::size_t i = 0; i < 2; ++i) {
        const std::int64_t last =
            (results[i] - 1) * step.stride[i] - step.pad[i] + (step.kernel[i] - 1) * step.dilation[i];
        const std::int64_t tile = step.tile_rows == 0       ? 1
                                  : !step.goes_along_rows() ? kTile
                                  : i == 1                  ? line_tile(step)
                                                            : 1;
        const std::int64_t beyond = rounded_up(results[i], tile) - results[i];
        margin = std::max({margin, step.pad[i], last + beyond - (lengths[i] - 1)});
      }
      PlannedImage& root = image(root_of(step.in).first);
      root.margin = std::max(root.margin, margin);
    }
    for (std::size_t i = 0; i < plan_.images.size(); ++i) {
      PlannedImage& root = image(root_of(static_cast<int>(i)).first);
      root.first = std::min(root.first, plan_.images[i].first);
      root.last = std::max(root.last, plan_.images[i].last);
    }
    for (std::size_t i = 0; i < plan_.images.size(); ++i) {
      plan_.images[i].margin = image(root_of(static_cast<int>(i)).first).margin;
    }
  }

  void keep_weights() {
    for (PlannedStep& step : plan_.steps) {
      const std::int64_t channels = rounded_up(image(step.out).channels, kWidest);
      if (step.is_convolution()) {
        const std::int64_t fan = step.kind == "convolve_by_channel" ? 1 : image(step.in).channels;
        const std::int64_t taps = step.goes_along_rows() ? kLineParts
                                  : step.tile_rows > 0   ? kTileParts
                                                         : step.kernel[0] * step.kernel[1];
        step.packed = plan_.kept_floats;
        plan_.kept_floats += channels * (1 + taps * fan);
      }
      for (PlannedFinish& finish : step.finishes) {
        if (!finish.how.is_affine()) continue;
        finish.kept = plan_.kept_floats;
        plan_.kept_floats += 2 * channels;
      }
    }
    plan_.kept_floats = std::max<std::int64_t>(plan_.kept_floats, kWidest);
  }

  const Graph& graph_;
  bool turned_ = false;     // images are columns, and are computed as rows
  std::vector<int> uses_;   // of each slot
  std::vector<int> image_;  // of each slot; -1: none yet
  std::map<Slot, std::vector<const GraphNode*>> readers_;
  std::set<const GraphNode*> done_;
  BlockedPlan plan_;
};

}  // namespace

void place_images(BlockedPlan& plan) {
  std::vector<std::size_t> roots, placed;
  const auto size_of = [&](const PlannedImage& one) {
    const std::int64_t channels = one.planes ? one.channels : rounded_up(one.channels, kWidest);
    return rounded_up(channels * (one.height + 2 * one.margin) * (one.width + 2 * one.margin), kWidest);
  };
  for (std::size_t i = 0; i < plan.images.size(); ++i) {
    if (plan.images[i].inside_of < 0) roots.push_back(i);
  }
  std::ranges::stable_sort(roots, std::ranges::greater(), [&](std::size_t i) { return size_of(plan.images[i]); });
  for (const std::size_t i : roots) {
    PlannedImage& one = plan.images[i];
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
    for (const std::size_t k : placed) {
      const PlannedImage& other = plan.images[k];
      if (other.first <= one.last && one.first <= other.last)
        taken.emplace_back(other.offset, other.offset + size_of(other));
    }
    std::ranges::sort(taken);
    for (const auto& [begin, end] : taken) {
      if (one.offset + size_of(one) <= begin) break;
      one.offset = std::max(one.offset, end);
    }
    plan.memory_floats = std::max(plan.memory_floats, one.offset + size_of(one));
    placed.push_back(i);
  }
  // Images inside of others, by the outermost one.
  std::vector<PlannedImage> flat = plan.images;
  for (PlannedImage& one : flat) {
    for (int i = one.inside_of; i >= 0;) {
      const PlannedImage& around = plan.images[static_cast<std::size_t>(i)];
      one.offset = around.offset;
      i = around.inside_of;
      if (i >= 0) one.channel0 += around.channel0;
    }
  }
  plan.images = std::move(flat);
}

Result<BlockedPlan> blocked_plan(const Graph& graph) { return Planner(graph).plan(); }

}  // namespace kw::compose
