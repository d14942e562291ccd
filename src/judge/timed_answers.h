// Are the answers of timed calls right? Every one is held against the first rival's, element by element; those that
// look odd, and some that are chosen by chance over the whole race, are held against the reference. The chosen ones are
// kept and verified when the race is over, so that a kernel cannot tell which they are, and timing waits for nothing.
#pragma once

#include <vector>

#include "base/random.h"
#include "core/tensor.h"
#include "ops/wide_tensor.h"

namespace kw::judge {

// How far a right answer may be off, by its size: floor + share * |answer|.
struct ElementBound {
  double floor = 0;
  double share = 0;
};

// The least such bound that is not below any element's own.
ElementBound bound_of(const ops::WideTensor& expected);

class TimedAnswers {
 public:
  // `bounds`: of each output, on typical inputs. `most_s`: what verifying the chosen ones may take.
  TimedAnswers(std::vector<ElementBound> bounds, double most_s) : bounds_(std::move(bounds)), most_s_(most_s) {}

  // Two right answers hardly ever differ so much; `rival` is null where there is no answer of a rival.
  bool is_odd(const std::vector<Tensor>& got, const std::vector<Tensor>* rival) const;
  // It looked odd and was right: the bounds are narrow for these inputs. They become wider, up to a limit.
  void was_right_though_odd();

  // A call as it was, to be verified later.
  struct Kept {
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
  };
  // Where to keep a call, if it is chosen: every call of the race so far is kept with the same chance.
  Kept* choose(Random& random);
  const std::vector<Kept>& kept() const { return kept_; }

  void verified(double reference_s) {
    ++count_;
    reference_s_ = reference_s;
  }
  int count() const { return count_; }

 private:
  std::size_t most_kept() const;

  std::vector<ElementBound> bounds_;
  double most_s_;
  double wide_ = 1;
  std::vector<Kept> kept_;
  std::int64_t seen_ = 0;
  double reference_s_ = 0;  // of one call
  int count_ = 0;
};

}  // namespace kw::judge
