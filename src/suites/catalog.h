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

// The tasks of one level; an Error lists which levels there are.
Result<std::vector<Task>> tasks_of_level(std::vector<Task> all, int level);

// An installed suite by its name, or any suite file by its path; of an ONNX model, whose open lengths `dims` gives, the
// nodes that compute and can be expressed, each a task with fixed lengths.
Result<Suite> find_suite(const std::string& name_or_path, const Lengths& dims = {});

// The categories of these suites that a person means: the one of this name, upper or lower case alike, else all that
// begin so ("conv"). An Error lists what there is.
Result<std::vector<std::string>> categories_named(const std::vector<Suite>& suites, const std::string& wanted);

// Tasks of a list by what a person types: names or categories with commas, upper or lower case alike; a name that ends
// in * stands for all that begin so, the beginning of a category for its tasks. "": all of them. @tf32 and the like
// after a name, also after its *, takes these tasks in another precision.
Result<std::vector<Task>> tasks_named(std::vector<Task> all, const std::string& wanted);

// The file that a name such as "path/model.onnx:NODE" or "path/suite.toml:NAME" has find_task read; "": none.
std::string file_named_by(const std::string& task);

// `dims` gives values to the open dimensions of an ONNX model, or others to the named lengths of a task. A name that is
// written in another case counts where it is the only one; unknown names get the nearest ones. NAME@tf32 is the task
// with products that may be computed in TF32, NAME@float16 and NAME@bfloat16 are those on tensors of these types.
Result<Task> find_task(const std::string& name, const Lengths& dims = {});

}  // namespace kw::suites
