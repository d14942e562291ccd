#include "rivals/own_python.h"

#include <sys/stat.h>

#include <cstdlib>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/process.h"

namespace kw::rivals {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kMostTime = 20s;

// Imports nothing of the frameworks: that would take seconds. Python is isolated, and so knows neither PYTHONPATH nor
// the user's own packages: the former's folders come as the second word, the latter are asked for. What it prints is
// one line of JSON.
constexpr char kQuestion[] = R"(
import importlib.metadata, importlib.util, json, os, site, sys
module = sys.argv[1]
sys.path[:0] = [one for one in sys.argv[2].split(":") if one]
if sys.prefix == sys.base_prefix and site.getusersitepackages() not in sys.path:
    sys.path.append(site.getusersitepackages())
found = all(importlib.util.find_spec(name) for name in (module, "numpy"))
try:
    version = importlib.metadata.version(module) if found else ""
except importlib.metadata.PackageNotFoundError:
    version = "of unknown version"
print(json.dumps({"program": sys.executable, "version": version, "path": [one for one in sys.path if os.path.isdir(one)]}))
)";

std::int64_t changed_at(const fs::path& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return 0;
  return std::int64_t{about.st_mtim.tv_sec} * 1'000'000'000 + about.st_mtim.tv_nsec;
}

// The folders with the time of their last change, and the program itself.
Json state_of(const Json& answer) {
  Json state = Json::object();
  state[answer.at("program").get<std::string>()] = changed_at(answer.at("program").get<std::string>());
  for (const std::string folder : answer.at("path")) state[folder] = changed_at(folder);
  return state;
}

Json ask(const std::string& module, const std::string& python, const fs::path& file) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const fs::path log = file.string() + ".log";
  const char* path = std::getenv("PYTHONPATH");
  const std::string folders = absolute_path_entries(path ? path : "");
  const auto code = run_program({python, "-I", "-c", kQuestion, module, folders}, log, false, kMostTime);
  const auto text = read_file(log, 1 << 20);
  fs::remove(log, error);
  if (!code.ok() || *code != 0 || !text.ok()) return nullptr;
  return Json::parse_quietly(*text);
}

}  // namespace

std::optional<OwnPython> find_own(const std::string& module, const std::string& python) {
  // A path from the working folder is one that the user has given.
  const bool is_path = python.find('/') != std::string::npos;
  const std::string named = python.empty() ? "python3" : is_path ? fs::absolute(python).string() : python;
  // Which program that is, and what it finds: another one as soon as a virtual environment is entered.
  std::string meant = named;
  for (const char* variable : {"PATH", "PYTHONPATH"}) {
    const char* value = std::getenv(variable);
    meant += '\0' + std::string(value != nullptr ? value : "");
  }
  const fs::path file =
      cache_folder() / "rivals" / fmt::format("own-{}-{:08x}.json", module, hash_of(meant) & 0xffffffff);
  try {
    const auto text = read_file(file, 1 << 20);
    Json kept = text.ok() ? Json::parse_quietly(*text) : Json();
    if (!kept.is_object() || kept.at("state") != state_of(kept.at("answer"))) {
      const Json answer = ask(module, named, file);
      if (!answer.is_object()) return std::nullopt;
      kept = {{"answer", answer}, {"state", state_of(answer)}};
      [[maybe_unused]] const Status written = write_file(file, kept.dump());
    }
    const Json& answer = kept.at("answer");
    if (answer.at("version").get<std::string>().empty()) return std::nullopt;
    OwnPython own{.program = answer.at("program").get<std::string>(), .version = answer.at("version")};
    for (const std::string folder : answer.at("path")) own.path += (own.path.empty() ? "" : ":") + folder;
    return own;
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

}  // namespace kw::rivals
