#pragma once

#include <kernelwright.h>

#include "broadcast.h"

// How numpy reads a matrix product: the last two axes are matrices, those before are batches that broadcast, and a
// vector is a row on the left and a column on the right.
struct MatMulPlan {
  int64_t m, k, n;
  kw::Shape batch;
  kw::Shape a_steps, b_steps;  // in matrices, along each axis of the batch
  kw::Shape result;

  // Which matrix of a or b goes into product p of the batch.
  int64_t left(int64_t p) const { return broadcast_index(p, batch, a_steps); }
  int64_t right(int64_t p) const { return broadcast_index(p, batch, b_steps); }
};

inline MatMulPlan matmul_plan(const kw::Shape& a, const kw::Shape& b) {
  const kw::Shape a_batch(std::max(a.rank - 2, 0), a.dims);
  const kw::Shape b_batch(std::max(b.rank - 2, 0), b.dims);
  MatMulPlan plan;
  plan.m = a.rank == 1 ? 1 : a[-2];
  plan.k = a[-1];
  plan.n = b.rank == 1 ? 1 : b[-1];
  plan.batch = broadcast(a_batch, b_batch);
  plan.a_steps = broadcast_steps(a_batch, plan.batch);
  plan.b_steps = broadcast_steps(b_batch, plan.batch);
  plan.result = plan.batch;
  if (a.rank > 1) plan.result.push(plan.m);
  if (b.rank > 1) plan.result.push(plan.n);
  return plan;
}
