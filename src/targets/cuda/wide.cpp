#include "targets/cuda/wide.h"

#include "ops/retyped.h"
#include "targets/cuda/writer.h"

namespace kw::cuda {

Result<Task> wide_task(const Task& task) {
  Task wide = ops::retyped(task, DType::float64);
  wide.name += "_wide";
  wide.precision = Precision::of_types;
  KW_TRY(const ops::Graph graph, ops::resolve(wide));
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorType type = graph.output_type(i);
    if (type.from_values) return fail("{}: values decide the shape of a result", task.name);
    if (is_float(type.dtype) && type.dtype != DType::float64) {
      return fail("{}: {} has no reference in float64", task.name, task.operators());
    }
  }
  return wide;
}

Result<std::string> wide_kernel(const ops::Graph& wide) {
  KW_TRY(Writer writer, Writer::open(wide));
  writer.prefer_references();
  return writer.write(Choices(wide.nodes.size(), nullptr), "a reference in float64.");
}

}  // namespace kw::cuda
