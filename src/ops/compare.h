// Is this answer right? Every element against the reference and its slack.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "core/tensor.h"
#include "ops/wide_tensor.h"

namespace kw::ops {

struct Mismatch {
  std::int64_t index = 0;  // flat
  double got = 0;
  double expected = 0;
  double allowed = 0;
};

struct Comparison {
  std::string got_type;            // where types or shapes differ: "has shape [3]", "is float32"
  std::string expected_type;       // "[4]", "float64"
  std::int64_t wrong = 0;          // elements outside their slack
  std::vector<Mismatch> examples;  // the first few of them
  double worst = 0;                // the largest |got - expected| / allowed over elements with slack

  bool right() const { return got_type.empty() && wrong == 0; }
  // "3 of 64 elements are wrong; [0, 2]: got 1.5, expected 1.25 within 1e-06"
  std::string text(const WideTensor& expected) const;
  // The same as the parameters of ReasonCode::wrong_output.
  Json data(const WideTensor& expected) const;
};

// NaN is right where NaN is expected and nowhere else; an infinity where the exact result is beyond the type's range.
// Two empty tensors of one shape are equal; a judge must not take that for a right answer.
Comparison compare(const WideTensor& expected, const Tensor& got);

}  // namespace kw::ops
