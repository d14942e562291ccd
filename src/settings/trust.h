// Which files of folders may do what only the user may: run a program, send to an address, read elsewhere.
//
// A kw.toml comes with whatever folder a user has cloned. Its harmless settings are obeyed; the others only after the
// user has allowed this very content with `kw trust`, as direnv does. What is allowed is kept in the user's own
// configuration folder: the file's path with the SHA-256 of its content, so that a changed file has to be allowed
// again.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/files.h"
#include "base/result.h"

namespace kw::settings {

// SHA-256 of the content by the file's path from /.
using Trusted = std::map<std::string, std::string>;

// Where they are kept, and what is kept there.
std::filesystem::path trust_file();
Trusted trusted_files();

bool is_trusted(const std::filesystem::path& file, const std::string& content);
// With the content that the user was shown, whatever lies there by now.
Status trust(const TextOfFile& file);
// False where it was not trusted.
Result<bool> trust_no_more(const std::filesystem::path& file);

}  // namespace kw::settings
