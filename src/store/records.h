// What the store holds, as plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/verdict.h"

namespace kw::store {

struct Machine {
  std::string identity;  // equal for all states of one machine
  std::string name;      // for a person: the processor's
  std::string facts;     // JSON

  bool operator==(const Machine&) const = default;
};

// A task as it was judged.
struct TaskSnapshot {
  std::string name;
  std::string suite;
  std::string category;
  std::string text;  // from which the task can be had again

  bool operator==(const TaskSnapshot&) const = default;
};

struct Candidate {
  std::string file;  // the source's name
  std::string source;
  std::string settings = "{}";  // JSON
  std::string author = {};
  std::vector<std::string> parents = {};  // hashes of candidates
  std::string notes = {};                 // the author's own words

  bool operator==(const Candidate&) const = default;
};

struct RivalSource {
  std::string name;
  std::string text;

  bool operator==(const RivalSource&) const = default;
};

struct NewRun {
  std::string command;
  std::string suite = {};
  std::string author = {};
  std::string strategy = {};
  std::optional<std::int64_t> seed = {};
  std::string rules = "{}";  // JSON
  std::vector<RivalSource> against = {};
};

// What an item of a run is for. Stored by name.
enum class Purpose {
  judge,    // a candidate that was handed in
  compare,  // the same, beside the sources of others
  start,    // a kernel that an author was given: no figure counts it
  search,   // a candidate of a search, or of an author
  confirm   // the best of a task, judged once more after it was chosen
};
std::string_view name_of(Purpose purpose);
std::optional<Purpose> purpose_named(std::string_view name);

// The version of a rival that is a kernel of ours: how it is built, and the hash of its text ("g++ 12.2.0 -O3, source
// 0123456789ab"). Without the hash it is the same for all tasks.
std::string version_with_source(const std::string& built, const std::string& source_hash);
std::string version_without_source(const std::string& version);

// How the work on a run goes on. In the record it is the name of the strategy: none, "rounds", or any other.
enum class RunKind {
  batch,   // items that were all planned at the beginning, or handed in one by one
  search,  // a strategy over the tunables of kernels
  rounds   // an author that asks a language model
};
std::string_view name_of(RunKind kind);

// Where the work on a run stands. Stored by name.
enum class RunState { open, stopped, done };
std::string_view name_of(RunState state);
// Of a name that this program does not know: open, so that the run can be resumed.
RunState state_named(std::string_view name);

// What an event of a run tells. Stored by name.
enum class EventKind {
  began,
  resumed,
  stopped,
  done,
  imported,
  problem,    // something could not be judged
  model,      // trouble with a language model, or what it cost
  over,       // a task was left before its end
  no_kernel,  // an answer of a model without one
  finished,   // a task of an author
  other       // of another version of kw
};
std::string_view name_of(EventKind kind);
EventKind event_named(std::string_view name);

// A pair of task and candidate that is to be judged.
struct NewItem {
  std::int64_t position = 0;  // in its run; a batch's line
  Purpose purpose = Purpose::judge;
  std::optional<TaskSnapshot> task;    // none only where there is a problem
  std::optional<Candidate> candidate;  // likewise
  std::string build = "{}";            // JSON: what it is built with
  std::string label = "null";          // JSON: what its author calls it
  std::string problem = {};            // why it can never be judged
};

struct Item {
  std::int64_t id = 0;
  std::int64_t run = 0;
  NewItem what;
  std::string task_hash;
  std::string candidate_hash;
};

// What is recorded of a verdict besides itself.
struct Circumstances {
  std::int64_t machine = 0;  // as add_machine calls it
  double spent_s = 0;
  std::string terms = {};                       // "warm caches, 1 thread": times under other terms do not compare
  std::string key = {};                         // a hash of all that the verdict depends on
  std::map<std::string, std::string> versions;  // of rivals, by name
};

// A verdict as it is read back.
struct Recorded {
  std::int64_t item = 0;
  std::int64_t position = 0;
  Purpose purpose = Purpose::judge;
  std::string task;
  std::string task_hash;
  std::string suite;
  std::string category;
  std::string file;
  std::string candidate_hash;
  std::string source_hash;
  std::string settings;
  std::string author;
  std::string build;
  std::string label;
  std::string problem;
  // The rest is empty while there is no verdict.
  bool judged = false;
  std::string at;
  double spent_s = 0;
  std::int64_t machine = 0;
  std::string terms;
  std::string stage;
  bool accepted = false;
  std::optional<double> time_ns;
  std::optional<double> noise;
  std::optional<double> roof_fraction;
  bool kept = false;
  std::string key;
  std::string json;
  struct Against {
    std::string rival;
    std::string version;
    double median = 0, low = 0, high = 0;
    int pairs = 0;
    bool claimed = false;
    std::string packed_times;  // store/packed.h
  };
  std::vector<Against> speedups;
};

struct RunSummary {
  std::int64_t id = 0;
  std::string origin;
  std::string began_at;
  std::string changed_at;
  RunState state = RunState::open;
  NewRun about;  // without `against`
  std::int64_t planned = 0;
  std::int64_t done = 0;  // judged, or known never to be
  std::int64_t accepted = 0;
  std::int64_t timed = 0;   // of the accepted ones
  std::int64_t tasks = 0;   // with a verdict
  std::int64_t solved = 0;  // of them: with an accepted candidate
  std::string first_task;   // the name of one of them
  // The geometric mean of the accepted ones' speed-ups against the first rival, of every item that has one.
  std::optional<double> speedup;
  std::string rival;  // its name
  // More than one of either: the mean is over things that do not compare, and what shows it must say so.
  int machines = 0;
  bool rival_changed = false;  // one task was timed against several versions of it
  // Begun here; otherwise imported, or of a record that came from elsewhere (store/seal.h): nothing that it names is
  // run or read unasked.
  bool is_own = false;

  std::string name() const { return "r" + std::to_string(id); }
  RunKind kind() const;
  // A search may plan more when all that it planned is judged: only it knows its end.
  bool is_done() const { return done == planned && (kind() == RunKind::batch || state == RunState::done); }
};

struct Event {
  std::string at;
  EventKind kind = EventKind::other;
  std::string text;
};

// One accepted, timed verdict on a task.
struct AcceptedKernel {
  std::int64_t item = 0;
  std::int64_t run = 0;
  std::string at;
  std::string file;
  std::string author;
  std::string settings;
  std::string source_hash;
  std::string terms;
  double time_ns = 0;
  std::optional<double> roof_fraction;
  std::string rival;  // the first one; empty: timed alone
  std::string version;
  double median = 0, low = 0, high = 0;
};

}  // namespace kw::store
