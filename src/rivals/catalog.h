// Which frameworks can be rivals, and where they are installed.
//
// A rival is one file, rivals/NAME.py. Its first line says what it is; a line `# packages:` says what pip installs for
// it, each version the one that was tried. Every rival has a Python environment of its own in the cache, so that no two
// of them quarrel, and nothing of the user's is touched.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::rivals {

struct RivalFile {
  std::string name;
  std::string about;
  std::filesystem::path file;
  std::vector<std::string> packages;  // as pip is told
  bool only_asked = false;            // too large to be installed unless somebody asks for it by name

  // The version of the framework that the packages pin: "3.6.1".
  std::string version() const;
  std::filesystem::path environment() const;
  std::filesystem::path python() const { return environment() / "bin" / "python"; }
  bool installed() const;
};

// By name.
Result<std::vector<RivalFile>> all_rivals();
Result<RivalFile> find_rival(const std::string& name);

// Makes the environment anew. Half an environment is never taken for a whole one.
Status install(const RivalFile& rival);
Status remove(const RivalFile& rival);

// The program that speaks with kw for every rival.
Result<std::filesystem::path> worker_program();

}  // namespace kw::rivals
