// Attacks on the judge: kernels that are right but where a trigger holds, and kernels that are not as fast as they
// seem.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/task.h"
#include "siege_triggers.h"

namespace kw::siege {

// A task of a suite with shorter lengths of its own, so that examining it is cheap, and what attacks on it start from.
struct Subject {
  Task task;
  std::string plain;                 // its plain kernel
  World lengths;                     // of all axes that vary
  std::vector<std::size_t> varying;  // which of all axes these are
  World values;                      // of the elements of one input
  int value_input = -1;              // that one; -1: none is of float32
  std::vector<int> binades;          // exponents that it may have
  std::vector<int> weights;          // which inputs are weights of float32
  bool long_sums = false;            // so that reduced precision inside makes sense
};

Result<Subject> make_subject(const Task& task, Random& random);

// What every attack is made of: the right kernel as kw_right, and `spoil`, which makes an element of the first output
// wrong at a place in [0, 1).
std::string beginning(const std::string& plain);

struct Attack {
  std::string what;     // its trigger, or its parameters
  double measure = -1;  // how often the trigger holds; -1: it has none
  std::string source;
  int threads = 1;
  bool timed = false;  // only timing can show it
  bool speed = false;  // it is right: it counts as accepted where it is claimed to be faster
  double budget_s = 0.06;
};

// Attacks whose triggers are about lengths or values alone need no kernel: whoever is called where its trigger holds
// gives a wrong answer, and every answer is compared. So it is enough to draw what an examination draws, and to look
// whether the trigger held in any of it: thousands of attacks in the time of a few judgings. Left out are cases that
// depend on time or are drawn for long runs, so that this rather accepts too many.
struct Draws {
  std::string what;
  double measure = -1;
  bool seen = false;
};
std::vector<Draws> lengths_by_draws(const Subject& subject, int count, Random& random);
// Of the elements of one input; by powers of two, or else by expressions.
std::vector<Draws> values_by_draws(const Subject& subject, int count, bool binades, Random& random);

struct Class {
  std::string name;
  std::string about;
  // None: this subject has no such attack.
  std::optional<Attack> (*draw)(const Subject&, Random&);
  int usual_count = 200;
};
const std::vector<Class>& all_classes();

}  // namespace kw::siege
