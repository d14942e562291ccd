// Our tensors as ONNX's, inside of this module alone: the library's types stay out of other headers.
#pragma once

#include <string>

#include "core/tensor.h"

namespace onnx {
class TensorProto;
class ValueInfoProto;
}  // namespace onnx

namespace kw::suites {

// All of the target is replaced.
void fill_tensor(onnx::TensorProto& target, const std::string& name, const Tensor& tensor);
// A shape that values decide is left open.
void declare_value(onnx::ValueInfoProto& target, const std::string& name, const TensorType& type);

}  // namespace kw::suites
