// An operator's whole meaning in one description, after ONNX: attributes with defaults, shape rule, reference, cost,
// how inputs are drawn, and random cases of itself. One description drives everything that needs an operator: tasks,
// the judge, the proofs against other people's tests, `kw show`.
#pragma once

#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/attributes.h"
#include "core/task.h"
#include "core/tensor.h"
#include "ops/wide_tensor.h"

namespace kw::ops {

struct Op;

using Integers = std::vector<std::int64_t>;

struct AttributeSpec {
  std::string name;
  AttributeKind kind = AttributeKind::integer;
  std::optional<Attribute> fallback = {};  // the default; none: the attribute may be absent
  bool required = false;
  std::vector<std::string> choices = {};  // of a text; empty: any
};

// Where an input's values make sense, and where they are hard.
struct Domain {
  double low = -std::numeric_limits<double>::infinity();  // values outside are never drawn
  double high = std::numeric_limits<double>::infinity();
  std::vector<double> points;  // singularities, branch points, ends: drawn exactly and a few ulps to each side
  bool infinities = false;     // the operator defines what +-infinity gives
  bool nans = false;           // the operator defines what NaN gives
  // Below the largest magnitude that is drawn when tails are heavy.
  double far = 1e4;
};
// All numbers, with infinities and NaN.
inline Domain whole_line(std::vector<double> points = {}, double far = 1e4) {
  return {.points = std::move(points), .infinities = true, .nans = true, .far = far};
}

struct InputSpec {
  std::string name;
  DTypes types = kFloats;
  std::string group = "T";  // inputs (and outputs) of one group share a type; "" stands alone
  Domain domain = {};
  bool optional = false;
  bool variadic = false;  // the last input only: one or more of it
  bool constant = false;  // the shape rule reads its values: a task must give it as a constant
};

struct OutputSpec {
  std::string name;
  bool optional = false;
  bool variadic = false;
};

// One use of an operator, as a graph resolves it: attributes complete with defaults, types known.
struct Call {
  const Op* op = nullptr;
  int opset = 17;
  Precision precision = Precision::of_types;
  Attributes attributes;
  std::vector<std::optional<TensorType>> inputs;  // none: left out
  std::vector<const Tensor*> constants;           // as long as inputs; null: not known before the call
  std::vector<std::optional<Shape>> declared;     // as long as the outputs: what the task declares of their shapes
  std::vector<bool> wanted;                       // which outputs anybody wants
  std::vector<TensorType> outputs;                // set once the shape rule has run

  bool has(std::size_t input) const { return input < inputs.size() && inputs[input].has_value(); }
  DType dtype(std::size_t input) const { return inputs[input]->dtype; }
  const Shape& shape(std::size_t input) const { return inputs[input]->shape; }
  bool wants(std::size_t output) const { return output < wanted.size() && wanted[output]; }

  std::int64_t integer(std::string_view name) const { return attributes.integer(name); }
  double real(std::string_view name) const { return attributes.real(name); }
  const std::string& text(std::string_view name) const { return attributes.text(name); }
  const std::vector<std::int64_t>& integers(std::string_view name) const { return attributes.integers(name); }

  // An error unless each of these inputs is one number or left out.
  Status check_one_number(std::initializer_list<std::size_t> inputs_of_one) const;

  // The integers of a constant input, or an error that says it must be a constant.
  Result<Integers> constant_integers(std::size_t input) const;
  // The same of an input that must be one number.
  Result<std::int64_t> constant_integer(std::size_t input) const;
  // Integers that newer opsets give as a constant input and older ones as an attribute; none where neither is given.
  Result<std::optional<Integers>> given_integers(std::size_t input, std::string_view attribute) const;
};

// How hard drawn inputs are. Each is a whole set of inputs.
enum class InputClass {
  typical,  // as the task's spread says: what is timed
  tails,    // both signs and magnitudes over many decades
  ties,     // a few distinct values, equal neighbours, exact zeros
  edges,    // the domain's points and their neighbours in the type
  special,  // subnormals, and infinities and NaN where the operator defines them
  wide,     // every power of two alike, from subnormals to large finite ones, as far as the operators can take them
};
// Without `wide`, for comparisons with other programs, which differ in what they make of far exponents.
inline constexpr InputClass kInputClasses[] = {InputClass::typical, InputClass::tails, InputClass::ties,
                                               InputClass::edges, InputClass::special};
// What the judge goes through.
inline constexpr InputClass kAllInputClasses[] = {InputClass::typical, InputClass::tails,   InputClass::ties,
                                                  InputClass::edges,   InputClass::special, InputClass::wide};
std::string_view name_of(InputClass input_class);

// A random valid use of an operator, for tests.
struct Sample {
  struct Input {
    std::optional<TensorType> type;  // none: left out
    std::optional<Tensor> constant = {};
  };
  Attributes attributes;
  std::vector<Input> inputs;
  std::size_t outputs = 1;  // how many of the outputs are wanted, from the first

  Sample& input(DType dtype, Shape shape) { return add({TensorType{dtype, std::move(shape)}}); }
  Sample& constant(Tensor tensor) {
    TensorType type = tensor.type();
    return add({std::move(type), std::move(tensor)});
  }
  Sample& absent() { return add({}); }
  Sample& attribute(std::string name, Attribute value) {
    attributes.set(std::move(name), std::move(value));
    return *this;
  }

 private:
  Sample& add(Input input) {
    inputs.push_back(std::move(input));
    return *this;
  }
};

using Types = std::vector<TensorType>;
using WideInputs = std::span<const WideTensor* const>;  // null where an input is left out

struct Op {
  std::string name;     // ONNX
  std::string meaning;  // in plain words, for a person
  int since = 1;        // the first opset whose meaning this is
  std::vector<AttributeSpec> attributes = {};
  std::vector<InputSpec> inputs = {};
  std::vector<OutputSpec> outputs = {{"Y"}};

  // The shape rule: the types of all outputs, or what is wrong with the inputs and attributes.
  std::function<Result<Types>(const Call&)> infer;

  // In double precision, exact for integers. `outputs` come allocated by the shape rule's types and zeroed; where the
  // shape depends on the values, the reference replaces them. Fails on values that the operator forbids.
  std::function<Status(const Call&, WideInputs, std::span<WideTensor>)> reference;

  // Arithmetic operations; an elementary function counts as kFunctionFlops.
  std::function<double(const Call&)> flops;

  // The least bytes that must move; none: every input read and every output written once.
  std::function<double(const Call&)> bytes = {};

  // Corrects what was drawn from the domains where those cannot say it (indices, matrices that are not singular,
  // ties between two inputs). Null entries are not drawn here: left out, constant, or computed by an earlier node.
  std::function<void(const Call&, InputClass, Random&, std::span<Tensor* const>)> draw = {};

  std::function<Sample(Random&)> sample;
};

inline constexpr double kFunctionFlops = 10;

// What costs are made of: the elements of the first input and of the first output, and bytes.
inline double no_flops(const Call&) { return 0; }
inline double input_count(const Call& call) { return static_cast<double>(call.shape(0).count()); }
inline double output_count(const Call& call) { return static_cast<double>(call.outputs[0].shape.count()); }
inline double bytes_of(const TensorType& type) { return static_cast<double>(type.bytes()); }

// All operators, sorted by name; and one of them, or null.
const std::vector<Op>& all_ops();
const Op* find_op(std::string_view name);

}  // namespace kw::ops
