// A task: what a kernel has to compute, as a small graph of operators over declared inputs.
//
// Lengths may be named (`x: float32[N=8, C=64]`). The named lengths are what a task leaves open: other values of them
// give the shapes that a kernel must also serve, the tiny example of `kw show`, and the hidden shapes of the judge.
// Pure data; what it means is in ops/graph.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/attributes.h"
#include "core/tensor.h"

namespace kw {

// The values of named lengths.
using Lengths = std::map<std::string, std::int64_t>;

// A number in a task's text: written out, or the name of a length.
struct Length {
  std::int64_t value = 0;
  std::string name;  // empty: fixed
};

enum class Role {
  input,     // new with every call
  weight,    // drawn once; a kernel may prepare it
  constant,  // the values are written in the task
};

// How an input's typical values are spread.
struct Spread {
  enum class Kind { normal, uniform } kind = Kind::normal;
  double low = -1;  // uniform: the range
  double high = 1;
  double mean = 0;  // normal
  double deviation = 1;
};

struct Value {
  std::string name;
  Role role = Role::input;
  DType dtype = DType::float32;
  std::vector<Length> lengths;
  std::optional<Spread> spread;  // none: what the operator finds typical
  Tensor constant;               // of a constant, or of a weight that comes with values; empty: drawn
  std::vector<Length> elements;  // of an integer constant whose elements name lengths (a Reshape's target)
};

// An attribute, with the lengths that its integers name; `lengths` is empty or as long as the integers.
struct NodeAttribute {
  Attribute value;
  std::vector<Length> lengths;
};

struct Node {
  std::string name;   // of the node, where the source gave one
  std::string place;  // where it was read, for messages: "my.toml:12:8"
  std::string op;     // ONNX name
  std::map<std::string, NodeAttribute> attributes;
  std::vector<std::string> inputs;  // "" for an optional input that is left out
  std::vector<std::string> outputs;
};

struct Output {
  std::string name;
  // Declared where the operator cannot tell it from its inputs' shapes (Range).
  std::optional<DType> dtype;
  std::vector<Length> lengths;
};

// What products and convolutions of a task may be computed in; all else keeps its tensors' types. Those of float16 and
// bfloat16 have sums in float32 in any case.
enum class Precision {
  of_types,
  tf32,  // factors of float32 may lose all but ten bits of their fraction, as tensor cores read them
};

struct Task {
  std::string name;
  std::string suite;
  std::string category;
  int level = 0;           // of a suite that has levels; 0: none
  std::string place;       // where it was read, for messages
  std::string note;        // what a reader should know
  std::string degenerate;  // which wrong answers pass and why nothing can be done about it; empty: none do
  int opset = 17;
  Precision precision = Precision::of_types;
  double tolerance = 1;  // times the bound that is derived from the operators
  Lengths lengths;       // the named lengths with the task's own values
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<Output> outputs;

  // "Conv", or "Conv + Mul" for a chain.
  std::string operators() const;
};

}  // namespace kw
