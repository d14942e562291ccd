// Which frameworks can be rivals, and where they are installed.
//
// A rival is one file, rivals/NAME.py. Its first line says what it is; a line `# packages:` says what it needs, each
// version the one that was tried. rivals/NAME.lock beside it names all wheels that pip may install for that, by their
// SHA-256 (rivals/shared/lock.py writes it): nothing else is installed, and no package runs code while it is. Every
// rival has a Python environment of its own in the cache, so that no two of them quarrel, and nothing of the user's is
// touched.
//
// One that is very large says so in a line `# only when asked: SIZE` and is never installed unasked; with a line
// `# module: NAME` it is run by the user's own Python where that can import the module.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::rivals {

// The user's own Python with a framework in it.
struct OwnPython {
  std::filesystem::path program;
  std::string version;  // of the framework
  std::string path;     // where it looks for modules, as PYTHONPATH takes it
};

struct RivalFile {
  std::string name;
  std::string about;
  std::filesystem::path file;
  std::vector<std::string> packages = {};  // what it is made of, with the versions that were tried
  std::string lock = {};                   // the text of NAME.lock: all that pip installs, with hashes
  std::string only_asked = {};             // its size, where it is too large to be installed unasked
  std::string module = {};                 // that the user's own Python may have
  std::optional<OwnPython> own = {};       // where it has

  // The version that is used: the user's own, else the one that the packages pin: "3.6.1".
  std::string version() const;
  // Where its Python lies, and in any case what is kept for it.
  std::filesystem::path environment() const;
  std::filesystem::path python() const;
  bool installed() const;
};

// What the file installed.txt of its environment holds when all of it was installed. Another list of hashes is another
// installation.
std::string stamp_of(const RivalFile& rival);

// The frameworks that run beside kernels of a GPU (rivals/gpu), by name; they are never installed. Those that the
// user's Python does not have are among them.
Result<std::vector<RivalFile>> gpu_rivals(const std::string& own_python);

// By name. `own_python` is where modules of the user's own are looked for; "": the system's python3.
Result<std::vector<RivalFile>> all_rivals(const std::string& own_python = "");
Result<RivalFile> find_rival(const std::string& name, const std::string& own_python = "");

// Makes the environment anew. Half an environment is never taken for a whole one. The first line of an Error says what
// is wrong, more may follow.
Status install(const RivalFile& rival);
// Installing it failed within the last hour: how.
std::optional<std::string> failed_lately(const RivalFile& rival);
Status remove(const RivalFile& rival);

// A step of an installation, whose words go to `log`; `otherwise` is what is wrong where it fails.
Status run_step(const std::vector<std::string>& words, const std::filesystem::path& log, const std::string& otherwise);

// The program that speaks with kw for every rival.
Result<std::filesystem::path> worker_program();

}  // namespace kw::rivals
