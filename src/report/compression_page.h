// The page of compressed language models: perplexity against ratio for all methods, error by layer, spectra.
//
// It is made of what `kw compress` writes into each folder as compression.json, which may come from anywhere: what is
// not as it must be is an Error, and nothing else of the file reaches the page.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace kw::report {

// Folders with a compression.json, or such files themselves.
Result<std::string> compression_page(std::span<const std::filesystem::path> runs, const std::string& version);

// What the page shows of one compression.json.
Result<Json> shown_of_compression(const Json& about);

}  // namespace kw::report
