// What searches learned on a machine: how fast a technique was with some settings, on a task of some family. Lessons
// serve later searches (search/memory.h); they are no record of anything and may be forgotten.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace kw::store {

struct Lesson {
  std::string family;  // the task's operators: "Conv", "Conv+Conv"
  std::string task;
  double size = 0;  // log2 of the bytes that the task moves
  std::string technique;
  std::string settings = "{}";  // JSON
  double time = 1;              // against the technique's defaults on that task
  std::string at = {};
};

// A later lesson on the same task, technique and settings takes the place of the earlier one.
Status add_lessons(const Store& store, const std::string& machine_identity, std::span<const Lesson> lessons);
// All of a family, or of all families where it is empty; the best first.
Result<std::vector<Lesson>> lessons_of(const Store& store, const std::string& machine_identity,
                                       const std::string& family);
// Of all other machines and devices of the record, of a family: with each technique on each task the settings that won.
Result<std::vector<Lesson>> winners_elsewhere(const Store& store, const std::string& machine_identity,
                                              const std::string& family);
// How many were forgotten; an empty family means all.
Result<int> forget_lessons(const Store& store, const std::string& family);

}  // namespace kw::store
