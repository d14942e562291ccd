// Several models as one that picks among them by the shapes that its inputs have when it runs.
//
// What picks are operators of ONNX alone (Shape, Equal, If), so that any runtime does it; for inputs that none of the
// variants was made for the original runs, as it is in its file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/shape.h"
#include "suites/onnx_file.h"

namespace kw::suites {

// A model with the same inputs and outputs, and for which of them it was made.
struct OnnxVariant {
  std::string bytes;
  std::vector<std::pair<std::string, Shape>> shapes;  // of inputs
  std::map<std::string, std::int64_t> values;         // of inputs of one whole number
};

// `bytes` are those that `model` was read from. Each variant has its weights of its own.
Result<std::string> dispatch_onnx(const OnnxModel& model, std::string_view bytes,
                                  const std::vector<OnnxVariant>& variants);

}  // namespace kw::suites
