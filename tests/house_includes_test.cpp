// Headers stand alone: whoever includes one first needs nothing before it. The build precompiles what nearly everything
// includes, so that a compiler does not notice a missing include; compiling each header alone does
// (`cmake --build build/dev --target all_verify_interface_header_sets`), but takes a quarter of the tests' build. These
// rules find nearly all of it by reading.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "house.h"

namespace kw {
namespace {

using namespace kw::house;

struct Named {
  std::regex use;
  std::string header;
};

const std::vector<Named>& names_of_headers() {
  static const std::vector<Named> all = [] {
    const std::pair<const char*, const char*> names[] = {
        {R"(std::(basic_)?string\b)", "string"},
        {R"(std::string_view\b)", "string_view"},
        {R"(std::vector\b)", "vector"},
        {R"(std::(multi)?map\b)", "map"},
        {R"(std::(multi)?set\b)", "set"},
        {R"(std::unordered_map\b)", "unordered_map"},
        {R"(std::deque\b)", "deque"},
        {R"(std::optional\b|std::nullopt\b)", "optional"},
        {R"(std::span\b)", "span"},
        {R"(std::array\b)", "array"},
        {R"(std::variant\b)", "variant"},
        {R"(std::function\b)", "functional"},
        {R"(std::(unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared)\b)", "memory"},
        {R"(std::chrono\b)", "chrono"},
        {R"(std::filesystem\b)", "filesystem"},
        {R"(std::u?int(8|16|32|64)_t\b)", "cstdint"},
        {R"(std::atomic\b)", "atomic"},
        {R"(std::(mutex|lock_guard|unique_lock)\b)", "mutex"},
        {R"(std::condition_variable)", "condition_variable"},
        {R"(std::j?thread\b)", "thread"},
        {R"(std::stop_token\b)", "stop_token"},
        // Of ours, those that are precompiled.
        {R"(\b(Result<|Status\b|KW_TRY|KW_CHECK))", "base/result.h"},
        {R"(\bJson\b)", "base/json.h"},
        {R"(\bTask\b)", "core/task.h"},
        {R"(\bVerdict\b)", "core/verdict.h"},
    };
    std::vector<Named> result;
    for (const auto& [use, header] : names) result.push_back({std::regex(use), header});
    return result;
  }();
  return all;
}

// Of each file of ours: what it includes, by itself and through other files of ours.
class Reach {
 public:
  explicit Reach(const Files& files) {
    for (const Include& include : includes_of(files)) direct_[include.path].insert(include.header);
  }
  const std::set<std::string>& of(const std::string& path) {
    if (const auto known = all_.find(path); known != all_.end()) return known->second;
    all_[path] = {};  // ends a circle
    std::set<std::string> result;
    for (const std::string& header : direct_[path]) {
      result.insert(header);
      const std::set<std::string>& further = of("src/" + header);
      result.insert(further.begin(), further.end());
    }
    return all_[path] = std::move(result);
  }

 private:
  std::map<std::string, std::set<std::string>> direct_, all_;
};

std::string without_comments_and_texts(const std::string& line) {
  std::string code;
  bool in_text = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (in_text && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      in_text = !in_text;
    } else if (!in_text && line.compare(i, 2, "//") == 0) {
      break;
    } else if (!in_text) {
      code += line[i];
    }
  }
  return code;
}

Complaints headers_that_do_not_stand_alone(const Files& files) {
  Complaints complaints;
  Reach reach(files);
  for (const auto& [path, text] : files) {
    if (!path.starts_with("src/") || !path.ends_with(".h")) continue;
    const std::set<std::string>& known = reach.of(path);
    std::set<std::string> missing;
    std::set<std::string> declared;  // "struct Task;" is enough for a pointer to one
    for (const std::string& line : lines_of(text)) {
      const std::string code = without_comments_and_texts(line);
      static const std::regex declaration(R"(\s*(struct|class|enum class) (\w+);)");
      if (std::smatch match; code.find(';') != std::string::npos && std::regex_match(code, match, declaration)) {
        declared.insert(match[2]);
        continue;
      }
      if (code.empty() || code[0] == '#') continue;
      for (const Named& named : names_of_headers()) {
        std::smatch match;
        if (known.contains(named.header) || path == "src/" + named.header || missing.contains(named.header)) continue;
        if (std::regex_search(code, match, named.use) && !declared.contains(match[0])) missing.insert(named.header);
      }
    }
    for (const std::string& header : missing) complaints.push_back(path + ": does not include " + header);
  }
  return complaints;
}

// "x.cpp" begins with "x.h", so that compiling it shows whether the header includes all that it needs of ours.
Complaints sources_that_begin_with_another_header(const Files& files) {
  Complaints complaints;
  std::map<std::string, std::string> first;
  for (const Include& include : includes_of(files)) first.emplace(include.path, include.header);
  for (const auto& [path, header] : first) {
    if (!path.starts_with("src/") || !path.ends_with(".cpp")) continue;
    const std::string own = path.substr(0, path.size() - 3) + "h";
    if (files.contains(own) && "src/" + header != own) complaints.push_back(path + ": does not begin with its header");
  }
  return complaints;
}

TEST(HeadersOfTheHouse, ComplaintsNameWhatIsMissing) {
  const Files files = {
      {"src/a/x.h", "#pragma once\n#include \"a/y.h\"\nstd::vector<int> f(const Json& json);\n"},
      {"src/a/y.h", "#pragma once\n#include <vector>\nclass Json;\nvoid g(Json* json);  // a Verdict\n"},
      {"src/a/x.cpp", "#include \"a/y.h\"\n#include \"a/x.h\"\n"}};
  EXPECT_EQ(headers_that_do_not_stand_alone(files), Complaints{"src/a/x.h: does not include base/json.h"});
  EXPECT_EQ(sources_that_begin_with_another_header(files), Complaints{"src/a/x.cpp: does not begin with its header"});
}

TEST(HeadersOfTheHouse, StandAlone) { EXPECT_EQ(headers_that_do_not_stand_alone(this_project()), Complaints{}); }

TEST(HeadersOfTheHouse, AreTheFirstThatTheirSourcesInclude) {
  EXPECT_EQ(sources_that_begin_with_another_header(this_project()), Complaints{});
}

}  // namespace
}  // namespace kw
