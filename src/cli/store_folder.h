// Where a command's record lies: the setting store, else .kw in the working directory.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>

#include "cli/commands.h"
#include "store/store.h"

namespace kw::cli {

// The option to be listed by every command that uses the record.
Option store_option();

std::filesystem::path store_folder(const Arguments& arguments);

// For commands that only look: none where there is no record yet, and `out` says so and how one comes to be; with
// --json it gets `empty`.
Result<std::optional<store::Store>> look_into_store(const Arguments& arguments, std::ostream& out,
                                                    const std::string& empty = "[]");

}  // namespace kw::cli
