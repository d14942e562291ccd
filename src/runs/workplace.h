// What all runs of one program on one device share: the record, the judge and this machine, each opened once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "runs/case_record.h"
#include "runs/judges.h"
#include "store/store.h"

namespace kw::runs {

class Workplace {
 public:
  explicit Workplace(store::Store& store, const std::string& device = targets::usual_device(),
                     std::function<void()> before_opening_a_judge = {})
      : store_(store), judges_(device, std::move(before_opening_a_judge)) {}
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  Judges& judges() { return judges_; }

  // The record belongs to one thread at a time; what follows needs it to be held.
  std::unique_lock<std::mutex> hold() const { return std::unique_lock(lock_); }
  store::Store& store() { return store_; }
  // How a case was judged here, for the record. `versions`: of rivals, where they are not today's.
  Result<store::Circumstances> circumstances(const judge::Case& one, double spent_s, const std::string& key,
                                             const std::map<std::string, std::string>* versions = nullptr);

 private:
  store::Store& store_;
  Judges judges_;
  mutable std::mutex lock_;
  std::int64_t machine_ = 0;
  std::optional<RivalVersions> versions_;
};

}  // namespace kw::runs
