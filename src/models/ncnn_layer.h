// A model without any framework as one layer of ncnn: what a program that runs ncnn's nets adds to them.
//
// The kernels are those of the standalone model; here come a class in C++ on ncnn's own headers, the same in Python,
// and a net of this layer alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/runtime.h"

namespace kw::models {

// Files, by their names. An Error says why ncnn's tensors cannot hold the model's: they have up to four axes without
// leading ones, and elements of four bytes.
Result<std::map<std::string, std::string>> ncnn_layer(const std::string& model_file,
                                                      const std::vector<NamedType>& inputs,
                                                      const std::vector<NamedType>& outputs);

}  // namespace kw::models
