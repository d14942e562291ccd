#include "models/build_steps.h"

#include <atomic>
#include <sstream>
#include <thread>

#include "base/files.h"
#include "base/process.h"
#include "compose/outside_text.h"
#include "compose/reached.h"
#include "targets/target.h"

namespace kw::models {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kMostBuilding{300};

// The words with which the target builds a source, but for what the source and the object are called.
Result<std::vector<std::string>> build_words(const std::string& device, const Choice& choice) {
  KW_TRY(const targets::Target target, targets::target_of(device));
  if (!target.build_command) return fail("kernels of {} cannot be built into a library", device);
  std::istringstream line(target.build_command("@", choice));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  return words;
}

}  // namespace

Result<BuildStep> compile_step(const fs::path& folder, const std::string& stem, const std::string& device,
                               const Choice& choice) {
  BuildStep step{.what = stem + ".cpp", .words = {}, .made = folder / (stem + ".o")};
  KW_TRY(const std::vector<std::string> words, build_words(device, choice));
  for (const std::string& word : words) {
    step.words.push_back(word == "@.cpp" ? (folder / step.what).string()
                         : word == "@.o" ? step.made.string()
                         : word == "-I." ? "-I" + folder.string()
                                         : word);
    const bool is_option = word.starts_with("-") && word != "-I." && word != "-c" && word != "-o";
    if (is_option) step.options.push_back(word);
  }
  step.words.push_back("-fPIC");
  return step;
}

Result<std::string> with_symbols(const std::string& source, const Choice& choice, const std::string& symbol,
                                 const std::string& about) {
  KW_TRY(const std::string fixed, with_tunables_fixed(source, choice));
  std::string names;  // of functions that a linker would merge although two kernels were built with different tunables
  for (const char* name : {"kw_run", "kw_prepare", "simd", "blocked", "winograd"}) {
    names += fmt::format("#define {0} {1}_{2}\n", name, symbol, std::string_view(name).substr(name[0] == 'k' ? 3 : 0));
  }
  return fmt::format("// {}\n{}{}", compose::remark(about), names, compose::with_reached_only(fixed));
}

Status run_step(const BuildStep& step) {
  const fs::path log = step.made.string() + ".log";
  KW_TRY(const int code, run_program(step.words, log, false, kMostBuilding));
  if (code == 0) {
    std::error_code error;
    fs::remove(log, error);
    return {};
  }
  const auto said = read_file(log);
  std::string first = said.ok() ? *said : "";
  if (const std::size_t at = first.find("error:"); at != std::string::npos) first = first.substr(at);
  return fail("{} does not build (code {}): {}", step.what, code, first.substr(0, first.find('\n')));
}

Status run_steps(const std::vector<BuildStep>& steps) {
  std::vector<Status> results(steps.size());
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    workers.emplace_back([&] {
      for (std::size_t k; (k = next++) < steps.size();) results[k] = run_step(steps[k]);
    });
  }
  workers.clear();
  for (const Status& result : results) {
    if (!result.ok()) return result;
  }
  return {};
}

}  // namespace kw::models
