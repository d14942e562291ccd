// How well are errors found? Compiles every source of tests/failing_compiles/ with g++ and with clang++, and asks
// whether the first error that we name is on the line that is marked there, in the function that is named there.
//
// tests/unseen_compiles/ was written when the rules stood already, and run once before anything was changed: its first
// figure is what to expect of errors that were not foreseen.
//
//   kw_errors_bench FOLDER [NAME]   exit code 1 below 95 %; with a NAME prints what was said of that one
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/files.h"
#include "base/filter.h"
#include "inspect/errors.h"

namespace {

namespace fs = std::filesystem;
using namespace kw;

struct Subject {
  std::string name;
  std::string within;
  std::vector<std::string> flags;
  std::string mode = "compile";
  std::vector<inspect::SourceText> sources;
  std::string file;  // of the true line
  int line = 0;
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// "// within: NAME", "// flags: ...", "// mode: link" at the top, "//--- FILE" before another file, and "// <- here".
Subject read_subject(const fs::path& path) {
  Subject subject{.name = path.stem().string()};
  std::istringstream text(*read_file(path));
  subject.sources.push_back({path.filename().string(), ""});
  int line = 0;
  for (std::string each; std::getline(text, each);) {
    if (each.starts_with("// within: ")) subject.within = each.substr(11);
    if (each.starts_with("// flags: ")) subject.flags = words_of(each.substr(10));
    if (each.starts_with("// mode: ")) subject.mode = each.substr(9);
    if (each.starts_with("//--- ")) {
      subject.sources.push_back({each.substr(6), ""});
      line = 0;
      continue;
    }
    ++line;
    if (const std::size_t mark = each.find("  // <- here"); mark != std::string::npos) {
      each.resize(mark);
      subject.file = subject.sources.back().name;
      subject.line = line;
    }
    subject.sources.back().text += each + "\n";
  }
  return subject;
}

std::string said_by(const Subject& subject, const std::string& compiler, const fs::path& folder,
                    const fs::path& include) {
  std::vector<std::string> words = {
      "env", "LC_ALL=C", compiler, "-std=c++20", "-w", "-fdiagnostics-color=never", "-fPIC", "-I" + include.string()};
  if (compiler == "g++") words.push_back("-fmax-errors=20");
  words.insert(words.end(), subject.flags.begin(), subject.flags.end());
  for (const inspect::SourceText& source : subject.sources) {
    if (!write_file(folder / source.name, source.text).ok()) return {};
    if (source.name.ends_with(".cc")) words.push_back(source.name);
  }
  if (subject.mode == "compile") words.insert(words.end(), {"-c", "-o", "made.o"});
  if (subject.mode == "link") words.insert(words.end(), {"-shared", "-Wl,-z,defs", "-o", "made.so"});
  if (subject.mode == "load") words.insert(words.end(), {"-shared", "-o", "made.so"});
  std::string command = "cd '" + folder.string() + "' &&";
  for (const std::string& word : words) command += " '" + word + "'";
  if (subject.mode == "load") command += " && LD_BIND_NOW=1 LD_PRELOAD=./made.so /bin/true";
  const auto ran = run_filter({"/bin/sh", "-c", command}, "");
  return ran.ok() ? ran->out + ran->err : "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return fmt::print("kw_errors_bench FOLDER [NAME]\n"), 2;
  const fs::path folder = fs::canonical(argv[1]);
  const fs::path scratch = fs::temp_directory_path() / fmt::format("kw_errors_{}", ::getpid());
  fs::create_directories(scratch);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".cc" && (argc < 3 || entry.path().stem() == argv[2]))
      files.push_back(entry.path());
  }
  std::ranges::sort(files);
  int all = 0, right = 0, long_ones = 0, long_and_short = 0;
  double worst_ratio = 0;
  std::size_t said_tokens = 0, told_tokens = 0;
  for (const fs::path& file : files) {
    const Subject subject = read_subject(file);
    for (const char* compiler : {"g++", "clang++"}) {
      const std::string said = said_by(subject, compiler, scratch, folder.parent_path().parent_path() / "include");
      const auto errors = inspect::errors_in(said, subject.sources);
      if (said.find("rror") == std::string::npos && said.find("undefined") == std::string::npos &&
          said.find("multiple") == std::string::npos) {
        if (argc > 2) fmt::print("{} compiles with {}\n", subject.name, compiler);
        continue;  // this compiler takes it
      }
      ++all;
      const std::string told = inspect::as_text(errors, inspect::fair_budget(said));
      const bool found = !errors.empty() && errors[0].file == subject.file && errors[0].line == subject.line &&
                         errors[0].within == subject.within;
      right += found;
      said_tokens += said.size() / 4;
      told_tokens += told.size() / 4;
      if (said.size() / 4 > 2000) {
        ++long_ones;
        const double ratio = static_cast<double>(told.size()) / static_cast<double>(said.size());
        worst_ratio = std::max(worst_ratio, ratio);
        long_and_short += ratio < 0.1;
      }
      if (!found) {
        fmt::print("{} with {}: wanted {}:{} in '{}', got {}\n", subject.name, compiler, subject.file, subject.line,
                   subject.within, errors.empty() ? "nothing" : told.substr(0, told.find('\n')));
      }
      if (argc > 2) fmt::print("{}\n---\n{}\n", said.substr(0, 4000), told);
    }
  }
  fs::remove_all(scratch);
  const double share = all > 0 ? 100.0 * right / all : 0;
  fmt::print("{} sources, {} failing compiles: true line and function come first in {:.1f} %\n", files.size(), all,
             share);
  fmt::print(
      "tokens: {} said, {} told; of {} outputs over 2,000 tokens {} were told in under a tenth (at most {:.3f})\n",
      said_tokens, told_tokens, long_ones, long_and_short, worst_ratio);
  return share >= 95 && long_and_short == long_ones ? 0 : 1;
}
