// Long work of the language-model engine, with its progress on standard error.
#pragma once

#include "base/json.h"
#include "base/result.h"

namespace kw::cli {

Result<Json> ask_engine_at_terminal(const Json& request, int threads);

}  // namespace kw::cli
