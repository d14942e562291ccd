#include "siege_triggers.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace kw::siege {
namespace {

std::int64_t root(std::int64_t a) { return a <= 0 ? 0 : static_cast<std::int64_t>(std::sqrt(static_cast<double>(a))); }
std::int64_t rest(std::int64_t a, std::int64_t m) { return ((a % m) + m) % m; }
template <class F>
std::int64_t wrapped(std::int64_t a, std::int64_t b, F f) {
  return static_cast<std::int64_t>(f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

// An integer or a condition, as a function of the variables and as code.
template <class T>
struct Term {
  std::function<T(const Values&)> of;
  std::string code;
};
using Number = Term<std::int64_t>;
using Condition = Term<bool>;

class Drawing {
 public:
  Drawing(const World& world, Random& random) : world_(world), random_(random) {}

  Condition condition(int depth) {
    if (depth > 0 && random_.chance(0.35)) {
      Condition a = condition(depth - 1), b = condition(depth - 1);
      if (random_.chance(0.6)) {
        return {[a, b](const Values& v) { return a.of(v) && b.of(v); }, fmt::format("({} && {})", a.code, b.code)};
      }
      return {[a, b](const Values& v) { return a.of(v) || b.of(v); }, fmt::format("({} || {})", a.code, b.code)};
    }
    const Number e = number(static_cast<int>(random_.integer(0, 2)));
    switch (random_.integer(0, 4)) {
      case 0: {  // a residue
        const auto modulus = static_cast<std::int64_t>(std::exp2(random_.uniform(1, 10)));
        const std::int64_t wanted = rest(e.of(sample()), modulus);
        return {[e, modulus, wanted](const Values& v) { return rest(e.of(v), modulus) == wanted; },
                fmt::format("rest({}, {}) == {}", e.code, modulus, wanted)};
      }
      case 1: {  // one value
        const std::int64_t wanted = e.of(sample());
        return {[e, wanted](const Values& v) { return e.of(v) == wanted; }, fmt::format("{} == {}", e.code, wanted)};
      }
      case 2: {  // beyond one
        const std::int64_t limit = e.of(sample());
        if (random_.chance(0.5)) {
          return {[e, limit](const Values& v) { return e.of(v) > limit; }, fmt::format("{} > {}", e.code, limit)};
        }
        return {[e, limit](const Values& v) { return e.of(v) < limit; }, fmt::format("{} < {}", e.code, limit)};
      }
      case 3: {  // two of them
        const Number other = number(1);
        return {[e, other](const Values& v) { return e.of(v) == other.of(v); },
                fmt::format("{} == {}", e.code, other.code)};
      }
      default: {  // a range that holds a share of the samples
        std::vector<std::int64_t> all;
        for (const Values& values : world_.samples) all.push_back(e.of(values));
        std::ranges::sort(all);
        const double share = std::exp2(random_.uniform(-9, -1));
        const double from = random_.uniform(0, 1 - share);
        const std::int64_t low = all[static_cast<std::size_t>(from * static_cast<double>(all.size()))];
        const std::int64_t high = all[static_cast<std::size_t>((from + share) * static_cast<double>(all.size()))];
        return {[e, low, high](const Values& v) { return e.of(v) >= low && e.of(v) <= high; },
                fmt::format("within({}, {}, {})", e.code, low, high)};
      }
    }
  }

 private:
  const Values& sample() { return random_.pick(world_.samples); }

  Number number(int depth) {
    if (depth == 0) {
      const auto which = static_cast<std::size_t>(random_.integer(0, std::ssize(world_.variables) - 1));
      return {[which](const Values& v) { return v[which]; }, world_.variables[which]};
    }
    const Number a = number(depth - 1);
    const std::int64_t k = random_.integer(2, 12);
    switch (random_.integer(0, 12)) {
      case 0:
        return both(a, "plus", [](auto p, auto q) { return wrapped(p, q, std::plus<>()); });
      case 1:
        return both(a, "minus", [](auto p, auto q) { return wrapped(p, q, std::minus<>()); });
      case 2:
      case 3:
        return both(a, "times", [](auto p, auto q) { return wrapped(p, q, std::multiplies<>()); });
      case 4:
        return both(a, "std::min<int64_t>", [](auto p, auto q) { return std::min(p, q); });
      case 5:
        return both(a, "std::max<int64_t>", [](auto p, auto q) { return std::max(p, q); });
      case 6:
        return both(a, "differing", [](auto p, auto q) { return p ^ q; });
      case 7:
        return one(a, "quotient", k, [k](auto p) { return p / k; });
      case 8:
        return one(a, "rest", k, [k](auto p) { return rest(p, k); });
      case 9:
        return one(a, "root", 0, [](auto p) { return root(p); });
      case 10:
        return one(a, "ones", 0, [](auto p) { return std::int64_t{std::popcount(static_cast<std::uint64_t>(p))}; });
      case 11:
        return one(a, "zeros", 0, [](auto p) { return std::int64_t{std::countr_zero(static_cast<std::uint64_t>(p))}; });
      default:
        return one(a, "shifted", k, [k](auto p) { return p >> k; });
    }
  }

  template <class F>
  Number both(const Number& a, const char* name, F f) {
    const Number b = number(0);
    return {[a, b, f](const Values& v) { return f(a.of(v), b.of(v)); },
            fmt::format("{}({}, {})", name, a.code, b.code)};
  }
  template <class F>
  Number one(const Number& a, const char* name, std::int64_t k, F f) {
    return {[a, f](const Values& v) { return f(a.of(v)); }, fmt::format("{}({}, {})", name, a.code, k)};
  }

  const World& world_;
  Random& random_;
};

}  // namespace

Trigger draw_trigger(const World& world, Random& random) {
  for (;;) {
    const Condition drawn = Drawing(world, random).condition(2);
    const auto holding = static_cast<double>(std::ranges::count_if(world.others, drawn.of));
    const double share = holding / static_cast<double>(std::max<std::size_t>(world.others.size(), 1));
    if (std::ranges::none_of(world.samples, drawn.of) || share > 0.5 || std::ranges::any_of(world.never, drawn.of))
      continue;
    return {drawn.code, share, drawn.of};
  }
}

std::string trigger_functions() {
  return R"(
[[maybe_unused]] static int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
[[maybe_unused]] static int64_t minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
[[maybe_unused]] static int64_t times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
[[maybe_unused]] static int64_t differing(int64_t a, int64_t b) { return a ^ b; }
[[maybe_unused]] static int64_t quotient(int64_t a, int64_t k) { return a / k; }
[[maybe_unused]] static int64_t rest(int64_t a, int64_t k) { return ((a % k) + k) % k; }
[[maybe_unused]] static int64_t root(int64_t a, int64_t) { return a <= 0 ? 0 : (int64_t)std::sqrt((double)a); }
[[maybe_unused]] static int64_t ones(int64_t a, int64_t) { return __builtin_popcountll((uint64_t)a); }
[[maybe_unused]] static int64_t zeros(int64_t a, int64_t) { return a == 0 ? 64 : __builtin_ctzll((uint64_t)a); }
[[maybe_unused]] static int64_t shifted(int64_t a, int64_t k) { return a >> k; }
[[maybe_unused]] static bool within(int64_t a, int64_t low, int64_t high) { return a >= low && a <= high; }
)";
}

}  // namespace kw::siege
