#include "targets/target.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>

#include "base/nearest.h"
#include "targets/table.h"

namespace kw::targets {

std::vector<Target> all_targets() {
  std::vector<Target> all;
  for (const Maker make : table) all.push_back(make());
  return all;
}

Result<std::unique_ptr<Device>> open_device(const std::string& name) {
  const std::string target = name.substr(0, name.find(':'));
  std::vector<std::string> names;
  for (const Target& one : all_targets()) {
    if (one.name == target) return one.open(name);
    names.push_back(one.name);
  }
  return fail("no target is called '{}'{}", target, nearest_hint(target, names));
}

std::string identity_of(const std::string& device) {
  for (const Target& one : all_targets()) {
    if (one.name == device.substr(0, device.find(':'))) return one.identity(device);
  }
  return {};
}

std::string state_of(const std::string& file) {
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0) return fmt::format("{}: none\n", file);
  return fmt::format("{}: {} bytes, {}.{:09}\n", file, about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
}

std::vector<Tensor> read_outputs(const Outputs& outputs, const Instance& instance, std::size_t call,
                                 const std::function<FoundShape(std::size_t output)>& found, Reason* problem) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
    const TensorType& type = instance.outputs[i];
    Shape shape = type.shape;
    // The kernel's word on the shape counts only where the shape is its to find.
    if (type.from_values) {
      const FoundShape said = found(i);
      if (said.rank < 0 || said.rank != std::ssize(said.lengths)) {
        *problem = {ReasonCode::impossible_rank, {{"output", i}, {"rank", said.rank}}};
        return tensors;
      }
      shape = Shape(said.lengths);
      if (!check_shape(shape).ok() || shape.count() > type.shape.count()) {
        *problem = {ReasonCode::impossible_shape,
                    {{"output", i}, {"shape", shape.text()}, {"largest", type.shape.text()}}};
        return tensors;
      }
    }
    Tensor tensor(type.dtype, shape);
    outputs.read(call, i, tensor.bytes());
    if (type.dtype == DType::boolean) {
      // Anything but 0 and 1 is no bool, and reading it as one would be undefined here.
      const auto odd = std::ranges::find_if(tensor.bytes(), [](std::byte value) { return value > std::byte{1}; });
      if (odd != tensor.bytes().end()) {
        *problem = {ReasonCode::no_bool,
                    {{"output", i}, {"element", odd - tensor.bytes().begin()}, {"value", static_cast<int>(*odd)}}};
        return tensors;
      }
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace kw::targets
