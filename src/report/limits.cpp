#include "report/limits.h"

#include <algorithm>

namespace kw::report {
namespace {

constexpr double kManyFlops = 50e6;
constexpr double kManyBytes = double(32 << 20);
constexpr double kRidge = 4;  // flops a byte: below it, memory is the limit of any core

bool is_product(const Node& node) {
  return node.op == "MatMul" || node.op == "Gemm" || node.op == "Einsum" || node.op.starts_with("Conv");
}

}  // namespace

Limit limit_of(const Task& task, const Cost& cost) {
  if (std::ranges::any_of(task.nodes, is_product)) return cost.flops >= kManyFlops ? Limit::arithmetic : Limit::none;
  return cost.bytes() > kManyBytes && cost.flops < kRidge * cost.bytes() ? Limit::memory : Limit::none;
}

}  // namespace kw::report
