// The shapes of an examination, ready to be called.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "base/result.h"
#include "core/task.h"
#include "judge/examine.h"
#include "targets/instance.h"

namespace kw::judge {

// Of each shape the instance, made once: cases, crowds and long runs use the same ones.
class Instances {
 public:
  explicit Instances(const Exam& exam) : exam_(exam) {}

  Result<const targets::Instance*> of(const Lengths& lengths, int threads) {
    std::unique_ptr<const targets::Instance>& known = known_[{lengths, threads}];
    if (known == nullptr) {
      KW_TRY(targets::Instance made, instance_for(*exam_.device, *exam_.task, lengths, threads));
      known = std::make_unique<const targets::Instance>(std::move(made));
    }
    return known.get();
  }

 private:
  const Exam& exam_;
  std::map<std::pair<Lengths, int>, std::unique_ptr<const targets::Instance>> known_;
};

}  // namespace kw::judge
