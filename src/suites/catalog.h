// Finding tasks by what a person types: a bare name of any installed suite, "suite/name", or "model.onnx:NODE".
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "suites/suite.h"

namespace kw::suites {

// Every suite of the program's data folder, in the order of their names.
Result<std::vector<Suite>> installed_suites();

// An installed suite by its name, or any suite file by its path.
Result<Suite> find_suite(const std::string& name_or_path);

// `dims` gives values to the open dimensions of an ONNX model. Unknown names get the nearest ones.
Result<Task> find_task(const std::string& name, const Lengths& dims = {});

}  // namespace kw::suites
