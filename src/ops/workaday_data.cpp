#include "ops/workaday_data.h"

#include <algorithm>
#include <cmath>

#include "ops/draw.h"

namespace kw::ops {
namespace {

// Sums of such numbers are exact.
float shortened(float value) { return std::clamp(std::round(value * 4) / 4, -8.0F, 8.0F); }

struct Matrix {
  std::span<float> values;
  std::size_t rows, columns;

  // What is kept is not zero, where anything else is there.
  template <class F>
  void keep(F&& kept) const {
    const auto some = std::ranges::find_if(values, [](float value) { return value != 0; });
    const float other = some == values.end() ? 0 : *some;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool stays = kept(i / columns % rows, i % columns);
      values[i] = !stays ? 0 : values[i] == 0 ? other : values[i];
    }
  }
  // Each element becomes another one of its matrix.
  template <class F>
  void copy(F&& from) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t r = i / columns % rows, c = i % columns;
      values[i] = shortened(values[i - r * columns - c + from(r, c)]);
    }
  }
};

void make_skew(const Matrix& m) {
  for (std::size_t i = 0; i < m.values.size(); ++i) {
    const std::size_t r = i / m.columns % m.rows, c = i % m.columns;
    if (c == r) m.values[i] = 0;
    if (c > r) m.values[i] = -m.values[i - r * m.columns - c + c * m.columns + r];
  }
}

void make_rank_one(const Matrix& m, Random& random) {
  std::vector<float> a(m.rows), b(m.columns);
  for (float& one : a) one = static_cast<float>(random.integer(1, 3));
  for (float& one : b) one = static_cast<float>(random.integer(1, 4));
  for (std::size_t i = 0; i < m.values.size(); ++i) m.values[i] = a[i / m.columns % m.rows] * b[i % m.columns];
}

// The input that is a mask, by its place among the inputs; -1: there is none.
int mask_of_softmax(const Graph& graph, const GraphNode& softmax) {
  for (const GraphNode& node : graph.nodes) {
    if (node.call.op->name != "Add" || node.outputs[0] != softmax.inputs[0]) continue;
    const int mask = node.inputs[1];
    const auto inputs = static_cast<int>(graph.inputs.size());
    if (mask < 0 || mask >= inputs || node.inputs[0] < 0 || node.inputs[0] >= inputs) return -1;
    const GraphInput& input = graph.inputs[static_cast<std::size_t>(mask)];
    return input.role == Role::input && input.type.dtype == DType::float32 && input.type.shape.rank() >= 2 ? mask : -1;
  }
  return -1;
}

}  // namespace

double longest_sum(const Graph& graph) {
  double longest = 1;
  for (const GraphNode& node : graph.nodes) {
    longest = std::max(longest, node.call.op->flops(node.call) / std::max(output_count(node.call), 1.0));
  }
  return longest;
}

void shorten_for(double terms, std::span<float> values) {
  constexpr float kLeast = 0.5F;
  // Of whole numbers; others are quarters.
  float most = 256;
  for (double length = 64; length < terms && most > kLeast; length *= 4) most /= 2;
  const bool whole = std::ranges::all_of(values, [](float value) { return value == std::round(value); });
  if (!whole) most = std::max(most / 4, kLeast);
  for (float& value : values) value = std::fmod(value, most);
}

void make_matrix(std::span<float> values, const Shape& shape, bool both_signs, std::size_t kind, Random& random) {
  const int rank = shape.rank();
  const Matrix m{values, rank < 2 ? 1 : static_cast<std::size_t>(shape[rank - 2]),
                 rank == 0 ? 1 : static_cast<std::size_t>(shape[rank - 1])};
  if (values.empty()) return;
  const auto any = [&](std::size_t count) {
    return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(count) - 1));
  };
  const std::size_t half_row = (m.rows + 1) / 2, half_column = (m.columns + 1) / 2;
  switch (kind) {
    case kMiddleAlone:
      return m.keep([&](std::size_t r, std::size_t c) { return r == m.rows / 2 && c == m.columns / 2; });
    case 13: {
      // Of all of them in a row.
      const std::size_t step = random.chance(0.6) ? 2 : 3 + any(2);
      return Matrix{values, 1, values.size()}.keep([&](std::size_t, std::size_t c) { return c % step == 0; });
    }
    case 10:
      return m.copy([&](std::size_t r, std::size_t c) { return (c + m.columns - r % m.columns) % m.columns; });
    case kZeroBelow:
      return m.keep([](std::size_t r, std::size_t c) { return r <= c + 1; });
    case 12:
      return m.copy([&](std::size_t r, std::size_t c) {
        const std::size_t diagonal = std::min(r + c, m.columns - 1);
        return (r + c - diagonal) * m.columns + diagonal;
      });
    case 0:
      return m.keep([](std::size_t r, std::size_t c) { return c <= r + 1 && r <= c + 1; });
    case 1:
      return m.keep([&](std::size_t r, std::size_t c) { return (r < half_row) == (c < half_column); });
    case 2:
      if (both_signs && m.rows == m.columns) return make_skew(m);
      [[fallthrough]];
    case 3: {
      const std::size_t only = any(values.size());
      const float value = values[only] == 0 ? 1 : values[only];
      std::ranges::fill(values, 0.0F);
      values[only] = value;
      return;
    }
    case 4:
      return make_rank_one(m, random);
    case 5:
      return m.copy([](std::size_t, std::size_t c) { return c; });
    case 6:
      return m.copy([&](std::size_t r, std::size_t c) { return c >= r ? c - r : (r - c) * m.columns; });
    case 7:
      return m.keep(
          [&](std::size_t r, std::size_t c) { return r > 0 && c > 0 && r + 1 < m.rows && c + 1 < m.columns; });
    case 8:
      return m.copy([&](std::size_t r, std::size_t c) { return (r - r % 2) * m.columns + c - c % 2; });
    default: {
      const std::size_t left = m.columns - m.columns / (1 + any(8));
      return m.keep([&](std::size_t, std::size_t c) { return c < std::max<std::size_t>(left, 1); });
    }
  }
}

void make_checkerboard(std::span<float> values, std::size_t row) {
  if (values.size() < 2 || row == 0) return;
  const float one = values[0], other = values[1] == one ? one + 1 : values[1];
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = (i % row + i / row) % 2 == 0 ? one : other;
}

void make_antisymmetric(std::span<float> values, std::size_t row) {
  if (row == 0) return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at = i % row, other = row - 1 - at;
    if (at == other) values[i] = 0;
    if (at > other) values[i] = -values[i - at + other];
  }
}

void make_outlier(std::span<float> values, Random& random) {
  if (values.empty()) return;
  for (float& value : values) value = std::remainder(value, 1.0F);
  const auto at = static_cast<std::size_t>(random.integer(0, std::ssize(values) - 1));
  values[at] = static_cast<float>(random.sign() * std::exp2(random.uniform(7, 30)));
}

void make_offset(std::span<float> values, Random& random) {
  const auto offset = static_cast<float>(random.sign() * std::exp2(random.uniform(3, 4.5)));
  for (float& value : values) value = offset + std::clamp(value, -16.0F, 16.0F) / 16;
}

void make_maps(std::span<float> values, const Shape& shape, bool both_signs, Random& random) {
  const int rank = shape.rank();
  const auto map = static_cast<std::size_t>(shape[rank - 1] * shape[rank - 2]);
  if (values.empty() || map < 2) return;
  const std::size_t all = map * static_cast<std::size_t>(shape[rank - 3]);
  for (float& value : values) value = shortened(value);
  switch (random.integer(both_signs ? 0 : 1, 2)) {
    case 0:
      return make_antisymmetric(values, map);
    case 1:
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = values[i - i % map];
      return;
    default:
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = values[i - i % all + i % map];
  }
}

void make_mask(std::span<bool> values, const Shape& shape, std::size_t kind, Random& random) {
  if (values.empty()) return;
  const auto count = values.size();
  const std::size_t row = shape.rank() == 0 ? 1 : static_cast<std::size_t>(shape[shape.rank() - 1]);
  const bool one = random.chance(0.5);
  const auto any = static_cast<std::size_t>(random.integer(0, std::ssize(values) - 1));
  const std::size_t run = std::size_t{1} << random.integer(0, 5);
  switch (kind) {
    case 0: {
      const std::size_t end = random.chance(0.5) ? count / 2 : any;
      for (std::size_t i = 0; i < count; ++i) values[i] = (i < end) == one;
      return;
    }
    case 1:  // that take turns
      for (std::size_t i = 0; i < count; ++i) values[i] = (i / run % 2 == 0) == one;
      return;
    case 2:
      for (std::size_t i = 0; i < count; ++i) values[i] = values[i - i % run];
      return;
    case 3:
      for (std::size_t i = 0; i < count; ++i) values[i] = values[i - i % row];
      return;
    case 4:
      for (std::size_t i = 0; i < count; ++i) values[i] = values[i % row];
      return;
    default:
      for (std::size_t i = 0; i < count; ++i) values[i] = (i == any) == one;
  }
}

void make_plain(const Graph& graph, std::size_t slot, Plain plain, Tensor& tensor, Random& random) {
  const InputSpec* reader = first_reader(graph, static_cast<int>(slot));
  if (reader == nullptr || tensor.count() == 0 || tensor.dtype() == DType::boolean) return;
  const Patterns patterns = patterns_of(graph);
  const auto& spread = graph.inputs[slot].declared->spread;
  const Shape& shape = tensor.shape();
  const bool list = shape.rank() == 0 || shape.count() == *std::ranges::max_element(shape);
  const bool first = slot == 0;
  // Rows that become equal have no variance, which no norm can divide by.
  if (!(patterns.equal || (list && !first) || graph.nodes.size() == 1)) return;
  const bool only_zero = !patterns.equal && (!list || first);
  const bool ternary = plain == Plain::ternary, middle = plain == Plain::middle;
  if ((ternary || middle || plain == Plain::two_of_four) && patterns.zeros && tensor.dtype() == DType::float32 &&
      tensor.shape().rank() > 1 && reader->domain.low == -reader->domain.high) {
    const auto values = tensor.as<float>();
    const std::int64_t other = random.integer(1, 3);
    if (middle) return make_matrix(values, shape, true, kMiddleAlone, random);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i % 4);
      const bool kept = ternary ? random.chance(0.6) : at == 0 || at == other;
      values[i] = !kept ? 0.0F : ternary ? std::copysign(1.0F, values[i]) : values[i];
    }
    return;
  }
  const auto may_be = [&](double value) {
    if (value < reader->domain.low || value > reader->domain.high) return false;
    if (!spread) return std::fabs(value) <= 1;
    if (spread->kind == Spread::Kind::uniform) return value >= spread->low && value <= spread->high;
    return std::fabs(value - spread->mean) <= 4 * spread->deviation;
  };
  std::vector<double> able;
  for (const double value : {0.0, 1.0, -1.0, 0.5, 0.25, 0x1p-6, 128.0}) {
    if (value == 0 && plain == Plain::equal) continue;
    if (!may_be(value) || (only_zero && value != 0) || (!is_float(tensor.dtype()) && value != std::floor(value)))
      continue;
    able.push_back(value);
  }
  if (able.empty()) return;
  const double chosen = plain == Plain::neutral ? able[0] : random.pick(able);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    is_float(tensor.dtype()) ? tensor.set_real(i, chosen) : tensor.set_integer(i, static_cast<std::int64_t>(chosen));
  }
}

void mask_softmax(const Graph& graph, InputClass input_class, Random& random, std::vector<Tensor>& inputs) {
  constexpr double kShare = 0.3;
  if (input_class != InputClass::special && input_class != InputClass::ties) return;
  for (const GraphNode& node : graph.nodes) {
    if (node.call.op->name != "Softmax") continue;
    const int mask = mask_of_softmax(graph, node);
    if (mask < 0 || !random.chance(kShare)) continue;
    Tensor& tensor = inputs[static_cast<std::size_t>(mask)];
    const Shape& shape = tensor.type().shape;
    if (tensor.count() == 0) continue;
    const auto columns = static_cast<std::size_t>(shape[shape.rank() - 1]);
    const auto rows = static_cast<std::size_t>(shape[shape.rank() - 2]);
    const auto hidden = static_cast<float>(random.pick({-1e9, -1e4, -10.0}));
    const bool causal = random.chance(0.5);
    const auto left = static_cast<std::size_t>(random.integer(1, static_cast<std::int64_t>(columns)));
    const auto values = tensor.as<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t r = i / columns % rows, c = i % columns;
      values[i] = (causal ? c <= r : c < left) ? 0 : hidden;
    }
  }
}

}  // namespace kw::ops
