#include "ops/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>

#include "ops/choices.h"
#include "ops/recipe.h"
#include "ops/related_inputs.h"
#include "ops/special_values.h"
#include "ops/workaday_data.h"

namespace kw::ops {
namespace {

// A neighbour of `value` in the type, `steps` away.
double neighbour(double value, int steps, DType dtype) {
  const double toward = steps > 0 ? INFINITY : -INFINITY;
  for (int i = 0; i < std::abs(steps); ++i) {
    if (dtype == DType::float32) {
      value = std::nextafter(static_cast<float>(value), static_cast<float>(toward));
    } else {
      const double step = std::max(std::fabs(value) * 2 * unit_roundoff(dtype), smallest_subnormal(dtype));
      value += steps > 0 ? step : -step;
    }
  }
  return value;
}

// Numbers with a name, at which code changes its way: limits of types, of what a type can hold exactly, of functions.
constexpr std::array<double, 34> kNamed{
    0x1.fffffep127, 0x1p-126, 0x1p-149, 0x1p-23, 0x1p-24, 1 - 0x1p-24, 1 + 0x1p-23, 0x1p24, 0x1p24 - 1,
    0x1p24 + 2,     0x1p23,   0x1p31,   0x1p32,  0x1p63,  0x1p53,      32767,       32768,  65504,
    65535,          65536,    255,      256,     127,     128,         1e9,         1e-9,   M_PI,
    M_PI / 2,       2 * M_PI, M_E,      M_LN2,   M_SQRT2, 1.0 / 3,     1.0 / 255};
constexpr double kNamedShare = 0.05;

enum class Make { numbers, shares, waves, pixels, bright, halves, powers, smooth, cut, even, growing, between };
// Operators may have a dozen points to lie between.
constexpr std::array<Make, 13> kMakes{Make::shares, Make::between, Make::waves,  Make::pixels, Make::bright,
                                      Make::halves, Make::between, Make::powers, Make::smooth, Make::cut,
                                      Make::even,   Make::between, Make::growing};
constexpr std::array<std::size_t, 3> kBetween{1, 6, 11};  // where it stands among them
constexpr std::uint64_t kEdgeTurns = 24;                  // what is left of these are numbers of any kind

// Data of one make throughout; other patterns would hide it.
bool is_made(InputClass input_class, const Choices& choices) {
  return input_class == InputClass::edges && choices.number % kEdgeTurns < kMakes.size();
}

class RealSource {
 public:
  RealSource(const Domain& domain, const Spread* spread, InputClass input_class, DType dtype, Reach reach,
             const Choices& choices, Random& random)
      : domain_(domain),
        spread_(spread),
        input_class_(input_class),
        dtype_(dtype),
        reach_(reach),
        choices_(choices),
        random_(random) {
    // Few different ones. Sometimes none is above zero, or none below: then zeros of both signs are the largest.
    const double scale = random_.pick({0.25, 0.25, 1.0}), one_sign = random_.unit();
    for (int i = 0; i < 6; ++i) {
      double value = random_.chance(0.25) ? 0.0 : std::round(random_.normal() * 2 / scale) * scale;
      if (one_sign < 0.2) value = one_sign < 0.1 ? std::fabs(value) : -std::fabs(value);
      few_.push_back(folded(value, domain.low, domain.high));
    }
    whole_ = random_.chance(0.2);
    if (is_made(input_class, choices)) make_ = kMakes[choices.number % kEdgeTurns];
    turn_ = random_.unit();
    half_bits_ = random_.pick({8, 11});
    angle_ = random_.uniform(0, 2 * M_PI);
    step_ = std::exp2(random_.uniform(-7, -4));
  }

  void fill(std::span<float> elements) {
    if (input_class_ != InputClass::typical) {
      begin_curve(std::ssize(elements));
      for (float& element : elements) element = static_cast<float>(next());
      return;
    }
    recipe().draw(elements);
  }

  // Of typical values.
  Recipe recipe() {
    Recipe recipe{.key = random_.bits(), .low = domain_.low, .high = domain_.high};
    if (spread_ == nullptr) return recipe;
    recipe.uniform = spread_->kind == Spread::Kind::uniform;
    recipe.first = recipe.uniform ? spread_->low : spread_->mean;
    recipe.last = recipe.uniform ? spread_->high : spread_->deviation;
    return recipe;
  }

  // Special values at the ends, which code treats differently, and NaNs of every kind.
  void finish_special(std::span<float> elements) {
    if (input_class_ != InputClass::special || elements.empty()) return;
    if (random_.chance(0.4)) elements.front() = static_cast<float>(rare());
    if (random_.chance(0.8)) elements.back() = static_cast<float>(rare());
    if (domain_.nans) vary_nans(elements);
  }

  // Powers of two in turn, each step by the golden ratio: any stretch of elements has them all alike.
  double wide() {
    constexpr double kStep = 0.6180339887498949;
    turn_ = turn_ + kStep < 1 ? turn_ + kStep : turn_ + kStep - 1;
    const double power = reach_.low + turn_ * (reach_.high + 1 - reach_.low);
    double magnitude = std::min(std::exp2(power), largest_finite(dtype_));
    if (random_.chance(kNamedShare)) {
      const double named = random_.pick(kNamed);
      if (named >= std::exp2(reach_.low) && named < std::exp2(reach_.high + 1)) magnitude = named;
    }
    const double value = random_.sign() * magnitude;
    for (const double one : {value, -value}) {
      if (one >= domain_.low && one <= domain_.high) return one;
    }
    return typical();
  }

  double next() {
    switch (input_class_) {
      case InputClass::typical:
        return typical();
      case InputClass::tails:
        return tail();
      case InputClass::ties:
        return tie();
      case InputClass::edges: {
        if (make_ != Make::numbers) return made();
        const double chosen = random_.unit();
        return chosen < 0.45 ? edge() : chosen < 0.65 ? written() : typical();
      }
      case InputClass::special:
        return special();
      case InputClass::wide:
        return wide();
    }
    return 0;
  }

 private:
  double typical() {
    if (!spread_) return folded(random_.normal(), domain_.low, domain_.high);
    if (spread_->kind == Spread::Kind::uniform) return random_.uniform(spread_->low, spread_->high);
    return folded(spread_->mean + spread_->deviation * random_.normal(), domain_.low, domain_.high);
  }

  double tail() {
    const double far = std::min(domain_.far, largest_finite(dtype_) / 4);
    const double magnitude = std::min(std::exp(2.0 * random_.normal()), far);
    return folded(random_.sign() * magnitude, std::max(domain_.low, -far), std::min(domain_.high, far));
  }

  // NaNs of both signs, quiet and signalling, with any payload.
  void vary_nans(std::span<float> elements) {
    for (float& element : elements) {
      if (!std::isnan(element)) continue;
      const auto bits = static_cast<std::uint32_t>(random_.bits());
      const std::uint32_t payload = bits >> 31 != 0 ? 0x400000 | (bits & 0x3fffff) : 1u << (bits & 0xff) % 22;
      const std::uint32_t nan = 0x7f800000 | payload | (bits << 1 & 0x80000000);
      std::memcpy(&element, &nan, sizeof nan);
    }
  }

  double tie() {
    if (whole_) return near(static_cast<double>(random_.integer(-128, 255)));
    const double value = random_.pick(few_);
    return value == 0 ? std::copysign(0.0, random_.sign()) : value;
  }

  // Over all elements: evenly from some number to another, or growing by one factor.
  void begin_curve(std::int64_t count) {
    const double steps = static_cast<double>(std::max<std::int64_t>(count, 2));
    if (make_ == Make::even) {
      const double low = std::max(domain_.low, -4.0), high = std::min(domain_.high, 4.0);
      curve_ = random_.uniform(low, (low + high) / 2);
      step_ = (random_.uniform((low + high) / 2, high) - curve_) / steps;
    } else if (make_ == Make::growing) {
      step_ = std::exp2(random_.sign() * random_.uniform(2, 6) / steps);
      curve_ = step_ > 1 ? random_.uniform(0.1, 0.5) : random_.uniform(4, 10);
    } else if (make_ == Make::between) {
      // Of two points where the operator changes its ways, next to each other.
      std::vector<double> points = domain_.points;
      if (points.empty()) points = {-1, 0, 1};
      if (points.size() == 1) points.push_back(points[0] + random_.sign() * std::exp2(random_.uniform(-4, 4)));
      std::ranges::sort(points);
      const auto which = std::ranges::find(kBetween, choices_.number % kEdgeTurns) - kBetween.begin();
      const std::size_t times = choices_.number / kEdgeTurns * kBetween.size() + static_cast<std::size_t>(which);
      const std::size_t at = times % (points.size() - 1);
      // Not right beside them, where the function may be as it is beyond.
      const double margin = (points[at + 1] - points[at]) / 20;
      low_cut_ = points[at] + margin;
      high_cut_ = points[at + 1] - margin;
    } else if (make_ == Make::cut) {
      // About a quarter, or one at each end. At short numbers: sums of equal terms are exact only then.
      std::array<double, 7> some{};
      for (double& one : some) one = typical();
      std::ranges::sort(some);
      const auto shortened = [&](double value) { return inside(std::round(16 * value) / 16); };
      low_cut_ = random_.chance(0.5) ? domain_.low : shortened(some[1]);
      high_cut_ = std::max(shortened(some[5]), low_cut_);
    }
  }

  // As data comes from elsewhere: probabilities, samples of sound, pixels, pixels in parts of the largest; numbers of
  // half the width, powers of two, a smooth curve, what was cut off at some number, an even or a growing row, all
  // between two of the operator's points.
  double made() {
    switch (make_) {
      case Make::shares:
        return near(random_.unit());
      case Make::waves:
        return near(random_.uniform(-1, 1));
      case Make::pixels:
        return near(static_cast<double>(random_.integer(0, 255)));
      case Make::halves: {
        int exponent = 0;
        const double part = std::frexp(typical(), &exponent);
        return near(std::ldexp(std::round(std::ldexp(part, half_bits_)), exponent - half_bits_));
      }
      case Make::powers:
        return near(random_.sign() * std::exp2(random_.integer(-6, 6)));
      case Make::smooth:
        return near(2 * std::sin(angle_ += step_));
      case Make::cut:
        return std::clamp(typical(), low_cut_, high_cut_);
      case Make::even:
        return near(curve_ += step_);
      case Make::growing:
        return near(curve_ *= step_);
      case Make::between:
        return near(random_.uniform(low_cut_, high_cut_));
      default:
        return near(static_cast<double>(random_.integer(0, 255)) / 255);
    }
  }

  // A number that people write down: a whole one, a short decimal, a power of ten, one with a name.
  double written() {
    switch (random_.integer(0, 4)) {
      case 4:
        return near(random_.sign() * random_.pick(kNamed));
      case 0:
        return near(static_cast<double>(random_.integer(-16, 16)));
      case 1:
        return near(static_cast<double>(random_.integer(-300, 300)));
      case 2:
        return near(static_cast<double>(random_.integer(-100, 100)) / random_.pick({10.0, 100.0}));
      default:
        return near(random_.sign() * std::pow(10.0, static_cast<double>(random_.integer(-8, 6))));
    }
  }

  // As it is, where such numbers are drawn.
  double near(double value) {
    return value >= domain_.low && value <= domain_.high && std::fabs(value) <= domain_.far ? value : typical();
  }

  double edge() {
    if (domain_.points.empty()) {
      static constexpr std::array<double, 6> kPoints{0, 1, -1, 0.5, -0.5, 2};
      return inside(neighbour(random_.pick(kPoints), static_cast<int>(random_.integer(-2, 2)), dtype_));
    }
    const double point = random_.pick(domain_.points);
    if (random_.chance(0.5)) return inside(neighbour(point, static_cast<int>(random_.integer(-3, 3)), dtype_));
    return inside(point + random_.sign() * std::exp2(random_.uniform(-20, 0)) * std::max(1.0, std::fabs(point)));
  }

  double special() {
    const double chosen = random_.unit();
    if (chosen < 0.3)
      return inside(random_.sign() * smallest_subnormal(dtype_) * std::floor(std::exp2(random_.uniform(0, 20))));
    if (chosen < 0.35) return inside(random_.sign() * 0.0);
    if (chosen < 0.40 && domain_.infinities) {
      const double infinity = random_.sign() * INFINITY;
      if (infinity >= domain_.low && infinity <= domain_.high) return infinity;
    }
    if (chosen < 0.45 && domain_.nans) return NAN;
    if (chosen < 0.5) return inside(random_.sign() * smallest_normal(dtype_));
    return typical();
  }

  // Special for sure.
  double rare() {
    const double infinity = random_.sign() * INFINITY;
    if (domain_.nans && random_.chance(0.75)) return NAN;
    switch (random_.integer(0, 2)) {
      case 0:
        if (domain_.infinities && infinity >= domain_.low && infinity <= domain_.high) return infinity;
        break;
      case 1:
        return inside(random_.sign() * 0.0);
      default:
        break;
    }
    return inside(random_.sign() * smallest_subnormal(dtype_) * std::floor(std::exp2(random_.uniform(0, 20))));
  }

  double inside(double value) const {
    return value >= domain_.low && value <= domain_.high ? value : std::clamp(value, domain_.low, domain_.high);
  }

  const Domain& domain_;
  const Spread* spread_;
  InputClass input_class_;
  DType dtype_;
  Reach reach_;
  const Choices& choices_;
  Random& random_;
  std::vector<double> few_;
  bool whole_ = false;  // ties are whole numbers, many of them
  Make make_ = Make::numbers;
  double turn_ = 0;     // where in its reach the last wide number was
  int half_bits_ = 11;  // of a mantissa
  double angle_ = 0, curve_ = 0, step_ = 0.05, low_cut_ = -INFINITY, high_cut_ = INFINITY;
};

std::int64_t draw_integer(DType dtype, const Domain& domain, const Spread* spread, InputClass input_class,
                          Random& random) {
  const double low = std::max(domain.low, static_cast<double>(lowest_integer(dtype)));
  const double high = std::min(domain.high, static_cast<double>(highest_integer(dtype)));
  const auto within = [&](double value) { return static_cast<std::int64_t>(std::clamp(std::floor(value), low, high)); };
  if (input_class == InputClass::typical) {
    if (spread && spread->kind == Spread::Kind::uniform) {
      return random.integer(within(spread->low), within(spread->high));
    }
    return random.integer(within(is_signed(dtype) ? -100 : 0), within(100));
  }
  if (input_class == InputClass::ties) return random.integer(within(0), within(2));
  if (input_class == InputClass::edges || input_class == InputClass::special) {
    // The type's own ends: overflow wraps around in every operator that defines it.
    const std::int64_t lowest = std::isinf(domain.low) ? lowest_integer(dtype) : within(domain.low);
    const std::int64_t highest = std::isinf(domain.high) ? highest_integer(dtype) : within(domain.high);
    const std::int64_t ends[] = {lowest, highest, within(0), within(1), within(is_signed(dtype) ? -1 : 2)};
    if (random.chance(0.3)) return random.pick(ends);
  }
  if (input_class == InputClass::wide) {
    const double magnitude = std::exp2(random.uniform(0, std::log2(high)));
    return within(is_signed(dtype) ? random.sign() * magnitude : magnitude);
  }
  return random.integer(within(-1e6), within(1e6));
}

// Of inputs that are built; of draws without anything negative.
constexpr double kBuiltShare = 0.4;
constexpr double kMatrixShare = 0.45;  // of these
constexpr double kPositiveShare = 0.15;
constexpr double kMapShare = 0.15;  // of ties with more than two axes

// How data is built that programs meet and chance hardly ever draws: mostly zeros, one element a row, a diagonal, a
// triangle, columns of zeros, both halves of a matrix alike, signs in turn; an identity, ones, columns alike.
template <class T>
void build(std::span<T> values, const Shape& shape, bool both_signs, const Choices& choices, Random& random) {
  const double chosen = choices.second;
  const std::size_t columns = shape.rank() == 0 ? 1 : static_cast<std::size_t>(shape[shape.rank() - 1]);
  const std::size_t rows = shape.rank() < 2 ? 1 : static_cast<std::size_t>(shape[shape.rank() - 2]);
  if (values.empty()) return;
  if constexpr (std::is_same_v<T, float>) {
    if (choices.third < kMatrixShare) {
      return make_matrix(values, shape, both_signs, one_of(kMatrixKinds, choices.third / kMatrixShare), random);
    }
  }
  const auto keep = [&](auto&& kept) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!kept(i / columns % rows, i % columns)) values[i] = T{};
    }
  };
  const bool ones = random.chance(0.5);
  const auto to_ones = [&] {
    for (T& value : values) value = value != T{} ? T{1} : T{};
  };
  if (chosen < 0.05) {
    std::ranges::fill(values, T{1});
  } else if (chosen < 0.09) {
    // Every other column is as the one before.
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % columns % 2 == 1) values[i] = values[i - 1];
    }
  } else if (chosen < 0.28) {
    const double share = std::exp2(-random.uniform(1, 7));
    keep([&](std::size_t, std::size_t) { return random.chance(share); });
  } else if (chosen < 0.4) {
    std::size_t column = 0;
    keep([&](std::size_t, std::size_t c) {
      if (c == 0) column = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(columns) - 1));
      return c == column;
    });
    if (ones) to_ones();
  } else if (chosen < 0.5) {
    keep([](std::size_t r, std::size_t c) { return r == c; });
    if (ones) to_ones();
  } else if (chosen < 0.65) {
    const bool lower = random.chance(0.5);
    keep([&](std::size_t r, std::size_t c) { return lower ? c <= r : c >= r; });
  } else if (chosen < 0.75) {
    const double share = random.uniform(0, 0.5);
    std::vector<bool> zeros(columns);
    for (std::size_t c = 0; c < columns; ++c) zeros[c] = random.chance(share);
    zeros[static_cast<std::size_t>(random.integer(0, std::ssize(zeros) - 1))] = true;
    keep([&](std::size_t, std::size_t c) { return !zeros[c]; });
  } else if (chosen < 0.85 && rows == columns) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t r = i / columns % rows, c = i % columns;
      if (c > r) values[i] = values[i - r * columns - c + c * columns + r];
    }
  } else if (chosen < 0.95 && both_signs) {
    if constexpr (std::is_floating_point_v<T>) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t turn = ones ? i : i / columns;  // each element's, or each row's
        values[i] = turn % 2 == 0 ? std::fabs(values[i]) : -std::fabs(values[i]);
      }
    }
  } else {
    std::ranges::fill(values, T{});
  }
}

constexpr float kShortTie = 8;
constexpr std::size_t kLongestRamp = 256, kLongestSummedRamp = 16;

// Patterns that programs meet and chance hardly ever draws: everything equal, in order, repeated, or of one sign.
void arrange(std::span<float> values, std::size_t row, const Domain& domain, InputClass input_class, Patterns allowed,
             double chosen, Random& random) {
  if (values.empty()) return;
  if (input_class == InputClass::special && allowed.equal && chosen < 0.15 && domain.infinities &&
      domain.low == -domain.high) {
    std::ranges::fill(values, static_cast<float>(random.sign() * INFINITY));
    return;
  }
  if (input_class == InputClass::ties) {
    if (!allowed.equal) return;
    // Where they are summed they stay short: long sums of equal terms are exact only then.
    if (!allowed.one_sign && chosen < 0.95 && domain.low == -domain.high) {
      for (float& value : values) value = std::fmod(value, kShortTie);
    }
    const auto period = static_cast<std::size_t>(std::exp2(random.uniform(0, 7)));
    if (chosen < 0.15) {
      std::ranges::fill(values, values[0]);
    } else if (chosen < 0.25) {
      std::ranges::sort(values);
    } else if (chosen < 0.35) {
      std::ranges::sort(values, std::greater<>());
    } else if (chosen < 0.5) {
      for (std::size_t i = period; i < values.size(); ++i) values[i] = values[i - period];
    } else if (chosen < 0.58 && row > 0) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = values[i - i % row];
    } else if (chosen < 0.61 && domain.low == -domain.high) {
      // One number, its negative, and so on.
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? 1.0F : -1.0F;
    } else if (chosen < 0.66 && domain.low == -domain.high && domain.far >= Domain().far) {
      // Numbered, from each row's beginning or from the first, up or down: sums of such short numbers are exact.
      const std::size_t from = row > 0 && random.chance(0.5) ? row : values.size();
      const double step = random.pick({1.0, -1.0, 0.25});
      const std::size_t longest = allowed.one_sign ? kLongestRamp : kLongestSummedRamp;
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(step * static_cast<double>(i % from % longest));
      }
    } else if (chosen < 0.7 && row > 1) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (2 * (i % row) >= row) values[i] = values[i - i % row + row - 1 - i % row];
      }
    }
  }
  const bool whole_line = std::isinf(domain.low) && std::isinf(domain.high) && domain.far >= Domain().far;
  if (input_class == InputClass::ties && chosen > 0.88 && chosen < 0.95 && whole_line) {
    if (chosen > 0.92 && allowed.one_sign) return make_checkerboard(values, row > 0 ? row : values.size());
    return make_antisymmetric(values, row > 0 ? row : values.size());
  }
  if (input_class == InputClass::tails && whole_line && chosen < 0.3) {
    return allowed.one_sign && chosen < 0.18 ? make_outlier(values, random) : make_offset(values, random);
  }
  // Not special ones: NaN has no place in an order.
  if (allowed.one_sign && row > 0 && chosen > 0.95 && input_class != InputClass::special) {
    const bool upwards = random.chance(0.5);
    for (std::size_t at = 0; at + row <= values.size(); at += row) {
      const auto one = values.subspan(at, row);
      if (upwards) std::ranges::sort(one);
      if (!upwards) std::ranges::sort(one, std::greater<>());
    }
    return;
  }
  // Ties are short numbers, whose sums are exact. Long sums of equal terms that are not drift.
  const bool exact = input_class == InputClass::ties || allowed.one_sign;
  if (allowed.equal && exact && chosen > 0.7 && chosen < 0.95) return repeat_rows(values, row, domain, random);
  if (input_class == InputClass::ties) return;
  if (!allowed.one_sign || domain.low != -domain.high || chosen > 0.3) return;
  for (float& value : values) value = chosen < 0.15 ? std::fabs(value) : -std::fabs(value);
}

// The like of integers and truth values, which no order of summation changes.
void arrange_exact(Tensor& tensor, std::size_t row, const Domain& domain, bool zeros, const Choices& choices,
                   Random& random) {
  if (tensor.count() == 0) return;
  const double chosen = choices.second;
  const auto count = static_cast<std::size_t>(tensor.count());
  const auto all = [&](auto values) {
    using T = typename decltype(values)::value_type;
    if (chosen < 0.12) {
      const T any = values[static_cast<std::size_t>(random.integer(0, std::ssize(values) - 1))];
      std::ranges::fill(values,
                        random.pick({any, *std::ranges::min_element(values), *std::ranges::max_element(values)}));
    } else if (chosen < 0.17) {
      std::ranges::sort(values);
    } else if (chosen < 0.22) {
      std::ranges::sort(values, std::greater<>());
    } else if (chosen < 0.28) {
      const auto period = std::min(static_cast<std::size_t>(std::exp2(random.uniform(0, 7))), count);
      for (std::size_t i = period; i < count; ++i) values[i] = values[i - period];
    } else if (chosen < 0.36) {
      repeat_rows(values, row, domain, random);
    } else if (chosen < 0.75 && chosen > 0.5 && std::is_same_v<T, bool>) {
      make_mask(tensor.as<bool>(), tensor.shape(), one_of(kMaskKinds, choices.third), random);
    } else if (chosen < 0.55 && zeros) {
      build(values, tensor.shape(), false, Choices({}, 0, random), random);
    }
  };
  switch (tensor.dtype()) {
    case DType::boolean:
      return all(tensor.as<bool>());
    case DType::int8:
      return all(tensor.as<std::int8_t>());
    case DType::uint8:
      return all(tensor.as<std::uint8_t>());
    case DType::int32:
      return all(tensor.as<std::int32_t>());
    case DType::int64:
      return all(tensor.as<std::int64_t>());
    default:
      return;
  }
}

// A weight that came with values, as those of a model do.
bool has_own_values(const GraphInput& input) {
  return input.role == Role::weight && input.declared->constant.count() > 0;
}

}  // namespace

const InputSpec* first_reader(const Graph& graph, int slot) {
  for (const GraphNode& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != slot) continue;
      const auto& specs = node.call.op->inputs;
      return &specs[std::min(i, specs.size() - 1)];
    }
  }
  return nullptr;
}

SpecialValues special_values_of(const Graph& graph, int input) {
  const InputSpec* reader = first_reader(graph, input);
  if (reader == nullptr) return {};
  return {.nans = reader->domain.nans && patterns_of(graph).nans, .infinities = reader->domain.infinities};
}

namespace {

// Fills one tensor by a domain and, for typical values, a spread (null: normal around 0, cut to the domain).
void draw_tensor(Tensor& tensor, const Domain& domain, const Spread* spread, InputClass input_class, Reach reach,
                 const Choices& choices, Random& random) {
  const std::int64_t count = tensor.count();
  if (tensor.dtype() == DType::boolean) {
    for (bool& element : tensor.as<bool>()) element = random.bits() & 1;
  } else if (!is_float(tensor.dtype())) {
    for (std::int64_t i = 0; i < count; ++i) {
      tensor.set_integer(i, draw_integer(tensor.dtype(), domain, spread, input_class, random));
    }
  } else {
    const bool few = input_class == InputClass::wide && reach.few >= 0;
    RealSource source(domain, spread, few ? InputClass::typical : input_class, tensor.dtype(), reach, choices, random);
    if (tensor.dtype() == DType::float32) {
      source.fill(tensor.as<float>());
    } else {
      for (std::int64_t i = 0; i < count; ++i) tensor.set_real(i, source.next());
    }
    for (std::int64_t i = 0; few && i < std::min(reach.few, count); ++i) {
      tensor.set_real(random.integer(0, count - 1), source.wide());
    }
  }
}

// `recipes`: of each input, where there may be any from `least` elements on; null: none.
std::vector<Tensor> draw_all(const Graph& graph, InputClass input_class, std::uint64_t seed, const Drawing& drawing,
                             std::vector<std::optional<Recipe>>* recipes, std::int64_t least) {
  Random random(seed);
  static const Domain kAnywhere;
  std::vector<Tensor> tensors;
  const std::vector<Reach> reaches =
      input_class == InputClass::wide
          ? draw_reaches(graph, drawing.turn.value_or(random.bits() >> 1), random, drawing.weights == nullptr)
          : std::vector<Reach>(graph.inputs.size());
  const Patterns patterns = patterns_of(graph);
  const double terms = longest_sum(graph);
  std::size_t next_constant = 0;
  const auto given = [&](const GraphInput& input) { return drawing.weights != nullptr && input.role == Role::weight; };
  for (std::size_t slot = 0; slot < graph.inputs.size(); ++slot) {
    const GraphInput& input = graph.inputs[slot];
    if (input.role == Role::constant) {
      tensors.push_back(graph.constants[next_constant++]);
      continue;
    }
    if (has_own_values(input)) {
      tensors.push_back(input.declared->constant);
      continue;
    }
    if (given(input)) {
      tensors.push_back((*drawing.weights)[slot]);
      continue;
    }
    const InputSpec* reader = first_reader(graph, static_cast<int>(slot));
    const auto& spread = input.declared->spread;
    Domain domain = reader ? reader->domain : kAnywhere;
    domain.nans = domain.nans && patterns.nans;
    const Choices choices(drawing.turn, slot, random);
    if (recipes != nullptr && may_be_a_recipe(graph, slot, least)) {
      const Spread* of = spread ? &*spread : nullptr;
      (*recipes)[slot] = RealSource(domain, of, input_class, DType::float32, {}, choices, random).recipe();
      tensors.emplace_back();
      continue;
    }
    Tensor tensor(input.type);
    draw_tensor(tensor, domain, spread ? &*spread : nullptr, input_class, reaches[slot], choices, random);
    const bool summed = !patterns.one_sign && domain.low == -domain.high && tensor.dtype() == DType::float32;
    if (input_class == InputClass::ties && summed) shorten_for(terms, tensor.as<float>());
    if (input_class != InputClass::typical) {
      const Shape& shape = input.type.shape;
      const auto row = shape.rank() < 2 ? 0 : static_cast<std::size_t>(shape[shape.rank() - 1]);
      const bool maps = input_class == InputClass::ties && patterns.equal && shape.rank() > 2;
      // Sums of few and very small terms lose more than of many.
      const bool few = input_class != InputClass::wide || patterns.one_sign;
      const bool among_small = input_class != InputClass::special || patterns.zeros_among_small;
      const bool zeros = patterns.zeros && few && among_small && domain.low <= 0 && domain.high >= 0;
      if (tensor.dtype() != DType::float32) {
        arrange_exact(tensor, row, domain, zeros, choices, random);
      } else if (is_made(input_class, choices)) {
        // It stays as it is.
      } else if (zeros && choices.first < kBuiltShare) {
        build(tensor.as<float>(), shape, domain.low == -domain.high, choices, random);
      } else {
        arrange(tensor.as<float>(), row, domain, input_class, patterns, choices.second, random);
      }
      if (maps && tensor.dtype() == DType::float32 && random.chance(kMapShare)) {
        make_maps(tensor.as<float>(), shape, domain.low == -domain.high, random);
      }
      if (tensor.dtype() == DType::float32) {
        RealSource(domain, nullptr, input_class, tensor.dtype(), {}, choices, random)
            .finish_special(tensor.as<float>());
      }
    }
    tensors.push_back(std::move(tensor));
  }
  // Now and then nothing is negative in any of them: short numbers, whose sums are exact.
  if (input_class == InputClass::ties && patterns.equal && random.chance(kPositiveShare)) {
    for (std::size_t slot = 0; slot < tensors.size(); ++slot) {
      const InputSpec* reader = first_reader(graph, static_cast<int>(slot));
      const bool free = graph.inputs[slot].role != Role::constant && !has_own_values(graph.inputs[slot]) &&
                        !given(graph.inputs[slot]);
      if (!free || tensors[slot].dtype() != DType::float32) continue;
      if (reader != nullptr && reader->domain.low != -reader->domain.high) continue;
      for (float& value : tensors[slot].as<float>()) value = std::fabs(value);
    }
  }
  // Where one input alone may be far out (reach.h), the other must not follow it.
  const bool may_be_alike = input_class == InputClass::wide ? patterns.one_sign : patterns.equal;
  if (input_class != InputClass::typical && may_be_alike) relate_inputs(graph, tensors, random);
  mask_softmax(graph, input_class, random, tensors);
  if (drawing.change) drawing.change(tensors);
  for (const GraphNode& node : graph.nodes) {
    if (!node.call.op->draw) continue;
    std::vector<Tensor*> own;
    for (int slot : node.inputs) {
      const auto index = static_cast<std::size_t>(slot);
      const bool drawn = slot >= 0 && index < graph.inputs.size() && graph.inputs[index].role != Role::constant &&
                         !has_own_values(graph.inputs[index]) && !given(graph.inputs[index]) &&
                         !(recipes != nullptr && (*recipes)[index]);
      own.push_back(drawn ? &tensors[index] : nullptr);
    }
    node.call.op->draw(node.call, input_class, random, own);
  }
  return tensors;
}

}  // namespace

std::vector<Tensor> draw_inputs(const Graph& graph, InputClass input_class, std::uint64_t seed,
                                const Drawing& drawing) {
  return draw_all(graph, input_class, seed, drawing, nullptr, 0);
}

Parts draw_parts(const Graph& graph, std::uint64_t seed, std::int64_t least) {
  Parts parts{.tensors = {}, .recipes = std::vector<std::optional<Recipe>>(graph.inputs.size())};
  parts.tensors = draw_all(graph, InputClass::typical, seed, {}, &parts.recipes, least);
  return parts;
}

}  // namespace kw::ops
