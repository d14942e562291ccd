// The program kw-lm, which runs models of our own (src/lm_torch/requests.h): started, asked, and read line by line.
#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>

#include "base/json.h"
#include "base/result.h"

namespace kw::llm {

// kw-lm beside this program; an Error says how it comes to be built.
Result<std::filesystem::path> find_engine();

// Starts kw-lm for one request. `tell` is given the lines that come before the last; the answer is what `done` of the
// last holds. It ends with this program. 0 threads: as many as there are cores. After `most_s` seconds it is given up.
Result<Json> ask_engine(const Json& request, int threads, const std::function<void(const Json& line)>& tell = {},
                        const std::stop_token& stop = {}, double most_s = 1e9);

}  // namespace kw::llm
