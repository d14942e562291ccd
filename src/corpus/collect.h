// The corpus of a record: every kernel that this user's judge accepted and timed, as lines.
//
// Kernels come from any run: those that `kw corpus build` drew, searches, authors that ask a model, what a trainer sent
// to `kw gym`. Each is taken with the verdict that the record holds. A kernel stays if its task can
// be written as a text, it is short enough, the lower end of its speed-up's interval is at least what was asked for,
// and it is the fastest of those that are nearly the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "corpus/line.h"
#include "corpus/structure.h"
#include "store/store.h"
#include "targets/names.h"

namespace kw::corpus {

struct CollectRules {
  std::vector<std::int64_t> runs = {};  // empty: all
  std::string target = targets::usual_device();
  std::string against = "plain";  // the rival whose interval counts
  double faster = 1;              // the least lower end
  std::size_t longest = 6000;     // bytes of a kernel
  double alike = 0.85;            // from this likeness on two kernels count as one
  std::size_t most_alike = 2;     // how many of one kind stay, each of another task
  SplitRules split = {};
  std::string licence = "NOASSERTION";  // of kernels that were not written here
};

// How many were left at each step.
struct CollectCounts {
  std::int64_t judged = 0;
  std::int64_t right = 0;    // and of the target, judged by this user's kw
  std::int64_t timed = 0;    // against the rival
  std::int64_t in_text = 0;  // of tasks that a text tells whole
  std::int64_t short_enough = 0;
  std::int64_t fast_enough = 0;
  std::int64_t distinct = 0;  // the lines
};

struct Collected {
  std::vector<Line> lines;  // the fastest first within a kind; for training before held out
  CollectCounts counts;
};

Result<Collected> collect(const store::Store& store, const CollectRules& rules);

// What `kw corpus build` writes into the record as the label of each item.
std::string label_of(const std::string& technique, const std::string& how);

struct Exported {
  std::vector<std::filesystem::path> files;
  std::map<std::string, std::int64_t> lines;  // by file name
};
// FORM.train.jsonl and FORM.held_out.jsonl for each form, and corpus.json with the rules and counts.
Result<Exported> export_to(const std::filesystem::path& folder, const Collected& collected, const CollectRules& rules,
                           const std::vector<LineForm>& forms);

Json json_of(const CollectCounts& counts);
// For a reader: what was left at each step, splits, operators, techniques.
std::string text_of(const Collected& collected, const CollectRules& rules);

}  // namespace kw::corpus
