#include "targets/cpu/call_image.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <span>

#include "targets/cpu/host/call_layout.h"

namespace kw::targets {
namespace {

// As a pointer it leads nowhere, as a number it is large.
constexpr auto kRubbish = static_cast<std::byte>(0x5a);

// Grows by aligned pieces; addresses are offsets, for the vector moves.
class Block {
 public:
  template <class T>
  std::size_t add(std::span<const T> items) {
    bytes_.resize((bytes_.size() + 15) / 16 * 16);
    const std::size_t offset = bytes_.size();
    // One byte at least: an offset must differ from the next piece's.
    bytes_.resize(offset + std::max<std::size_t>(items.size_bytes(), 1));
    if (!items.empty()) std::memcpy(bytes_.data() + offset, items.data(), items.size_bytes());
    // Behind its end lies what makes no sense: a list of one more than there is shows.
    bytes_.resize(bytes_.size() + std::max<std::size_t>(sizeof(T), sizeof(std::int64_t)), kRubbish);
    return offset;
  }
  std::size_t add(const std::string& text) { return add(std::span<const char>(text.c_str(), text.size() + 1)); }
  template <class T>
  void set(std::size_t offset, const T& item) {
    std::memcpy(bytes_.data() + offset, &item, sizeof item);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

template <class Address>
TensorLayout<Address> tensor_of(const TensorType& type) {
  TensorLayout<Address> tensor{};
  assert(type.shape.rank() <= KW_MAX_RANK);
  tensor.rank = type.shape.rank();
  // What lies beyond the rank has no meaning, and looks so.
  for (int axis = 0; axis < KW_MAX_RANK; ++axis) tensor.shape[axis] = axis < tensor.rank ? type.shape[axis] : -7 - axis;
  tensor.count = type.shape.count();
  tensor.dtype = contract_number(type.dtype);
  return tensor;
}

template <class Address>
struct AddValue {
  Block& block;
  AttributeLayout<Address>& to;

  void integers(std::span<const std::int64_t> values) {
    to.count = static_cast<std::int64_t>(values.size());
    to.integers = static_cast<Address>(block.add(values));
  }
  void reals(std::span<const double> values) {
    to.count = static_cast<std::int64_t>(values.size());
    to.reals = static_cast<Address>(block.add(values));
  }
  void texts(std::span<const std::string> values) {
    std::vector<Address> offsets;
    for (const std::string& value : values) offsets.push_back(static_cast<Address>(block.add(value)));
    to.count = static_cast<std::int64_t>(values.size());
    to.texts = static_cast<Address>(block.add(std::span<const Address>(offsets)));
  }

  void operator()(std::int64_t value) { integers({&value, 1}); }
  void operator()(double value) { reals({&value, 1}); }
  void operator()(const std::string& value) { texts({&value, 1}); }
  void operator()(const std::vector<std::int64_t>& values) { to.list = 1, integers(values); }
  void operator()(const std::vector<double>& values) { to.list = 1, reals(values); }
  void operator()(const std::vector<std::string>& values) { to.list = 1, texts(values); }
  // A tensor as an attribute (ConstantOfShape's value) is the list of its elements.
  void operator()(const Tensor& tensor) {
    to.list = 1;
    if (!is_float(tensor.dtype())) return integers(tensor.integers());
    std::vector<double> values;
    for (std::int64_t i = 0; i < tensor.count(); ++i) values.push_back(tensor.real(i));
    reals(values);
  }
};

template <class Address>
std::vector<std::byte> image_with(const CallShape& shape) {
  Block block;
  CallLayout<Address> call{};
  block.add(std::span<const CallLayout<Address>>(&call, 1));

  const auto add_tensors = [&](const std::vector<TensorType>& types) {
    std::vector<TensorLayout<Address>> tensors;
    for (const TensorType& type : types) tensors.push_back(tensor_of<Address>(type));
    return static_cast<Address>(block.add(std::span<const TensorLayout<Address>>(tensors)));
  };
  call.version = KW_CONTRACT_VERSION;
  call.threads = shape.threads;
  call.input_count = static_cast<std::int32_t>(shape.inputs.size());
  call.output_count = static_cast<std::int32_t>(shape.outputs.size());
  std::memset(&call.reserved, static_cast<int>(kRubbish), sizeof call.reserved);
  // Which of them lies first is another one in other shapes, and so is the order of attributes.
  std::int64_t turn = 0;
  for (const TensorType& type : shape.inputs) turn += type.shape.count();
  const Address early = turn % 2 == 0 ? add_tensors(shape.inputs) : 0;
  call.outputs = add_tensors(shape.outputs);
  call.inputs = turn % 2 == 0 ? early : add_tensors(shape.inputs);

  std::vector<AttributeLayout<Address>> attributes;
  const auto add_attribute = [&](std::size_t node, const std::string& name, const Attribute& value) {
    AttributeLayout<Address>& attribute = attributes.emplace_back();
    attribute.node = static_cast<std::int32_t>(node);
    attribute.name = static_cast<Address>(block.add(name));
    std::visit(AddValue<Address>{block, attribute}, value);
  };
  for (std::size_t node = 0; node < shape.nodes.size(); ++node) {
    for (const auto& [name, value] : shape.nodes[node]) add_attribute(node, name, value);
    add_attribute(node, "opset", Attribute(std::int64_t{shape.opset}));
  }
  // Found by their names: their order is any.
  if (!attributes.empty()) std::ranges::rotate(attributes, attributes.begin() + turn % std::ssize(attributes));
  call.attribute_count = static_cast<std::int32_t>(attributes.size());
  call.attributes = static_cast<Address>(block.add(std::span<const AttributeLayout<Address>>(attributes)));
  block.set(0, call);
  return block.take();
}

}  // namespace

std::vector<std::byte> call_image(const CallShape& shape, int address_bits) {
  assert(address_bits == 32 || address_bits == 64);
  return address_bits == 32 ? image_with<std::uint32_t>(shape) : image_with<std::uint64_t>(shape);
}

std::vector<std::byte> image_of(const Instance& instance, int address_bits) {
  CallShape shape{
      .inputs = instance.inputs, .outputs = instance.outputs, .opset = instance.opset, .threads = instance.threads};
  for (const ops::GraphNode& node : instance.graph.nodes) shape.nodes.push_back(node.call.attributes);
  return call_image(shape, address_bits);
}

}  // namespace kw::targets
