#include "targets/cpu/workshop.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <sstream>

#include "base/files.h"
#include "base/hash.h"
#include "inspect/errors.h"
#include "targets/cpu/patience.h"

namespace kw::cpu {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kMostBuildTime = 20s;
constexpr std::size_t kMostErrors = 20;
constexpr std::size_t kMostPrecompiled = 9;  // folders and headers beside each other
constexpr std::uint64_t kMostLibraryBytes = std::uint64_t{64} << 20;

// The contracts' headers: a kernel for a GPU includes both.
constexpr const char* kHeaders[] = {"kernelwright.h", "kernelwright_cuda.h"};

// What a process and all that it started have used; 0 where that is not known.
double cpu_seconds_with_children(int pid, int depth = 0) {
  constexpr int kMostDepth = 8;
  std::string text;
  std::getline(std::ifstream(fmt::format("/proc/{}/stat", pid)), text, '\0');
  // The name may hold anything, and ends with the last parenthesis; eleven fields later come the four times.
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double ticks = 0, seconds = 0;
  for (int i = 0; i < 4 && fields >> ticks; ++i) seconds += ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", pid));
  for (int child = 0; depth < kMostDepth && children >> child;) seconds += cpu_seconds_with_children(child, depth + 1);
  return seconds;
}

std::vector<std::string> base_flags(const std::string& language) {
  // With lines of the source, and nothing else for debuggers: they change no instruction.
  std::vector<std::string> flags = {language == "c" ? "-std=gnu17" : "-std=c++20", "-march=native", "-fPIC",
                                    "-fvisibility=hidden", "-g1"};
  // The next compilation of the kernel is at another time.
  for (const char* clock : {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
    flags.push_back(fmt::format("-D{}=the_time_of_compilation_is_not_known", clock));
  }
  return flags;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

// A folder that holds the headers and may take precompiled ones; none where nothing can be written. The parts that
// kernels may include by name (`<kw/vector.h>`) lie in it as kw/.
Result<fs::path> kept_headers(const fs::path& data) {
  std::string all;
  std::vector<std::pair<fs::path, std::string>> texts;  // by the place in the folder
  for (const char* header : kHeaders) {
    KW_TRY(texts.emplace_back(header, "").second, read_file(data / "include" / header));
  }
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(data / "kernels" / "cpu" / "parts", error)) {
    if (entry.path().extension() != ".h") continue;
    KW_TRY(texts.emplace_back(fs::path("kw") / entry.path().filename(), "").second, read_file(entry.path()));
  }
  if (error) return fail("{}: {}", (data / "kernels" / "cpu" / "parts").string(), error.message());
  std::ranges::sort(texts);
  for (const auto& [name, text] : texts) all += name.string() + '\0' + text;
  all += joined(base_flags("c++"));  // precompiled ones lie there too
  const fs::path folder = cache_folder() / fmt::format("header-{:016x}", hash_of(all));
  fs::create_directories(folder / "kw", error);
  if (error) return fail("{}: {}", folder.string(), error.message());
  for (const auto& [name, text] : texts) {
    if (!fs::exists(folder / name, error)) KW_CHECK(write_file(folder / name, text));
  }
  return folder;
}

std::string any_name() {
  std::random_device random;
  std::string name;
  for (std::uint32_t i = 0, length = 3 + random() % 14; i < length; ++i) {
    name += static_cast<char>('a' + random() % 26);
  }
  return name == "said" || name == "made" ? name + "_" : name;
}

}  // namespace

Result<fs::path> find_part(const std::string& name) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = self.parent_path();
  for (const fs::path& place : {folder / name, folder.parent_path() / "libexec" / "kernelwright" / name}) {
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  return fail("{} is missing: it belongs beside {}", name, self.string());
}

std::string safe_name(const std::string& name) {
  std::string safe;
  for (char c : fs::path(name).filename().string()) {
    safe += std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-' ? c : '_';
  }
  if (safe.empty() || safe[0] == '-' || safe[0] == '.' || safe == "said" || safe == "made") safe = "kernel_" + safe;
  const std::string extension = fs::path(safe).extension();
  return extension == ".cpp" || extension == ".c" || extension == ".cc" || extension == ".cxx" ? safe : safe + ".cpp";
}

Reason reason_of(const sandbox::Ending& ending, const std::string& said, const std::vector<SourceError>& errors) {
  const auto says = [&](const char* words) { return said.find(words) != std::string::npos; };
  if (ending.exit_code == 112) return {ReasonCode::compiler_made_nothing};
  if (ending.exit_code == 110) return {ReasonCode::compiler_disk, {{"megabytes", 256}}};
  if (says("memory exhausted") || says("out of memory") || ending.exit_code == 137)
    return {ReasonCode::compiler_memory};
  if (ending.signal == SIGKILL || says("Killed signal")) {
    return {ReasonCode::compiler_killed, {{"ending", ending.signal == 0 ? "killed" : ending.text()}}};
  }
  if (errors.empty()) {
    return {ReasonCode::compiler_failed, {{"ending", ending.text()}, {"said", said.substr(0, 2000)}}};
  }
  const SourceError& first = errors.front();
  if (first.message.starts_with("undefined reference") || first.message.starts_with("multiple def")) {
    return {ReasonCode::does_not_link, {{"message", first.message}}};
  }
  const std::string place = first.line > 0 ? fmt::format("{}:{}: ", first.file, first.line) : "";
  return {ReasonCode::does_not_compile, {{"place", place}, {"message", first.message}}};
}

std::vector<SourceError> compiler_errors(const std::string& said, const Source& source) {
  const std::string own = safe_name(source.name);
  std::vector<SourceError> errors;
  for (const inspect::CodeError& one : inspect::errors_in(said, {{own, source.text}})) {
    if (errors.size() == kMostErrors) break;
    SourceError error{one.local ? source.name : one.file, one.line, one.message, one.around};
    if (error.file.empty()) error.file = own;
    if (!one.within.empty()) error.message += fmt::format(" (in {})", one.within);
    for (const std::string& note : one.notes) error.around += "        " + note + "\n";
    if (!one.repeated_at.empty()) {
      error.around += fmt::format("        the same error in line{} {}\n", one.repeated_at.size() == 1 ? "" : "s",
                                  fmt::join(one.repeated_at, ", "));
    }
    errors.push_back(std::move(error));
  }
  return errors;
}

Result<std::string> Library::code() const { return sandbox::content_of(file, kMostLibraryBytes); }

Result<ToolRun> run_tool(const sandbox::Sandbox& sandbox, const std::vector<std::string>& words,
                         const std::string& source) {
  std::string arguments;
  for (const std::string& word : words) arguments += word + '\0';
  KW_TRY(const sandbox::Descriptor text, sandbox::memory_file(source));
  ToolRun run;
  KW_TRY(run.made, sandbox::memory_file(std::uint64_t{0}));
  KW_TRY(const sandbox::Descriptor said, sandbox::memory_file(std::uint64_t{0}));
  if (::lseek(text.get(), 0, SEEK_SET) != 0) return fail("the source could not be handed over");
  const int descriptors[] = {text.get(), run.made.get(), said.get()};
  const sandbox::Limits limits{.memory_bytes = std::uint64_t{3} << 30,
                               .disk_bytes = std::uint64_t{256} << 20,
                               .processes = 32,
                               .cpu_seconds = 2 * static_cast<std::uint32_t>(kMostBuildTime.count())};
  const auto begin = sandbox::Clock::now();
  KW_TRY(sandbox::Child child, sandbox.run("tool", limits, std::as_bytes(std::span(arguments)), descriptors));
  Patience patience(kMostBuildTime);
  do {
    run.ending = child.wait(begin + patience.next());
  } while (!run.ending && patience.lasts(cpu_seconds_with_children(child.pid())));
  run.took_ns = static_cast<std::uint64_t>((sandbox::Clock::now() - begin).count());
  if (!run.ending) {
    child.kill();
    child.wait(sandbox::Clock::now() + 5s);
    return run;
  }
  KW_TRY(run.said, sandbox::content_of(said, 1 << 20));
  return run;
}

Result<Workshop> Workshop::open(const std::vector<sandbox::Shown>& more) {
  KW_TRY(const fs::path warden, find_part("kw-warden"));
  KW_TRY(const fs::path data, data_folder());
  const fs::path include = data / "include";
  Workshop workshop;
  workshop.lock_ = std::make_unique<std::mutex>();
  const auto folder = kept_headers(data);
  workshop.keeps_ = folder.ok() && ::access(folder->c_str(), W_OK) == 0;
  std::error_code error;
  workshop.headers_ = {folder.ok() ? folder->string() : fs::canonical(include, error).string(), "/kw"};
  std::vector<sandbox::Shown> shown = {workshop.headers_};
  shown.insert(shown.end(), more.begin(), more.end());
  KW_TRY(sandbox::Sandbox sandbox, sandbox::Sandbox::start(warden, shown));
  workshop.sandbox_ = std::make_unique<sandbox::Sandbox>(std::move(sandbox));
  return workshop;
}

Result<std::unique_ptr<Library>> Workshop::build(const Source& source, const Choice& choice, const Source* made_of) {
  const Source& written = made_of == nullptr ? source : *made_of;
  const bool c = fs::path(source.name).extension() == ".c";
  const std::string language = c ? "c" : "c++", precompiled = c ? "" : precompile(choice);
  KW_TRY(std::unique_ptr<Library> built, compile(language, source, written, choice, precompiled));
  // With a header precompiled, clang 14 trips over others of the library, such as <string>. What is really wrong is
  // wrong without it too.
  if (built->ok() || built->errors.empty() || precompiled.empty() || choice.compiler != "clang++") return built;
  return compile(language, source, written, choice, "");
}

// A compiler takes any precompiled header that it finds beside the header, also one made with other flags, and fails on
// it: so each choice has a folder of its own.
std::string Workshop::precompile(const Choice& choice) {
  const std::lock_guard guard(*lock_);
  if (!keeps_) return {};
  const std::string key = choice.compiler + " " + joined(base_flags("c++")) + joined(choice.flags);
  const std::string name = fmt::format("{:016x}", hash_of(key));
  if (precompiled_.contains(name)) return name;
  const fs::path folder = fs::path(headers_.outside) / name;
  const fs::path file = folder / "kernelwright.h.gch";
  std::error_code error;
  if (!fs::exists(file, error)) {
    const auto kept = std::distance(fs::directory_iterator(headers_.outside, error), fs::directory_iterator());
    if (error || static_cast<std::size_t>(kept) > kMostPrecompiled) return {};
    fs::create_directories(folder, error);
    fs::copy_file(fs::path(headers_.outside) / "kernelwright.h", folder / "kernelwright.h",
                  fs::copy_options::overwrite_existing, error);
    if (error) return {};
    const Source header{"kernelwright.h", ""};
    const auto built = compile("c++-header", header, header, choice, name);
    if (!built.ok() || !(*built)->ok()) return {};
    const auto content = sandbox::content_of((*built)->file, std::uint64_t{256} << 20);
    if (!content.ok() || !write_file(file, *content).ok()) return {};
  }
  precompiled_.insert(name);
  return name;
}

Result<std::unique_ptr<Library>> Workshop::compile(const std::string& language, const Source& source,
                                                   const Source& written, const Choice& choice,
                                                   const std::string& precompiled) {
  const fs::path compiler = fs::path("/usr/bin") / choice.compiler;
  if (::access(compiler.c_str(), X_OK) != 0) {
    return fail("{} is not there; on Debian: apt-get install {}", compiler.string(),
                choice.compiler == "g++" ? "g++" : "clang");
  }
  const bool header = language == "c++-header";
  const std::string folder = sandbox_->place_of(headers_) + (precompiled.empty() ? "" : "/" + precompiled);
  // A header is compiled where it lies, so that the compiler knows it again.
  // Another name each time: what a kernel computes must not depend on it.
  const std::string own_name = safe_name(source.name);
  const std::string file =
      header ? folder + "/kernelwright.h" : fmt::format("{}{}", any_name(), fs::path(own_name).extension().string());
  std::vector<std::string> words = {header ? "unused.cpp" : file, "made", compiler.string()};
  for (const std::string& flag : base_flags(language)) words.push_back(flag);
  for (const std::string& flag : choice.flags) words.push_back(flag);
  for (const char* word : {"-x", language.c_str(), file.c_str(), "-o", "made", "-w", "-fdiagnostics-color=never"}) {
    words.push_back(word);
  }
  words.push_back("-I" + folder);
  if (!precompiled.empty()) words.push_back("-I" + sandbox_->place_of(headers_));
  if (!header) {
    if (choice.compiler == "g++") words.push_back(fmt::format("-fmax-errors={}", kMostErrors));
    if (choice.compiler == "clang++") words.push_back(fmt::format("-ferror-limit={}", kMostErrors));
    if (!precompiled.empty() && choice.compiler == "clang++") {
      words.insert(words.end(), {"-include-pch", folder + "/kernelwright.h.gch"});
    } else if (language == "c++") {
      words.insert(words.end(), {"-include", "kernelwright.h"});
    }
    for (const auto& [name, value] : choice.values) words.push_back(fmt::format("-DKW_SET_{}=~,{}", name, value));
    words.insert(words.end(), {"-shared", "-Wl,-z,now,-z,relro,-z,defs,--build-id=none"});
  }
  KW_TRY(ToolRun run, run_tool(*sandbox_, words, source.text));
  for (std::size_t at = 0; !header && (at = run.said.find(file, at)) != std::string::npos; at += own_name.size()) {
    run.said.replace(at, file.size(), own_name);
  }
  auto built = std::make_unique<Library>();
  built->build_ns = run.took_ns;
  const std::optional<sandbox::Ending>& ending = run.ending;
  if (!ending) {
    built->reason = {ReasonCode::compiler_timed_out, {{"seconds", kMostBuildTime.count()}}};
    return built;
  }
  if (ending->well()) {
    built->file = std::move(run.made);
    built->flushes = std::ranges::any_of(choice.flags, [](const std::string& flag) {
      return flag == "-ffast-math" || flag == "-Ofast" || flag == "-funsafe-math-optimizations";
    });
    return built;
  }
  if (ending->exit_code >= 120 && ending->exit_code < 126) {
    return fail("the sandbox could not be closed around the compiler (step {})", ending->exit_code - 120);
  }
  if (ending->exit_code == 111) {
    return fail("{} cannot be started; on Debian: apt-get install --reinstall {}", compiler.string(),
                choice.compiler == "g++" ? "g++" : "clang");
  }
  built->errors = compiler_errors(run.said, written);
  built->reason = reason_of(*ending, run.said, built->errors);
  return built;
}

}  // namespace kw::cpu
