#include "judge/timed_answers.h"

#include <cmath>
#include <cstring>

namespace kw::judge {
namespace {

// References for timed calls may take this share of the budget.
constexpr double kReferenceShare = 0.25;
constexpr int kFewestVerified = 2;
constexpr double kChance = 0.1;
// Two answers within their bounds may differ by twice the bound; and bounds differ from input to input.
constexpr double kLoose = 16;

bool alike(const Tensor& a, const Tensor& b, double allowed) {
  if (a.type() != b.type()) return false;
  if (std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0) return true;
  const double loose = kLoose * allowed;
  if (a.dtype() == DType::float32) {
    const auto p = a.as<float>(), q = b.as<float>();
    bool near = true;
    const auto limit = static_cast<float>(loose);
    for (std::size_t k = 0; k < p.size(); ++k) near &= std::fabs(p[k] - q[k]) <= limit || p[k] == q[k];
    return near;
  }
  for (std::int64_t k = 0; k < a.count(); ++k) {
    const double p = a.real(k), q = b.real(k);
    if (p != q && !(std::fabs(p - q) <= loose)) return false;
  }
  return true;
}

}  // namespace

bool TimedAnswers::is_odd(const std::vector<Tensor>& got, const std::vector<Tensor>* rival) const {
  if (rival == nullptr) return count_ < kFewestVerified;
  if (got.size() != rival->size()) return true;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!alike(got[i], (*rival)[i], i < allowed_.size() ? allowed_[i] : 0)) return true;
  }
  return false;
}

bool TimedAnswers::wants_reference(bool odd, Random& random) const {
  if (odd || count_ < kFewestVerified) return true;
  return reference_s_ < kReferenceShare * budget_s_ && random.chance(kChance);
}

}  // namespace kw::judge
