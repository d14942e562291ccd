#include "rivals/wheels.h"

#include <sys/file.h>

#include <algorithm>
#include <cctype>

#include "base/files.h"
#include "base/hash.h"
#include "rivals/answers.h"

namespace kw::rivals {
namespace {

namespace fs = std::filesystem;

// The oldest C library that wheels of today are made for, and more than there will be for long.
constexpr int kOldestMinor = 17;
constexpr int kMostMinor = 99;
constexpr std::size_t kMostPathBytes = 4096;
constexpr char kDone[] = "done.txt";

bool is_version(const std::string& text) {
  const std::size_t dot = text.find('.');
  return dot == 1 && text[0] == '3' && text.size() > 2 && text.size() < 5 &&
         std::all_of(text.begin() + 2, text.end(), [](unsigned char c) { return std::isdigit(c); });
}

// Minor version of glibc; 0 of any other library.
int glibc_minor(const Json& answer) {
  const Json* libc = answer.find("libc");
  if (libc == nullptr || !libc->is_array() || libc->size() != 2 || !(*libc)[0].is_string() || !(*libc)[1].is_string()) {
    return 0;
  }
  const std::string version = (*libc)[1].text();
  if ((*libc)[0].text() != "glibc" || !version.starts_with("2.")) return 0;
  return std::clamp(std::atoi(version.c_str() + 2), 0, kMostMinor);
}

// pip of an environment of its own: the system's Python may have none.
Result<fs::path> downloader(const fs::path& log) {
  const fs::path folder = cache_folder() / "rivals" / "downloader";
  std::error_code error;
  if (!fs::exists(folder / "bin" / "pip", error)) {
    KW_CHECK(run_step({"python3", "-I", "-m", "venv", folder.string()}, log,
                      "there is no python3 that makes environments (on Debian: apt-get install python3-venv)"));
  }
  return folder / "bin" / "python";
}

std::vector<fs::path> wheels_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".whl") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

Result<DevicePython> device_python_in(const Json& answer, const std::string& architecture) {
  DevicePython python{
      .version = text_in(answer, "version"), .architecture = architecture, .libc_minor = glibc_minor(answer)};
  if (!is_version(python.version)) return fail("its Python is of no version that kw knows");
  if (const Json* path = answer.find("path"); path != nullptr && path->is_array()) {
    for (const Json& one : *path) {
      if (!one.is_string() || python.path.size() > kMostPathBytes) continue;
      python.path += (python.path.empty() ? "" : ":") + one.text();
    }
  }
  const Json* has = answer.find("has");
  python.has = has != nullptr && has->is_boolean() && has->get<bool>();
  return python;
}

std::vector<std::string> platforms_of(const DevicePython& python) {
  std::vector<std::string> platforms;
  for (int minor = python.libc_minor; minor >= kOldestMinor; --minor) {
    platforms.push_back(fmt::format("manylinux_2_{}_{}", minor, python.architecture));
  }
  if (!platforms.empty()) platforms.push_back("manylinux2014_" + python.architecture);
  return platforms;
}

Result<std::vector<fs::path>> wheels_for(const RivalFile& rival, const DevicePython& python) {
  const std::vector<std::string> platforms = platforms_of(python);
  if (platforms.empty()) {
    return fail("its Python is of no C library that wheels are made for (glibc 2.{} or later)", kOldestMinor);
  }
  if (rival.lock.empty()) return fail("{} has no list of hashes beside it", rival.file.string());
  const std::string stamp =
      fmt::format("{} {} {} {}", stamp_of(rival), python.version, python.architecture, python.libc_minor);
  const fs::path folder =
      cache_folder() / "rivals" / fmt::format("wheels-{}-{:08x}", rival.name, hash_of(stamp) & 0xffffffff);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail("{}: {}", folder.string(), error.message());
  KW_TRY(const Descriptor lock, open_lock_file(folder.string() + ".lock"));
  ::flock(lock.get(), LOCK_EX);
  if (const auto done = read_file(folder / kDone); done.ok() && *done == stamp) return wheels_in(folder);
  const fs::path log = folder.string() + ".log", list = folder / "packages.lock";
  fs::remove(log, error);
  KW_TRY(const fs::path program, downloader(log));
  KW_CHECK(write_file(list, rival.lock));
  std::vector<std::string> words = {program.string(),
                                    "-I",
                                    "-m",
                                    "pip",
                                    "download",
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
                                    "--python-version",
                                    python.version,
                                    "--dest",
                                    folder.string()};
  for (const std::string& platform : platforms) words.insert(words.end(), {"--platform", platform});
  words.insert(words.end(), {"-r", list.string()});
  KW_CHECK(
      run_step(words, log,
               fmt::format("pip does not find its wheels for Python {} on {}", python.version, python.architecture)));
  KW_CHECK(write_file(folder / kDone, stamp));
  return wheels_in(folder);
}

}  // namespace kw::rivals
