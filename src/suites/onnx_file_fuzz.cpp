// Any bytes may come as a model: they are read, understood and written again, or refused, and nothing worse.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ops/graph.h"
#include "suites/onnx_file.h"
#include "suites/onnx_task.h"

namespace {

using namespace kw;

// Each open length gets a value, so that shapes are inferred and not only asked for.
Lengths some_lengths(const suites::OnnxModel& model) {
  Lengths lengths;
  for (const suites::OnnxValue& input : model.inputs) {
    if (!input.lengths) continue;
    for (const Length& length : *input.lengths) {
      if (!length.name.empty()) lengths.emplace(length.name, static_cast<std::int64_t>(2 + lengths.size()));
    }
  }
  return lengths;
}

void write(const Task& task) {
  constexpr std::int64_t kMostBytes = 1 << 24;  // inputs of any size may be declared: they need not be made
  const auto graph = ops::resolve(task);
  if (!graph.ok()) return;
  std::vector<Tensor> inputs;
  for (const ops::GraphInput& input : graph->inputs) {
    const bool given = input.declared->constant.shape() == input.type.shape;
    if (!given && input.type.bytes() > kMostBytes) return;
    inputs.push_back(given ? input.declared->constant : Tensor(input.type));
  }
  if (const auto bytes = suites::write_onnx(*graph, inputs); bytes.ok()) {
    // What we write, we read.
    if (!suites::parse_onnx(*bytes, "written").ok()) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto model = suites::parse_onnx({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!model.ok()) return 0;
  const Lengths lengths = some_lengths(*model);
  if (const auto task = suites::task_from_node(*model, "#0", lengths); task.ok()) write(*task);
  if (const auto task = suites::task_from_model(*model, lengths); task.ok()) write(*task);
  return 0;
}
