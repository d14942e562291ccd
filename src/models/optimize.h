// A model in, the same model faster out: what is worth a kernel, the search for them, and what is put back.
#pragma once

#include <functional>

#include "models/put_back.h"
#include "models/standalone_plan.h"
#include "runs/search_run.h"

namespace kw::models {

// Does what an order asks for, with the record and the progress that the caller has.
using Search = std::function<Result<std::vector<runs::SearchedTask>>(const runs::Order& order)>;

// The seconds of "10m"; fewer than 30 are an Error.
Result<double> parse_within(const std::string& text);

// Spends about `within_s` seconds, and writes into `out` (put_back.h).
Result<PutBack> optimize(const Model& model, const Runtime& runtime, const RunTerms& terms, const std::string& device,
                         double within_s, const std::filesystem::path& out, const Search& search, const Tell& tell);

// The search for nodes that no `taken` unit has, for a model without a framework (standalone.h): the kernels that are
// right, as units.
Result<std::vector<Unit>> search_units(const Model& model, const std::vector<Unit>& taken, const Runtime& runtime,
                                       const RunTerms& terms, const std::string& device, double within_s,
                                       const Search& search, const Tell& tell);

}  // namespace kw::models
