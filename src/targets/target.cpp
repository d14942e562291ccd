#include "targets/target.h"

#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <filesystem>
#include <set>
#include <thread>

#include "base/nearest.h"
#include "targets/names.h"
#include "targets/table.h"

namespace kw::targets {

std::vector<Target> all_targets() {
  std::vector<Target> all;
  for (const Maker make : table) all.push_back(make());
  return all;
}

const std::string& usual_device() {
  static const std::string device = [] {
    const std::vector<Target> all = all_targets();
    const auto usual = std::ranges::find_if(all, &Target::is_usual);
    assert(usual != all.end());
    return usual->first_device();
  }();
  return device;
}

std::string scheme_of(const std::string& device) { return device.substr(0, device.find_first_of(":#")); }

bool reached_by_a_program(const std::string& device) {
  return std::ranges::any_of(all_targets(), [&](const Target& one) {
    return std::ranges::find(one.schemes, scheme_of(device)) != one.schemes.end();
  });
}

Result<Target> target_of(const std::string& device) {
  const std::string name = scheme_of(device);
  std::vector<std::string> names;
  for (Target& one : all_targets()) {
    if (one.name == name || std::ranges::find(one.schemes, name) != one.schemes.end()) return std::move(one);
    names.push_back(one.name);
    names.insert(names.end(), one.schemes.begin(), one.schemes.end());
  }
  const std::string nearest = nearest_hint(name, names);
  return fail("no target is called '{}'{}", name,
              nearest.empty() ? fmt::format("; there {} {}, and devices that a table of kw.toml names: [device.{}]",
                                            names.size() == 1 ? "is" : "are", fmt::join(names, ", "), name)
                              : nearest);
}

Result<std::unique_ptr<Device>> open_device(const std::string& name) {
  KW_TRY(const Target target, target_of(name));
  return target.open(name);
}

namespace {

bool takes(const Target& target, const std::string& file) {
  return std::ranges::any_of(target.languages, [&](const std::string& ending) { return file.ends_with(ending); });
}

}  // namespace

Result<std::string> device_for(const std::string& source_file, const std::string& wanted, bool insisted) {
  KW_TRY(const Target target, target_of(wanted));
  if (takes(target, source_file)) return wanted == target.name ? target.first_device() : wanted;
  for (const Target& other : all_targets()) {
    if (!takes(other, source_file)) continue;
    if (!insisted) return other.first_device();
    return fail("{}: kernels for {} are {} files; this is one for --target {}", source_file, wanted,
                fmt::join(target.languages, ", "), other.first_device());
  }
  return fail("{}: kernels for {} are {} files", source_file, wanted, fmt::join(target.languages, ", "));
}

std::string source_name(const std::string& device, const std::string& stem) {
  const auto target = target_of(device);
  return stem + (target.ok() && !target->languages.empty() ? target->languages.front() : std::string());
}

bool is_source(const std::string& file) {
  return std::ranges::any_of(all_targets(), [&](const Target& target) { return takes(target, file); });
}

std::string identity_of(const std::string& device) {
  const auto target = target_of(device);
  return target.ok() ? target->identity(device) : std::string();
}

DeviceFacts facts_of(const std::string& device) {
  const auto target = target_of(device);
  return target.ok() && target->facts ? target->facts(device) : DeviceFacts{.name = device};
}

Result<RoofTable> known_roofs(const std::string& device) {
  KW_TRY(const Target target, target_of(device));
  if (!target.known_roofs) return fail("the roofs of {} cannot be measured", device);
  return target.known_roofs(device);
}

Result<LeastTime> least_time(const std::string& device, const Cost& cost, int threads) {
  KW_TRY(const Target target, target_of(device));
  if (!target.least_time) return fail("the roofs of {} cannot be measured", device);
  return target.least_time(device, cost, threads);
}

BuildOptions build_options(const std::string& device) {
  const auto target = target_of(device);
  return target.ok() && target->build_options ? target->build_options() : BuildOptions();
}

// They are built on this machine.
std::size_t Device::builds_at_once() const { return std::max(1u, std::thread::hardware_concurrency()); }

Result<CodeNotes> Device::look_into(const Built&, const CodeQuestion&) const {
  return fail("nothing can be said of code that was built for {}", name());
}

std::string Roof::text() const {
  return fmt::format("{}{}{}: {:.1f} {}", of, what.empty() ? "" : " ", what, best, unit);
}

bool RoofTable::stable() const { return std::ranges::all_of(roofs, &Roof::stable); }

bool Tools::ready() const {
  return std::ranges::none_of(list, [](const ToolState& tool) { return tool.required && !tool.works; });
}

std::string state_of(const std::string& file) {
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0) return fmt::format("{}: none\n", file);
  return fmt::format("{}: {} bytes, {}.{:09}\n", file, about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
}

std::string states_in(const std::filesystem::path& folder) {
  std::set<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) files.insert(entry.path().string());
  std::string text;
  for (const std::string& file : files) text += state_of(file);
  return text;
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
