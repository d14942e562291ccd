#include "suites/onnx_file.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <set>
#include <utility>

#define ONNX_ML 1
#define ONNX_NAMESPACE onnx
#include <onnx/onnx_pb.h>

#include "base/files.h"
#include "base/inside.h"
#include "suites/onnx_tensor.h"

namespace kw::suites {
namespace fs = std::filesystem;
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;

// More than an int counts; protobuf's own limit.
constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 31) - 1;
constexpr std::string_view kOwnDomain = "ai.onnx";

// ----- Types

constexpr std::array<std::pair<int, DType>, kDTypeCount> kTypes{{
    {TensorProto::FLOAT, DType::float32},
    {TensorProto::DOUBLE, DType::float64},
    {TensorProto::FLOAT16, DType::float16},
    {TensorProto::BFLOAT16, DType::bfloat16},
    {TensorProto::INT8, DType::int8},
    {TensorProto::INT16, DType::int16},
    {TensorProto::INT32, DType::int32},
    {TensorProto::INT64, DType::int64},
    {TensorProto::UINT8, DType::uint8},
    {TensorProto::UINT16, DType::uint16},
    {TensorProto::UINT32, DType::uint32},
    {TensorProto::UINT64, DType::uint64},
    {TensorProto::BOOL, DType::boolean},
}};

std::optional<DType> dtype_of(int onnx_type) {
  const auto* found = std::ranges::find(kTypes, onnx_type, &std::pair<int, DType>::first);
  return found == kTypes.end() ? std::nullopt : std::optional(found->second);
}

int onnx_type_of(DType dtype) { return std::ranges::find(kTypes, dtype, &std::pair<int, DType>::second)->first; }

// Why an element type is not ours. The numbers from 17 on are newer than the library.
std::string why_not(int onnx_type) {
  constexpr std::array<std::string_view, 10> kNewer{
      "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",
      "int4",         "float4e2m1",     "float8e8m0", "uint2",          "int2"};
  if (onnx_type == TensorProto::STRING) return "holds strings";
  if (onnx_type == TensorProto::COMPLEX64 || onnx_type == TensorProto::COMPLEX128) return "holds complex numbers";
  if (onnx_type >= 17 && onnx_type < 17 + static_cast<int>(kNewer.size())) {
    return fmt::format("holds {}", kNewer[static_cast<std::size_t>(onnx_type - 17)]);
  }
  return fmt::format("has the unknown element type {}", onnx_type);
}

// ----- Tensors

// The bytes of a tensor that lies in a file of its own: only inside the model's folder, and only if they are there.
Result<std::string> external_bytes(const TensorProto& tensor, const fs::path& folder, std::uint64_t wanted) {
  std::string location;
  std::uint64_t offset = 0;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") {
      const char* end = entry.value().data() + entry.value().size();
      if (std::from_chars(entry.value().data(), end, offset).ptr != end) return fail("has a broken offset");
    }
  }
  if (folder.empty()) return fail("lies in another file, '{}', and there is no folder to look for it", location);
  const fs::path relative(location);
  const bool leaves = relative.empty() || relative.is_absolute() || std::ranges::count(relative, fs::path("..")) > 0;
  std::error_code code;
  const fs::path root = fs::canonical(folder, code);
  const fs::path path = leaves ? fs::path() : fs::weakly_canonical(root / relative, code);
  const bool inside = !leaves && !code && std::ranges::mismatch(root, path).in1 == root.end();
  if (!inside) return fail("lies in '{}', which is not inside the model's folder", location);
  const std::uint64_t size = fs::is_regular_file(path, code) ? fs::file_size(path, code) : 0;
  if (code || size == 0) return fail("lies in '{}', which is missing or empty: put it beside the model", location);
  if (offset > size || size - offset < wanted) {
    return fail("needs {} bytes from byte {} of '{}', which has only {}", wanted, offset, location, size);
  }
  return read_part_without_links(path, offset, wanted);
}

void copy_bytes(std::string_view bytes, Tensor& tensor) {
  const auto target = tensor.bytes();
  if (tensor.dtype() == DType::boolean) {
    // Any byte may come, but a bool is 0 or 1.
    std::ranges::transform(bytes, target.begin(), [](char byte) { return static_cast<std::byte>(byte != 0); });
  } else if (!bytes.empty()) {
    std::memcpy(target.data(), bytes.data(), bytes.size());
  }
}

template <class Field>
Result<Tensor> from_field(const Field& field, DType dtype, const Shape& shape) {
  if (field.size() != shape.count()) {
    return fail("has {} values, but its shape {} needs {}", field.size(), shape.text(), shape.count());
  }
  Tensor tensor(dtype, shape);
  for (int i = 0; i < field.size(); ++i) {
    if constexpr (std::is_floating_point_v<typename Field::value_type>) {
      tensor.set_real(i, field[i]);
    } else if (dtype == DType::float16) {
      tensor.as<Half>()[static_cast<std::size_t>(i)].bits = static_cast<std::uint16_t>(field[i]);
    } else if (dtype == DType::bfloat16) {
      tensor.as<Brain>()[static_cast<std::size_t>(i)].bits = static_cast<std::uint16_t>(field[i]);
    } else {
      tensor.set_integer(i, static_cast<std::int64_t>(field[i]));
    }
  }
  return tensor;
}

Result<Tensor> from_typed_field(const TensorProto& tensor, DType dtype, const Shape& shape) {
  switch (dtype) {
    case DType::float32:
      return from_field(tensor.float_data(), dtype, shape);
    case DType::float64:
      return from_field(tensor.double_data(), dtype, shape);
    case DType::int64:
      return from_field(tensor.int64_data(), dtype, shape);
    case DType::uint32:
    case DType::uint64:
      return from_field(tensor.uint64_data(), dtype, shape);
    default:
      return from_field(tensor.int32_data(), dtype, shape);
  }
}

// Nothing is allocated before the file is seen to have the bytes. The element type must be one of ours.
Result<Tensor> tensor_of(const TensorProto& tensor, const fs::path& folder) {
  const DType dtype = *dtype_of(tensor.data_type());
  const Shape shape(std::vector<std::int64_t>(tensor.dims().begin(), tensor.dims().end()));
  KW_CHECK(check_shape(shape));
  const std::uint64_t size = static_cast<std::uint64_t>(shape.count()) * size_bytes(dtype);
  std::string external;
  const bool elsewhere = tensor.data_location() == TensorProto::EXTERNAL;
  if (elsewhere) {
    KW_TRY(external, external_bytes(tensor, folder, size));
  } else if (!tensor.has_raw_data()) {
    return from_typed_field(tensor, dtype, shape);
  }
  const std::string& bytes = elsewhere ? external : tensor.raw_data();
  if (bytes.size() != size) {
    return fail("has {} bytes of data, but {} needs {}", bytes.size(), TensorType{dtype, shape}.text(), size);
  }
  Tensor result(dtype, shape);
  copy_bytes(bytes, result);
  return result;
}

// ----- Values and attributes

OnnxValue value_of(const onnx::ValueInfoProto& info, const std::string& name) {
  OnnxValue value;
  value.name = name;
  const onnx::TypeProto& type = info.type();
  if (!type.has_tensor_type()) {
    value.unsupported = type.has_sequence_type()        ? "is a sequence"
                        : type.has_map_type()           ? "is a map"
                        : type.has_optional_type()      ? "is an optional"
                        : type.has_sparse_tensor_type() ? "is a sparse tensor"
                                                        : "";
    return value;
  }
  const auto& tensor = type.tensor_type();
  if (tensor.elem_type() != TensorProto::UNDEFINED) {
    value.dtype = dtype_of(tensor.elem_type());
    if (!value.dtype) value.unsupported = why_not(tensor.elem_type());
  }
  if (!tensor.has_shape()) return value;
  value.lengths.emplace();
  for (const auto& dim : tensor.shape().dim()) {
    Length length;
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      length.value = dim.dim_value();
    } else {
      // Exporters call axes "?" whose lengths they do not know: each is a length of its own.
      const bool is_named = dim.dim_param().find_first_not_of('?') != std::string::npos;
      length.name = is_named ? dim.dim_param() : fmt::format("{}.{}", value.name, value.lengths->size());
    }
    value.lengths->push_back(std::move(length));
  }
  return value;
}

// Files from before IR version 3 may leave the type out.
AttributeProto::AttributeType kind_of(const AttributeProto& attribute) {
  if (attribute.type() != AttributeProto::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return AttributeProto::FLOAT;
  if (attribute.has_i()) return AttributeProto::INT;
  if (attribute.has_s()) return AttributeProto::STRING;
  if (attribute.has_t()) return AttributeProto::TENSOR;
  if (attribute.floats_size() > 0) return AttributeProto::FLOATS;
  if (attribute.ints_size() > 0) return AttributeProto::INTS;
  if (attribute.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

// None, with the reason in `unsupported`, for a kind that we have not; an error for a tensor that is broken.
Result<std::optional<Attribute>> attribute_of(const AttributeProto& given, const fs::path& folder,
                                              std::string& unsupported) {
  using Some = std::optional<Attribute>;
  if (!given.ref_attr_name().empty()) {
    unsupported = fmt::format("attribute '{}' refers to a function's", given.name());
    return Some();
  }
  switch (kind_of(given)) {
    case AttributeProto::FLOAT:
      return Some(static_cast<double>(given.f()));
    case AttributeProto::INT:
      return Some(static_cast<std::int64_t>(given.i()));
    case AttributeProto::STRING:
      return Some(given.s());
    case AttributeProto::FLOATS:
      return Some(std::vector<double>(given.floats().begin(), given.floats().end()));
    case AttributeProto::INTS:
      return Some(std::vector<std::int64_t>(given.ints().begin(), given.ints().end()));
    case AttributeProto::STRINGS:
      return Some(std::vector<std::string>(given.strings().begin(), given.strings().end()));
    case AttributeProto::TENSOR: {
      if (!dtype_of(given.t().data_type())) {
        unsupported = fmt::format("attribute '{}' {}", given.name(), why_not(given.t().data_type()));
        return Some();
      }
      auto tensor = tensor_of(given.t(), folder);
      if (!tensor.ok()) return at(fmt::format("attribute '{}'", given.name()), tensor.error());
      return Some(*std::move(tensor));
    }
    case AttributeProto::GRAPH:
    case AttributeProto::GRAPHS:
      unsupported = fmt::format("has a subgraph (attribute '{}')", given.name());
      return Some();
    default:
      unsupported = fmt::format("attribute '{}' is of a kind that is not known", given.name());
      return Some();
  }
}

// What a Constant node's attribute stands for; none for texts.
std::optional<Tensor> as_tensor(Attribute value) {
  if (auto* tensor = std::get_if<Tensor>(&value)) return std::move(*tensor);
  if (const auto* real = std::get_if<double>(&value)) return Tensor::scalar(*real);
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) return Tensor::of_integers(*integers);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    Tensor scalar(DType::int64, Shape{});
    scalar.set_integer(0, *integer);
    return scalar;
  }
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    Tensor list(DType::float32, Shape{static_cast<std::int64_t>(reals->size())});
    for (std::size_t i = 0; i < reals->size(); ++i) list.set_real(static_cast<std::int64_t>(i), (*reals)[i]);
    return list;
  }
  return std::nullopt;
}

void fill(AttributeProto& target, const std::string& name, const Attribute& value) {
  target.set_name(name);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    target.set_type(AttributeProto::INT);
    target.set_i(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    target.set_type(AttributeProto::FLOAT);
    target.set_f(static_cast<float>(*real));
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    target.set_type(AttributeProto::STRING);
    target.set_s(*text);
  } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    target.set_type(AttributeProto::INTS);
    for (std::int64_t element : *integers) target.add_ints(element);
  } else if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    target.set_type(AttributeProto::FLOATS);
    for (double element : *reals) target.add_floats(static_cast<float>(element));
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    target.set_type(AttributeProto::STRINGS);
    for (const std::string& element : *texts) target.add_strings(element);
  } else {
    target.set_type(AttributeProto::TENSOR);
    fill_tensor(*target.mutable_t(), "", std::get<Tensor>(value));
  }
}

// ----- Models

// Reads a model part by part; every error is put behind the file's name by the caller.
class Reader {
 public:
  Reader(const onnx::ModelProto& file, fs::path folder) : file_(file), folder_(std::move(folder)) {}

  Result<OnnxModel> run() {
    KW_CHECK(read_opset());
    note_names(file_.graph());
    model_.scopes.emplace_back();
    KW_CHECK(read_graph(file_.graph(), 0));
    for (std::size_t i = 0; i < inner_.size(); ++i) {  // which grows meanwhile
      const std::size_t scope = i + 1;
      if (auto read = read_graph(*inner_[i], scope); !read.ok()) {
        const std::size_t owner = model_.scopes[scope].owner;
        return at(fmt::format("inside of {}", label(model_.nodes[owner].node, owner)), read.error());
      }
    }
    KW_CHECK(find_order());
    return std::move(model_);
  }

 private:
  bool has_value(const std::string& name) const {
    return model_.initializers.contains(name) || model_.unreadable.contains(name);
  }

  Status read_graph(const onnx::GraphProto& graph, std::size_t scope) {
    const auto here = [&](const onnx::ValueInfoProto& info) { return value_of(info, resolved(scope, info.name())); };
    if (scope != 0) name_values(graph, scope);
    for (const TensorProto& tensor : graph.initializer()) {
      KW_CHECK(add_initializer(resolved(scope, tensor.name()), tensor));
    }
    for (const auto& sparse : graph.sparse_initializer()) {
      model_.unreadable[resolved(scope, sparse.values().name())] = "is a sparse tensor";
    }
    for (const auto& input : graph.input()) {
      const OnnxValue value = here(input);
      if (has_value(value.name)) continue;
      if (scope == 0) {
        model_.inputs.push_back(value);
        continue;
      }
      model_.values[value.name] = value;
      model_.scopes[scope].inputs.push_back(value.name);
      model_.given_by_owners.insert(value.name);
    }
    for (const auto& info : graph.value_info()) model_.values[resolved(scope, info.name())] = here(info);
    for (const auto& output : graph.output()) {
      const OnnxValue value = here(output);
      if (scope == 0) {
        model_.outputs.push_back(value);
        continue;
      }
      model_.values.emplace(value.name, value);
      model_.scopes[scope].outputs.push_back(value.name);
      model_.given_to_owners.insert(value.name);
    }
    for (const auto& node : graph.node()) {
      const auto index = model_.nodes.size();
      if (auto added = add_node(node, scope); !added.ok()) {
        return at(label(model_.nodes[index].node, index), added.error());
      }
    }
    return {};
  }

  // ----- Names of scopes

  void note_names(const onnx::GraphProto& graph) {
    for (const auto& one : graph.initializer()) taken_.insert(one.name());
    for (const auto& one : graph.input()) taken_.insert(one.name());
    for (const auto& node : graph.node()) taken_.insert(node.output().begin(), node.output().end());
  }

  // "If_0/then/" of an If's branch.
  std::string prefix_of(std::size_t scope) const {
    const OnnxScope& one = model_.scopes[scope];
    const Node& owner = model_.nodes[one.owner].node;
    std::string branch = one.attribute;
    if (branch.ends_with("_branch")) branch.resize(branch.size() - 7);
    return fmt::format("{}/{}/", owner.name.empty() ? fmt::format("#{}", one.owner) : owner.name, branch);
  }

  std::string unique_name(const std::string& prefix, const std::string& name) {
    std::string whole = prefix + name;
    while (!taken_.insert(whole).second) whole += "'";
    model_.names_in_file[whole] = name;
    return whole;
  }

  void name_values(const onnx::GraphProto& graph, std::size_t scope) {
    const std::string prefix = prefix_of(scope);
    auto& names = names_[scope];
    const auto add = [&](const std::string& name) {
      if (!name.empty() && !names.contains(name)) names[name] = unique_name(prefix, name);
    };
    for (const auto& one : graph.initializer()) add(one.name());
    for (const auto& one : graph.sparse_initializer()) add(one.values().name());
    for (const auto& one : graph.input()) add(one.name());
    for (const auto& node : graph.node()) {
      for (const std::string& output : node.output()) add(output);
    }
  }

  // What a name of a scope is called here: its own, or one of a scope around it.
  std::string resolved(std::size_t scope, const std::string& name) const {
    for (; scope != 0 && !name.empty(); scope = model_.scopes[scope].parent) {
      const auto names = names_.find(scope);
      if (names == names_.end()) continue;
      if (const auto found = names->second.find(name); found != names->second.end()) return found->second;
    }
    return name;
  }

  Status read_opset() {
    std::int64_t opset = file_.opset_import().empty() ? 1 : 0;
    for (const auto& import : file_.opset_import()) {
      if (import.domain().empty() || import.domain() == kOwnDomain) opset = std::max(opset, import.version());
    }
    if (opset > kNewestOpset) {
      return fail("uses version {} of ONNX's operators, but only 1 to {} are known; export the model for one of those",
                  opset, kNewestOpset);
    }
    model_.opset = static_cast<int>(opset);
    return {};
  }

  Status add_initializer(const std::string& name, const TensorProto& tensor) {
    if (!dtype_of(tensor.data_type())) {
      model_.unreadable[name] = why_not(tensor.data_type());
      return {};
    }
    auto values = tensor_of(tensor, folder_);
    if (!values.ok()) return at(fmt::format("initializer '{}'", name), values.error());
    if (!model_.initializers.emplace(name, *std::move(values)).second) {
      return fail("initializer '{}' is given twice", name);
    }
    return {};
  }

  Status add_node(const onnx::NodeProto& given, std::size_t scope) {
    const std::size_t index = model_.nodes.size();
    OnnxNode& node = model_.nodes.emplace_back();
    node.scope = scope;
    node.node.name = given.name();
    if (scope != 0) {
      const std::string own = given.name().empty() ? fmt::format("{}_{}", given.op_type(), index) : given.name();
      node.node.name = prefix_of(scope) + own;
      model_.names_in_file.emplace(node.node.name, own);
    }
    node.node.op = given.op_type();
    for (const std::string& name : given.input()) node.node.inputs.push_back(resolved(scope, name));
    for (const std::string& name : given.output()) node.node.outputs.push_back(resolved(scope, name));
    if (!given.domain().empty() && given.domain() != kOwnDomain) {
      node.unsupported = fmt::format("is an operator of domain '{}'; only ONNX's own (domain '{}') are known",
                                     given.domain(), kOwnDomain);
    }
    for (const AttributeProto& attribute : given.attribute()) {
      if (attribute.has_g()) {
        node.bodies.push_back(model_.scopes.size());
        model_.scopes.push_back({.owner = index, .parent = scope, .attribute = attribute.name()});
        inner_.push_back(&attribute.g());
      }
      KW_TRY(auto value, attribute_of(attribute, folder_, node.unsupported));
      if (value) node.node.attributes[attribute.name()] = {*std::move(value), {}};
    }
    if (node.unsupported.empty() && node.node.op == "Constant") return take_constant(node);
    return {};
  }

  // Its value joins the initializers; the node stays, so that the numbers of the others do.
  Status take_constant(OnnxNode& node) {
    if (node.node.outputs.size() != 1 || node.node.attributes.size() != 1) {
      return fail("a constant has one output and one attribute");
    }
    const std::string& name = node.node.outputs.front();
    if (has_value(name)) return fail("'{}' has a value already", name);
    Attribute value = std::move(node.node.attributes.begin()->second.value);
    if (auto tensor = as_tensor(std::move(value))) {
      model_.initializers.emplace(name, *std::move(tensor));
    } else {
      model_.unreadable.emplace(name, "holds strings");
    }
    node.node.attributes.clear();
    node.unsupported = "is a constant: there is nothing to compute";
    return {};
  }

  // Who computes each value; a value has one source.
  Result<std::map<std::string, std::size_t>> producers() const {
    std::map<std::string, std::size_t> result;
    std::set<std::string> given;
    for (const OnnxValue& input : model_.inputs) {
      if (!given.insert(input.name).second) return fail("input '{}' is declared twice", input.name);
    }
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      const Node& node = model_.nodes[i].node;
      for (const std::string& name : node.outputs) {
        if (name.empty()) continue;
        const auto [first, is_new] = result.emplace(name, i);
        if (!is_new) {
          return fail("'{}' is computed twice: by {} and {}", name,
                      label(model_.nodes[first->second].node, first->second), label(node, i));
        }
        if (given.contains(name) || (node.op != "Constant" && has_value(name))) {
          return fail("'{}' is given to the model, but {} computes it too", name, label(node, i));
        }
      }
    }
    return result;
  }

  // Files should come sorted, and most do; the order found keeps theirs where it can.
  Status find_order() {
    KW_TRY(const auto source, producers());
    std::vector<std::vector<std::size_t>> readers(model_.nodes.size());
    std::vector<std::size_t> waits(model_.nodes.size(), 0);
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      for (const std::string& name : model_.nodes[i].node.inputs) {
        const auto found = source.find(name);
        if (found == source.end()) continue;
        readers[found->second].push_back(i);
        ++waits[i];
      }
      if (const std::size_t scope = model_.nodes[i].scope; scope != 0) {
        readers[i].push_back(model_.scopes[scope].owner);
        ++waits[model_.scopes[scope].owner];
      }
    }
    std::set<std::size_t> ready;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i] == 0) ready.insert(i);
    }
    while (!ready.empty()) {
      const std::size_t next = *ready.begin();
      ready.erase(ready.begin());
      model_.order.push_back(next);
      for (std::size_t reader : readers[next]) {
        if (--waits[reader] == 0) ready.insert(reader);
      }
    }
    if (model_.order.size() == model_.nodes.size()) return {};
    return cycle_among(waits, source);
  }

  // From a node that never became ready, back along inputs that never did either, until one comes again.
  Error cycle_among(const std::vector<std::size_t>& waits, const std::map<std::string, std::size_t>& source) const {
    auto at =
        static_cast<std::size_t>(std::ranges::find_if(waits, [](std::size_t n) { return n > 0; }) - waits.begin());
    std::set<std::size_t> seen;
    while (seen.insert(at).second) {
      for (const std::string& name : model_.nodes[at].node.inputs) {
        const auto found = source.find(name);
        if (found == source.end() || waits[found->second] == 0) continue;
        at = found->second;
        break;
      }
    }
    return fail("the graph has a cycle: {} needs its own result", label(model_.nodes[at].node, at));
  }

  const onnx::ModelProto& file_;
  fs::path folder_;
  OnnxModel model_;
  std::vector<const onnx::GraphProto*> inner_;                       // of the scopes from number 1 on
  std::map<std::size_t, std::map<std::string, std::string>> names_;  // of each scope: in the file, here
  std::set<std::string> taken_;
};

template <class Message>
bool parse(Message& message, std::string_view bytes) {
  const google::protobuf::LogSilencer silence;
  return bytes.size() <= kMostBytes && message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// The file format's version that came with a version of the operators.
int ir_version_for(int opset) {
  constexpr std::array<std::pair<int, int>, 7> kFirst{
      {{28, 14}, {25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9}, {0, 8}}};
  return std::ranges::find_if(kFirst, [&](const auto& entry) { return opset >= entry.first; })->second;
}

}  // namespace

void fill_tensor(TensorProto& target, const std::string& name, const Tensor& tensor) {
  target.Clear();
  target.set_name(name);
  target.set_data_type(onnx_type_of(tensor.dtype()));
  for (std::int64_t length : tensor.shape()) target.add_dims(length);
  target.set_raw_data(tensor.bytes().data(), tensor.bytes().size());
}

void declare_value(onnx::ValueInfoProto& target, const std::string& name, const TensorType& type) {
  target.set_name(name);
  auto& tensor = *target.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx_type_of(type.dtype));
  for (std::int64_t length : type.shape) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (!type.from_values) dim.set_dim_value(length);
  }
  if (type.shape.rank() == 0) tensor.mutable_shape();
}

std::string label(const Node& node, std::size_t index) {
  std::string name = node.name;
  if (name.empty() && !node.outputs.empty()) name = node.outputs.front();
  return fmt::format("node #{} ({} '{}')", index, node.op, name);
}

Result<OnnxModel> read_onnx(const fs::path& path) {
  std::error_code code;
  if (const std::uintmax_t size = fs::file_size(path, code); !code && size > kMostBytes) {
    return fail(
        "{}: larger than 2 GiB, the most an ONNX file may be; save the model with its weights in a file beside it",
        path.string());
  }
  KW_TRY(const std::string bytes, read_file(path, kMostBytes));
  return parse_onnx(bytes, path.string(), path.has_parent_path() ? path.parent_path() : fs::path("."));
}

Result<OnnxModel> parse_onnx(std::string_view bytes, const std::string& place, const fs::path& folder) {
  onnx::ModelProto file;
  if (!parse(file, bytes) || !file.has_graph()) {
    return fail("{}: is not an ONNX model, or only a part of one; export or download it again", place);
  }
  auto model = Reader(file, folder).run();
  if (!model.ok()) return at(place, model.error());
  model->place = place;
  return model;
}

Result<Tensor> parse_onnx_tensor(std::string_view bytes, const std::string& place) {
  TensorProto tensor;
  if (!parse(tensor, bytes)) return fail("{}: is not an ONNX tensor", place);
  if (!dtype_of(tensor.data_type())) return fail("{}: {}", place, why_not(tensor.data_type()));
  auto result = tensor_of(tensor, {});
  if (!result.ok()) return at(place, result.error());
  return result;
}

Result<std::string> write_onnx(const ops::Graph& graph, std::span<const Tensor> inputs) {
  assert(inputs.size() == graph.inputs.size());
  const Task& task = *graph.task;
  onnx::ModelProto file;
  file.set_ir_version(ir_version_for(task.opset));
  file.set_producer_name("kernelwright");
  auto& opset = *file.add_opset_import();
  opset.set_domain("");
  opset.set_version(task.opset);
  onnx::GraphProto& target = *file.mutable_graph();
  target.set_name(task.name);
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ops::GraphInput& input = graph.inputs[i];
    if (input.role == Role::input) {
      declare_value(*target.add_input(), input.name, input.type);
      continue;
    }
    size += inputs[i].bytes().size();
    if (size > kMostBytes) return fail("{}: its weights are more than 2 GiB, the most an ONNX file may be", task.name);
    fill_tensor(*target.add_initializer(), input.name, inputs[i]);
  }
  for (std::size_t i = 0; i < task.nodes.size(); ++i) {
    const Node& node = task.nodes[i];
    onnx::NodeProto& written = *target.add_node();
    written.set_name(node.name);
    written.set_op_type(node.op);
    for (const std::string& name : node.inputs) written.add_input(name);
    for (const std::string& name : node.outputs) written.add_output(name);
    // Only what the task gives: a default may belong to an attribute that this opset does not have.
    for (const auto& [name, value] : graph.nodes[i].call.attributes) {
      if (node.attributes.contains(name)) fill(*written.add_attribute(), name, value);
    }
    // Some readers take a window's missing strides and pads for something else than the defaults.
    if (node.attributes.contains("kernel_shape")) {
      const std::size_t axes = graph.nodes[i].call.integers("kernel_shape").size();
      if (!node.attributes.contains("strides")) fill(*written.add_attribute(), "strides", ops::Integers(axes, 1));
      if (!node.attributes.contains("pads") && !node.attributes.contains("auto_pad")) {
        fill(*written.add_attribute(), "pads", ops::Integers(2 * axes, 0));
      }
    }
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    declare_value(*target.add_output(), task.outputs[i].name, graph.output_type(i));
  }
  if (file.ByteSizeLong() > kMostBytes) return fail("{}: is more than 2 GiB, the most an ONNX file may be", task.name);
  return file.SerializeAsString();
}

}  // namespace kw::suites
