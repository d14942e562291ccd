// The manual pages: kw.1 and one page a command (kw-eval.1), made of the data that --help prints. `kw __man FOLDER`
// writes them; the installation calls it, so that no page can say other things than the program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "command_line/command.h"

namespace kw::cli {

std::string manual_page(const ProgramText& program, const std::vector<Command>& commands);
std::string manual_page(const ProgramText& program, const Command& command);

// Writes all pages, as man reads them, into a folder that is made where it is missing.
Status write_manual(const std::filesystem::path& folder, const ProgramText& program,
                    const std::vector<Command>& commands);

}  // namespace kw::cli
