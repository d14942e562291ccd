// Are the answers of timed calls right? Each is held against the first rival's; the first ones, some by chance and all
// that look odd are held against the reference, which takes time that timing does not have.
#pragma once

#include <vector>

#include "base/random.h"
#include "core/tensor.h"

namespace kw::judge {

class TimedAnswers {
 public:
  // `allowed`: of each output, the largest error that typical inputs allow. References may take a share of the budget.
  TimedAnswers(std::vector<double> allowed, double budget_s) : allowed_(std::move(allowed)), budget_s_(budget_s) {}

  // Two right answers may differ by this much at most; `rival` is null where there is no answer of a rival.
  bool is_odd(const std::vector<Tensor>& got, const std::vector<Tensor>* rival) const;
  // Is this call held against the reference?
  bool wants_reference(bool odd, Random& random) const;
  void verified(double reference_s) {
    ++count_;
    reference_s_ += reference_s;
  }
  int count() const { return count_; }

 private:
  std::vector<double> allowed_;
  double budget_s_;
  double reference_s_ = 0;
  int count_ = 0;
};

}  // namespace kw::judge
