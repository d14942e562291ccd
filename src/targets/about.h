// What is known of a device besides its kernels, as data for people, the record, reports and prompts: its facts, what
// it can do at most, the tools that build for it. How any of it is found out is the target's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kw::targets {

// A row for a reader: "processor", "vectors", "memory".
struct Fact {
  std::string name;  // empty: a further line of the row before
  std::string text;
};

struct DeviceFacts {
  std::string name;  // what its maker calls it; empty: not known
  std::vector<Fact> rows = {};
  std::vector<std::string> notes = {};  // what should be known and is not, each a sentence
  // Equal for as long as it is the same device: results are compared where this is equal. Tools may change meanwhile.
  std::string identity = {};
  std::string json = "{}";  // an object with all of it, for programs
};

// The most that a device can do of something in a second, measured.
struct Roof {
  enum class Kind { arithmetic, moving };
  Kind kind = Kind::moving;
  std::string of;                 // "memory", "L1", "float32 multiply-adds"
  std::string what = {};          // "read", "copy"; empty: there is one figure of it
  double best = 0;                // in 10^9 of the unit's bytes or operations a second
  std::string unit = {};          // "GB/s", "GFLOP/s"
  double spread = 0;              // how far measurings lie apart: 0.02 is 2 %
  bool stable = true;             // so little that it can be relied on
  std::uint64_t holds_bytes = 0;  // of moving: for data of this size at most; 0: of any size

  std::string text() const;  // "memory read: 21.3 GB/s"
};

struct RoofTable {
  std::string measured_at;              // "2026-01-31T12:00:00Z"
  std::string scope = {};               // what they are the roofs of: "one core", "the whole device"
  std::vector<Roof> roofs = {};         // of moving: the smallest level first, the last holds any size
  std::string json = "{}";              // an object, as the target keeps them
  std::vector<std::string> notes = {};  // on the measuring, each a sentence

  bool stable() const;
};

// No kernel can move the bytes of a task in less, or do the arithmetic of the usual algorithm: another one may have
// less.
struct LeastTime {
  double arithmetic_ns = 0;
  double moving_ns = 0;

  bool by_moving() const { return moving_ns >= arithmetic_ns; }
  double ns() const { return by_moving() ? moving_ns : arithmetic_ns; }
};

// A program or library that kw calls for a target, or could.
struct ToolState {
  std::string name;
  std::string use;      // what kw needs it for
  std::string package;  // that installs it
  bool required = false;
  bool builds_kernels = false;
  std::string path = {};     // empty: not here
  std::string version = {};  // empty: not here, or it does not run
  bool works = false;
  bool missed = false;    // it does not work, and could be of use here
  std::string note = {};  // a sentence about one that is here and not used
};

struct Tools {
  std::vector<ToolState> list = {};
  std::string install = {};  // what installs those that are missed; empty: none is

  bool ready() const;  // all that is required works
};

// A part of locking kernels up, and what it would need where it is not there.
struct IsolationPart {
  std::string name;
  bool there = false;
  std::string needs = {};
};

// What is known of a kernel besides its code, for reading its machine code.
struct CodeQuestion {
  // Where calls were at random moments (LoadedKernel::run_sampled); empty: not known.
  std::span<const std::uint64_t> samples = {};
  std::string core = {};  // cycles are of that core, where there is a model of it; empty: of the device's own
};

// What became of a source: for a person or a model, and for programs.
struct CodeNotes {
  std::string text;
  std::string missing = {};  // what a tool of this machine could not say of it, in a line; empty: nothing
  std::string json = "{}";   // an object
};

}  // namespace kw::targets
