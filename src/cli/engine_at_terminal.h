// Long work of the language-model engine, with its progress on standard error.
#pragma once

#include <functional>

#include "base/json.h"
#include "base/result.h"

namespace kw::cli {

// `also` is given each line that the engine prints.
Result<Json> ask_engine_at_terminal(const Json& request, int threads,
                                    const std::function<void(const Json& line)>& also = {});

}  // namespace kw::cli
