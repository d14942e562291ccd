#include "core/cpp_type.h"

namespace kw {

std::string cpp_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "float";
    case DType::float64:
      return "double";
    case DType::float16:
      return "kw::float16";
    case DType::bfloat16:
      return "kw::bfloat16";
    case DType::boolean:
      return "bool";
    default:
      return std::string(name_of(dtype)) + "_t";
  }
}

}  // namespace kw
