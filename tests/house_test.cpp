// The rules of the house that a compiler does not know: who may include whom, where heavy headers may stand, how files
// are named, how long they may be, that the map names every room.
//
// A rule is a function from texts to complaints ("src/ops/op.h:3: ..."), so that each is first shown to complain about
// a made-up house and then held against this one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "house.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using namespace kw::house;

// Of each folder of src/: the folders that it may include from.
using Layers = std::map<std::string, std::set<std::string>>;

constexpr int kMostLines = 700;
// Of src/cli with its tests: it parses, calls and prints, and what is more than that belongs elsewhere.
constexpr int kMostCliLines = 5000;

// "ops: base kernel" a line; # starts a comment. A folder may know only those above it, so that no circle can be
// written.
Layers layers_of(const Files& files, Complaints& complaints) {
  Layers layers;
  for (const std::string& line : lines_of(files.at("src/layers.txt"))) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t colon = line.find(':');
    const std::string folder = line.substr(0, colon);
    std::istringstream known(colon == std::string::npos ? "" : line.substr(colon + 1));
    std::set<std::string> may_include;
    for (std::string name; known >> name;) {
      if (!layers.contains(name))
        complaints.push_back("src/layers.txt: " + folder + " knows " + name + ", not above it");
      may_include.insert(name);
    }
    layers[folder] = may_include;
  }
  return layers;
}

Complaints wrong_includes(const Files& files) {
  Complaints complaints;
  const Layers layers = layers_of(files, complaints);
  for (const Include& include : includes_of(files)) {
    const std::string from = folder_of(include.path);
    if (!include.quoted || from.empty() || !layers.contains(from)) continue;
    const std::string to = include.header.substr(0, include.header.find('/'));
    if (to == include.header || !layers.contains(to)) {
      complaints.push_back(
          fmt::format("{}: \"{}\" does not begin with a folder of src/", include.place(), include.header));
    } else if (to != from && !layers.at(from).contains(to)) {
      complaints.push_back(fmt::format("{}: {} may not include from {} (src/layers.txt)", include.place(), from, to));
    }
  }
  return complaints;
}

// DEPENDS of a folder's kw_module(...) says to the linker what layers.txt says to this test.
Complaints disagreements_with_cmake(const Files& files) {
  Complaints complaints;
  Layers linked;
  const std::string& text = files.at("src/CMakeLists.txt");
  const std::regex module(R"(kw_module\((\w+)(?: QUICK)?(?: UNITY \d+)?(?: DEPENDS((?: [a-z_]+)*))?)");
  for (std::sregex_iterator match(text.begin(), text.end(), module), end; match != end; ++match) {
    std::istringstream names((*match)[2].str());
    linked[(*match)[1]] = std::set<std::string>(std::istream_iterator<std::string>(names), {});
  }
  for (const auto& [folder, may_include] : layers_of(files, complaints)) {
    if (!linked.contains(folder)) {
      complaints.push_back("src/CMakeLists.txt: no kw_module(" + folder + ")");
    } else if (linked[folder] != may_include) {
      complaints.push_back("src/CMakeLists.txt: DEPENDS of " + folder + " differs from src/layers.txt");
    }
  }
  return complaints;
}

Complaints heavy_headers(const Files& files) {
  static const std::regex heavy(
      "(nlohmann/|toml\\+\\+/|onnx/|google/protobuf/|sqlite3\\.h|httplib\\.h).*|base/toml\\.h");
  Complaints complaints;
  for (const Include& include : includes_of(files)) {
    if (include.path == "src/base/toml.h") continue;  // heavy itself, and the one door to that library
    if (include.path.ends_with(".h") && std::regex_match(include.header, heavy)) {
      complaints.push_back(
          fmt::format("{}: <{}> is heavy: include it in a .cpp file", include.place(), include.header));
    }
  }
  return complaints;
}

Complaints rooms_without_a_sign(const Files& files) {
  Complaints complaints;
  const Layers layers = layers_of(files, complaints);
  for (const std::string& folder : folders_of_src(files)) {
    if (!layers.contains(folder)) complaints.push_back("src/layers.txt: src/" + folder + " is missing");
    if (files.at("ARCHITECTURE.md").find("src/" + folder) == std::string::npos) {
      complaints.push_back("ARCHITECTURE.md: src/" + folder + " is not mentioned");
    }
  }
  return complaints;
}

bool is_written_by_hand(const std::string& path) {
  static const std::set<std::string> endings = {".cpp", ".h", ".py", ".bash", ".sh", ".cmake"};
  return endings.contains(fs::path(path).extension().string()) || path == "kw";
}

Complaints names_that_are_not_snake_case(const Files& files) {
  static const std::regex snake_case("_?[a-z0-9]+(_[a-z0-9]+)*");
  Complaints complaints;
  for (const auto& [path, text] : files) {
    if (!is_written_by_hand(path)) continue;
    // These are found by the operator's name.
    if (fs::path(path).parent_path() == "kernels/plain") continue;
    for (const fs::path& part : fs::path(path)) {
      if (!std::regex_match(part.stem().string(), snake_case)) complaints.push_back(path + ": not snake_case");
    }
  }
  return complaints;
}

Complaints files_too_long(const Files& files) {
  Complaints complaints;
  for (const auto& [path, text] : files) {
    const auto lines = std::ranges::count(text, '\n');
    if (is_written_by_hand(path) && lines > kMostLines) {
      complaints.push_back(fmt::format("{}: {} lines, at most {}: more than one idea?", path, lines, kMostLines));
    }
  }
  return complaints;
}

// The code of a line: without what stands in quotes and after //.
std::string code_of(const std::string& line) {
  static const std::regex text(R"re("(\\.|[^"\\])*")re");
  const std::string without = std::regex_replace(line, text, "\"\"");
  return without.substr(0, without.find("//"));
}

struct Border {
  std::regex pattern;
  std::string instead;             // what to use
  std::vector<std::string> doors;  // files and folders that may
};

// Each border to the outside is crossed in one place.
const std::vector<Border>& borders() {
  static const std::vector<Border> all = {
      {std::regex(R"((^|[^\w.>])(v?fork|f?exec[vl][pe]*e?|posix_spawnp?|popen|system)\s*\()"),
       "starts a program: use base/process.h",
       // kw-lm starts itself once more with a variable that a library reads when it is loaded; the agent starts kernels
       // on a device, where base/ is not
       {"src/base/process.cpp", "src/sandbox/", "src/targets/cpu/host/", "src/lm_torch/main.cpp",
        "src/targets/remote/agent/"}},
      {std::regex(R"((^|[^\w])::(open|openat|creat)\s*\(|\b(fopen|freopen|mkstemp)\s*\(|std::[io]?fstream\b)"),
       "opens a file: use base/files.h",
       // /dev/null; a folder, to lock it; the sandbox, and what runs in it; what the system says of a processor and a
       // process
       {"src/base/files.cpp", "src/base/inside.cpp", "src/base/folder_lock.cpp", "src/base/process.cpp", "src/sandbox/",
        "src/targets/cpu/", "src/targets/remote/agent/"}},
      {std::regex(R"(\bsqlite3_open)"), "opens a database: use store/database.h", {"src/store/database.cpp"}},
      {std::regex(R"(#include <toml\+\+)"), "reads TOML: use base/toml.h", {"src/base/toml.h"}},
      {std::regex(R"(#include <(nlohmann|rapidjson|simdjson|boost|yyjson|jsoncpp|json)\b)"),
       "reads JSON: use base/json.h",
       {}},
      {std::regex(R"(\bstd::(cout|cerr|clog)\b|(^|[^\w:.>])(v?printf|puts|putchar|perror)\s*\()"),
       "prints past base/terminal.h: use the command's stream, or stderr, which src/cli/main.cpp makes fit",
       // where that is done; kw-lm and workers, whose output programs read; the sandbox and what runs on a device
       {"src/cli/main.cpp", "src/cli/program.cpp", "src/lm_torch/main.cpp", "src/sandbox/", "src/targets/cpu/host/",
        "src/targets/cuda/", "src/targets/remote/agent/", "src/targets/remote/native/"}},
  };
  return all;
}

// Tests and benchmarks may do as they like: only the user of a build runs them.
bool is_of_the_program(const std::string& path) {
  static const std::regex helper(R"(.*(_test|_bench|_fuzz)\.cpp|src/cli/killed_run\.h|src/base/scratch\.h)");
  return path.starts_with("src/") && is_cpp(path) && !std::regex_match(path, helper);
}

Complaints borders_crossed_elsewhere(const Files& files) {
  Complaints complaints;
  for (const auto& [path, text] : files) {
    if (!is_of_the_program(path)) continue;
    int number = 0;
    for (const std::string& line : lines_of(text)) {
      ++number;
      const std::string code = code_of(line);
      for (const Border& border : borders()) {
        const auto is_door = [&path = path](const std::string& door) { return path.starts_with(door); };
        if (std::ranges::any_of(border.doors, is_door) || !std::regex_search(code, border.pattern)) continue;
        complaints.push_back(fmt::format("{}:{}: {}", path, number, border.instead));
      }
    }
  }
  return complaints;
}

// Folders that exist on one person's machine only.
Complaints paths_of_a_machine(const Files& files) {
  static const std::regex pattern(R"((^|[^\w.~}/-])/(home|root|work|workspace|Users|mnt)/\w)");
  Complaints complaints;
  for (const auto& [path, text] : files) {
    int number = 0;
    for (const std::string& line : lines_of(text)) {
      ++number;
      if (line.size() < 10'000 && std::regex_search(line, pattern)) {
        complaints.push_back(fmt::format("{}:{}: a path of somebody's machine", path, number));
      }
    }
  }
  return complaints;
}

// A page may name in `backticks` only files and folders that exist, unless its line calls them (new).
Complaints files_that_pages_invent(const Files& files) {
  static const std::regex named(
      "`((src|tests|cmake|suites|completions|kernels|include|bench)/(plain/[A-Z]\\w+.h|[a-z_0-9/.]*))`(?! \\(new\\))");
  Complaints complaints;
  for (const auto& [page, text] : files) {
    if (!page.ends_with(".md")) continue;
    for (std::sregex_iterator match(text.begin(), text.end(), named), end; match != end; ++match) {
      const std::string path = (*match)[1];
      const auto next = files.lower_bound(path);
      const bool exists =
          next != files.end() && (path.ends_with("/") ? next->first.starts_with(path) : next->first == path);
      if (!exists) complaints.push_back(fmt::format("{}: there is no {}", page, path));
    }
  }
  return complaints;
}

// Blanks out // and /* */ outside of literals; lines stay where they are.
std::string without_comments(std::string text) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quote != 0) {
      if (text[i] == '\\') {
        ++i;
      } else if (text[i] == quote || text[i] == '\n') {
        quote = 0;
      }
    } else if (text[i] == '"' ||
               (text[i] == '\'' && (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1]))))) {
      quote = text[i];
    } else if (text.compare(i, 2, "//") == 0 || text.compare(i, 2, "/*") == 0) {
      const bool line = text[i + 1] == '/';
      const std::size_t end = std::min(line ? text.find('\n', i) : text.find("*/", i + 2) + 2, text.size());
      for (; i < end; ++i) {
        if (text[i] != '\n') text[i] = ' ';
      }
      --i;
    }
  }
  return text;
}

// What only one kind of device has. A second kind is a second folder of src/targets/, and all other code must serve
// both: so these words stand in a target's folder and nowhere else in src/.
struct TargetWord {
  std::string text;  // ends in *: the beginning of a word
  std::string only_under = "src/";
};

const std::vector<TargetWord>& words_of_targets() {
  static const std::vector<TargetWord> all = {
      {"\"cpu\""},   {"-march=*"},    {"-mcpu=*"},
      {"g++"},       {"clang++"},     {"nvcc"},
      {"objdump"},   {"llvm-mca"},    {"fma_gflops"},
      {"ELF"},       {"elf.h"},       {"Elf64_*"},
      {"_SC_PAGE*"}, {"getpagesize"}, {"PAGE_SIZE"},
      {"kPageSize"}, {"kPageBytes"},  {"4096", "src/judge/"},  // a page, where memory is laid out
      {"immintrin"}, {"_mm_*"},       {"_mm256_*"},
      {"_mm512_*"},  {"xmm*"},        {"ymm*"},
      {"zmm*"},      {"vfm*"},        {"vfnm*"},
      {"vmov*"},     {"vbroadcast*"}, {"movups"},
      {"movaps"},    {"movnt*"},      {"addps"},
      {"mulps"},     {"vaddps"},      {"vmulps"},
      {"__rdtsc*"},  {"rdtsc*"},      {"cpuid"},
  };
  return all;
}

// The word where it stands in the code, whole; not as a part of another one.
std::set<std::string> uses_of(std::string word, const std::string& code) {
  const auto is_word = [&](std::size_t at) {
    return at < code.size() && (std::isalnum(static_cast<unsigned char>(code[at])) || code[at] == '_');
  };
  const bool beginning = word.ends_with('*');
  if (beginning) word.pop_back();
  std::set<std::string> uses;
  for (std::size_t at = code.find(word); at != std::string::npos; at = code.find(word, at + 1)) {
    std::size_t end = at + word.size();
    const bool within = is_word(at) && at > 0 && is_word(at - 1);
    if (within || (!beginning && is_word(end - 1) && is_word(end))) continue;
    while (beginning && is_word(end)) ++end;
    uses.insert(code.substr(at, end - at));
  }
  return uses;
}

// "src/core/tunables.cpp: g++", a file and a word once; tests and benchmarks may name what they like.
std::set<std::string> target_words_outside(const Files& files) {
  // The engine's own products are no kernels that anybody judges: each instruction set has a file of its own. Its
  // devices are LibTorch's. by_hand.h makes records for tests.
  static const std::regex inside(
      "src/targets/[^/]+/.*|src/lm/row_products_[^/]*|src/lm_torch/.*|src/store/by_hand.h|.*_(test|bench|fuzz)\\.cpp");
  std::set<std::string> found;
  for (const auto& [path, text] : files) {
    if (!path.starts_with("src/") || !is_cpp(path) || std::regex_match(path, inside)) continue;
    const std::string code = without_comments(text);
    for (const TargetWord& word : words_of_targets()) {
      if (!path.starts_with(word.only_under)) continue;
      for (const std::string& use : uses_of(word.text, code)) found.insert(path + ": " + use);
    }
  }
  return found;
}

Complaints wrong_target_words(const Files& files) {
  Complaints complaints;
  for (const std::string& place : target_words_outside(files)) {
    complaints.push_back(place + ": a target's word outside of src/targets/NAME/");
  }
  return complaints;
}

// All that is done with a device goes through src/targets/target.h: nothing else includes a target's own headers.
Complaints concrete_targets(const Files& files) {
  static const std::regex own("targets/[^/]+/.*");
  Complaints complaints;
  for (const Include& include : includes_of(files)) {
    if (!is_of_the_program(include.path) || include.path.starts_with("src/targets/")) continue;
    if (std::regex_match(include.header, own))
      complaints.push_back(include.place() + ": \"" + include.header + "\" is of one target: use targets/target.h");
  }
  return complaints;
}

Complaints too_much_in_cli(const Files& files) {
  std::size_t lines = 0;
  for (const auto& [path, text] : files) {
    if (path.starts_with("src/cli/") && is_cpp(path)) lines += lines_of(text).size();
  }
  if (lines <= kMostCliLines) return {};
  return {fmt::format("src/cli: {} lines, at most {}: what neither parses, calls nor prints has its own room", lines,
                      kMostCliLines)};
}

// Terms that were given up for the field's own: as words of an identifier or of a comment, in code and in pages.
struct RetiredTerm {
  std::string term;
  std::string now;
};

const std::vector<RetiredTerm>& retired_terms() {
  static const std::vector<RetiredTerm> all = {{"glance", "quick check"}, {"guest", "framework rival"},
                                               {"manner", "input class"}, {"tier", "isolation level"},
                                               {"contestant", "rival"},   {"contender", "accepted kernel"}};
  return all;
}

// "glance" in "at a glance", "glance_of", "kGlance" and "QuickGlances", not in another word such as "frontier".
bool has_term(const std::string& line, const std::string& term) {
  const auto lower = [&](std::size_t at) {
    return at < line.size() && std::islower(static_cast<unsigned char>(line[at]));
  };
  for (std::size_t at = 0; at + term.size() <= line.size(); ++at) {
    if (std::tolower(static_cast<unsigned char>(line[at])) != term[0]) continue;
    if (line.compare(at + 1, term.size() - 1, term, 1) != 0) continue;
    const bool begins = at == 0 || !std::isalpha(static_cast<unsigned char>(line[at - 1])) || !lower(at);
    std::size_t end = at + term.size();
    if (end < line.size() && line[end] == 's') ++end;
    if (begins && !lower(end)) return true;
  }
  return false;
}

Complaints retired_terms_in(const Files& files) {
  static const std::regex read("(src|bench|include|prompts)/.*|[^/]+\\.md|docs/.*\\.md|tests/[^/]+");
  Complaints complaints;
  for (const auto& [path, text] : files) {
    if (!std::regex_match(path, read) || path == "tests/house_test.cpp") continue;
    int number = 0;
    for (const std::string& line : lines_of(text)) {
      ++number;
      if (line.find("until November 2026") != std::string::npos) continue;  // reads what older records say
      for (const RetiredTerm& one : retired_terms()) {
        if (has_term(line, one.term)) {
          complaints.push_back(fmt::format("{}:{}: {}: say {}", path, number, one.term, one.now));
        }
      }
    }
  }
  return complaints;
}

std::string joined(const Complaints& complaints) {
  std::string text;
  for (const std::string& complaint : complaints) text += complaint + "\n";
  return text;
}

TEST(House, SeesAnIncludeAgainstTheLayers) {
  const Files house = {{"src/layers.txt", "# a comment\nbase:\ncore: base\nops: base core\n"},
                       {"src/core/shape.h", "#pragma once\n#include <vector>\n#include \"ops/op.h\"\n"},
                       {"src/core/good.h", "#include \"base/files.h\"\n#include \"core/shape.h\"\n"},
                       {"src/ops/op.cpp", "#include \"op.h\"\n"}};
  EXPECT_EQ(joined(wrong_includes(house)),
            "src/core/shape.h:3: core may not include from ops (src/layers.txt)\n"
            "src/ops/op.cpp:1: \"op.h\" does not begin with a folder of src/\n");
}

TEST(House, SeesACircleOfLayers) {
  EXPECT_EQ(joined(wrong_includes({{"src/layers.txt", "base: kernel\nkernel: base\n"}})),
            "src/layers.txt: base knows kernel, not above it\n");
}

TEST(House, SeesALinkThatTheLayersDoNotAllow) {
  const Files house = {
      {"src/layers.txt", "base:\nops: base\ncli: base ops\n"},
      {"src/CMakeLists.txt", "kw_module(base)\nkw_module(ops QUICK UNITY 3 DEPENDS base cli LIBRARIES ${X})\n"}};
  EXPECT_EQ(joined(disagreements_with_cmake(house)),
            "src/CMakeLists.txt: no kw_module(cli)\nsrc/CMakeLists.txt: DEPENDS of ops differs from src/layers.txt\n");
}

TEST(House, SeesAHeavyHeaderInAHeader) {
  const Files house = {{"src/base/json.h", "#include <nlohmann/json.hpp>\n"},
                       {"src/base/json.cpp", "#include <nlohmann/json.hpp>\n"}};
  EXPECT_EQ(joined(heavy_headers(house)),
            "src/base/json.h:1: <nlohmann/json.hpp> is heavy: include it in a .cpp file\n");
}

TEST(House, SeesARoomWithoutASign) {
  const Files house = {{"src/layers.txt", "base:\n"},
                       {"ARCHITECTURE.md", "src/base is the ground.\n"},
                       {"src/base/files.h", ""},
                       {"src/judge/judge.h", ""}};
  EXPECT_EQ(joined(rooms_without_a_sign(house)),
            "src/layers.txt: src/judge is missing\nARCHITECTURE.md: src/judge is not mentioned\n");
}

TEST(House, SeesBadNamesLongFilesAndForeignPaths) {
  const Files house = {{"src/base/BadName.h", ""},
                       {"src/base/good_name.h", std::string(kMostLines, '\n')},
                       {"src/base/long.cpp", std::string(kMostLines + 1, '\n')},
                       {"README.md",
                        "Fine: https://x.org/home/a\nsee /"
                        "home/me/kw\n"}};
  EXPECT_EQ(joined(names_that_are_not_snake_case(house)), "src/base/BadName.h: not snake_case\n");
  EXPECT_EQ(joined(files_too_long(house)), "src/base/long.cpp: 701 lines, at most 700: more than one idea?\n");
  EXPECT_EQ(joined(paths_of_a_machine(house)), "README.md:2: a path of somebody's machine\n");
}

TEST(House, SeesABorderThatIsCrossedElsewhere) {
  const Files house = {{"src/base/process.cpp", "::fork();\n"},
                       {"src/cli/a.cpp", "// fork() it\nfail(\"system() is no option\");\nif (::fork() == 0) x();\n"},
                       {"src/cli/b.cpp", "std::system(words);\nexecve(a, b, c);\nlimits.system(3);\n"},
                       {"src/cli/c.cpp", "const int fd = ::open(path, 0);\nStore::open(x);\nstd::ifstream in(path);\n"},
                       {"src/cli/c_test.cpp", "std::system(words);\n"},
                       {"src/cli/d.cpp",
                        "#include <nlohmann/json.hpp>\nstd::cerr << name;\nprintf(name);\n"
                        "fmt::print(stderr, \"{}\", name);\nstd::snprintf(to, 3, name);\n"}};
  EXPECT_EQ(joined(borders_crossed_elsewhere(house)),
            "src/cli/a.cpp:3: starts a program: use base/process.h\n"
            "src/cli/b.cpp:1: starts a program: use base/process.h\n"
            "src/cli/b.cpp:2: starts a program: use base/process.h\n"
            "src/cli/c.cpp:1: opens a file: use base/files.h\n"
            "src/cli/c.cpp:3: opens a file: use base/files.h\n"
            "src/cli/d.cpp:1: reads JSON: use base/json.h\n"
            "src/cli/d.cpp:2: prints past base/terminal.h: use the command's stream, or stderr, which src/cli/main.cpp "
            "makes fit\n"
            "src/cli/d.cpp:3: prints past base/terminal.h: use the command's stream, or stderr, which src/cli/main.cpp "
            "makes fit\n");
}

TEST(House, SeesAPageThatNamesAFileThatIsGone) {
  const Files house = {
      {"README.md", "`src/base/` with `src/base/files.h`; `src/gone/` and `src/base/gone.h`; `src/x.h` (new)\n"},
      {"src/base/files.h", ""}};
  EXPECT_EQ(joined(files_that_pages_invent(house)),
            "README.md: there is no src/gone/\nREADME.md: there is no src/base/gone.h\n");
}

TEST(House, SeesTheWordsOfATargetOutsideOfItsFolder) {
  const Files house = {
      {"src/targets/cpu/workshop.cpp", "run(\"g++\", \"-march=native\");\n"},
      {"src/targets/target.h", "double fma_gflops;\n"},
      {"src/judge/build.cpp",
       "// g++ and -march=native\nrun(\"/usr/bin/clang++\", \"-march=native\");  /* g++\nELF */ int n = 1'000;\n"},
      {"src/judge/build_test.cpp", "run(\"g++\");\n"},
      {"src/judge/layout.cpp", "const char* link = \"http://x\"; size_t page = 4096;\n"},
      {"src/base/files.cpp", "char block[4096];\n"},
      {"src/runs/order.cpp", "open(\"cpu\"); open(\"cpus\"); cpu(); // \"cpu\"\n"},
      {"src/ops/sum.cpp", "#include <immintrin.h>\nauto z = _mm256_add_ps(x, y);  asm(\"vfmadd231ps %ymm0\");\n"},
      {"src/store/machine.cpp", "Elf64_Ehdr header; sysconf(_SC_PAGESIZE);\n"},
      {"src/report/fine.cpp", "self, shelf, addps_count, clang_tidy, fma\n"}};
  EXPECT_EQ(joined(wrong_target_words(house)),
            "src/judge/build.cpp: -march=native: a target's word outside of src/targets/NAME/\n"
            "src/judge/build.cpp: clang++: a target's word outside of src/targets/NAME/\n"
            "src/judge/layout.cpp: 4096: a target's word outside of src/targets/NAME/\n"
            "src/ops/sum.cpp: _mm256_add_ps: a target's word outside of src/targets/NAME/\n"
            "src/ops/sum.cpp: immintrin: a target's word outside of src/targets/NAME/\n"
            "src/ops/sum.cpp: vfmadd231ps: a target's word outside of src/targets/NAME/\n"
            "src/ops/sum.cpp: ymm0: a target's word outside of src/targets/NAME/\n"
            "src/runs/order.cpp: \"cpu\": a target's word outside of src/targets/NAME/\n"
            "src/store/machine.cpp: Elf64_Ehdr: a target's word outside of src/targets/NAME/\n"
            "src/store/machine.cpp: _SC_PAGESIZE: a target's word outside of src/targets/NAME/\n"
            "src/targets/target.h: fma_gflops: a target's word outside of src/targets/NAME/\n");
}

TEST(House, SeesWhoIncludesOneTarget) {
  const Files house = {
      {"src/targets/remote/device.cpp", "#include \"targets/cpu/arena.h\"\n"},
      {"src/judge/race.cpp", "#include \"targets/target.h\"\n#include \"targets/cpu/cell.h\"\n"},
      {"src/judge/race_test.cpp", "#include \"targets/made_up/device.h\"\n"},
  };
  EXPECT_EQ(joined(concrete_targets(house)),
            "src/judge/race.cpp:2: \"targets/cpu/cell.h\" is of one target: use targets/target.h\n");
}

TEST(House, SeesTooMuchInTheCommandLine) {
  EXPECT_EQ(joined(too_much_in_cli({{"src/cli/a.cpp", std::string(4000, '\n')},
                                    {"src/cli/b_test.cpp", std::string(1001, '\n')},
                                    {"src/runs/a.cpp", std::string(600, '\n')}})),
            "src/cli: 5001 lines, at most 5000: what neither parses, calls nor prints has its own room\n");
  EXPECT_EQ(joined(too_much_in_cli({{"src/cli/a.cpp", std::string(5000, '\n')}})), "");
}

TEST(House, SeesATermThatWasGivenUp) {
  const Files house = {
      {"src/judge/a.h", "int glance_of(int x);\n// a guest runs here\nfrontier, frontiers, suggested\n"},
      {"src/judge/b.cpp", "enum class SandboxTier { full };\nkContestants;\n"},
      {"docs/x.md", "Manners of inputs.\n"},
      {"tests/corpus/x.txt", "guest\n"}};
  EXPECT_EQ(joined(retired_terms_in(house)),
            "docs/x.md:1: manner: say input class\n"
            "src/judge/a.h:1: glance: say quick check\n"
            "src/judge/a.h:2: guest: say framework rival\n"
            "src/judge/b.cpp:1: tier: say isolation level\n"
            "src/judge/b.cpp:2: contestant: say rival\n");
}

TEST(House, KeepsTheCommandLineSmall) { EXPECT_EQ(joined(too_much_in_cli(this_project())), ""); }

TEST(House, SaysOneTermForEachThing) { EXPECT_EQ(joined(retired_terms_in(this_project())), ""); }

TEST(House, IncludesObeyTheLayers) {
  EXPECT_GT(includes_of(this_project()).size(), 20u);
  EXPECT_EQ(joined(wrong_includes(this_project())), "");
}

TEST(House, LinksAsTheLayersSay) { EXPECT_EQ(joined(disagreements_with_cmake(this_project())), ""); }

TEST(House, KeepsHeavyHeadersInSources) { EXPECT_EQ(joined(heavy_headers(this_project())), ""); }

TEST(House, HasASignOnEveryRoom) { EXPECT_EQ(joined(rooms_without_a_sign(this_project())), ""); }

TEST(House, NamesOnlyFilesThatExist) { EXPECT_EQ(joined(files_that_pages_invent(this_project())), ""); }

TEST(House, CrossesEachBorderInOnePlace) { EXPECT_EQ(joined(borders_crossed_elsewhere(this_project())), ""); }

TEST(House, NamesFilesInSnakeCase) { EXPECT_EQ(joined(names_that_are_not_snake_case(this_project())), ""); }

TEST(House, HasNoFileTooLongToBeOneIdea) { EXPECT_EQ(joined(files_too_long(this_project())), ""); }

TEST(House, NamesNobodysMachine) { EXPECT_EQ(joined(paths_of_a_machine(this_project())), ""); }

TEST(House, KeepsTheWordsOfATargetInItsFolder) { EXPECT_EQ(joined(wrong_target_words(this_project())), ""); }

TEST(House, KnowsTargetsByTheirInterface) { EXPECT_EQ(joined(concrete_targets(this_project())), ""); }

TEST(House, SaysWhoMayUseIt) { EXPECT_NE(this_project().at("LICENSE").find("Apache License"), std::string::npos); }

}  // namespace
}  // namespace kw
