#include "rivals/catalog.h"

#include <sys/file.h>

#include <algorithm>
#include <sstream>

#include "base/files.h"
#include "base/hash.h"
#include "base/nearest.h"
#include "base/process.h"
#include "rivals/own_python.h"

namespace kw::rivals {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kMostInstallTime = 900s;
// An installation that failed this long ago or less is not tried again, unless it is asked for by name.
constexpr auto kFailureLasts = 1h;
// Written last, with the packages in it.
constexpr char kStamp[] = "installed.txt";

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

// The text behind "# KEY:" on a line of its own.
std::string said(const std::string& text, const std::string& key) {
  const std::string start = "# " + key + ":";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(start)) continue;
    const std::size_t begin = line.find_first_not_of(' ', start.size());
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

Result<RivalFile> read_rival(const fs::path& file) {
  KW_TRY(const std::string text, read_file(file));
  RivalFile rival{.name = file.stem().string(), .file = file};
  const std::size_t begin = text.find("\"\"\""), end = text.find_first_of(".;\n", begin + 3);
  if (begin != 0 || end == std::string::npos) return fail("{}: begins with no text about itself", file.string());
  rival.about = text.substr(3, end - 3);
  std::istringstream words(said(text, "packages"));
  for (std::string word; words >> word;) rival.packages.push_back(word);
  if (rival.packages.empty()) return fail("{}: has no line `# packages:`", file.string());
  if (const auto lock = read_file(fs::path(file).replace_extension(".lock"), 1 << 20); lock.ok()) rival.lock = *lock;
  rival.only_asked = said(text, "only when asked");
  rival.module = said(text, "module");
  return rival;
}

// The last lines of what a program printed.
std::string last_words(const std::string& text) {
  const std::size_t begin = text.size() > 600 ? text.find('\n', text.size() - 600) : 0;
  return begin == std::string::npos ? text : text.substr(begin);
}

// pip's words for no network.
bool tells_of_no_network(const std::string& text) {
  constexpr std::string_view kSigns[] = {"NewConnectionError",     "ConnectTimeoutError", "Failed to establish",
                                         "Network is unreachable", "name resolution",     "ProxyError"};
  return std::ranges::any_of(kSigns, [&](std::string_view sign) { return text.find(sign) != std::string::npos; });
}

Status make_environment(const RivalFile& rival, const fs::path& log) {
  const fs::path folder = rival.environment();
  KW_CHECK(run_step({"python3", "-I", "-m", "venv", folder.string()}, log,
                    "there is no python3 that makes environments (on Debian: apt-get install python3-venv)"));
  if (rival.lock.empty()) return fail("{} has no list of hashes beside it", rival.file.string());
  const fs::path lock = folder / "packages.lock";
  KW_CHECK(write_file(lock, rival.lock));
  const std::vector<std::string> words = {rival.python().string(),
                                          "-I",
                                          "-m",
                                          "pip",
                                          "install",
                                          "--disable-pip-version-check",
                                          "--no-input",
                                          "--progress-bar",
                                          "off",
                                          "--retries",
                                          "2",
                                          "--require-hashes",
                                          "--only-binary",
                                          ":all:",
                                          "--no-deps",
                                          "-r",
                                          lock.string()};
  KW_CHECK(run_step(words, log, "pip does not find or install its packages"));
  return write_file(folder / kStamp, stamp_of(rival));
}

fs::path failure_file(const RivalFile& rival) { return rival.environment().string() + ".failed"; }

}  // namespace

Status run_step(const std::vector<std::string>& words, const fs::path& log, const std::string& otherwise) {
  const auto code = run_program(words, log, true, kMostInstallTime);
  if (!code.ok()) return fail("{}: {}", otherwise, code.error().message);
  if (*code == 0) return {};
  const auto text = read_file(log);
  const std::string said = text.ok() ? *text : "";
  return fail("{}\n{}ended with {}:\n{}\nAll of it is in {}",
              tells_of_no_network(said) ? "the network does not answer" : otherwise, joined(words), *code,
              last_words(said), log.string());
}

std::string stamp_of(const RivalFile& rival) {
  return fmt::format("{}{:016x}", joined(rival.packages), hash_of(rival.lock));
}

std::string RivalFile::version() const {
  if (own) return own->version;
  for (const std::string& package : packages) {
    if (const std::size_t at = package.find("=="); at != std::string::npos) return package.substr(at + 2);
  }
  return "any";
}

fs::path RivalFile::environment() const {
  const std::string what = own ? own->program.string() + " " + own->version : stamp_of(*this);
  return cache_folder() / "rivals" / fmt::format("{}-{:08x}", name, hash_of(what) & 0xffffffff);
}

fs::path RivalFile::python() const { return own ? own->program : environment() / "bin" / "python"; }

bool RivalFile::installed() const {
  if (own) return true;
  const auto stamp = read_file(environment() / kStamp);
  std::error_code error;
  return stamp.ok() && *stamp == stamp_of(*this) && fs::exists(python(), error);
}

namespace {

Result<std::vector<RivalFile>> rivals_in(const fs::path& folder, const std::string& own_python) {
  std::vector<RivalFile> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".py") continue;
    KW_TRY(RivalFile rival, read_rival(entry.path()));
    if (!rival.module.empty() && !rival.installed()) rival.own = find_own(rival.module, own_python);
    all.push_back(std::move(rival));
  }
  if (error) return fail("{}: {}", folder.string(), error.message());
  std::ranges::sort(all, {}, &RivalFile::name);
  return all;
}

}  // namespace

Result<std::vector<RivalFile>> all_rivals(const std::string& own_python) {
  KW_TRY(const fs::path data, data_folder());
  return rivals_in(data / "rivals", own_python);
}

Result<std::vector<RivalFile>> gpu_rivals(const std::string& own_python) {
  KW_TRY(const fs::path data, data_folder());
  return rivals_in(data / "rivals" / "gpu", own_python);
}

Result<RivalFile> find_rival(const std::string& name, const std::string& own_python) {
  KW_TRY(std::vector<RivalFile> all, all_rivals(own_python));
  std::vector<std::string> names;
  for (RivalFile& rival : all) {
    if (rival.name == name) return std::move(rival);
    names.push_back(rival.name);
  }
  return fail("there is no rival '{}'{}; kw rivals lists them", name, nearest_hint(name, names));
}

Status install(const RivalFile& rival) {
  const fs::path folder = rival.environment();
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  if (error) return fail("{}: {}", folder.parent_path().string(), error.message());
  // Two at once: the second waits, and finds it done.
  KW_TRY(const Descriptor lock, open_lock_file(folder.string() + ".lock"));
  ::flock(lock.get(), LOCK_EX);
  if (rival.installed()) return {};
  KW_CHECK(remove(rival));
  const fs::path log = folder.string() + ".log";
  fs::remove(log, error);
  const Status made = make_environment(rival, log);
  if (made.ok()) {
    fs::remove(failure_file(rival), error);
    return {};
  }
  const std::string message = fmt::format("{} cannot be installed: {}", rival.name, made.error().message);
  [[maybe_unused]] const Status noted = write_file(failure_file(rival), message.substr(0, message.find('\n')));
  return fail("{}", message);
}

std::optional<std::string> failed_lately(const RivalFile& rival) {
  std::error_code error;
  const auto at = fs::last_write_time(failure_file(rival), error);
  if (error || fs::file_time_type::clock::now() - at > kFailureLasts) return std::nullopt;
  const auto text = read_file(failure_file(rival));
  return text.ok() ? std::optional(*text) : std::nullopt;
}

Status remove(const RivalFile& rival) {
  std::error_code error;
  fs::remove_all(rival.environment(), error);
  if (error) return fail("{}: {}", rival.environment().string(), error.message());
  return {};
}

Result<fs::path> worker_program() {
  KW_TRY(const fs::path data, data_folder());
  return data / "rivals" / "shared" / "worker.py";
}

}  // namespace kw::rivals
