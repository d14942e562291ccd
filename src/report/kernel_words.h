// The chosen kernel of a task, for a reader: its figures, its source, and the line of its ancestors as differences.
//
// Sources are what makes a report large. One instance serves all kernels of a report, and when its allowance is spent
// the rest is left out and said to be.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "report/figures.h"
#include "store/store.h"

namespace kw::report {

// Bytes that may still be spent on something.
class Allowance {
 public:
  explicit Allowance(std::size_t bytes) : left_(bytes) {}
  bool spend(std::size_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

 private:
  std::size_t left_;
};

class KernelWords {
 public:
  struct Limits {
    std::size_t source_bytes = 100'000;         // of one source
    std::size_t all_sources_bytes = 3'000'000;  // first come, first served
    std::size_t all_differences_bytes = 1'500'000;
    std::size_t notes_bytes = 1000;
    int ancestors = 20;  // of each kernel
  };

  KernelWords(const store::Store& store, const Limits& limits)
      : store_(store),
        limits_(limits),
        sources_(limits.all_sources_bytes),
        differences_(limits.all_differences_bytes) {}

  // "best" of report/page_data.h, for an accepted outcome and the item it rests on; `judged` says by a candidate's hash
  // what became of it.
  Result<Json> words_of(const Outcome& outcome, const store::Recorded& item,
                        const std::map<std::string, std::string>& judged);

 private:
  void add_source(Json& best, const store::Candidate& candidate);
  Status add_ancestors(Json& best, store::Candidate child, std::string hash,
                       const std::map<std::string, std::string>& judged);
  void add_difference(Json& entry, const std::string& before, const std::string& after);
  Result<int> generations_from(store::Candidate one) const;

  const store::Store& store_;
  const Limits limits_;
  Allowance sources_;
  Allowance differences_;
};

}  // namespace kw::report
